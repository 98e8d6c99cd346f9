"""The emulated Document Intelligence answers as the service is recorded to: 202, an address, then the result."""

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest
from werkzeug.test import Client, TestResponse

from local_emulator.document_service import DocumentService

WORD = (Path(__file__).parents[2] / "examples" / "service-bulletin.docx").read_bytes()
ANALYZE = "/documentintelligence/documentModels/prebuilt-layout:analyze?api-version=2024-11-30"
KEY = {"Ocp-Apim-Subscription-Key": "key"}


def submit(
    data: bytes, *, to: str = ANALYZE, headers: Mapping[str, str] = KEY, polls: int = 2
) -> tuple[Client, TestResponse]:
    client = Client(DocumentService(keys={"key"}, polls=polls))
    return client, client.post(to, headers=headers, json={"base64Source": b64encode(data).decode()})


def test_an_analysis_is_accepted_and_asked_for_until_it_is_done() -> None:
    client, accepted = submit(WORD)
    assert (accepted.status_code, accepted.data) == (202, b"")
    where = accepted.headers["Operation-Location"]
    assert "/documentintelligence/documentModels/prebuilt-layout/analyzeResults/" in where
    assert where.endswith("?api-version=2024-11-30")
    replies = [client.get(where, headers=KEY) for _ in range(3)]
    assert [json.loads(reply.data)["status"] for reply in replies] == ["running", "running", "succeeded"]
    assert replies[0].headers["Retry-After"] == "0"


def test_the_result_has_the_shape_of_the_service() -> None:
    client, accepted = submit(WORD, polls=0)
    result = client.get(accepted.headers["Operation-Location"], headers=KEY).json["analyzeResult"]  # type: ignore[index]
    assert (result["modelId"], result["stringIndexType"]) == ("prebuilt-layout", "unicodeCodePoint")
    for element in (*result["paragraphs"], *(line for page in result["pages"] for line in page["lines"])):
        (span,) = element["spans"]
        stands = result["content"][span["offset"] : span["offset"] + span["length"]]
        assert stands.replace("\n", " ") == element["content"]
    (table,) = result["tables"]
    assert {"rowCount", "columnCount", "cells", "spans"} <= set(table)


@pytest.mark.parametrize("headers", [{}, {"Ocp-Apim-Subscription-Key": "other"}])
def test_a_key_is_wanted(headers: Mapping[str, str]) -> None:
    _, refused = submit(WORD, headers=headers)
    assert refused.status_code == 401
    assert refused.json["error"]["code"] == "401"  # type: ignore[index]


@pytest.mark.parametrize(
    ("to", "status"),
    [
        (f"{ANALYZE}&features=ocrHighResolution", 501),  # refused rather than ignored
        (ANALYZE.replace("2024-11-30", "2023-07-31"), 404),
        (ANALYZE.replace("prebuilt-layout", "prebuilt-invoice"), 404),
        ("/documentintelligence/documentModels/:analyze?api-version=2024-11-30", 404),
    ],
)
def test_what_is_not_emulated_is_refused(to: str, status: int) -> None:
    assert submit(WORD, to=to)[1].status_code == status


def test_a_body_that_is_none_is_refused() -> None:
    client = Client(DocumentService(keys={"key"}))
    for body in (b"", b"[]", b'{"base64Source": "%"}', b'{"urlSource": "http://127.0.0.1"}'):
        assert client.post(ANALYZE, headers=KEY, data=body).status_code == 400


def test_a_picture_that_nobody_told_of_fails() -> None:
    client, accepted = submit(b"\x89PNG\r\n\x1a\n", polls=0)
    body = client.get(accepted.headers["Operation-Location"], headers=KEY).json
    assert body["status"] == "failed"  # type: ignore[index]
    assert body["error"]["innererror"]["code"] == "InvalidContent"  # type: ignore[index]
