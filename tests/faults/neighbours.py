"""The neighbours of the degradation matrix: parts that work, of which one fails in one way."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from werkzeug.wrappers import Request

from local_emulator.document_service import build_analyze_result
from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core.errors import StorageFull, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoRedactor
from rag_core.core.model import Block, Document, Extraction, Original, Scope
from rag_core.core.retrying import Dependency
from rag_core.core.run import Run
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence
from rag_core.jobs.sqlite_jobs import SqliteJobs
from rag_core.providers.embedded_cache import EmbeddedCache
from rag_core.providers.openai import OpenAIChatModel, OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from rag_core.providers.redis_cache import RedisCache
from rag_core.providers.web_search import DuckDuckGoSearch
from rag_core.stores.archive import ArchiveDatabase, SqlArchive, SqlQueryLog
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.workbench import expansion_step, retrieval_steps
from rag_core.workbench.session import WorkbenchSession
from tests.fakes import ConceptEmbedder, OverlapReranker, ScriptedLLM, chunk, filled
from tests.faults.replies import completion, embeddings, error
from tests.faults.search_faults import Faulty
from tests.faults.server import Fault, FaultServer, black_hole, drip, failing, late, reply, reset, reset_within
from tests.ingestion.pdf_files import lines, pdf
from tests.proposal_records import RECORDS

WITHIN_S, HASTY_S, PATIENT_S = 0.02, 0.25, 5.0  # a delay that is allowed; what a try may take where it hangs, and else
WIDE = 5  # of ConceptEmbedder's vectors
SCOPE = Scope("default")
INDEX = "matrix"
SAID = "P0700 is stored by the TCM."
MANUAL = (
    chunk("a", f"{SAID} Hot oil raises P0700.", "P0700", metadata={"proposal_id": "manual", "stage": "forum"}),
    chunk("b", "The brake caliper of the ABS stores P0300.", "P0300", document="brakes"),
)

TASKS = ("query_expansion", "rerank", "answer", "summary")
ALL = json.dumps(  # a reply to each of them
    {
        "queries": ["Which part keeps P0700?"],
        "grades": [{"id": "p1", "score": 5}, {"id": "p2", "score": 5}],
        "hyde": "The TCM keeps P0700.",
        "answerable": True,
        "sentences": [{"text": SAID, "evidence": ["e1"]}],
    }
)


@asynccontextmanager
async def broken(dependency: str, fault: str, services: SearchService) -> AsyncIterator[Kit]:
    """Parts that work, but for one."""
    index = await filled(*MANUAL, scope=SCOPE)
    archive = await _archived(index)
    llm = ScriptedLLM(**dict.fromkeys(TASKS, ALL), rag_augmentation=SAID)
    sound = Kit(
        index,
        llm,
        OverlapReranker(),
        redactor=RuleBasedRedactor(),
        cache=EmbeddedCache(None, b"secret"),
        query_log=SqlQueryLog(ArchiveDatabase(None)),
        archive=archive,
        jobs=SqliteJobs(None),
    )
    async with NEIGHBOURS[dependency](sound, fault, services) as parts:
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
        wire(fault, reply(200, completion(ALL)), completion('{"queries": [5], "grades": [NaN, "x"], "sentences": {}}'))
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
    with serve_wsgi(app) as url, _released(app):
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
    with serve_wsgi(services) as url:
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


@asynccontextmanager
async def _redactor(sound: Kit, _fault: str, _: SearchService) -> AsyncIterator[Kit]:
    yield replace(sound, redactor=NoRedactor())


@asynccontextmanager
async def _cache(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    with _silent(down=fault == "down") as address:
        cache = RedisCache(f"redis://{address}", b"secret")
        yield replace(sound, cache=cache)
        await cache.close()


@asynccontextmanager
async def _query_log(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    database: Any = _Part(ArchiveDatabase(None), fault, lambda *_: True)
    yield replace(sound, query_log=SqlQueryLog(database))


@asynccontextmanager
async def _web(sound: Kit, fault: str, _: SearchService) -> AsyncIterator[Kit]:
    page = RESULTS.format(words="Adolphe Sax invented the saxophone in 1840.").encode()
    with failing(wire(fault, reply(200, page, kind="text/html"), {"results": []})) as server:
        try_s = HASTY_S if fault in HANGS else PATIENT_S
        web = DuckDuckGoSearch(server.url, dependency=Dependency("the engine", code="web_unavailable", try_s=try_s))
        yield replace(sound, web=web)
        await web.close()


@asynccontextmanager
async def _proposals_database(sound: Kit, _fault: str, _: SearchService) -> AsyncIterator[Kit]:
    yield sound  # `proposals_source` fails


@contextmanager
def proposals_source(dependency: str, fault: str) -> Iterator[str]:
    """What RAG_PROPOSALS_SOURCE names: a file, or the database that fails."""
    if dependency == "proposals database":
        with _silent(down=fault == "down") as address:
            yield f"postgresql://{address}/dao"
    else:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "dao.jsonl"
            file.write_text("\n".join(map(json.dumps, RECORDS)), "utf-8")
            yield str(file)


@contextmanager
def _silent(*, down: bool) -> Iterator[str]:
    """The address of a server that takes connections and says nothing, or of one that is gone."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        if not down:
            yield address
    if down:
        yield address


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
    "redactor": _redactor,
    "cache": _cache,
    "query log": _query_log,
    "web search": _web,
    "proposals database": _proposals_database,
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
DONE = reply(body={"status": "succeeded", "analyzeResult": build_analyze_result(SEEN)}, retry_after="0")
RESULTS = (
    '<html><body><div class="result web-result"><h2><a class="result__a" href="https://sax.example/">Saxophones</a></h2>'
    '<a class="result__snippet" href="https://sax.example/">{words}</a></div></body></html>'
)
