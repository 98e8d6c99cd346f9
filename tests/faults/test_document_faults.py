"""Whatever Document Intelligence does, a Word file is read, a picture is refused by its code, and both in time."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from local_emulator.document_service import build_analyze_result
from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.core.retrying import CircuitBreaker
from rag_core.core.run import Run
from rag_core.ingestion import file_extraction, layout_budget
from rag_core.ingestion.extract import extract_as_kind
from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence
from rag_core.ingestion.file_extraction import extract_file
from tests.faults.server import (
    Fault,
    FaultServer,
    black_hole,
    drip,
    failing,
    late,
    reply,
    reset,
    reset_within,
)
from tests.ingestion.pictures import make_picture

WORD = (Path(__file__).parents[2] / "examples" / "service-bulletin.docx").read_bytes()
PICTURE = make_picture("Torque of the drain plug")
RESULT = build_analyze_result(Extraction((Block("Seen by the service", "paragraph", 1, 1),), None, "docx"))
REQUEST_S, HUNG_S = 20.0, 60.0  # of the whole request, with room to try again; a test that takes this long has hung


def taken(server: FaultServer, connection: socket.socket, *, at: str | None = None) -> None:
    """The analysis is accepted; its result will be at this server, or where `at` says."""
    reply(202, operation_location=f"{at or server.url}/documentintelligence/x", retry_after="0")(server, connection)


def elsewhere(server: FaultServer, connection: socket.socket) -> None:
    taken(server, connection, at="http://127.0.0.2:9")


def told(status: str, **fields: object) -> Fault:
    return reply(body={"status": status, **fields}, retry_after="0")


def result(**changes: Any) -> Fault:
    return told("succeeded", analyzeResult=RESULT | changes)


def paragraph(**changes: Any) -> Fault:
    return result(paragraphs=[{"content": "x", "spans": [{"offset": 0, "length": 1}]} | changes])


def raw(body: bytes, kind: str = "application/json") -> Fault:
    return reply(body=body, kind=kind)


DONE = result()
NAN = json.dumps({"status": "succeeded", "analyzeResult": float("nan")}).encode()

LOST: dict[str, tuple[tuple[Fault, ...], str]] = {  # the fault, and the words by which its reason is known
    "latency beyond the time there is": ((late(30, taken),), "within"),
    "a black hole": ((black_hole,), "within"),
    "a black hole while it works": ((taken, black_hole), "within"),
    "a reset before the reply": ((reset,), "did not answer"),
    "a reset within the reply": ((taken, reset_within), "did not answer"),
    "a slow drip": ((taken, drip), "within"),
    "429 and an hour to wait": ((reply(429, retry_after="3600"),), "HTTP 429"),
    "an hour to wait for the result": ((taken, reply(body={"status": "running"}, retry_after="3600")), "asks to wait"),
    "500 again and again": ((reply(500),), "HTTP 500"),
    "503 again and again": ((taken, reply(503)), "HTTP 503"),
    "a web page": ((taken, raw(b"<html>Bad gateway</html>", "text/html")), "an unknown status"),
    "JSON cut off": ((taken, raw(b'{"status": "succee')), "no JSON"),
    "no object": ((taken, raw(b"[]")), "an unknown status"),
    "a status it does not have": ((taken, told("thinking")), "an unknown status"),
    "success without a result": ((taken, told("succeeded")), "an unknown status"),
    "not a number for a result": ((taken, raw(NAN)), "an unknown status"),
    "a result without pages": ((taken, result(pages=None)), "another shape"),
    "paragraphs that are a text": ((taken, result(paragraphs="all of it")), "another shape"),
    "a paragraph without a place": ((taken, paragraph(spans=[])), "another shape"),
    "a number for a text": ((taken, paragraph(content=5, spans=[{"offset": 99, "length": 1}])), "another shape"),
    "a table as wide as a street": (
        (
            taken,
            result(
                tables=[
                    {
                        "spans": [{"offset": 0, "length": 1}],
                        "cells": [{"rowIndex": 0, "columnIndex": 10**9, "content": "x"}],
                    }
                ]
            ),
        ),
        "another shape",
    ),
    "an empty result": ((taken, result(paragraphs=[])), "no text in"),
    "a result of no page": ((taken, result(paragraphs=[], pages=[])), "found no"),
    "a document it cannot read": ((taken, told("failed", error={"code": "InvalidRequest"})), "could not read"),
    "a key that is refused": ((reply(401, {"error": {"code": "401"}}),), "credential"),
    "a key that is changed while it works": ((taken, reply(401, {"error": {"code": "401"}})), "credential"),
    "a request that is refused": ((reply(400, {"error": {"code": "InvalidRequest"}}),), "HTTP 400"),
    "a result at another address": ((elsewhere, DONE), "another host"),
    "a result that never comes": ((taken, told("running")), "within"),
}

FOUND: dict[str, tuple[Fault, ...]] = {
    "nothing": (taken, told("notStarted"), told("running"), DONE),
    "latency within the time there is": (late(0.05, taken), late(0.05, DONE)),
    "429 without a header, once": (reply(429), taken, DONE),
    "503 once, while it works": (taken, reply(503), DONE),
    "a reset, once": (reset, taken, DONE),
    "a reply cut off, once": (taken, reset_within, DONE),
}


@asynccontextmanager
async def service(*faults: Fault) -> AsyncIterator[tuple[DocumentIntelligence, FaultServer]]:
    with failing(*faults) as server:
        layout = DocumentIntelligence(server.url, "the-key")
        try:
            yield layout, server
        finally:
            await layout.close()


def wait_shortly(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for what never ends for a second only: the rest of the time is for a busy machine."""
    if reason == "within":
        monkeypatch.setattr(layout_budget, "LAYOUT_TIME_SHARE", 1 / REQUEST_S)


@pytest.mark.parametrize("fault", LOST)
async def test_a_word_file_is_read_by_the_local_parser_which_says_why(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1-21, C39, RELIABILITY 3.2: doc-intelligence faults end in `layout_fallback`, within the request's time."""
    faults, reason = LOST[fault]
    wait_shortly(reason, monkeypatch)
    run = Run(REQUEST_S)
    async with service(*faults) as (layout, _), asyncio.timeout(HUNG_S):
        read_by = await extract_file(WORD, "bulletin.docx", layout, run, timeout_s=REQUEST_S)
    assert read_by.extractor == "docx (local)"
    (lesser,) = run.degraded
    assert (lesser.step, lesser.code, lesser.fallback) == ("extract", "layout_fallback", "read by the local parser")
    assert reason in lesser.reason
    assert "the-key" not in lesser.reason


@pytest.fixture
def pictures_checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a picture in this process: a child takes a second of a busy machine to start."""

    async def extract_here(kind: str, data: bytes, *, timeout_s: float) -> Extraction:
        return extract_as_kind(kind, data)

    monkeypatch.setattr(file_extraction, "extract_as_kind_in_sandbox", extract_here)


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.usefixtures("pictures_checked_here")
async def test_a_picture_is_refused_by_its_code(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1-21, RELIABILITY 3.2: 422 where no local parser fits."""
    faults, reason = LOST[fault]
    wait_shortly(reason, monkeypatch)
    async with service(*faults) as (layout, _), asyncio.timeout(HUNG_S):
        with pytest.raises(UnreadableDocument, match=reason) as refused:
            await extract_file(PICTURE, "scan.png", layout, Run(REQUEST_S), timeout_s=REQUEST_S)
    is_empty = fault == "an empty result"  # of a page that it has looked at, as of a logo: no failure
    assert refused.value.code == ("no_text_found" if is_empty else "layout_unavailable")


@pytest.mark.parametrize("fault", FOUND)
async def test_what_passes_is_waited_out(fault: str) -> None:
    run = Run(REQUEST_S)
    async with service(*FOUND[fault]) as (layout, _), asyncio.timeout(HUNG_S):
        read_by = await extract_file(WORD, "bulletin.docx", layout, run, timeout_s=REQUEST_S)
    assert [block.text for block in read_by.blocks] == ["Seen by the service"]
    assert read_by.extractor == "docx (Document Intelligence prebuilt-layout)"
    assert run.degraded == []


async def test_the_key_is_sent_to_no_other_address() -> None:
    """A reply decides where the result is asked for, not who gets the key."""
    with failing(DONE) as stranger:

        def there(server: FaultServer, connection: socket.socket) -> None:
            taken(server, connection, at=stranger.url)

        async with service(there) as (layout, server):
            await extract_file(WORD, "bulletin.docx", layout, Run(REQUEST_S), timeout_s=REQUEST_S)
        assert b"the-key" in server.requests[0]
        async with service(reply(307, location=stranger.url)) as (layout, server):
            await extract_file(WORD, "bulletin.docx", layout, Run(REQUEST_S), timeout_s=REQUEST_S)
        assert b"the-key" in server.requests[0]
        assert stranger.requests == []


@pytest.mark.usefixtures("pictures_checked_here")
async def test_a_service_that_keeps_failing_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 3.3: the breaker opens on five failures in a row."""
    monkeypatch.setattr(CircuitBreaker, "PAUSE_S", 3600.0)  # longer than the test, whatever the machine
    async with service(reply(500)) as (layout, server):
        for _ in range(8):
            with pytest.raises(UnreadableDocument):
                await extract_file(PICTURE, "scan.png", layout, Run(REQUEST_S), timeout_s=REQUEST_S)
    assert len(server.requests) == 5
