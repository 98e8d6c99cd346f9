"""Saved runs: requests that are kept with their results, and replayed with another preset to compare rankings."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from rag_core import service
from rag_core.core.errors import InvalidRequest, RagError
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Filter, Query, Result, SavedQuery, SavedResult
from rag_core.core.presets import Preset
from rag_core.core.run import Run
from rag_core.workbench import edits, steps
from rag_core.workbench.accounts import account
from rag_core.workbench.items import items
from rag_core.workbench.steps import Bench

T = TypeVar("T")
Kept = dict[str, int | None]  # {"kept": id of the saved query, or None}, added to a reply; {} where runs are not saved

KEEP_S = 5.0
NEVER = ("classical",)  # pipelines whose questions may only be kept, redacted, in the query log (S4-31)
FIRST = 10  # hits of each ranking that are compared
MOST = 100  # hits of a new ranking


@dataclass(frozen=True, slots=True)
class Placed:
    """A passage of a ranking with its rank, from 1; `score` is the one by which it was ordered."""

    rank: int
    chunk_id: str
    document_id: str
    title: str
    section: Sequence[str]
    page: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking, and the numbers of the preset that produced it."""

    preset: Mapping[str, Any]
    ranking: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A passage with its ranks in two rankings, None where it was not found."""

    chunk_id: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The comparison of a saved ranking with that of another preset.

    `overlap_at_10`, 0..1, is the share of common hits among the first ten, relative to the longer ranking.
    """

    before: Ranked
    after: Ranked
    overlap_at_10: float
    moved: tuple[Moved, ...]


async def keep(query: Query, result: Result, preset: Preset, origin: str, kit: Kit, run: Run) -> Kept:
    """Save a query with its hits for the workbench and return the reply fields that say so.

    HyDE answers are not saved: they may contain personal data, and serve for searching only. Queries of the pipeline
    classical are not saved, because it must not pass on personal data. A failure to save is noted in the run as a
    degradation and does not fail the request.
    """
    return {"kept": await _kept(query, result, preset, origin, kit, run)} if kit.keep_runs else {}


async def _kept(query: Query, result: Result, preset: Preset, origin: str, kit: Kit, run: Run) -> int | None:
    if preset.pipeline in NEVER:
        run.warn("run_not_kept", f"queries of the pipeline {preset.pipeline} are kept in the query log only")
        return None
    expanded_queries = tuple(variant.text for variant in result.asked if variant.label.startswith("expanded"))
    saved_query = SavedQuery(
        id=0,
        workflow_id=query.scope.workflow_id,
        user_id=query.scope.user_id,
        original_query=query.text,
        expanded_queries=expanded_queries,
        retrieved_context=tuple(items(result.hits)),
        origin=origin,
        preset=preset.numbers(),
        steps={"retrieve": _account(query, result, run)},
    )
    added = await _tried(kit.archive.add(saved_query, query.scope), run)
    return None if added is None else added.id


async def keep_answer(query: Query, answer: Answer, preset: Preset, origin: str, kit: Kit, run: Run) -> Kept:
    """Save a query with the passages of its answer's evidence, and the answer as its saved result."""
    hits = {passage.hit.chunk.id: passage.hit for passage in reversed(answer.evidence)}
    evidence = Result(hits=tuple(reversed(hits.values())))
    saved_fields = await keep(query, evidence, preset, origin, kit, run)
    if id := saved_fields.get("kept"):
        details = {
            "status": answer.status,
            "origin": answer.origin,
            "confidence": answer.confidence.value,
            "document_ids": steps.documents(evidence.hits),
            "run_id": run.id,
        }
        result = SavedResult(0, id, answer.text, run.techniques.get("answer", ""), details)
        await _tried(kit.archive.add_result(result, query.scope), run)
    return saved_fields


async def replay(
    id: int, preset_name: str, bench: Bench, *, house: Mapping[str, Mapping[str, float]] = MappingProxyType({})
) -> Replay:
    """Run a saved query again with another preset and compare the rankings.

    The same documents are searched, for as many hits as were saved, at least 10 and at most 100. The edited numbers of
    the preset override `preset_overrides`, the operator's numbers by preset.

    Raises:
        NotFound: there is no such saved query, or the scope may not see it (query_not_found).
        Conflict: it has no ranking yet (step_missing).
        InvalidRequest: there is no such preset, or its pipeline counts instead of ranking.
    """
    saved_query = await steps.found(id, bench)
    if saved_query.retrieved_context is None:
        raise steps.missing(steps.next_step(saved_query))
    before = placed(saved_query.retrieved_context)
    top_k = min(MOST, max(FIRST, len(before)))
    resolving = edits.resolved(preset_name, bench.kit, house, top_k=top_k)
    preset = await bench.run.step("preset", resolving)
    if preset.pipeline == "facets":
        raise InvalidRequest("preset", "counts and does not rank: choose another, such as standard")
    query = _again(saved_query, preset, bench)
    result = await service.consult(query, bench.kit, bench.run, pipeline=preset.pipeline)
    after = placed(items(result.hits))
    return Replay(
        Ranked(saved_query.preset, before),
        Ranked(preset.numbers(), after),
        overlap(before, after),
        moved(before, after),
    )


def placed(ranking: Sequence[Mapping[str, Any]]) -> tuple[Placed, ...]:
    """Return saved contexts with their ranks, from 1."""
    return tuple(
        Placed(
            rank,
            context["id"],
            context["document_id"],
            context["title"],
            context["section"],
            context["page"],
            context["scores"]["final"],
        )
        for rank, context in enumerate(ranking, start=1)
    )


def overlap(before: Sequence[Placed], after: Sequence[Placed], first: int = FIRST) -> float:
    """Return the share of common hits among the first `depth`, relative to the longer ranking; 1 if both are empty."""
    before_ids, after_ids = ({hit.chunk_id for hit in ranking[:first]} for ranking in (before, after))
    longest = max(len(before_ids), len(after_ids))
    return len(before_ids & after_ids) / longest if longest else 1.0


def moved(before: Sequence[Placed], after: Sequence[Placed]) -> tuple[Moved, ...]:
    """Return the passages whose ranks differ: those of the first ranking in its order, then the new ones in theirs."""
    old, new = ({hit.chunk_id: hit.rank for hit in ranking} for ranking in (before, after))
    return tuple(Moved(id, old.get(id), new.get(id)) for id in {**old, **new} if old.get(id) != new.get(id))


def _again(kept: SavedQuery, preset: Preset, bench: Bench) -> Query:
    """Return the query with the filters and documents of its saved run."""
    inputs = kept.steps.get("retrieve", {}).get("went_in", {})
    filters = [_filter(**condition) for condition in inputs.get("filters", ())]
    scope = replace(bench.scope, document_ids=tuple(inputs.get("document_ids", ())))
    return preset.query(kept.original_query, scope, filters=filters)


def _filter(field: str, op: Any, value: Any) -> Filter:
    return Filter(field, op, tuple(value) if isinstance(value, list) else value)


def _account(query: Query, result: Result, run: Run) -> dict[str, Any]:
    """Build the record of the step "retrieve", which stands for the whole request."""
    inputs = {
        "filters": [asdict(condition) for condition in query.filters],
        "document_ids": list(query.scope.document_ids),
        "asked": [variant.label for variant in result.asked],
    }
    return account(run, inputs, {"chunks": len(result.hits), "run_id": run.id})


async def _tried(work: Awaitable[T], run: Run) -> T | None:
    try:
        return await run.step("keep", work, within_s=KEEP_S)
    except RagError as error:
        run.degrade("keep", "run_not_kept", error.message, "the reply is complete but not saved for the workbench")
        return None
