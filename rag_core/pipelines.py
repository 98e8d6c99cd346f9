"""The pipelines by name, and the two ways to use one: to search with it, and to answer with it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from rag_core.core.errors import InvalidRequest
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, SearchResult
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.retrieval.advanced import run_advanced
from rag_core.retrieval.agentic import run_agentic
from rag_core.retrieval.conversation import resolve_conversation
from rag_core.retrieval.document_versions import drop_other_versions
from rag_core.retrieval.facets import run_facets
from rag_core.retrieval.rerank import run_rerank
from rag_core.retrieval.standard import run_standard
from rag_core.text.anaphora import stands_alone

Pipeline = Callable[[Query, Kit, Run], Awaitable[SearchResult]]


async def _run_classical(query: Query, kit: Kit, run: Run) -> SearchResult:
    from rag_core.guard.classical import run_classical  # loaded late: its patterns take an eighth of a first answer

    return await run_classical(query, kit, run)


PIPELINES: Mapping[str, Pipeline] = {
    "standard": run_standard,
    "rerank": run_rerank,
    "advanced": run_advanced,
    "facets": run_facets,
    "classical": _run_classical,
    "agentic": run_agentic,
}
HITS_PER_PASSAGE = 2  # retrieved for each passage of an answer's evidence, from which the best are chosen
MAX_NAMED_FIELDS = 20  # of those that exist, in the advice on a filter for a field that does not


async def search_with_pipeline(query: Query, kit: Kit, run: Run, *, pipeline: str = "advanced") -> SearchResult:
    """Search with the named pipeline, noting in `run` what happened on the way.

    Raises:
        InvalidRequest: no pipeline has that name, or a requested facet does not exist.
        Unavailable: a service that the pipeline cannot do without did not answer.
    """
    if pipeline not in PIPELINES:
        raise InvalidRequest("pipeline", f"must be one of {', '.join(PIPELINES)}")
    result = await PIPELINES[pipeline](query, note_techniques(kit, run), run)
    if query.facets and pipeline != "facets":
        result = replace(result, facets=(await run_facets(query, kit, run)).facets)
    if not result.hits and not any(facet.total for facet in result.facets):
        run.warn(*await run.step("reason", _explain_empty_result(query, kit)))
    return result


async def answer_with_pipeline(query: Query, kit: Kit, run: Run, *, pipeline: str = "standard") -> Answer:
    """Answer from the hits of the named pipeline, each sentence verified against what it cites.

    A refusal ("I don't know") is an answer too: its status says so, and it has the nearest passages as evidence. The
    classical pipeline answers by itself.

    Raises:
        InvalidRequest: no pipeline has that name, it counts instead of ranking, or the input check refuses the query.
        Unavailable: a service that the pipeline cannot do without did not answer.
    """
    if pipeline == "facets":
        raise InvalidRequest("pipeline", "facets counts and does not answer: choose another, such as standard")
    if pipeline == "classical":
        from rag_core.guard.classical import answer_classical

        return await answer_classical(query, note_techniques(kit, run), run)
    from rag_core.answering.answer import answer_query  # loaded late: a search does not wait for it

    numbers = query.preset.search
    top_k = min(numbers.top_k, HITS_PER_PASSAGE * query.preset.evidence.top_n)
    narrow_query = query.override(captions=0, answers=0, top_k=top_k, semantic=min(numbers.reranked_hits, top_k))
    result = await search_with_pipeline(narrow_query, kit, run, pipeline=pipeline)
    return await answer_query(query, drop_other_versions(query.text, result.hits), note_techniques(kit, run), run)


async def answer_in_conversation(query: Query, kit: Kit, run: Run) -> tuple[Query, Answer]:
    """Answer a query that may go on from turns before it, and return it as it was answered.

    One that is refused is answered without these turns if it says its own subject, which they drown where no chat model
    writes the question to stand alone.
    """
    from rag_core.answering.disagreements import describe_disagreements  # loaded late: a search does not wait for it

    (asked, answer), notes = await run.try_out(_answer_after_turns(query, kit, run))
    if answer.status == "unknown" and asked.history and stands_alone(query.text):
        alone = replace(query, history=())
        own_answer, own_notes = await run.try_out(answer_with_pipeline(alone, kit, run, pipeline=query.preset.pipeline))
        if own_answer.status != "unknown":
            asked, answer, notes = alone, own_answer, own_notes
    run.keep_notes(notes)
    for disagreement in describe_disagreements(answer.claims):
        run.warn("sources_disagree", disagreement)
    return asked, answer


async def _answer_after_turns(query: Query, kit: Kit, run: Run) -> tuple[Query, Answer]:
    asked, kit = await resolve_conversation(query, kit, run)
    return asked, await answer_with_pipeline(asked, kit, run, pipeline=query.preset.pipeline)


async def _explain_empty_result(query: Query, kit: Kit) -> tuple[str, str]:
    """Return why nothing was found: a warning's code, and in words what would be right."""
    fields = await kit.index.store.list_facet_fields(query.scope)
    unknown = sorted({condition.field for condition in query.filters} - set(fields))
    if not fields:
        return "nothing_indexed", "this workflow holds no document that the caller may see: index one first"
    if unknown:
        more = [f"{len(fields) - MAX_NAMED_FIELDS} more"] if len(fields) > MAX_NAMED_FIELDS else []
        known = ", ".join([*fields[:MAX_NAMED_FIELDS], *more])
        return "unknown_filter_field", f"no document has {', '.join(unknown)}; the fields are {known}"
    return "no_results", "nothing in this workflow matches: try other words, or fewer filters"
