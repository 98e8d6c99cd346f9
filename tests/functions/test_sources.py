"""Documents are listed and opened by the functions that the pages call."""

import base64
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from PIL import Image

from rag_core.core.settings import Settings
from tests.functions.test_functions import EXAMPLES, NOTES, Caller, principal, serving

FACTS = {
    *("document_id", "title", "source", "pages", "summary", "extractor", "metadata", "deleted_at", "kept", "outdated"),
}
CHUNK = {
    "id",
    "ordinal",
    "content",
    "page",
    "line_start",
    "line_end",
    "boxes",
    "section",
    "entities",
    "line_numbers",
    "line_pages",
    "locator",
}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    no_models = tmp_path_factory.mktemp("no-models")
    for made in serving(Settings(data_dir=None, models_dir=no_models, trust_principal=True)):
        perks = base64.b64encode((EXAMPLES / "perks-plus.pdf").read_bytes()).decode()
        made.ok("index_document", content_base64=perks, filename="perks-plus.pdf", document_id="perks")
        made.ok("index_document", content=NOTES, document_id="notes", title="Notes", metadata={"year": 2021})
        yield made


def got(call: Caller, function: str, **asked: Any) -> dict[str, Any]:
    """By GET, as the pages ask."""
    reply = call.client.get(f"/api/{function}?{urlencode(asked)}")
    assert reply.status_code == 200, reply.data
    body: dict[str, Any] = json.loads(reply.data)
    return body


def test_documents_are_listed_with_what_is_kept_and_what_can_be_restored(call: Caller) -> None:
    """S0-93: one question to the archive, whatever the number of documents."""
    call.ok("index_document", content="A valve of 7 bar.", document_id="gone")
    call.ok("delete_document", document_id="gone")
    reply = got(call, "documents")
    assert [(one["document_id"], one["kept"]) for one in reply["documents"]] == [("notes", True), ("perks", True)]
    assert [(one["document_id"], bool(one["deleted_at"]), one["kept"]) for one in reply["deleted"]] == [
        ("gone", True, False)
    ]
    assert set(reply["documents"][0]) == FACTS
    assert reply["documents"][0]["metadata"] == {"year": 2021}
    assert call.ok("documents", workflow_id="elsewhere")["documents"] == []


def test_a_document_is_shown_with_its_passages_and_their_places(call: Caller) -> None:
    """S0-93."""
    reply = got(call, "document", document_id="perks")
    assert reply.keys() >= FACTS | {"kind", "chunks", "lines"}
    assert (reply["kind"], reply["lines"], reply["pages"], reply["kept"]) == ("pdf", None, 4, True)
    chunk = reply["chunks"][0]
    assert set(chunk) == CHUNK
    assert (chunk["ordinal"], chunk["page"], len(chunk["boxes"][0])) == (0, 1, 4)
    text = call.ok("document", document_id="notes")
    assert (text["kind"], text["lines"], text["first_line"], text["total_lines"]) == ("text", [NOTES], 1, 1)
    assert (text["chunks"][0]["line_start"], text["chunks"][0]["boxes"]) == (1, [])


def test_a_page_is_drawn_with_its_size_in_points(call: Caller) -> None:
    reply = got(call, "document_page", document_id="perks", page=4)
    assert (reply["page"], reply["pages"], reply["width"], reply["height"]) == (4, 4, 612, 792)
    image = Image.open(BytesIO(base64.b64decode(reply["image_base64"])))
    assert (image.format, image.size, reply["media_type"]) == ("PNG", (1224, 1584), "image/png")
    call.ok("document_page", document_id="perks", page=1)
    lines = reply["lines"]
    assert [line["line"] for line in lines] == sorted(line["line"] for line in lines)
    assert all(0 <= box[0] < box[2] <= 612 and 0 <= box[1] < box[3] <= 792 for box in (line["box"] for line in lines))
    chunks = got(call, "document", document_id="perks")["chunks"]
    said = [line for chunk in chunks for line in zip(chunk["line_pages"], chunk["content"].split("\n"), strict=True)]
    assert {" ".join(text.split()) for page, text in said if page == 4} - {""} == {line["text"] for line in lines}


def test_an_original_comes_as_it_was_sent(call: Caller) -> None:
    reply = got(call, "document_original", document_id="perks")
    assert (reply["kind"], reply["filename"]) == ("pdf", "perks-plus.pdf")
    assert base64.b64decode(reply["content_base64"]).startswith(b"%PDF-")
    assert base64.b64decode(got(call, "document_original", document_id="notes")["content_base64"]).decode() == NOTES


@pytest.mark.parametrize(
    ("function", "asked", "status", "code", "field"),
    [
        ("document_page", {"document_id": "perks", "page": 5}, 404, "page_not_found", "page"),
        ("document_page", {"document_id": "perks", "page": 0}, 400, "invalid_request", "page"),
        ("document_page", {"document_id": "perks"}, 400, "invalid_request", "page"),
        ("document_page", {"document_id": "notes", "page": 1}, 404, "page_not_found", "page"),
        ("document_page", {"document_id": "absent", "page": 1}, 404, "document_not_found", "document_id"),
        ("document", {"document_id": "absent"}, 404, "document_not_found", "document_id"),
        ("document", {"document_id": "../etc/passwd"}, 400, "invalid_request", "document_id"),
        ("document", {"document_id": "notes", "first_line": 0}, 400, "invalid_request", "first_line"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_clear_words(
    call: Caller, function: str, asked: dict[str, Any], status: int, code: str, field: str
) -> None:
    refused, error = call.refused(function, **asked)
    assert (refused, error["code"], error["field"]) == (status, code, field)


def test_what_is_anothers_is_refused_in_the_words_for_what_is_not_there(call: Caller) -> None:
    """S3-15, (RELIABILITY C14): a page, the lines, the list."""
    ann, bob = ({"x-ms-client-principal": principal(name)} for name in ("ann", "bob"))
    call.ok("index_document", headers=ann, content=NOTES, document_id="diary")
    for function, more in (("document", {}), ("document_page", {"page": 1})):
        theirs = call.refused(function, headers=bob, document_id="diary", **more)
        assert theirs == call.refused(function, headers=bob, document_id="absent", **more)
    assert "diary" not in str(call.ok("documents", headers=bob)["documents"])
    assert call.ok("document", headers=ann, document_id="diary")["lines"] == [NOTES]


def test_where_no_originals_are_kept_it_is_said_what_to_do(tmp_path: Path) -> None:
    for call in serving(Settings(data_dir=None, models_dir=tmp_path, keep_originals=False)):
        call.ok("index_document", content=NOTES, document_id="notes")
        status, error = call.refused("document_page", document_id="notes", page=1)
        assert (status, error["code"]) == (404, "original_not_kept")
        assert "index it again" in error["message"]
        reply = call.ok("document", document_id="notes")
        assert (reply["kept"], reply["kind"], reply["lines"], len(reply["chunks"])) == (False, None, None, 1)
