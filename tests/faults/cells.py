"""One cell of the degradation matrix: an operation, asked over HTTP's handlers, while one neighbour fails one way."""

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import azure.functions as func
from werkzeug.wrappers import Request

from functions.http import make_handler
from functions.routes import ROUTES, Route
from local_emulator.document_service import analyzed
from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import served
from rag_core.core.errors import StorageFull, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Document, Extraction, Original, Scope
from rag_core.core.retrying import Dependency
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence
from rag_core.jobs.sqlite_jobs import SqliteJobs
from rag_core.providers.openai import OpenAIChatModel, OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.workbench import expansion_step, retrieval_steps
from rag_core.workbench.session import WorkbenchSession
from tests.fakes import ConceptEmbedder, OverlapReranker, ScriptedLLM, chunk, filled
from tests.faults.replies import completion, embeddings, error
from tests.faults.search_faults import Faulty
from tests.faults.server import Fault, FaultServer, black_hole, drip, failing, late, reply, reset, reset_within
from tests.ingestion.pdf_files import lines, pdf

DEADLINE_S, HUNG_S = 20.0, 4.0  # of a request; of one that nothing but its deadline ends
WITHIN_S, HASTY_S, PATIENT_S = 0.02, 0.25, 5.0  # a delay that is allowed; what a try may take where it hangs, and else
WIDE = 5  # of ConceptEmbedder's vectors
SCOPE = Scope("default")
INDEX = "matrix"
SAID = "P0700 is stored by the TCM."
MANUAL = (
    chunk("a", f"{SAID} Hot oil raises P0700.", "P0700"),
    chunk("b", "The brake caliper of the ABS stores P0300.", "P0300", document="brakes"),
)
SCAN = b"\x89PNG\r\n\x1a\n and so on"
WORD = (Path(__file__).parents[2] / "examples" / "service-bulletin.docx").read_bytes()

TASKS = ("query_expansion", "rerank", "answer", "summary")
ALL = json.dumps(  # a reply to each of them
    {
        "queries": ["Which part keeps P0700?"],
        "scores": [5, 5],
        "hyde": "The TCM keeps P0700.",
        "answerable": True,
        "sentences": [{"text": SAID, "evidence": ["e1"]}],
    }
)
CONSULTED = ("consult standard", "consult rerank", "consult advanced", "consult facets")
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"query": "What stores P0700?", "pipeline": name.split()[1], "top_k": 5} for name in CONSULTED},
    "ask": {"query": "What stores P0700?", "pipeline": "standard"},
    "index_document": {"content": f"{SAID}\n\nThe gearbox is hot.", "document_id": "notes"},
    "index_document (docx)": {"content_base64": base64.b64encode(WORD).decode(), "filename": "bulletin.docx"},
    "index_document (scan)": {
        "content_base64": base64.b64encode(SCAN).decode(),
        "filename": "s.png",
    },
    "get_document_summary": {"document_id": "manual", "refresh": True},
    "extract_citations": {"text": SAID},
    "graph_query": {"operation": "top"},
    "documents": {},
    "document": {"document_id": "manual"},
    "document_page": {"document_id": "brakes", "page": 1},
    "run_expansion": {"original_query": "What stores P0700?", "use_full_model": False},
    **{name: {"id": "1"} for name in ("embed_query", "retrieve_query", "consolidate_query", "run_augmented")},
    **{name: {"id": "1"} for name in ("get_query", "list_results")},
    "list_queries": {},
}


@dataclass(frozen=True, slots=True)
class Cell:
    operation: str
    dependency: str
    fault: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is told of the fault, in codes, and what the reply has all the same."""

    status: int
    codes: tuple[str, ...]
    keeps: tuple[str, ...]


async def outcome(cell: Cell, services: SearchService) -> Outcome:
    """Run the cell. Raises TimeoutError when it outlasts its deadline."""
    name = "consult_rag" if cell.operation.startswith("consult") else cell.operation.split()[0]
    route = next(route for route in ROUTES if route.name == name)
    request = _request(route, REQUESTS[cell.operation])
    ends_s = HUNG_S if cell.fault == "latency beyond" and cell.dependency == "store" else DEADLINE_S
    async with broken(cell, services) as parts:
        handle = make_handler(route, lambda: Settings(request_timeout_s=ends_s), lambda: parts)
        async with asyncio.timeout(1.1 * DEADLINE_S):
            answer = await handle(request)
    return _read(answer.status_code, json.loads(answer.get_body()))


def _request(route: Route, asked: Mapping[str, Any]) -> func.HttpRequest:
    """What is in the address goes there, the rest into the body; a GET has none."""
    addressed = {name: value for name, value in asked.items() if f"{{{name}}}" in route.path}
    said = {name: value for name, value in asked.items() if name not in addressed}
    gets = route.methods == ("GET",)
    body = b"" if gets and not said else json.dumps(said).encode()
    headers = {"content-type": "application/json"}
    method = "GET" if gets and not said else "POST"
    return func.HttpRequest(method, f"/{route.path}", headers=headers, route_params=addressed, body=body)


def _read(status: int, told: Mapping[str, Any]) -> Outcome:
    if not told["success"]:
        return Outcome(status, (told["error"]["code"],), ())
    codes = sorted({lesser["code"] for lesser in told["degraded"]})
    parts = {
        "answer": told.get("status") == "answered",
        "chunks": told.get("chunks") if "extractor" in told else 0,
        "a job": "status_url" in told,
        "found by words": told.get("words_only"),
        "lines": told.get("lines"),
        "a page": "image_base64" in told,
        "wordings": told.get("expanded_queries"),
        "vectors": told.get("vector_status") == "vec" and "message" in told,
        "passages": told.get("chunks_retrieved"),
        "groups": told.get("consolidated_count"),
        "a response": told.get("response_text"),
        "the question": told.get("original_query"),
        "a list": "total" in told,
    }
    kept = [part for part in ("documents", "facets", "claims", "summary", "nodes") if told.get(part)]
    return Outcome(status, tuple(codes), (*kept, *(part for part, there in parts.items() if there)))


@asynccontextmanager
async def broken(cell: Cell, services: SearchService) -> AsyncIterator[Kit]:
    """Parts that work, but for one."""
    index = await filled(*MANUAL, scope=SCOPE)
    archive = await _archived(index)
    llm = ScriptedLLM(**dict.fromkeys(TASKS, ALL), rag_augmentation=SAID)
    sound = Kit(index, llm, OverlapReranker(), archive=archive, jobs=SqliteJobs(None))
    async with NEIGHBOURS[cell.dependency](sound, cell.fault, services) as parts:
        yield parts
    await sound.close()


async def _archived(index: Index) -> SqlArchive:
    """Two documents as they came, and the question 1, embedded and retrieved for."""
    archive = SqlArchive(ArchiveDatabase(None))
    await archive.save_original(Original("manual", "default", "", "", "text", "hash of manual", SAID.encode()))
    await archive.save_original(Original("brakes", "default", "", "", "pdf", "hash of brakes", pdf(lines(SAID))))
    await archive.save_edited_preset("workbench", {"context_min_chars": 10})
    bench = WorkbenchSession(Kit(index, ScriptedLLM(), OverlapReranker(), archive=archive), Run(), SCOPE)
    kept = await expansion_step.save_pasted_expansion("What stores P0700?", ALL, bench)
    await retrieval_steps.embed_saved_query(kept.id, bench)
    await retrieval_steps.retrieve_for_saved_query(kept.id, bench)
    return archive


@asynccontextmanager
async def _embedder(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    with failing(wire(fault, _vectors, embeddings([[float("nan")] * WIDE] * 2))) as server:
        embedder = OpenAIEmbedder(_profile(server, fault), key="k")
        known = ConceptEmbedder()
        known.space = embedder.space
        index = await filled(*MANUAL, scope=SCOPE, embedder=known)
        yield replace(sound, index=Index(index.store, embedder), archive=await _archived(index))
        await embedder.close()


@asynccontextmanager
async def _chat(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    with failing(
        wire(fault, reply(200, completion(ALL)), completion('{"queries": [5], "scores": [NaN, "x"], "sentences": {}}'))
    ) as server:
        chat = OpenAIChatModel(_profile(server, fault), key="k")
        yield replace(sound, llm=chat)
        await chat.close()


def _profile(server: FaultServer, fault: str) -> Any:
    try_s = HASTY_S if fault in HANGS else PATIENT_S
    return replace(PROVIDER_PROFILES["openai"], base_url=f"{server.url}/v1", dimensions=WIDE, attempt_timeout_s=try_s)


@asynccontextmanager
async def _layout(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    nonsense = {"status": "succeeded", "analyzeResult": {"pages": None}}
    with failing(wire(fault, _taken, nonsense), DONE) as server:
        layout = DocumentIntelligence(server.url, "k")
        yield replace(sound, layout_reader=layout)
        await layout.close()


@asynccontextmanager
async def _search(sound: Kit, fault: str, services: SearchService) -> AsyncIterator[Kit]:
    def plan(_: Request) -> str | None:
        app.release.wait(WITHIN_S)
        return SEARCH_FAULTS[fault]

    app = Faulty(services, plan)
    with served(app) as url, _released(app):
        async with _azure(url, HASTY_S / 2 if fault in HANGS else PATIENT_S) as store:
            yield replace(sound, index=Index(store, sound.index.embedder))


@contextmanager
def _released(app: Faulty) -> Iterator[None]:
    try:
        yield
    finally:
        app.release.set()


@asynccontextmanager
async def _azure(url: str, try_s: float) -> AsyncIterator[AzureSearchStore]:
    asked = Dependency("Azure AI Search", code="search_throttled", try_s=try_s)
    store = AzureSearchStore(url, "key", INDEX, dimensions=WIDE, space=ConceptEmbedder.space, dependency=asked)
    try:
        yield store
    finally:
        await store.close()


async def stock(services: SearchService) -> None:
    """Put the manual into the search service."""
    with served(services) as url:
        async with _azure(url, PATIENT_S) as store:
            await store.setup()
            index = Index(store, ConceptEmbedder())
            for each in MANUAL:
                document = Document(each.document_id, SCOPE.workflow_id, each.title, each.source, "h", "test")
                await index.add_document(document, [each], SCOPE)


@asynccontextmanager
async def _reranker(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    yield replace(sound, reranker=_Part(sound.reranker, fault, lambda name, *_: name == "score_passages"))


@asynccontextmanager
async def _store(
    sound: Kit, fault: str, _: SearchService, *, meets: Callable[..., bool] = lambda *_: True
) -> AsyncIterator[Kit]:
    yield replace(sound, index=replace(sound.index, store=_Part(sound.index.store, fault, meets)))


@asynccontextmanager
async def _archive(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    yield replace(sound, archive=_Part(sound.archive, fault, lambda *_: True))


def _by_words(name: str, probes: Sequence[Any] = (), *_: object) -> bool:
    return name == "search" and any(probe.lexical_query for probe in probes)


def _by_meaning(name: str, probes: Sequence[Any] = (), *_: object) -> bool:
    return name == "search" and any(probe.vector is not None for probe in probes)


def _writes(name: str, *_: object) -> bool:
    return name in ("replace_document", "save_summary")


class _Part:
    """A part of this process, of which the calls that `meets` picks fail."""

    def __init__(self, part: Any, fault: str, meets: Callable[..., bool]) -> None:
        self._part, self._fault, self._meets = part, fault, meets

    def __getattr__(self, name: str) -> Any:
        whole = getattr(self._part, name)
        if not asyncio.iscoroutinefunction(whole) or name == "close":
            return whole

        async def call(*args: Any, **fields: Any) -> Any:
            if self._meets(name, *args):
                await PARTS[self._fault]()
            return await whole(*args, **fields)

        return call


async def _never() -> None:
    await asyncio.Event().wait()


async def _down() -> None:
    raise Unavailable("it is down", code="part_down")


async def _full() -> None:
    raise StorageFull("the disk is full")


PARTS = {
    "latency within": partial(asyncio.sleep, WITHIN_S),
    "latency beyond": _never,
    "down": _down,
    "disk full": _full,
}
NEIGHBOURS: Mapping[str, Callable[..., Any]] = {
    "embedder": _embedder,
    "chat": _chat,
    "document intelligence": _layout,
    "search service": _search,
    "reranker": _reranker,
    "word leg": partial(_store, meets=_by_words),
    "meaning leg": partial(_store, meets=_by_meaning),
    "store": _store,
    "archive": _archive,
    "disk": partial(_store, meets=_writes),
}

HANGS = ("latency beyond", "black hole", "slow drip")
HOUR = {"retry_after": "3600"}
SEARCH_FAULTS: Mapping[str, str | None] = {  # by the names of `search_faults`
    "latency within": None,
    "latency beyond": "late",
    "black hole": "black_hole",
    "reset before the reply": "reset_after",
    "reset within the reply": "reset",
    "slow drip": "drip",
    "429": "throttled",
    "429 and an hour to wait": "huge_retry_after",
    "500": "failed",
    "503": "unavailable",
    "HTML with 200": "html",
    "truncated JSON": "cut",
    "valid nonsense": "empty",
    "401": "unauthorized",
}


def wire(fault: str, good: Fault, nonsense: object) -> Fault:
    """One of the 14 faults of RELIABILITY 6.5 as a server does it."""
    return {
        "latency within": late(WITHIN_S, good),
        "latency beyond": late(20 * HASTY_S, good),
        "black hole": black_hole,
        "reset before the reply": reset,
        "reset within the reply": reset_within,
        "slow drip": drip,
        "429": error(429),
        "429 and an hour to wait": error(429, **HOUR),
        "500": error(500),
        "503": error(503),
        "HTML with 200": reply(200, b"<html>Sign in</html>", kind="text/html"),
        "truncated JSON": reply(200, json.dumps(nonsense).encode()[:-9]),
        "valid nonsense": reply(200, nonsense),
        "401": error(401, "invalid_api_key"),
    }[fault]


def _vectors(server: FaultServer, connection: socket.socket) -> None:
    count = len(_body(server)["input"])
    reply(200, embeddings([[1.0, 0.0, 0.0, 0.0, 0.1]] * count))(server, connection)


def _body(server: FaultServer) -> Any:
    return json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])


def _taken(server: FaultServer, connection: socket.socket) -> None:
    reply(202, operation_location=f"{server.url}/documentintelligence/x", retry_after="0")(server, connection)


SEEN = Extraction((Block(SAID, "paragraph", 1, 1),), None, "docx")
DONE = reply(body={"status": "succeeded", "analyzeResult": analyzed(SEEN)}, retry_after="0")
