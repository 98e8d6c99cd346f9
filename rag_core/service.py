"""The front door: consult the index, summarize a document, cite a text."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Literal

from rag_core.answering import citations as citing
from rag_core.answering.answer import answered
from rag_core.answering.summaries import extract
from rag_core.answering.summaries import summarize as summarized
from rag_core.core.errors import InvalidRequest, StorageFull, no_document
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Claim, Document, Entity, Query, Result, Scope
from rag_core.core.ports import LLM, ChunkStore, Prompt, Reply, Reranker
from rag_core.core.run import Run
from rag_core.guard.classical import answered as guarded
from rag_core.pipelines import PIPELINES
from rag_core.retrieval.facets import facets
from rag_core.retrieval.search import embed
from rag_core.retrieval.steps import on_any_leg

Origin = Literal["stored", "model", "extractive"]
STORED: Origin = "stored"
EVERY_CHUNK = 100_000
FIELDS_NAMED = 20  # of those there are, when a filter asks for another
SPARE = 2  # hits for each passage of an answer's evidence: the ranker reads them again, with their titles
SUMMARIZED_CHARS = 100_000  # some 25,000 tokens: within the window of every current chat model
SUMMARY_S = 60.0
CITE_S = 120.0
CLAIMS = 1000  # of a text to cite: each is embedded, by a hosted model in a call of its own


@dataclass(frozen=True, slots=True)
class Summary:
    """A document in a few sentences. `chunks` counts its chunks, `entities` are those that stand in them."""

    text: str
    origin: Origin
    document: Document
    entities: tuple[Entity, ...]
    chunks: int


async def consult(query: Query, kit: Kit, run: Run, *, pipeline: str = "advanced") -> Result:
    """Answer `query` by the named pipeline, noting in `run` what happened on the way.

    Raises:
        InvalidRequest: no pipeline of that name, or a facet that is not there.
        Unavailable: a neighbour the pipeline cannot do without did not answer.
    """
    if pipeline not in PIPELINES:
        raise InvalidRequest("pipeline", f"must be one of {', '.join(PIPELINES)}")
    result = await PIPELINES[pipeline](query, noting(kit, run), run)
    if query.facets and pipeline != "facets":
        result = replace(result, facets=(await facets(query, kit, run)).facets)
    if not result.hits and not any(facet.total for facet in result.facets):
        run.warn(*await run.step("reason", _nothing_found(query, kit)))
    return result


async def ask(query: Query, kit: Kit, run: Run, *, pipeline: str = "standard") -> Answer:
    """An answer to `query` from what the named pipeline finds, each sentence checked against what it cites.

    "Don't know" is an answer too: its status says so, and it has the nearest passages beside it. The classical pipeline
    answers by itself.

    Raises:
        InvalidRequest: no pipeline of that name, one that counts instead of finding, or a question that is an attack.
        Unavailable: a neighbour that the pipeline cannot do without did not answer.
    """
    if pipeline == "facets":
        raise InvalidRequest("pipeline", "facets counts and does not answer: choose another, such as standard")
    if pipeline == "classical":
        return await guarded(query, noting(kit, run), run)
    wanted = min(query.top_k, SPARE * query.top_n)
    narrow = replace(query, captions=0, answers=0, top_k=wanted, semantic=min(query.semantic, wanted))
    found = await consult(narrow, kit, run, pipeline=pipeline)
    return await answered(query, found.hits, noting(kit, run), run)


async def summarize(document_id: str, scope: Scope, kit: Kit, run: Run, *, refresh: bool = False) -> Summary:
    """The stored summary of a document, or a new one, which is then stored (unless it only stands in for a model's).

    Raises:
        NotFound: there is no such document, or it is not the caller's.
    """
    store = kit.index.store
    document = await run.step("document", store.document(document_id, scope))
    if document is None:
        raise no_document()
    chunks = await run.step("chunks", store.select(replace(scope, document_ids=(document_id,)), limit=EVERY_CHUNK))
    if document.summary and not refresh:
        text, origin = document.summary, STORED
    else:
        text, origin = await _summarized(document, [chunk.content for chunk in chunks], scope, noting(kit, run), run)
    entities = tuple(dict.fromkeys(entity for chunk in chunks for entity in chunk.entities))
    return Summary(text, origin, document, entities, len(chunks))


async def cite(text: str, scope: Scope, kit: Kit, run: Run) -> tuple[Claim, ...]:
    """Each sentence of `text` with a verdict, and with the passages of the index that bear on it.

    Raises:
        InvalidRequest: more sentences than `CLAIMS`.
        Unavailable: the store did not answer.
    """
    claims = citing.claims(text)
    if len(claims) > CLAIMS:
        raise InvalidRequest("text", f"must have at most {CLAIMS} sentences, this has {len(claims)}: send it in parts")
    if not claims:
        return ()
    asked = citing.labelled(claims)
    embedding = embed(asked, kit.index, how="hybrid")
    vectors = await run.attempt("embed", embedding, otherwise={}, fallback="lexical search only")
    look = partial(citing.look_up, asked, vectors, scope, kit.index)
    found = await on_any_leg(lambda how: look(how=how), "hybrid" if vectors else "keyword", run)
    evidence = [citing.as_evidence(hits) for hits in found]
    judged = await run.attempt(
        "cite",
        citing.judge(claims, evidence, noting(kit, run).reranker),
        otherwise=None,
        fallback="citations by rule, none of them verified",
        within_s=CITE_S,
    )
    return tuple(await asyncio.to_thread(citing.judge_by_rule, claims, evidence) if judged is None else judged)


def noting(kit: Kit, run: Run) -> Kit:
    """The same parts, with the diary told who really did a step."""
    return replace(
        kit,
        llm=_NotedLLM(kit.llm, run),
        larger=_NotedLLM(kit.full, run),
        reranker=_NotedReranker(kit.reranker, run),
    )


@dataclass(frozen=True, slots=True)
class _NotedLLM:
    llm: LLM
    run: Run

    @property
    def name(self) -> str:
        return self.llm.name

    async def complete(self, prompt: Prompt) -> Reply:
        reply = await self.llm.complete(prompt)
        self.run.techniques[prompt.task] = reply.model
        return reply


@dataclass(frozen=True, slots=True)
class _NotedReranker:
    reranker: Reranker
    run: Run

    @property
    def name(self) -> str:
        return self.reranker.name

    async def scores(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        scores = await self.reranker.scores(text, passages)
        self.run.techniques["ranker"] = self.name
        return scores


async def _nothing_found(query: Query, kit: Kit) -> tuple[str, str]:
    """Why nothing was found: a code, and what would be right."""
    fields = await kit.index.store.facet_fields(query.scope)
    unknown = sorted({condition.field for condition in query.filters} - set(fields))
    if not fields:
        return "nothing_indexed", "this workflow holds no document that the caller may see: index one first"
    if unknown:
        return "unknown_filter_field", f"nothing has {', '.join(unknown)}; there are {', '.join(fields[:FIELDS_NAMED])}"
    return "no_results", "nothing in this workflow matches: try other words, or fewer filters"


async def _summarized(
    document: Document, passages: Sequence[str], scope: Scope, kit: Kit, run: Run
) -> tuple[str, Origin]:
    given = list(_within(passages, SUMMARIZED_CHARS))
    if len(given) < len(passages):
        run.warn("summary_of_beginning", f"made from the first {len(given)} of {len(passages)} chunks")
    made = await run.attempt(
        "summary",
        summarized(document.title, given, kit.llm),
        otherwise=None,
        fallback="the document's key sentences, not stored",
        within_s=SUMMARY_S,
    )
    if made is None:
        return extract(given), "extractive"
    text, local = made
    try:
        await run.step("save", _keep(text, document, scope, kit.index.store))
    except StorageFull as full:
        run.degrade("save", full.code, full.message, "the summary is given and not kept")
    return text, "extractive" if local else "model"


async def _keep(summary: str, document: Document, scope: Scope, store: ChunkStore) -> None:
    """Store the summary of a document, unless the document was replaced or removed while it was made."""
    now = await store.document(document.id, scope)
    if now and now.content_hash == document.content_hash:
        await store.save_summary(document.id, summary, scope)


def _within(passages: Sequence[str], chars: int) -> Iterator[str]:
    """The first passages that fit."""
    for passage, end in zip(passages, accumulate(map(len, passages)), strict=True):
        if end <= chars:
            yield passage
