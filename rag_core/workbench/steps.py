"""The steps of a saved query: expand, embed, retrieve, consolidate, augment (S0-40 to S0-72).

The steps use the stages of the pipelines. A step is refused while an earlier one is missing, and repeating a step
discards the results of the later ones.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rag_core.answering.answer import fitting
from rag_core.core.errors import Conflict, InvalidRequest, RagError, Unavailable, Unread, no_question
from rag_core.core.kit import Kit
from rag_core.core.model import Evidence, Query, Ranking, SavedQuery, SavedResult, Scope, Vector, VectorStatus
from rag_core.core.ports import Embedder, Prompt
from rag_core.core.presets import Preset
from rag_core.core.run import Run
from rag_core.prompts import query_expansion
from rag_core.prompts.augmentation import TASK as AUGMENTATION
from rag_core.prompts.augmentation import rag_augmentation
from rag_core.retrieval.advanced import expanded
from rag_core.retrieval.expansion import Expansion
from rag_core.retrieval.search import HYDE, Vectors, labelled
from rag_core.retrieval.steps import EMBED_S, search
from rag_core.service import noting
from rag_core.text.intent import named
from rag_core.workbench import answering, contexts, edits
from rag_core.workbench.accounts import account, until
from rag_core.workbench.consolidating import consolidated
from rag_core.workbench.items import item
from rag_core.workbench.pasted import parse_expansion
from rag_core.workbench.pooled import Pooled, pooled

PRESET = "workbench"
EXPANSION = "query_expansion"
GROUNDING = 5  # few enough for users to read in the prompt; the local technique uses no more
EMBEDDED = ("original_query", "expanded_queries", "hyde_answer")
FIELDS: Mapping[str, type] = {
    "original_query": str,
    "expanded_queries": tuple,
    "hyde_answer": str,
    "intent": str,
    "entities": tuple,
}


@dataclass(frozen=True, slots=True)
class Bench:
    """The kit, the run and the scope of one call."""

    kit: Kit
    run: Run
    scope: Scope


@dataclass(frozen=True, slots=True)
class Augmented:
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


def next_step(query: SavedQuery) -> str:
    """Return the next step of a saved query: "embed", "retrieve", "consolidate" or "augment", which can be repeated."""
    if query.vector_status in ("to_vec", "vec_err"):
        return "embed"
    if query.clean_retrieval_context is not None:
        return "augment"
    if query.retrieved_context is not None:
        return "consolidate"
    return "retrieve" if query.vector_status == "vec" else "embed"


async def found(id: int, bench: Bench) -> SavedQuery:
    """Load a saved query. Raises NotFound (query_not_found) when there is none, or the scope may not see it."""
    query = await bench.run.step("load", bench.kit.archive.query(id, bench.scope))
    if query is None:
        raise no_question()
    return query


async def expansion_prompt(text: str, bench: Bench) -> Prompt:
    """Return the prompt that `expand_and_save_query` would send, without calling a model."""
    query, hits, template = await _grounded(text, bench)
    return query_expansion(text, _texts(hits), count=query.rewordings, imagine=query.imaginings > 0, told=template)


async def expand(text: str, bench: Bench, *, full_model: bool = True) -> SavedQuery:
    """Expand a question with a chat model or the local technique, and save it as a new query (S0-70 to S0-72)."""
    kit = noting(bench.kit, bench.run)
    query, hits, template = await _grounded(text, bench)
    expansion = await expanded(query, _texts(hits), kit.full if full_model else kit.llm, bench.run, told=template)
    inputs = {"passages": len(hits), "document_ids": documents(hits), "full_model": full_model}
    return await create(text, expansion, bench, inputs)


async def paste_expansion(text: str, llm_response: str, bench: Bench) -> SavedQuery:
    """Save a question as a new query with an expansion that the user pasted.

    Raises:
        InvalidRequest: the pasted reply cannot be parsed; llm_response is named.
    """
    expansion, unread_line_numbers = parse_expansion(llm_response, _question(text))
    bench.run.techniques[EXPANSION] = "pasted"
    if unread_line_numbers:
        numbers = ", ".join(map(str, unread_line_numbers))
        bench.run.warn("lines_unread", f"lines {numbers} of llm_response belong to no part of it")
    for part in expansion.missing:
        bench.run.warn("expansion_incomplete", f"llm_response has no {part}")
    return await create(text, expansion, bench, {"llm_response_chars": len(llm_response)})


async def create(text: str, made: Expansion, bench: Bench, went_in: Mapping[str, Any]) -> SavedQuery:
    """Save a question with its expansion as a new query, which is not embedded yet."""
    preset = await _preset(bench)
    outputs = {
        "expanded_queries": len(made.wordings),
        "hyde_chars": len(made.imagined),
        "intent": made.intent,
        "entities": len(made.entities),
    }
    query = SavedQuery(
        id=0,
        workflow_id=bench.scope.workflow_id,
        user_id=bench.scope.user_id,
        original_query=_question(text),
        expanded_queries=made.wordings,
        hyde_answer=made.imagined,
        intent=named(made.intent),
        entities=made.entities,
        preset=preset.numbers(),
        steps={"expand": account(bench.run, {"query": text, **went_in}, outputs)},
    )
    return await bench.run.step("save", bench.kit.archive.add(query, bench.scope))


async def edit(id: int, changes: Mapping[str, Any], bench: Bench) -> SavedQuery:
    """Change fields of a saved query and discard the results that depend on them (S0-18, S0-100).

    Raises:
        InvalidRequest: a field cannot be edited, or its value has the wrong type.
    """
    query = await found(id, bench)
    values = {field: _read(field, value) for field, value in changes.items()}
    new_values = {field: value for field, value in values.items() if value != getattr(query, field)}
    if not new_values:
        return query
    if not new_values.keys().isdisjoint(EMBEDDED):
        status: VectorStatus = "no_vec" if query.vector_status == "no_vec" else "to_vec"
        query = replace(_taken_back(query, "embed"), vector_status=status)
    else:
        query = _taken_back(query, "retrieve")
    return await _saved(replace(query, **new_values), bench)


async def embed(id: int, bench: Bench) -> SavedQuery:
    """Embed a saved query's text, its expanded queries and its HyDE answer (S0-22).

    Nothing is embedded when the embedder does not support the query's script: lexical search alone is then used.

    Raises:
        Unavailable: there is no embedder, or it failed; the vector status is then vec_err.
    """
    query, embedder = await found(id, bench), bench.kit.index.embedder
    inputs = {"original": 1, "expanded_queries": len(query.expanded_queries), "hyde": int(bool(query.hyde_answer))}
    try:
        original, mqe, hyde = await bench.run.step("embed", _embedded(query, embedder, bench.run), within_s=EMBED_S)
    except Unavailable as error:
        record = account(bench.run, inputs, {"error": {"code": error.code, "message": error.message}})
        with suppress(RagError):  # if the status cannot be saved, the embedder's error is still the one to report
            await _saved(replace(query, vector_status="vec_err", steps={**query.steps, "embed": record}), bench)
        raise
    bench.run.techniques["embed"] = embedder.space
    embeddings = sum(inputs.values()) if original else 0
    outputs = {"embeddings": embeddings, "dimensions": len(original or ()), "space": embedder.space}
    embedded = replace(
        _taken_back(query, "embed"),
        embedding_original=original,
        embeddings_mqe=mqe,
        embedding_hyde=hyde,
        space=embedder.space,
        vector_status="vec",
    )
    return await _accounted(embedded, "embed", inputs, outputs, bench)


async def retrieve(id: int, bench: Bench) -> SavedQuery:
    """Retrieve hits for a saved query with its embeddings and its text (S0-44 to S0-52). Nothing is embedded.

    Raises:
        Conflict: the query is not embedded, or in another embedding space than the index (step_missing).
        Unavailable: neither leg can be searched.
    """
    query = await found(id, bench)
    if query.vector_status != "vec" or query.space != bench.kit.index.embedder.space:
        raise missing("embed")
    preset = await _preset(bench)
    vectors, search_query = _vectors(query), preset.query(query.original_query, bench.scope)
    rankings = await pooled(
        search_query, vectors, noting(bench.kit, bench.run), bench.run, entities=query.entities, intent=query.intent
    )
    inputs = {
        "meaning": list(vectors),
        "words": ["original"],
        "intent": query.intent,
        "entities": list(query.entities),
    }
    outputs = {
        "dense": len(rankings.dense),
        "words": len(rankings.words),
        "fused": len(rankings.fused),
        "chunks": len(rankings.hits),
    }
    retrieved = replace(_taken_back(query, "retrieve"), retrieved_context=_ranked(rankings), preset=preset.numbers())
    return await _accounted(retrieved, "retrieve", inputs, outputs, bench)


async def consolidate(id: int, bench: Bench) -> SavedQuery:
    """Consolidate the retrieved passages of a saved query into groups (S0-56 to S0-61).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    query = await found(id, bench)
    if query.retrieved_context is None:
        raise missing(next_step(query))
    preset = await _preset(bench)
    hits = [contexts.found(context) for context in query.retrieved_context]
    groups = await consolidated(hits, preset.query(query.original_query, bench.scope), bench.kit, bench.run)
    encoded = tuple(contexts.kept(group) for group in groups)
    consolidated_query = replace(
        _taken_back(query, "consolidate"), clean_retrieval_context=encoded, preset=preset.numbers()
    )
    outputs = {"groups": len(encoded), "enriched": sum(group.enriched for group in groups)}
    return await _accounted(consolidated_query, "consolidate", {"chunks": len(hits)}, outputs, bench)


async def augmented(id: int, top_n: int, bench: Bench) -> Augmented:
    """Build the prompt of the best `top_n` contexts, consolidated ones if there are any, else retrieved ones (S0-62).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    return await _augmented(await found(id, bench), top_n, bench)


async def answer(id: int, top_n: int, bench: Bench, *, full_model: bool = False) -> SavedResult:
    """Answer a saved query by a model's response to the augmented prompt, and save the verified response (S0-68)."""
    query, kit = await found(id, bench), noting(bench.kit, bench.run)
    augmented_prompt = await _augmented(query, top_n, bench)
    llm = kit.full if full_model else kit.llm
    text, model = await answering.response(
        query.original_query, augmented_prompt.prompt, augmented_prompt.evidence, llm, kit, bench.run
    )
    bench.run.techniques.setdefault(answering.STEP, model)
    options = {"full_model": full_model, "top_n": top_n}
    return await _answered(query, augmented_prompt, text, model, options, bench)


async def paste_answer(id: int, response_text: str, top_n: int, bench: Bench) -> SavedResult:
    """Verify and save a response to the augmented prompt that the user pasted. Raises InvalidRequest if it is empty."""
    if not response_text.strip():
        raise InvalidRequest("response_text", "must not be empty")
    query = await found(id, bench)
    augmented_prompt = await _augmented(query, top_n, bench)
    bench.run.techniques[answering.STEP] = "pasted"
    options = {"pasted": True, "top_n": top_n}
    return await _answered(query, augmented_prompt, response_text.strip(), "", options, bench)


async def _preset(bench: Bench, **numbers: Any) -> Preset:
    return await bench.run.step("preset", edits.resolved(PRESET, bench.kit, **numbers))


async def _wording(tag: str, bench: Bench) -> str:
    """Return the edited template of a prompt; "" stands for the packaged one."""
    return (await bench.run.step("prompt", bench.kit.archive.prompts())).get(tag, "")


async def _grounded(text: str, bench: Bench) -> tuple[Query, Ranking, str]:
    """Return the query, passages that show the model the vocabulary of the index, and the edited template or ""."""
    preset = await _preset(bench)
    template = await _wording(EXPANSION, bench)
    query = preset.query(_question(text), bench.scope)
    grounding_query = replace(query, top_k=GROUNDING, candidates=GROUNDING, semantic=0)
    try:
        hits = (await search(labelled([text]), grounding_query, bench.kit, bench.run))["original"]
    except Unavailable as error:
        bench.run.degrade("search", error.code, error.message, "an expansion without passages of the index")
        hits = []
    return query, hits[:GROUNDING], template


def _texts(hits: Ranking) -> list[str]:
    return [hit.chunk.content for hit in hits]


def documents(hits: Ranking) -> list[str]:
    """Return the ids of the hits' documents, sorted; a purge searches saved queries for them (docs/archive.md)."""
    return sorted({hit.chunk.document_id for hit in hits})


async def _embedded(
    query: SavedQuery, embedder: Embedder, run: Run
) -> tuple[Vector | None, tuple[Vector, ...], Vector | None]:
    """Return the embeddings of the query text, of the expanded queries and of the HyDE answer (S0-41).

    The HyDE answer is embedded as a query as well. All are empty when the embedder does not support the script.
    """
    try:
        original = tuple(await embedder.embed_query(query.original_query))
    except Unread as error:
        run.degrade("embed", error.code, error.message, "lexical search only")
        return None, (), None
    mqe = await embedder.embed_documents(list(query.expanded_queries)) if query.expanded_queries else ()
    hyde = tuple(await embedder.embed_query(query.hyde_answer)) if query.hyde_answer else None
    return original, tuple(map(tuple, mqe)), hyde


def _vectors(query: SavedQuery) -> Vectors:
    """Return the saved embeddings by the labels of their query variants."""
    if query.embedding_original is None:
        return {}
    variants = labelled([query.original_query, *query.expanded_queries])
    embeddings = zip(variants, (query.embedding_original, *query.embeddings_mqe), strict=True)
    vectors = {variant.label: vector for variant, vector in embeddings if vector is not None}
    return vectors if query.embedding_hyde is None else {**vectors, HYDE: query.embedding_hyde}


def _ranked(best: Pooled) -> tuple[Mapping[str, Any], ...]:
    """Encode the hits with their ranks in the legs and in the fusion."""
    legs = {"dense": best.dense, "words": best.words, "fused": best.fused}
    ranks_by_leg = {leg: {hit.chunk.id: n for n, hit in enumerate(hits, 1)} for leg, hits in legs.items()}
    hit_ranks = (
        {leg: ranks[hit.chunk.id] for leg, ranks in ranks_by_leg.items() if hit.chunk.id in ranks} for hit in best.hits
    )
    return tuple(item(hit, ranks) for hit, ranks in zip(best.hits, hit_ranks, strict=True))


async def _augmented(query: SavedQuery, top_n: int, bench: Bench) -> Augmented:
    if query.retrieved_context is None and query.clean_retrieval_context is None:
        raise missing(next_step(query))
    stored_contexts = query.clean_retrieval_context or query.retrieved_context or ()
    preset = await _preset(bench, top_n=top_n)
    template = await _wording(AUGMENTATION, bench)
    answer_query = preset.query(query.original_query, bench.scope)
    evidence = await fitting(answer_query, [contexts.context(stored) for stored in stored_contexts], bench.run)
    prompt = rag_augmentation(answer_query.text, evidence, intent=query.intent, entities=query.entities, told=template)
    return Augmented(prompt, evidence, stored_contexts)


async def _answered(
    query: SavedQuery, made: Augmented, text: str, model: str, how: Mapping[str, Any], bench: Bench
) -> SavedResult:
    """Verify a response and save it as a result of the query, with the record of the step."""
    screened, claims = await answering.checked(text, made.evidence, noting(bench.kit, bench.run), bench.run)
    inputs = {**how, "contexts": made.context_count, "prompt_hash": sha256(made.text.encode()).hexdigest()[:12]}
    outputs = {"chars": len(screened), "verdicts": [claim.verdict for claim in claims]}
    record = account(bench.run, inputs, outputs)
    formatted_claims = answering.told(claims, made.contexts)
    document_ids = documents([passage.hit for passage in made.evidence])
    details = {**how, **record, "model": model, "claims": formatted_claims, "document_ids": document_ids}
    result = SavedResult(0, query.id, screened, model, details)
    saved = await bench.run.step("save", bench.kit.archive.add_result(result, bench.scope))
    with suppress(Conflict):  # the query was changed meanwhile; the result has the record as well
        await _saved(replace(query, steps={**query.steps, "augment": record}), bench)
    return saved


def _taken_back(query: SavedQuery, step: str) -> SavedQuery:
    """Return the query without the results of this step and of the later ones."""
    query = replace(query, clean_retrieval_context=None, steps=until(step, query.steps))
    if step == "consolidate":
        return query
    query = replace(query, retrieved_context=None)
    if step == "retrieve":
        return query
    return replace(query, embedding_original=None, embeddings_mqe=(), embedding_hyde=None, space="")


async def _accounted(
    query: SavedQuery, step: str, went_in: Mapping[str, Any], came_out: Mapping[str, Any], bench: Bench
) -> SavedQuery:
    return await _saved(replace(query, steps={**query.steps, step: account(bench.run, went_in, came_out)}), bench)


async def _saved(query: SavedQuery, bench: Bench) -> SavedQuery:
    return await bench.run.step("save", bench.kit.archive.change(query, bench.scope))


def missing(step: str) -> Conflict:
    """Make the error for a query that needs an earlier step first."""
    return Conflict(f"{step} the query first", code="step_missing", details={"next_step": step})


def _question(text: str) -> str:
    if not text.strip():
        raise InvalidRequest("original_query", "must not be empty")
    return text.strip()


def _read(field: str, value: Any) -> Any:
    """Return a field's new value as it is saved. Raises InvalidRequest."""
    kind = FIELDS.get(field)
    if kind is None:
        raise InvalidRequest(field, f"cannot be edited: the editable fields are {', '.join(FIELDS)}")
    if kind is str and isinstance(value, str):
        return {"original_query": _question, "intent": named}.get(field, str.strip)(value)
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return tuple(text.strip() for text in value if text.strip())
    raise InvalidRequest(field, "must be a text" if kind is str else "must be a list of texts")
