"""What the steps of a saved query share: the session, and how the query is loaded, changed and saved.

The steps use the stages of the pipelines. A step is refused while an earlier one is missing, and repeating a step
discards the results of the later ones.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rag_core.core.errors import Conflict, make_unknown_query_error
from rag_core.core.kit import Kit
from rag_core.core.model import SavedQuery, Scope
from rag_core.core.presets import Preset
from rag_core.core.run import Run
from rag_core.workbench import preset_and_prompt_edits
from rag_core.workbench.step_records import build_step_record, select_earlier_records

WORKBENCH_PRESET = "workbench"
QUERIES_PER_READ = 500  # a record of steps has a few kB


@dataclass(frozen=True, slots=True)
class WorkbenchSession:
    """The kit, the run and the scope of one call."""

    kit: Kit
    run: Run
    scope: Scope


def find_next_step(query: SavedQuery) -> str:
    """Return the next step of a saved query: "embed", "retrieve", "consolidate" or "augment", which can be repeated."""
    if query.vector_status in ("to_vec", "vec_err"):
        return "embed"
    if query.clean_retrieval_context is not None:
        return "augment"
    if query.retrieved_context is not None:
        return "consolidate"
    return "retrieve" if query.vector_status == "vec" else "embed"


async def load_saved_query(query_id: int, session: WorkbenchSession) -> SavedQuery:
    """Load a saved query. Raises NotFound (query_not_found) when there is none, or the scope may not see it."""
    query = await session.run.step("load", session.kit.archive.load_query(query_id, session.scope))
    if query is None:
        raise make_unknown_query_error()
    return query


async def iterate_saved_queries(session: WorkbenchSession) -> AsyncIterator[SavedQuery]:
    """Yield all saved queries of the scope as lists have them, newest first."""
    before: int | None = None
    while True:
        listing = session.kit.archive.list_queries(session.scope, limit=QUERIES_PER_READ, before=before)
        queries = await session.run.step("queries", listing)
        for query in queries:
            yield query
        if len(queries) < QUERIES_PER_READ:
            return
        before = queries[-1].id


async def resolve_workbench_preset(session: WorkbenchSession, **numbers: Any) -> Preset:
    """Return the preset of the workbench as it was edited, with these numbers in place of its own."""
    return await session.run.step(
        "preset", preset_and_prompt_edits.resolve_edited_preset(WORKBENCH_PRESET, session.kit, **numbers)
    )


async def load_edited_template(tag: str, session: WorkbenchSession) -> str:
    """Return the edited template of a prompt; "" stands for the packaged one."""
    return (await session.run.step("prompt", session.kit.archive.load_edited_prompts())).get(tag, "")


def discard_from_step(query: SavedQuery, step: str) -> SavedQuery:
    """Return the query without the results of this step and of the later ones."""
    query = replace(query, clean_retrieval_context=None, steps=select_earlier_records(step, query.steps))
    if step == "consolidate":
        return query
    query = replace(query, retrieved_context=None)
    if step == "retrieve":
        return query
    return replace(query, embedding_original=None, embeddings_mqe=(), embedding_hyde=None, space="")


async def save_step(
    query: SavedQuery, step: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], session: WorkbenchSession
) -> SavedQuery:
    """Save a query with the record of the step that changed it."""
    return await save_query_change(
        replace(query, steps={**query.steps, step: build_step_record(session.run, inputs, outputs)}), session
    )


async def save_query_change(query: SavedQuery, session: WorkbenchSession) -> SavedQuery:
    """Save a changed query. Raises Conflict when it was changed meanwhile."""
    return await session.run.step("save", session.kit.archive.update_query(query, session.scope))


def make_step_missing_error(step: str) -> Conflict:
    """Make the error for a query that needs an earlier step first."""
    return Conflict(f"{step} the query first", code="step_missing", details={"next_step": step})
