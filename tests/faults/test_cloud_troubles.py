"""Troubles of the deployed composition, each through the doors that a user has: the door says what is so."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any

import pytest

from local_emulator.azure import serve_azure_services
from local_emulator.host import run_service
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core import settings
from rag_core.core.settings import Settings

NOTES = "P0700 means that the transmission control module has stored a fault of its own."
QUESTION = "What does P0700 mean?"
DELETED = {  # as Azure OpenAI says it
    "error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}
}


@pytest.fixture(scope="module")
def pointed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    here = replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path_factory.mktemp("data"))
    with serve_azure_services(here) as pointed:
        yield pointed


def call(url: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str | None, Any]:
    """Return the status, how long to wait, and the reply."""
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=20)) as connection:
        connection.request(method, path, json.dumps(body), sent)
        response = connection.getresponse()
        return response.status, response.headers["Retry-After"], json.loads(response.read() or b"null")


@contextmanager
def throttling(pointed: Settings, retry_after_s: int) -> Iterator[None]:
    """Let the search service refuse everything while the block runs."""

    def switch(faults: list[dict[str, object]]) -> None:
        service, key = str(pointed.azure_search_endpoint), pointed.azure_search_key or ""
        call(service, "PUT", "/emulator/faults", {"faults": faults}, api_key=key)

    switch([{"operation": "any", "status": 429, "retry_after_s": retry_after_s}])
    yield
    switch([])


def test_a_search_service_that_asks_for_a_minute_is_told_with_its_minute(pointed: Settings) -> None:
    """Health waits for none of it; an upload is kept as a job; nothing is called "nothing found"."""
    short = replace(pointed, request_timeout_s=10)
    with run_service(short) as url:
        assert call(url, "POST", "/api/index_document", {"document_id": "notes", "content": NOTES})[0] == 200
        with throttling(pointed, 60):
            status, wait_s, reply = call(url, "GET", "/api/health")
            assert (status, wait_s, reply["error"]["code"]) == (503, "60", "search_throttled")
            assert reply["error"]["message"].endswith("HTTP 429, asking to wait 60 s")
            for _ in range(5):
                status, wait_s, reply = call(url, "POST", "/api/rag/ask", {"query": QUESTION})
                assert (status, reply["error"]["code"]) == (503, "search_throttled")
                assert 55 <= int(wait_s or 0) <= 60
            assert "failed too often to be called again yet: try again in " in reply["error"]["message"]
            status, _, reply = call(url, "POST", "/api/index_document", {"document_id": "more", "content": "A valve."})
            assert (status, reply["status"]) == (202, "queued")
            assert [told["code"] for told in reply["degraded"]] == ["search_throttled"]


class WithoutChatDeployment:
    """The model service after its chat deployment was deleted; its embeddings go on."""

    def __init__(self, service: str) -> None:
        self._service = service

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path, body = environ["PATH_INFO"], environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        status, said = "404 Not Found", json.dumps(DELETED).encode()
        if path.endswith("embeddings"):
            keys = {"api_key": environ.get("HTTP_API_KEY", ""), "authorization": environ.get("HTTP_AUTHORIZATION", "")}
            reply = call(self._service, "POST", f"{path}?{environ['QUERY_STRING']}", json.loads(body), **keys)
            status, said = "200 OK", json.dumps(reply[2]).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(said)))])
        return [said]


def test_a_deleted_chat_deployment_is_named_by_its_setting_and_the_answer_is_quoted(pointed: Settings) -> None:
    with (
        serve_wsgi(WithoutChatDeployment(str(pointed.azure_openai_endpoint))) as models,
        run_service(replace(pointed, azure_openai_endpoint=models)) as url,
    ):
        call(url, "POST", "/api/index_document", {"document_id": "notes", "content": NOTES})
        status, _, reply = call(url, "POST", "/api/rag/ask", {"query": QUESTION})
    assert (status, reply["answer"], reply["origin"]) == (200, NOTES, "extractive")
    told = {one["step"]: one["reason"] for one in reply["degraded"]}
    assert set(told) == {"query_expansion", "rerank", "answer"}
    assert all("AZURE_OPENAI_CHAT_DEPLOYMENT" in reason for reason in told.values())
