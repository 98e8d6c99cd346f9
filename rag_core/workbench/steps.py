"""The steps of a saved query: expand, embed, retrieve, consolidate, augment (S0-40 to S0-72).

The steps use the stages of the pipelines. A step is refused while an earlier one is missing, and repeating a step
discards the results of the later ones.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rag_core.answering.answer import select_evidence
from rag_core.core.errors import (
    Conflict,
    InvalidRequest,
    RagError,
    Unavailable,
    UnsupportedScript,
    make_unknown_query_error,
)
from rag_core.core.kit import Kit
from rag_core.core.model import Evidence, Ranking, SavedQuery, SavedResult, Scope, Vector, VectorStatus
from rag_core.core.ports import Embedder, Prompt
from rag_core.core.presets import Preset, Query
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.prompts import build_query_expansion_prompt
from rag_core.prompts.augmentation import AUGMENTATION_TASK as AUGMENTATION
from rag_core.prompts.augmentation import build_augmentation_prompt
from rag_core.retrieval.advanced import expand_with_fallback
from rag_core.retrieval.expansion import QueryExpansion
from rag_core.retrieval.search import HYDE_LABEL, VectorsByLabel, label_variants
from rag_core.retrieval.steps import EMBED_TIMEOUT_S, search_variants
from rag_core.text.intent import normalize_intent
from rag_core.workbench import contexts, preset_and_prompt_edits, responses
from rag_core.workbench.consolidation import consolidate_hits
from rag_core.workbench.hybrid_retrieval import RetrievedRankings, retrieve_with_embeddings
from rag_core.workbench.pasted_expansion import parse_pasted_expansion
from rag_core.workbench.step_records import build_step_record, select_earlier_records

WORKBENCH_PRESET = "workbench"
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


@dataclass(frozen=True, slots=True)
class WorkbenchSession:
    """The kit, the run and the scope of one call."""

    kit: Kit
    run: Run
    scope: Scope


@dataclass(frozen=True, slots=True)
class AugmentedPrompt:
    """A prompt with its evidence, and the saved contexts from which the evidence was selected."""

    prompt: Prompt
    evidence: tuple[Evidence, ...]
    contexts: Sequence[Mapping[str, Any]]

    @property
    def text(self) -> str:
        return self.prompt.text

    @property
    def context_count(self) -> int:
        return len(self.evidence)


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


async def build_expansion_prompt(query_text: str, session: WorkbenchSession) -> Prompt:
    """Return the prompt that `expand_and_save_query` would send, without calling a model."""
    query, hits, template = await _search_grounding_passages(query_text, session)
    return build_query_expansion_prompt(
        query_text,
        _list_contents(hits),
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
    preset = await _resolve_workbench_preset(session)
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
        query = replace(_discard_from_step(query, "embed"), vector_status=status)
    else:
        query = _discard_from_step(query, "retrieve")
    return await _save_query_change(replace(query, **new_values), session)


async def embed_saved_query(query_id: int, session: WorkbenchSession) -> SavedQuery:
    """Embed a saved query's text, its expanded queries and its HyDE answer (S0-22).

    Nothing is embedded when the embedder does not support the query's script: lexical search alone is then used.

    Raises:
        Unavailable: there is no embedder, or it failed; the vector status is then vec_err.
    """
    query, embedder = await load_saved_query(query_id, session), session.kit.index.embedder
    inputs = {"original": 1, "expanded_queries": len(query.expanded_queries), "hyde": int(bool(query.hyde_answer))}
    try:
        original, mqe, hyde = await session.run.step(
            "embed", _embed_query_parts(query, embedder, session.run), within_s=EMBED_TIMEOUT_S
        )
    except Unavailable as error:
        record = build_step_record(session.run, inputs, {"error": {"code": error.code, "message": error.message}})
        with suppress(RagError):  # if the status cannot be saved, the embedder's error is still the one to report
            await _save_query_change(
                replace(query, vector_status="vec_err", steps={**query.steps, "embed": record}), session
            )
        raise
    session.run.techniques["embed"] = embedder.space
    embeddings = sum(inputs.values()) if original else 0
    outputs = {"embeddings": embeddings, "dimensions": len(original or ()), "space": embedder.space}
    embedded = replace(
        _discard_from_step(query, "embed"),
        embedding_original=original,
        embeddings_mqe=mqe,
        embedding_hyde=hyde,
        space=embedder.space,
        vector_status="vec",
    )
    return await _save_step(embedded, "embed", inputs, outputs, session)


async def retrieve_for_saved_query(query_id: int, session: WorkbenchSession) -> SavedQuery:
    """Retrieve hits for a saved query with its embeddings and its text (S0-44 to S0-52). Nothing is embedded.

    Raises:
        Conflict: the query is not embedded, or in another embedding space than the index (step_missing).
        Unavailable: neither leg can be searched.
    """
    query = await load_saved_query(query_id, session)
    if query.vector_status != "vec" or query.space != session.kit.index.embedder.space:
        raise make_step_missing_error("embed")
    preset = await _resolve_workbench_preset(session)
    vectors, search_query = _label_saved_embeddings(query), preset.build_query(query.original_query, session.scope)
    rankings = await retrieve_with_embeddings(
        search_query,
        vectors,
        note_techniques(session.kit, session.run),
        session.run,
        entities=query.entities,
        intent=query.intent,
    )
    inputs = {
        "meaning": list(vectors),
        "words": ["original"],
        "intent": query.intent,
        "entities": list(query.entities),
    }
    outputs = {
        "dense": len(rankings.vector),
        "words": len(rankings.lexical),
        "fused": len(rankings.fused),
        "chunks": len(rankings.hits),
    }
    retrieved = replace(
        _discard_from_step(query, "retrieve"),
        retrieved_context=_encode_retrieved_hits(rankings),
        preset=preset.export_numbers(),
    )
    return await _save_step(retrieved, "retrieve", inputs, outputs, session)


async def consolidate_saved_query(query_id: int, session: WorkbenchSession) -> SavedQuery:
    """Consolidate the retrieved passages of a saved query into groups (S0-56 to S0-61).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    query = await load_saved_query(query_id, session)
    if query.retrieved_context is None:
        raise make_step_missing_error(find_next_step(query))
    preset = await _resolve_workbench_preset(session)
    hits = [contexts.decode_hit(context) for context in query.retrieved_context]
    groups = await consolidate_hits(
        hits, preset.build_query(query.original_query, session.scope), session.kit, session.run
    )
    encoded = tuple(contexts.encode_group(group) for group in groups)
    consolidated_query = replace(
        _discard_from_step(query, "consolidate"), clean_retrieval_context=encoded, preset=preset.export_numbers()
    )
    outputs = {"groups": len(encoded), "enriched": sum(group.enriched for group in groups)}
    return await _save_step(consolidated_query, "consolidate", {"chunks": len(hits)}, outputs, session)


async def build_augmented_prompt(query_id: int, top_n: int, session: WorkbenchSession) -> AugmentedPrompt:
    """Build the prompt of the best `top_n` contexts, consolidated ones if there are any, else retrieved ones (S0-62).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    return await _augment_query(await load_saved_query(query_id, session), top_n, session)


async def answer_saved_query(
    query_id: int, top_n: int, session: WorkbenchSession, *, use_full_model: bool = False
) -> SavedResult:
    """Answer a saved query by a model's response to the augmented prompt, and save the verified response (S0-68)."""
    query, kit = await load_saved_query(query_id, session), note_techniques(session.kit, session.run)
    augmented_prompt = await _augment_query(query, top_n, session)
    llm = kit.full_llm if use_full_model else kit.llm
    text, model = await responses.generate_response(
        query.original_query, augmented_prompt.prompt, augmented_prompt.evidence, llm, kit, session.run
    )
    session.run.techniques.setdefault(responses.ANSWER_STEP, model)
    options = {"full_model": use_full_model, "top_n": top_n}
    return await _save_verified_answer(query, augmented_prompt, text, model, options, session)


async def save_pasted_answer(query_id: int, response_text: str, top_n: int, session: WorkbenchSession) -> SavedResult:
    """Verify and save a response to the augmented prompt that the user pasted. Raises InvalidRequest if it is empty."""
    if not response_text.strip():
        raise InvalidRequest("response_text", "must not be empty")
    query = await load_saved_query(query_id, session)
    augmented_prompt = await _augment_query(query, top_n, session)
    session.run.techniques[responses.ANSWER_STEP] = "pasted"
    options = {"pasted": True, "top_n": top_n}
    return await _save_verified_answer(query, augmented_prompt, response_text.strip(), "", options, session)


async def _resolve_workbench_preset(session: WorkbenchSession, **numbers: Any) -> Preset:
    return await session.run.step(
        "preset", preset_and_prompt_edits.resolve_edited_preset(WORKBENCH_PRESET, session.kit, **numbers)
    )


async def _load_edited_template(tag: str, session: WorkbenchSession) -> str:
    """Return the edited template of a prompt; "" stands for the packaged one."""
    return (await session.run.step("prompt", session.kit.archive.load_edited_prompts())).get(tag, "")


async def _search_grounding_passages(query_text: str, session: WorkbenchSession) -> tuple[Query, Ranking, str]:
    """Return the query, passages that show the model the vocabulary of the index, and the edited template or ""."""
    preset = await _resolve_workbench_preset(session)
    template = await _load_edited_template(EXPANSION_TASK, session)
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


def list_document_ids(hits: Ranking) -> list[str]:
    """Return the ids of the hits' documents, sorted; a purge searches saved queries for them."""
    return sorted({hit.chunk.document_id for hit in hits})


async def _embed_query_parts(
    query: SavedQuery, embedder: Embedder, run: Run
) -> tuple[Vector | None, tuple[Vector, ...], Vector | None]:
    """Return the embeddings of the query text, of the expanded queries and of the HyDE answer (S0-41).

    The HyDE answer is embedded as a query as well. All are empty when the embedder does not support the script.
    """
    try:
        original = tuple(await embedder.embed_query(query.original_query))
    except UnsupportedScript as error:
        run.degrade("embed", error.code, error.message, "lexical search only")
        return None, (), None
    mqe = await embedder.embed_documents(list(query.expanded_queries)) if query.expanded_queries else ()
    hyde = tuple(await embedder.embed_query(query.hyde_answer)) if query.hyde_answer else None
    return original, tuple(map(tuple, mqe)), hyde


def _label_saved_embeddings(query: SavedQuery) -> VectorsByLabel:
    """Return the saved embeddings by the labels of their query variants."""
    if query.embedding_original is None:
        return {}
    variants = label_variants([query.original_query, *query.expanded_queries])
    embeddings = zip(variants, (query.embedding_original, *query.embeddings_mqe), strict=True)
    vectors = {variant.label: vector for variant, vector in embeddings if vector is not None}
    return vectors if query.embedding_hyde is None else {**vectors, HYDE_LABEL: query.embedding_hyde}


def _encode_retrieved_hits(rankings: RetrievedRankings) -> tuple[Mapping[str, Any], ...]:
    """Encode the hits with their ranks in the legs and in the fusion."""
    legs = {"dense": rankings.vector, "words": rankings.lexical, "fused": rankings.fused}
    ranks_by_leg = {leg: {hit.chunk.id: n for n, hit in enumerate(hits, 1)} for leg, hits in legs.items()}
    hit_ranks = (
        {leg: ranks[hit.chunk.id] for leg, ranks in ranks_by_leg.items() if hit.chunk.id in ranks}
        for hit in rankings.hits
    )
    return tuple(contexts.encode_hit(hit, ranks) for hit, ranks in zip(rankings.hits, hit_ranks, strict=True))


async def _augment_query(query: SavedQuery, top_n: int, session: WorkbenchSession) -> AugmentedPrompt:
    if query.retrieved_context is None and query.clean_retrieval_context is None:
        raise make_step_missing_error(find_next_step(query))
    stored_contexts = query.clean_retrieval_context or query.retrieved_context or ()
    preset = await _resolve_workbench_preset(session, top_n=top_n)
    template = await _load_edited_template(AUGMENTATION, session)
    answer_query = preset.build_query(query.original_query, session.scope)
    evidence = await select_evidence(
        answer_query, [contexts.decode_context(stored) for stored in stored_contexts], session.run
    )
    prompt = build_augmentation_prompt(
        answer_query.text, evidence, intent=query.intent, entities=query.entities, template=template
    )
    return AugmentedPrompt(prompt, evidence, stored_contexts)


async def _save_verified_answer(
    query: SavedQuery,
    augmented: AugmentedPrompt,
    response_text: str,
    model: str,
    options: Mapping[str, Any],
    session: WorkbenchSession,
) -> SavedResult:
    """Verify a response and save it as a result of the query, with the record of the step."""
    screened, claims = await responses.verify_response(
        response_text, augmented.evidence, note_techniques(session.kit, session.run), session.run
    )
    inputs = {
        **options,
        "contexts": augmented.context_count,
        "prompt_hash": sha256(augmented.text.encode()).hexdigest()[:12],
    }
    outputs = {"chars": len(screened), "verdicts": [claim.verdict for claim in claims]}
    record = build_step_record(session.run, inputs, outputs)
    formatted_claims = responses.format_response_claims(claims, augmented.contexts)
    document_ids = list_document_ids([passage.hit for passage in augmented.evidence])
    details = {**options, **record, "model": model, "claims": formatted_claims, "document_ids": document_ids}
    result = SavedResult(0, query.id, screened, model, details)
    saved = await session.run.step("save", session.kit.archive.add_result(result, session.scope))
    with suppress(Conflict):  # the query was changed meanwhile; the result has the record as well
        await _save_query_change(replace(query, steps={**query.steps, "augment": record}), session)
    return saved


def _discard_from_step(query: SavedQuery, step: str) -> SavedQuery:
    """Return the query without the results of this step and of the later ones."""
    query = replace(query, clean_retrieval_context=None, steps=select_earlier_records(step, query.steps))
    if step == "consolidate":
        return query
    query = replace(query, retrieved_context=None)
    if step == "retrieve":
        return query
    return replace(query, embedding_original=None, embeddings_mqe=(), embedding_hyde=None, space="")


async def _save_step(
    query: SavedQuery, step: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], session: WorkbenchSession
) -> SavedQuery:
    return await _save_query_change(
        replace(query, steps={**query.steps, step: build_step_record(session.run, inputs, outputs)}), session
    )


async def _save_query_change(query: SavedQuery, session: WorkbenchSession) -> SavedQuery:
    return await session.run.step("save", session.kit.archive.update_query(query, session.scope))


def make_step_missing_error(step: str) -> Conflict:
    """Make the error for a query that needs an earlier step first."""
    return Conflict(f"{step} the query first", code="step_missing", details={"next_step": step})


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
