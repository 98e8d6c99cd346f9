"""Every text of every reply while a chat model writes hostile Markdown wherever it is asked for words."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.host import Host
from rag_core.answering.summaries import summarize_document
from rag_core.core.model import Claim, Evidence
from rag_core.core.ports import Completion, Prompt, Reranker
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.prompts.screening import screen_stored_text
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from tests.fakes import SCOPE, chunk, filled, kit
from tests.markdown_rendering import find_live_parts

FACT = "P0700 is stored by the TCM of the transmission."
MARK = "zzyzx"  # in every text of the model, so that the fields it reaches are seen
IMAGE = "![a](https://evil.invalid/p.png)"
PAYLOADS = (  # of each sort one: the other texts are tried on the screen itself
    IMAGE,
    "![a]\n\n[a]: https\\:\\/\\/evil.invalid/p",
    "![a]\n\n[a]: &#104;ttps&colon;//evil.invalid/p",
    "<img src=//evil.invalid/p> [a](/rag/x)",
)
QUESTION = {"query": "What stores P0700?", "workflow_id": SCOPE.workflow_id}
MODEL_FIELDS = {  # of replies: what a chat model wrote, wholly or in part
    "ask": {"answer", "cited_answer", "claims.text"},
    "augmented_prompt": {"prompt"},
    "consult_rag": {"queries"},
    "document": {"summary"},
    "documents": {"documents.summary"},
    "get_document_summary": {"summary"},
    "get_query": {
        *("entities", "expanded_queries", "hyde_answer", "intent", "steps.expand.came_out.intent"),
        *("steps.retrieve.went_in.entities", "steps.retrieve.went_in.intent"),
    },
    "get_result": {"response_text", "details.claims.text"},
    "list_queries": {"queries.intent"},
    "list_results": {"results.response_text"},
    "mcp consult_rag": {"result.content.text.queries", "result.structuredContent.queries"},
    "mcp get_document_summary": {"result.content.text.summary", "result.structuredContent.summary"},
    "rag_query": {"answer"},
    "run_augmented": {"response_text"},
    "run_expansion": {"entities", "expanded_queries", "hyde_answer", "intent"},
}


class HostileLLM:
    """Writes a payload wherever it is asked for words."""

    name = "hostile"

    def __init__(self, payload: str) -> None:
        self.payload = payload

    async def complete(self, prompt: Prompt) -> Completion:
        words = f"{FACT} {MARK} {self.payload}"
        said: dict[str, Any] = {
            "query_expansion": {
                "queries": [words, f"Which {words}"],
                "hyde": words,
                "intent": f"{MARK} {self.payload}",  # cut to 50 characters
                "entities": [words],
            },
            "rerank": {"grades": [{"id": "p1", "score": 10}, {"id": words, "score": words}], "reasons": [words]},
            "answer": {"answerable": True, "sentences": [{"text": words, "evidence": ["e1"]}], "note": words},
        }
        return Completion(json.dumps(said[prompt.task]) if prompt.task in said else words, "hostile-1")


@contextmanager
def serving(payload: str) -> Iterator[Client]:
    """The app over real parts in memory, with a hostile model and one document."""

    async def build() -> Any:
        index = await filled(chunk("c1", FACT, "P0700"), chunk("c2", f"{FACT} It is read there.", document="notes"))
        parts = kit(index, llm=HostileLLM(payload))  # type: ignore[arg-type]
        return replace(parts, archive=SqlArchive(ArchiveDatabase(None)), keep_runs=True)

    parts = asyncio.run(build())
    host = Host(function_app.build_app(lambda: Settings(data_dir=None, collection=SCOPE.workflow_id), lambda: parts))
    try:
        yield Client(host)
    finally:
        host.close()


def drive(client: Client) -> Iterator[tuple[str, Any]]:
    """Call every operation whose reply may hold what a model wrote; yield its name and the reply."""

    def post(path: str, **fields: Any) -> Any:
        return read(client.post(path, json={"workflow_id": SCOPE.workflow_id, **fields}))

    def get(path: str) -> Any:
        return read(client.get(f"{path}?workflow_id={SCOPE.workflow_id}"))

    for pipeline in ("standard", "rerank", "advanced", "classical"):
        yield "consult_rag", post("/api/consult_rag", query=QUESTION["query"], pipeline=pipeline)
        yield "ask", post("/api/rag/ask", query=QUESTION["query"], pipeline=pipeline)
    yield "rag_query", read(client.post("/api/rag/query", json={"query": QUESTION["query"]}))
    for refresh in (False, True):
        yield "get_document_summary", post("/api/get_document_summary", document_id="manual", refresh=refresh)
    yield (
        "get_document_summary",
        read(client.get(f"/api/get_document_summary?document_id=manual&workflow_id={SCOPE.workflow_id}")),
    )
    yield "documents", get("/api/documents")
    yield "document", post("/api/document", document_id="manual")
    yield "graph_query", post("/api/graph_query", operation="neighbors", entity="P0700")
    yield "expansion_prompt", post("/rag/expansion/prompt", original_query=QUESTION["query"])
    pasted = json.dumps({"queries": [f"{FACT} {MARK} {IMAGE}"], "hyde": f"{MARK} {IMAGE}"})
    post("/rag/expansion/manual", original_query=QUESTION["query"], llm_response=pasted)
    expanded = post("/rag/expansion/run", original_query=QUESTION["query"])
    yield "run_expansion", expanded
    saved = f"/rag/queries/{expanded['query_id']}"
    for step in ("embed", "retrieve", "consolidate"):
        yield f"{step}_query", post(f"{saved}/{step}")
    yield "augmented_prompt", get(f"{saved}/augment/prompt")
    yield "run_augmented", post(f"{saved}/augment/run", use_full_model=True)
    yield "paste_answer", post(f"{saved}/augment/manual", response_text=f"{FACT} {MARK} {IMAGE}")
    yield "list_results", get(f"{saved}/results")
    for result in get(f"{saved}/results")["results"]:
        yield "get_result", get(f"{saved}/results/{result['id']}")
    yield "list_queries", get("/rag/queries")
    for query in get("/rag/queries")["queries"]:
        yield "get_query", get(f"/rag/queries/{query['id']}")
    yield "replay_query", post(f"{saved}/replay", preset="standard")
    summarized = {"document_id": "manual", "workflow_id": SCOPE.workflow_id}
    full = {**QUESTION, "format": "full"}
    for tool, arguments in {"consult_rag": full, "get_document_summary": summarized}.items():
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        yield f"mcp {tool}", read(client.post("/api/mcp", json=message))


def read(reply: Any) -> Any:
    assert reply.status_code == 200, reply.data
    return json.loads(reply.data)


def texts_in(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a reply with its field; the text of an MCP result is itself JSON."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, list):
        for item in data:
            yield from texts_in(item, path)
    elif isinstance(data, dict):
        for name, value in data.items():
            inner = json.loads(value) if path == "result.content" and name == "text" else value
            yield from texts_in(inner, f"{path}.{name}" if path else name)


find_live_parts_once = cache(find_live_parts)


def look(payload: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return by operation the fields that the model's words reached, and those in which anything is live."""
    marked: dict[str, set[str]] = defaultdict(set)
    live: dict[str, set[str]] = defaultdict(set)
    with serving(payload) as client:
        for name, reply in drive(client):
            for path, text in texts_in(reply):
                field = re.sub(r"\.(?:original|expanded\d+)$", "", path)
                if MARK in text:
                    marked[name].add(field)
                if find_live_parts_once(text):
                    live[name].add(field)
    return marked, live


@pytest.fixture(autouse=True)
def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence of the model is believed, so that it is the screen alone that keeps a payload out."""

    async def believe(
        claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], reranker: Reranker
    ) -> list[Claim]:
        return [replace(claim, verdict="verified") for claim in claims]

    monkeypatch.setattr("rag_core.answering.citations.verify_with_cross_encoder", believe)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_reply_holds_anything_live_that_a_model_wrote(payload: str) -> None:
    """C41: no field is fetched, runs, or leads anywhere, whatever the model writes and wherever it is stored."""
    marked, live = look(payload)
    assert live == {}
    assert marked == MODEL_FIELDS


def test_every_field_is_alive_when_the_screen_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault, which shows that each field of the table is looked at and is screened by nothing else."""
    for module in ("prompts.completions", "answering.answer", "answering.summaries", "workbench.responses"):
        monkeypatch.setattr(f"rag_core.{module}.screen_text", lambda text, _: (text, ()))
    monkeypatch.setattr("rag_core.retrieval.expansion.screen_text", lambda text, _: (text, ()))
    for module in ("document_views", "saved_queries", "saved_results"):
        monkeypatch.setattr(f"functions.{module}.screen_stored_text", lambda text: text)
    assert look(IMAGE)[1] == MODEL_FIELDS


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_a_summary_that_was_stored_by_an_earlier_version_is_dead_too(payload: str) -> None:
    """C41: what clients of MCP and the page of documents are given was screened when it is read, not when written."""
    index = await filled(chunk("c1", FACT))
    await index.store.save_summary("manual", f"{FACT} {payload}", SCOPE)
    stored = await summarize_document("manual", SCOPE, kit(index), Run())
    assert (stored.origin, find_live_parts(stored.text)) == ("stored", [])
    document = await index.store.load_document("manual", SCOPE)
    assert document is not None
    assert find_live_parts(document.summary) != []
    assert find_live_parts(screen_stored_text(document.summary)) == []
