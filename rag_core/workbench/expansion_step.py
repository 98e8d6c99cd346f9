"""The first step of a saved query: a question is expanded and saved, and what was expanded can be edited."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rag_core.core.errors import InvalidRequest, Unavailable
from rag_core.core.model import Ranking, SavedQuery, VectorStatus
from rag_core.core.ports import Prompt
from rag_core.core.presets import Query
from rag_core.core.techniques import note_techniques
from rag_core.prompts import build_query_expansion_prompt
from rag_core.retrieval.expansion import QueryExpansion, cut_grounding_passages
from rag_core.retrieval.search import label_variants
from rag_core.retrieval.steps import expand_with_fallback, search_variants
from rag_core.text.intent import normalize_intent
from rag_core.workbench.pasted_expansion import parse_pasted_expansion
from rag_core.workbench.session import (
    WorkbenchSession,
    discard_from_step,
    load_edited_template,
    load_saved_query,
    resolve_workbench_preset,
    save_query_change,
)
from rag_core.workbench.step_records import build_step_record, list_document_ids

EXPANSION_TASK = "query_expansion"
MAX_GROUNDING_PASSAGES = 5  # few enough for users to read in the prompt; the local technique uses no more
EMBEDDED_FIELDS = ("original_query", "expanded_queries", "hyde_answer")
EDITABLE_FIELDS: Mapping[str, type] = {
    "original_query": str,
    "expanded_queries": tuple,
    "hyde_answer": str,
    "intent": str,
    "entities": tuple,
}


async def build_expansion_prompt(query_text: str, session: WorkbenchSession) -> Prompt:
    """Return the prompt that `expand_and_save_query` would send, without calling a model."""
    query, hits, template = await _search_grounding_passages(query_text, session)
    passages = _list_contents(hits)
    return build_query_expansion_prompt(
        query_text,
        passages,
        excerpts=cut_grounding_passages(query_text, passages),
        count=query.preset.expansion.expanded_queries,
        with_hyde=query.preset.expansion.hyde_answers > 0,
        template=template,
    )


async def expand_and_save_query(
    query_text: str, session: WorkbenchSession, *, use_full_model: bool = True
) -> SavedQuery:
    """Expand a question with a chat model or the local technique, and save it as a new query (S0-70 to S0-72)."""
    kit = note_techniques(session.kit, session.run)
    query, hits, template = await _search_grounding_passages(query_text, session)
    expansion = await expand_with_fallback(
        query, _list_contents(hits), kit.full_llm if use_full_model else kit.llm, session.run, template=template
    )
    inputs = {"passages": len(hits), "document_ids": list_document_ids(hits), "full_model": use_full_model}
    return await save_expanded_query(query_text, expansion, session, inputs)


async def save_pasted_expansion(query_text: str, llm_response: str, session: WorkbenchSession) -> SavedQuery:
    """Save a question as a new query with an expansion that the user pasted.

    Raises:
        InvalidRequest: the pasted reply cannot be parsed; llm_response is named.
    """
    expansion, unread_line_numbers = parse_pasted_expansion(llm_response, _validate_query_text(query_text))
    session.run.techniques[EXPANSION_TASK] = "pasted"
    if unread_line_numbers:
        numbers = ", ".join(map(str, unread_line_numbers))
        session.run.warn("lines_unread", f"lines {numbers} of llm_response belong to no part of it")
    for part in expansion.missing_parts:
        session.run.warn("expansion_incomplete", f"llm_response has no {part}")
    return await save_expanded_query(query_text, expansion, session, {"llm_response_chars": len(llm_response)})


async def save_expanded_query(
    query_text: str, expansion: QueryExpansion, session: WorkbenchSession, inputs: Mapping[str, Any]
) -> SavedQuery:
    """Save a question with its expansion as a new query, which is not embedded yet."""
    preset = await resolve_workbench_preset(session)
    outputs = {
        "expanded_queries": len(expansion.expanded_queries),
        "hyde_chars": len(expansion.hyde_answer),
        "intent": expansion.intent,
        "entities": len(expansion.entities),
    }
    query = SavedQuery(
        id=0,
        workflow_id=session.scope.workflow_id,
        user_id=session.scope.user_id,
        original_query=_validate_query_text(query_text),
        expanded_queries=expansion.expanded_queries,
        hyde_answer=expansion.hyde_answer,
        intent=normalize_intent(expansion.intent),
        entities=expansion.entities,
        preset=preset.export_numbers(),
        steps={"expand": build_step_record(session.run, {"query": query_text, **inputs}, outputs)},
    )
    return await session.run.step("save", session.kit.archive.add_query(query, session.scope))


async def edit_saved_query(query_id: int, changes: Mapping[str, Any], session: WorkbenchSession) -> SavedQuery:
    """Change fields of a saved query and discard the results that depend on them (S0-18, S0-100).

    Raises:
        InvalidRequest: a field cannot be edited, or its value has the wrong type.
    """
    query = await load_saved_query(query_id, session)
    values = {field: _parse_field_value(field, value) for field, value in changes.items()}
    new_values = {field: value for field, value in values.items() if value != getattr(query, field)}
    if not new_values:
        return query
    if not new_values.keys().isdisjoint(EMBEDDED_FIELDS):
        status: VectorStatus = "no_vec" if query.vector_status == "no_vec" else "to_vec"
        query = replace(discard_from_step(query, "embed"), vector_status=status)
    else:
        query = discard_from_step(query, "retrieve")
    return await save_query_change(replace(query, **new_values), session)


async def _search_grounding_passages(query_text: str, session: WorkbenchSession) -> tuple[Query, Ranking, str]:
    """Return the query, passages that show the model the vocabulary of the index, and the edited template or ""."""
    preset = await resolve_workbench_preset(session)
    template = await load_edited_template(EXPANSION_TASK, session)
    query = preset.build_query(_validate_query_text(query_text), session.scope)
    grounding_query = query.override(top_k=MAX_GROUNDING_PASSAGES, candidates=MAX_GROUNDING_PASSAGES, semantic=0)
    try:
        hits = (await search_variants(label_variants([query_text]), grounding_query, session.kit, session.run))[
            "original"
        ]
    except Unavailable as error:
        session.run.degrade("search", error.code, error.message, "an expansion without passages of the index")
        hits = []
    return query, hits[:MAX_GROUNDING_PASSAGES], template


def _list_contents(hits: Ranking) -> list[str]:
    return [hit.chunk.content for hit in hits]


def _validate_query_text(query_text: str) -> str:
    if not query_text.strip():
        raise InvalidRequest("original_query", "must not be empty")
    return query_text.strip()


def _parse_field_value(field: str, value: Any) -> Any:
    """Return a field's new value as it is saved. Raises InvalidRequest."""
    kind = EDITABLE_FIELDS.get(field)
    if kind is None:
        raise InvalidRequest(field, f"cannot be edited: the editable fields are {', '.join(EDITABLE_FIELDS)}")
    if kind is str and isinstance(value, str):
        return {"original_query": _validate_query_text, "intent": normalize_intent}.get(field, str.strip)(value)
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return tuple(text.strip() for text in value if text.strip())
    raise InvalidRequest(field, "must be a text" if kind is str else "must be a list of texts")
