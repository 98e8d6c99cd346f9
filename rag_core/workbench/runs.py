"""Calls that are kept as they were answered, and asked again under other numbers, to see what these change."""

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
Kept = dict[str, int | None]  # what a reply, made after it, says of its being kept; nothing where calls are not

KEEP_S = 5.0
NEVER = ("classical",)  # pipelines whose questions go nowhere but, redacted, into their own account (S4-31)
FIRST = 10  # of each ranking are compared
MOST = 100  # passages of a new ranking


@dataclass(frozen=True, slots=True)
class Placed:
    """A passage of a ranking; `score` is what it was ordered by."""

    rank: int
    chunk_id: str
    document_id: str
    title: str
    section: Sequence[str]
    page: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking and the numbers of the preset that made it."""

    preset: Mapping[str, Any]
    ranking: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A passage with its ranks, None where it was not found."""

    chunk_id: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """`overlap_at_10`, 0..1: what the first ten have in common, as a share of the longer of the two tens."""

    before: Ranked
    after: Ranked
    overlap_at_10: float
    moved: tuple[Moved, ...]


async def keep(query: Query, result: Result, preset: Preset, origin: str, kit: Kit, run: Run) -> Kept:
    """Keep what was asked and found, for the workbench; its id there, None where it is not kept.

    Not kept are imagined answers (RELIABILITY C47) and the calls of the pipeline classical, which promises that nothing
    of a person goes any further. A failure is noted in the run and is not the call's.
    """
    return {"kept": await _kept(query, result, preset, origin, kit, run)} if kit.keep_runs else {}


async def _kept(query: Query, result: Result, preset: Preset, origin: str, kit: Kit, run: Run) -> int | None:
    if preset.pipeline in NEVER:
        run.warn("run_not_kept", f"the pipeline {preset.pipeline} keeps nothing but its own account")
        return None
    asked = tuple(asked.text for asked in result.asked if asked.label.startswith("expanded"))
    question = SavedQuery(
        id=0,
        workflow_id=query.scope.workflow_id,
        user_id=query.scope.user_id,
        original_query=query.text,
        expanded_queries=asked,
        retrieved_context=tuple(items(result.hits)),
        origin=origin,
        preset=preset.numbers(),
        steps={"retrieve": _account(query, result, run)},
    )
    saved = await _tried(kit.archive.add(question, query.scope), run)
    return None if saved is None else saved.id


async def keep_answer(query: Query, answer: Answer, preset: Preset, origin: str, kit: Kit, run: Run) -> Kept:
    """Keep what was asked with the passages that the answer was made from, and the answer as a result of it."""
    hits = {passage.hit.chunk.id: passage.hit for passage in reversed(answer.evidence)}
    found = Result(hits=tuple(reversed(hits.values())))
    told = await keep(query, found, preset, origin, kit, run)
    if id := told.get("kept"):
        details = {
            "status": answer.status,
            "origin": answer.origin,
            "confidence": answer.confidence.value,
            "document_ids": steps.documents(found.hits),
            "run_id": run.id,
        }
        result = SavedResult(0, id, answer.text, run.techniques.get("answer", ""), details)
        await _tried(kit.archive.add_result(result, query.scope), run)
    return told


async def replay(
    id: int, preset_name: str, bench: Bench, *, house: Mapping[str, Mapping[str, float]] = MappingProxyType({})
) -> Replay:
    """Ask a kept question again by another preset, of the same documents: as many passages as were kept, at least ten.

    `house` has the operator's numbers by preset, which edited ones come before.

    Raises:
        NotFound: there is no such question, or it is another's (query_not_found).
        Conflict: it has no ranking yet (step_missing).
        InvalidRequest: there is no such preset, or it counts instead of ranking.
    """
    kept = await steps.found(id, bench)
    if kept.retrieved_context is None:
        raise steps.missing(steps.next_step(kept))
    before = placed(kept.retrieved_context)
    wanted = min(MOST, max(FIRST, len(before)))
    resolved = edits.resolved(preset_name, bench.kit, house, top_k=wanted)
    preset = await bench.run.step("preset", resolved)
    if preset.pipeline == "facets":
        raise InvalidRequest("preset", "counts and does not rank: choose another, such as standard")
    result = await service.consult(_again(kept, preset, bench), bench.kit, bench.run, pipeline=preset.pipeline)
    after = placed(items(result.hits))
    return Replay(
        Ranked(kept.preset, before), Ranked(preset.numbers(), after), overlap(before, after), moved(before, after)
    )


def placed(ranking: Sequence[Mapping[str, Any]]) -> tuple[Placed, ...]:
    """Kept items with their ranks, from 1."""
    return tuple(
        Placed(
            rank,
            item["id"],
            item["document_id"],
            item["title"],
            item["section"],
            item["page"],
            item["scores"]["final"],
        )
        for rank, item in enumerate(ranking, start=1)
    )


def overlap(before: Sequence[Placed], after: Sequence[Placed], first: int = FIRST) -> float:
    """What the first ten have in common, as a share of the longer; 1 when neither has any."""
    one, other = ({hit.chunk_id for hit in ranking[:first]} for ranking in (before, after))
    return len(one & other) / max(len(one), len(other)) if one or other else 1.0


def moved(before: Sequence[Placed], after: Sequence[Placed]) -> tuple[Moved, ...]:
    """What stands at another rank than before: first those that were there, then those that are new, each in order."""
    was, now = ({hit.chunk_id: hit.rank for hit in ranking} for ranking in (before, after))
    return tuple(Moved(id, was.get(id), now.get(id)) for id in {**was, **now} if was.get(id) != now.get(id))


def _again(kept: SavedQuery, preset: Preset, bench: Bench) -> Query:
    """The question in what it was confined to."""
    went_in = kept.steps.get("retrieve", {}).get("went_in", {})
    filters = [_filter(**condition) for condition in went_in.get("filters", ())]
    scope = replace(bench.scope, document_ids=tuple(went_in.get("document_ids", ())))
    return preset.query(kept.original_query, scope, filters=filters)


def _filter(field: str, op: Any, value: Any) -> Filter:
    return Filter(field, op, tuple(value) if isinstance(value, list) else value)


def _account(query: Query, result: Result, run: Run) -> dict[str, Any]:
    """The diary of the whole call, as that of the one step that it was."""
    went_in = {
        "filters": [asdict(condition) for condition in query.filters],
        "document_ids": list(query.scope.document_ids),
        "asked": [asked.label for asked in result.asked],
    }
    return account(run, went_in, {"chunks": len(result.hits), "run_id": run.id})


async def _tried(work: Awaitable[T], run: Run) -> T | None:
    try:
        return await run.step("keep", work, within_s=KEEP_S)
    except RagError as failure:
        run.degrade(
            "keep", "run_not_kept", failure.message, "the reply is whole, and is not to be seen in the workbench"
        )
        return None
