"""How a stranger reaches the emulated search service: TLS, keys, tokens, api-versions, and documented addresses."""

import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import ServiceRequestError
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import SearchIndex
from cryptography import x509
from werkzeug.test import Client

from local_emulator.search_service import SearchService, WordRanker, run_search_service
from local_emulator.search_service.certificates import HOSTS, write_certificate
from local_emulator.search_service.versions import VERSIONS
from tests.local_emulator.test_search_service import DOCUMENTS, INDEX, VERSION, near

ADMIN, READER = {"api-key": "k"}, {"api-key": "reads"}


class Bearer:
    """A credential that has one token, as a managed identity would bring one."""

    def __init__(self, token: str) -> None:
        self.token = token

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken(self.token, 4_102_444_800)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def url(certificate: tuple[Path, Path]) -> Iterator[str]:
    service = SearchService(None, keys=["k"], tokens=["token"], reranker=WordRanker())
    with run_search_service(service, certificate=certificate) as address:
        yield address


def filled() -> Client:
    client = Client(SearchService(None, keys=["k"], query_keys=["reads"], tokens=["token"], reranker=WordRanker()))
    assert client.post(f"/indexes?{VERSION}", json=INDEX, headers=ADMIN).status_code == 201
    path = f"/indexes/docs/docs/index?{VERSION}"
    assert client.post(path, json={"value": DOCUMENTS}, headers=ADMIN).status_code == 200
    return client


def test_a_client_that_trusts_the_certificate_is_served_with_a_bearer_token(url: str, certificate: Any) -> None:
    trusted: dict[str, Any] = {"connection_verify": str(certificate[0])}
    SearchIndexClient(url, Bearer("token"), **trusted).create_index(SearchIndex(INDEX))
    with SearchClient(url, "docs", AzureKeyCredential("k"), **trusted) as client:
        client.upload_documents(DOCUMENTS)
    with SearchClient(url, "docs", Bearer("token"), **trusted) as client:
        assert [hit["id"] for hit in client.search("misfires")] == ["b"]


def test_a_client_that_does_not_trust_the_certificate_is_not_served(url: str) -> None:
    client = SearchClient(url, "docs", AzureKeyCredential("k"), retry_total=0)
    with client, pytest.raises(ServiceRequestError, match=r"(?i)certificate"):
        client.get_document_count()


def test_a_certificate_is_kept_while_it_lasts_and_its_key_is_nobody_elses(tmp_path: Path) -> None:
    first, key = write_certificate(tmp_path)
    held = first.read_bytes()
    assert write_certificate(tmp_path)[0].read_bytes() == held
    assert key.stat().st_mode & 0o077 == 0
    assert x509.load_pem_x509_certificate(held).not_valid_after_utc.year > datetime.now(UTC).year
    assert write_certificate(tmp_path, (*HOSTS, "emulator.test"))[0].read_bytes() != held
    ssl.create_default_context(cafile=str(first))


@pytest.mark.parametrize(
    ("headers", "reads", "writes"),
    [
        ({"Authorization": "Bearer token"}, 200, 200),
        ({"Authorization": "bearer token"}, 200, 200),
        ({"Authorization": "Bearer other"}, 401, 401),
        ({"Authorization": "Basic token"}, 401, 401),
        (ADMIN, 200, 200),
        (READER, 200, 403),
        ({}, 401, 401),
    ],
)
def test_a_query_key_reads_documents_and_changes_nothing(headers: dict[str, str], reads: int, writes: int) -> None:
    client = filled()
    found = client.post(f"/indexes/docs/docs/search?{VERSION}", json={}, headers=headers)
    changed = client.post(f"/indexes/docs/docs/index?{VERSION}", json={"value": [{"id": "n"}]}, headers=headers)
    assert (found.status_code, changed.status_code) == (reads, writes)


@pytest.mark.parametrize("path", ["/indexes", "/unheard", "/emulator/faults"])
def test_whoever_has_no_key_is_told_nothing(path: str) -> None:
    assert filled().put(f"{path}?{VERSION}", headers=READER, json={"faults": []}).status_code == 403


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_every_public_version_is_served(version: str) -> None:
    assert filled().get(f"/indexes?api-version={version.title()}", headers=ADMIN).status_code == 200


@pytest.mark.parametrize("version", ["", "2026-04-02", "2026-04-01-preview", "latest"])
def test_a_version_that_never_was_is_400(version: str) -> None:
    assert filled().get(f"/indexes?api-version={version}", headers=ADMIN).status_code == 400


def test_members_of_previews_are_answered_to_previews_alone() -> None:
    client = filled()
    stable = client.get(f"/indexes/docs?{VERSION}", headers=ADMIN).json
    preview = client.get("/indexes/docs?api-version=2025-11-01-Preview", headers=ADMIN).json
    assert preview.keys() - stable.keys() == {"permissionFilterOption", "purviewEnabled"}
    assert preview["fields"][0].keys() - stable["fields"][0].keys() == {"permissionFilter", "sensitivityLabel"}


@pytest.mark.parametrize(
    ("method", "path", "body", "found"),
    [
        ("POST", "/indexes/docs/docs/search", {"search": "misfires"}, ["b"]),
        ("POST", "/indexes('docs')/docs/search.post.search", {"search": "misfires"}, ["b"]),
        ("GET", "/indexes/docs/docs?search=misfires", None, ["b"]),
        ("GET", "/indexes/docs/docs/search?search=misfires", None, ["b"]),
        ("GET", "/indexes/docs/docs?search=*&$filter=page ge 2&$orderby=page desc&$top=1", None, ["d"]),
        ("GET", "/indexes/docs/docs?search=*&filter=page ge 2&searchMode=all", None, ["b", "d"]),
    ],
)
def test_search_has_every_documented_address(method: str, path: str, body: Any, found: list[str]) -> None:
    mark = "&" if "?" in path else "?"
    response = filled().open(f"{path}{mark}{VERSION}", method=method, json=body, headers=READER)
    assert response.status_code == 200, response.text
    assert sorted(hit["id"] for hit in response.json["value"]) == found


def test_a_get_asks_for_all_that_a_post_does() -> None:
    client = filled()
    asked = "$count=true&facet=tags&facet=page,interval:2&$select=id&queryType=semantic&answers=extractive|count-1"
    got = client.get(f"/indexes/docs/docs?search=engine misfires&{asked}&{VERSION}", headers=READER).json
    body = {"search": "engine misfires", "count": True, "facets": ["tags", "page,interval:2"], "select": "id"}
    body |= {"queryType": "semantic", "answers": "extractive|count-1"}
    assert got == client.post(f"/indexes/docs/docs/search?{VERSION}", json=body, headers=READER).json


@pytest.mark.parametrize("asked", ["unheard=1", "$top=many", "$count=perhaps", "vectorQueries=[]"])
def test_a_get_with_what_cannot_be_read_is_400(asked: str) -> None:
    assert filled().get(f"/indexes/docs/docs?search=x&{asked}&{VERSION}", headers=READER).status_code == 400


@pytest.mark.parametrize("path", ["/indexes/docs/docs/a", "/indexes/docs/docs('a')", "/indexes('docs')/docs('a')"])
def test_a_document_has_every_documented_address(path: str) -> None:
    assert filled().get(f"{path}?{VERSION}", headers=READER).json["title"] == "Gearbox"


def test_what_asks_for_a_language_or_a_speller_is_served() -> None:
    body = {"search": "misfires", "queryLanguage": "en-us", "speller": "lexicon", "vectorQueries": [near([0, 1], k=1)]}
    found = filled().post(f"/indexes/docs/docs/search?{VERSION}", json=body, headers=READER)
    assert [hit["id"] for hit in found.json["value"]] == ["b"]


def test_the_wire_is_plain_to_a_client_of_no_sdk(url: str, certificate: tuple[Path, Path]) -> None:
    context = ssl.create_default_context(cafile=str(certificate[0]))
    with httpx2.Client(base_url=url, verify=context, headers={"authorization": "Bearer token"}) as client:
        answer = client.get(f"/servicestats?{VERSION}")
        assert answer.headers["odata-version"] == "4.0"
        assert json.loads(answer.text)["counters"]["synonymMaps"] == {"usage": 0, "quota": 20}
        assert client.get("/").status_code == 204
