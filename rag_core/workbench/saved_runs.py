"""Saved runs: requests that are kept with their results, and replayed with another preset to compare rankings."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, TypedDict, TypeVar

from rag_core.core.errors import InvalidRequest, RagError
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Filter, SavedQuery, SavedResult, SearchResult
from rag_core.core.presets import Preset, Query
from rag_core.core.run import Run
from rag_core.workbench import preset_and_prompt_edits, step_records
from rag_core.workbench.contexts import encode_ranking
from rag_core.workbench.session import WorkbenchSession, find_next_step, load_saved_query, make_step_missing_error
from rag_core.workbench.step_records import build_step_record

T = TypeVar("T")

SAVE_TIMEOUT_S = 5.0
UNSAVED_PIPELINES = ("classical",)  # pipelines whose questions may only be kept, redacted, in the query log (S4-31)
OVERLAP_DEPTH = 10  # hits of each ranking that are compared
MAX_REPLAY_HITS = 100  # hits of a new ranking


class SavedRunFields(TypedDict, total=False):
    """What a reply says of its call being saved: the id of the saved query, or None; nothing where calls are not."""

    kept: int | None


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage of a ranking with its rank, from 1; `score` is the one by which it was ordered."""

    rank: int
    chunk_id: str
    document_id: str
    title: str
    section: Sequence[str]
    page: int | None
    score: float


@dataclass(frozen=True, slots=True)
class RankingSnapshot:
    """A ranking, and the numbers of the preset that produced it."""

    preset: Mapping[str, Any]
    ranking: tuple[RankedPassage, ...]


@dataclass(frozen=True, slots=True)
class RankChange:
    """A passage with its ranks in two rankings, None where it was not found."""

    chunk_id: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The comparison of a saved ranking with that of another preset.

    `overlap_at_10`, 0..1, is the share of common hits among the first ten, relative to the longer ranking.
    """

    before: RankingSnapshot
    after: RankingSnapshot
    overlap_at_10: float
    moved: tuple[RankChange, ...]


async def save_run(
    query: Query, result: SearchResult, preset: Preset, origin: str, kit: Kit, run: Run
) -> SavedRunFields:
    """Save a query with its hits for the workbench and return the reply fields that say so.

    HyDE answers are not saved: they may contain personal data, and serve for searching only. Queries of the pipeline
    classical are not saved, because it must not pass on personal data. A failure to save is noted in the run as a
    degradation and does not fail the request.
    """
    return {"kept": await _save_run_query(query, result, preset, origin, kit, run)} if kit.keep_runs else {}


async def _save_run_query(
    query: Query, result: SearchResult, preset: Preset, origin: str, kit: Kit, run: Run
) -> int | None:
    if preset.pipeline in UNSAVED_PIPELINES:
        run.warn("run_not_kept", f"queries of the pipeline {preset.pipeline} are kept in the query log only")
        return None
    expanded_queries = tuple(variant.text for variant in result.variants if variant.label.startswith("expanded"))
    saved_query = SavedQuery(
        id=0,
        workflow_id=query.scope.workflow_id,
        user_id=query.scope.user_id,
        original_query=query.text,
        expanded_queries=expanded_queries,
        retrieved_context=tuple(encode_ranking(result.hits)),
        origin=origin,
        preset=preset.export_numbers(),
        steps={"retrieve": _build_retrieval_record(query, result, run)},
    )
    added = await _try_saving(kit.archive.add_query(saved_query, query.scope), run)
    return None if added is None else added.id


async def save_answer_run(
    query: Query, answer: Answer, preset: Preset, origin: str, kit: Kit, run: Run, *, shown: Mapping[str, Any]
) -> SavedRunFields:
    """Save a query with the passages of its answer's evidence, and the answer as its saved result.

    `shown` is kept with the result: the reply, by which the answer can be shown again, and what it followed.
    """
    hits = {passage.hit.chunk.id: passage.hit for passage in reversed(answer.evidence)}
    evidence = SearchResult(hits=tuple(reversed(hits.values())))
    saved_fields = await save_run(query, evidence, preset, origin, kit, run)
    if id := saved_fields.get("kept"):
        details = {
            "status": answer.status,
            "origin": answer.origin,
            "confidence": answer.confidence.value,
            "document_ids": step_records.list_document_ids(evidence.hits),
            "run_id": run.id,
            **shown,
        }
        result = SavedResult(0, id, answer.text, run.techniques.get("answer", ""), details)
        await _try_saving(kit.archive.add_result(result, query.scope), run)
    return saved_fields


async def prepare_replay(
    query_id: int,
    preset_name: str,
    session: WorkbenchSession,
    *,
    preset_overrides: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> tuple[SavedQuery, Query]:
    """Return a saved query, and the query that runs it again with another preset.

    The same documents are searched, for as many hits as were saved, at least 10 and at most 100. The edited numbers of
    the preset override `preset_overrides`, the operator's numbers by preset.

    Raises:
        NotFound: there is no such saved query, or the scope may not see it (query_not_found).
        Conflict: it has no ranking yet (step_missing).
        InvalidRequest: there is no such preset, or its pipeline counts instead of ranking.
    """
    saved_query = await load_saved_query(query_id, session)
    if saved_query.retrieved_context is None:
        raise make_step_missing_error(find_next_step(saved_query))
    top_k = min(MAX_REPLAY_HITS, max(OVERLAP_DEPTH, len(saved_query.retrieved_context)))
    resolving = preset_and_prompt_edits.resolve_edited_preset(preset_name, session.kit, preset_overrides, top_k=top_k)
    preset = await session.run.step("preset", resolving)
    if preset.pipeline == "facets":
        raise InvalidRequest("preset", "counts and does not rank: choose another, such as standard")
    return saved_query, _rebuild_query(saved_query, preset, session)


def compare_rankings(saved_query: SavedQuery, query: Query, result: SearchResult) -> Replay:
    """Compare the ranking of a saved query with that of its replay."""
    before, after = rank_contexts(saved_query.retrieved_context or ()), rank_contexts(encode_ranking(result.hits))
    return Replay(
        RankingSnapshot(saved_query.preset, before),
        RankingSnapshot(query.preset.export_numbers(), after),
        compute_overlap(before, after),
        list_rank_changes(before, after),
    )


def rank_contexts(contexts: Sequence[Mapping[str, Any]]) -> tuple[RankedPassage, ...]:
    """Return saved contexts with their ranks, from 1."""
    return tuple(
        RankedPassage(
            rank,
            context["id"],
            context["document_id"],
            context["title"],
            context["section"],
            context["page"],
            context["scores"]["final"],
        )
        for rank, context in enumerate(contexts, start=1)
    )


def compute_overlap(before: Sequence[RankedPassage], after: Sequence[RankedPassage]) -> float:
    """Return the share of common hits in the first OVERLAP_DEPTH, of the longer ranking; 1 if both are empty."""
    before_ids, after_ids = ({hit.chunk_id for hit in ranking[:OVERLAP_DEPTH]} for ranking in (before, after))
    longest = max(len(before_ids), len(after_ids))
    return len(before_ids & after_ids) / longest if longest else 1.0


def list_rank_changes(before: Sequence[RankedPassage], after: Sequence[RankedPassage]) -> tuple[RankChange, ...]:
    """Return the passages whose ranks differ: those of the first ranking in its order, then the new ones in theirs."""
    old, new = ({hit.chunk_id: hit.rank for hit in ranking} for ranking in (before, after))
    return tuple(RankChange(id, old.get(id), new.get(id)) for id in {**old, **new} if old.get(id) != new.get(id))


def _rebuild_query(saved_query: SavedQuery, preset: Preset, session: WorkbenchSession) -> Query:
    """Return the query with the filters and documents of its saved run."""
    inputs = saved_query.steps.get("retrieve", {}).get("went_in", {})
    filters = [_filter_from_json(**condition) for condition in inputs.get("filters", ())]
    scope = replace(session.scope, document_ids=tuple(inputs.get("document_ids", ())))
    return preset.build_query(saved_query.original_query, scope, filters=filters)


def _filter_from_json(field: str, op: Any, value: Any) -> Filter:
    return Filter(field, op, tuple(value) if isinstance(value, list) else value)


def _build_retrieval_record(query: Query, result: SearchResult, run: Run) -> dict[str, Any]:
    """Build the record of the step "retrieve", which stands for the whole request."""
    inputs = {
        "filters": [asdict(condition) for condition in query.filters],
        "document_ids": list(query.scope.document_ids),
        "asked": [variant.label for variant in result.variants],
    }
    return build_step_record(run, inputs, {"chunks": len(result.hits), "run_id": run.id})


async def _try_saving(saving: Awaitable[T], run: Run) -> T | None:
    try:
        return await run.step("keep", saving, within_s=SAVE_TIMEOUT_S)
    except RagError as error:
        run.degrade("keep", "run_not_kept", error.message, "the reply is complete but not saved for the workbench")
        return None
