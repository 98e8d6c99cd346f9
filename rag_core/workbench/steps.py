"""A question taken through its steps, each kept: expand, embed, retrieve, consolidate, augment (S0-40 to S0-72).

The work is the pipelines' own stages. A step is refused while one before it is missing, and taking it again takes back
what came after it.
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
GROUNDING = 5  # passages in a prompt that people read, too: all that the local technique looks at
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
    """The parts of one call."""

    kit: Kit
    run: Run
    scope: Scope


@dataclass(frozen=True, slots=True)
class Augmented:
    """The prompt as it is shown and sent, and the passages in it, which are of these kept `contexts`."""

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
    """The step that a question waits for: "embed", "retrieve", "consolidate" or, any number of times, "augment"."""
    if query.vector_status in ("to_vec", "vec_err"):
        return "embed"
    if query.clean_retrieval_context is not None:
        return "augment"
    if query.retrieved_context is not None:
        return "consolidate"
    return "retrieve" if query.vector_status == "vec" else "embed"


async def found(id: int, bench: Bench) -> SavedQuery:
    """The kept question. Raises NotFound (query_not_found) for one that is not there, or is another's."""
    query = await bench.run.step("load", bench.kit.archive.query(id, bench.scope))
    if query is None:
        raise no_question()
    return query


async def expansion_prompt(text: str, bench: Bench) -> Prompt:
    """What `expand` would send: no model is asked."""
    query, hits, told = await _grounded(text, bench)
    return query_expansion(text, _texts(hits), count=query.rewordings, imagine=query.imaginings > 0, told=told)


async def expand(text: str, bench: Bench, *, full_model: bool = True) -> SavedQuery:
    """Keep a question with what a model, or what stands in for one, makes of it (S0-70 to S0-72)."""
    kit = noting(bench.kit, bench.run)
    query, hits, told = await _grounded(text, bench)
    made = await expanded(query, _texts(hits), kit.full if full_model else kit.llm, bench.run, told=told)
    went_in = {"passages": len(hits), "document_ids": documents(hits), "full_model": full_model}
    return await create(text, made, bench, went_in)


async def paste_expansion(text: str, llm_response: str, bench: Bench) -> SavedQuery:
    """The same with a reply that was had elsewhere.

    Raises:
        InvalidRequest: there is nothing in it that can be read; llm_response is named.
    """
    made, unread = parse_expansion(llm_response, _question(text))
    bench.run.techniques[EXPANSION] = "pasted"
    if unread:
        bench.run.warn("lines_unread", f"lines {', '.join(map(str, unread))} of llm_response belong to no part of it")
    for part in made.missing:
        bench.run.warn("expansion_incomplete", f"llm_response has no {part}")
    return await create(text, made, bench, {"llm_response_chars": len(llm_response)})


async def create(text: str, made: Expansion, bench: Bench, went_in: Mapping[str, Any]) -> SavedQuery:
    """Keep a new question with its expansion; nothing of it is embedded yet."""
    preset = await _preset(bench)
    came_out = {
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
        steps={"expand": account(bench.run, {"query": text, **went_in}, came_out)},
    )
    return await bench.run.step("save", bench.kit.archive.add(query, bench.scope))


async def edit(id: int, changes: Mapping[str, Any], bench: Bench) -> SavedQuery:
    """Change a question's own fields; what was made of those that really change is taken back (S0-18, S0-100).

    Raises:
        InvalidRequest: a field that cannot be edited, or not its kind of value.
    """
    query = await found(id, bench)
    read = {field: _read(field, value) for field, value in changes.items()}
    new = {field: value for field, value in read.items() if value != getattr(query, field)}
    if not new:
        return query
    if not new.keys().isdisjoint(EMBEDDED):
        status: VectorStatus = "no_vec" if query.vector_status == "no_vec" else "to_vec"
        query = replace(_taken_back(query, "embed"), vector_status=status)
    else:
        query = _taken_back(query, "retrieve")
    return await _saved(replace(query, **new), bench)


async def embed(id: int, bench: Bench) -> SavedQuery:
    """The vectors of the question, its other wordings and its imagined answer (S0-22).

    There are none where the embedder does not read the question's script: it is then searched by its words.

    Raises:
        Unavailable: there is no embedder, or it failed; the question's status is then vec_err.
    """
    query, embedder = await found(id, bench), bench.kit.index.embedder
    went_in = {"original": 1, "expanded_queries": len(query.expanded_queries), "hyde": int(bool(query.hyde_answer))}
    try:
        original, mqe, hyde = await bench.run.step("embed", _embedded(query, embedder, bench.run), within_s=EMBED_S)
    except Unavailable as failure:
        failed = account(bench.run, went_in, {"error": {"code": failure.code, "message": failure.message}})
        with suppress(RagError):  # whatever becomes of the status, the caller is told why there are no vectors
            await _saved(replace(query, vector_status="vec_err", steps={**query.steps, "embed": failed}), bench)
        raise
    bench.run.techniques["embed"] = embedder.space
    made = sum(went_in.values()) if original else 0
    came_out = {"embeddings": made, "dimensions": len(original or ()), "space": embedder.space}
    done = replace(
        _taken_back(query, "embed"),
        embedding_original=original,
        embeddings_mqe=mqe,
        embedding_hyde=hyde,
        space=embedder.space,
        vector_status="vec",
    )
    return await _accounted(done, "embed", went_in, came_out, bench)


async def retrieve(id: int, bench: Bench) -> SavedQuery:
    """The passages for a question by its kept embeddings and its words (S0-44 to S0-52). Nothing is embedded.

    Raises:
        Conflict: it is not embedded, or by another model than the index's (step_missing).
        Unavailable: neither leg can be searched.
    """
    query = await found(id, bench)
    if query.vector_status != "vec" or query.space != bench.kit.index.embedder.space:
        raise missing("embed")
    preset = await _preset(bench)
    vectors, asked = _vectors(query), preset.query(query.original_query, bench.scope)
    best = await pooled(
        asked, vectors, noting(bench.kit, bench.run), bench.run, entities=query.entities, intent=query.intent
    )
    went_in = {
        "meaning": list(vectors),
        "words": ["original"],
        "intent": query.intent,
        "entities": list(query.entities),
    }
    came_out = {"dense": len(best.dense), "words": len(best.words), "fused": len(best.fused), "chunks": len(best.hits)}
    done = replace(_taken_back(query, "retrieve"), retrieved_context=_ranked(best), preset=preset.numbers())
    return await _accounted(done, "retrieve", went_in, came_out, bench)


async def consolidate(id: int, bench: Bench) -> SavedQuery:
    """The retrieved passages as groups that can be read by themselves (S0-56 to S0-61).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    query = await found(id, bench)
    if query.retrieved_context is None:
        raise missing(next_step(query))
    preset = await _preset(bench)
    hits = [contexts.found(kept) for kept in query.retrieved_context]
    groups = await consolidated(hits, preset.query(query.original_query, bench.scope), bench.kit, bench.run)
    clean = tuple(contexts.kept(group) for group in groups)
    done = replace(_taken_back(query, "consolidate"), clean_retrieval_context=clean, preset=preset.numbers())
    came_out = {"groups": len(clean), "enriched": sum(group.enriched for group in groups)}
    return await _accounted(done, "consolidate", {"chunks": len(hits)}, came_out, bench)


async def augmented(id: int, top_n: int, bench: Bench) -> Augmented:
    """The prompt of the best `top_n` contexts: consolidated ones where there are any, else those retrieved (S0-62).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    return await _augmented(await found(id, bench), top_n, bench)


async def answer(id: int, top_n: int, bench: Bench, *, full_model: bool = False) -> SavedResult:
    """The response of a model to the augmented prompt, kept with each of its sentences checked (S0-68)."""
    query, kit = await found(id, bench), noting(bench.kit, bench.run)
    made = await _augmented(query, top_n, bench)
    llm = kit.full if full_model else kit.llm
    text, model = await answering.response(query.original_query, made.prompt, made.evidence, llm, kit, bench.run)
    bench.run.techniques.setdefault(answering.STEP, model)
    return await _answered(query, made, text, model, {"full_model": full_model, "top_n": top_n}, bench)


async def paste_answer(id: int, response_text: str, top_n: int, bench: Bench) -> SavedResult:
    """The same with a response that was had elsewhere."""
    if not response_text.strip():
        raise InvalidRequest("response_text", "must not be empty")
    query = await found(id, bench)
    made = await _augmented(query, top_n, bench)
    bench.run.techniques[answering.STEP] = "pasted"
    return await _answered(query, made, response_text.strip(), "", {"pasted": True, "top_n": top_n}, bench)


async def _preset(bench: Bench, **numbers: Any) -> Preset:
    return await bench.run.step("preset", edits.resolved(PRESET, bench.kit, **numbers))


async def _wording(tag: str, bench: Bench) -> str:
    """An edited one; "" stands for ours."""
    return (await bench.run.step("prompt", bench.kit.archive.prompts())).get(tag, "")


async def _grounded(text: str, bench: Bench) -> tuple[Query, Ranking, str]:
    """The question with the workbench's numbers, passages that show how the index speaks, and an edited wording."""
    preset = await _preset(bench)
    told = await _wording(EXPANSION, bench)
    query = preset.query(_question(text), bench.scope)
    first = replace(query, top_k=GROUNDING, candidates=GROUNDING, semantic=0)
    try:
        hits = (await search(labelled([text]), first, bench.kit, bench.run))["original"]
    except Unavailable as failure:
        bench.run.degrade("search", failure.code, failure.message, "an expansion without passages of the index")
        hits = []
    return query, hits[:GROUNDING], told


def _texts(hits: Ranking) -> list[str]:
    return [hit.chunk.content for hit in hits]


def documents(hits: Ranking) -> list[str]:
    """Whose text it is, each once: a purge looks for these in what is kept (docs/archive.md)."""
    return sorted({hit.chunk.document_id for hit in hits})


async def _embedded(
    query: SavedQuery, embedder: Embedder, run: Run
) -> tuple[Vector | None, tuple[Vector, ...], Vector | None]:
    """As S0-41 has it: the imagined answer as a query, too (C37)."""
    others, imagined = list(query.expanded_queries), query.hyde_answer
    try:
        original = tuple(await embedder.embed_query(query.original_query))
    except Unread as unread:
        run.degrade("embed", unread.code, unread.message, "search by words only")
        return None, (), None
    mqe = await embedder.embed_documents(others) if others else ()
    hyde = tuple(await embedder.embed_query(imagined)) if imagined else None
    return original, tuple(map(tuple, mqe)), hyde


def _vectors(query: SavedQuery) -> Vectors:
    """The kept embeddings by the labels of what they are of."""
    if query.embedding_original is None:
        return {}
    wordings = labelled([query.original_query, *query.expanded_queries])
    given = zip(wordings, (query.embedding_original, *query.embeddings_mqe), strict=True)
    vectors = {wording.label: vector for wording, vector in given if vector is not None}
    return vectors if query.embedding_hyde is None else {**vectors, HYDE: query.embedding_hyde}


def _ranked(best: Pooled) -> tuple[Mapping[str, Any], ...]:
    rankings = {"dense": best.dense, "words": best.words, "fused": best.fused}
    ranks = {name: {hit.chunk.id: n for n, hit in enumerate(hits, 1)} for name, hits in rankings.items()}
    own = ({name: of[hit.chunk.id] for name, of in ranks.items() if hit.chunk.id in of} for hit in best.hits)
    return tuple(item(hit, places) for hit, places in zip(best.hits, own, strict=True))


async def _augmented(query: SavedQuery, top_n: int, bench: Bench) -> Augmented:
    if query.retrieved_context is None and query.clean_retrieval_context is None:
        raise missing(next_step(query))
    chosen = query.clean_retrieval_context or query.retrieved_context or ()
    preset = await _preset(bench, top_n=top_n)
    told = await _wording(AUGMENTATION, bench)
    asked = preset.query(query.original_query, bench.scope)
    evidence = await fitting(asked, [contexts.context(kept) for kept in chosen], bench.run)
    prompt = rag_augmentation(asked.text, evidence, intent=query.intent, entities=query.entities, told=told)
    return Augmented(prompt, evidence, chosen)


async def _answered(
    query: SavedQuery, made: Augmented, text: str, model: str, how: Mapping[str, Any], bench: Bench
) -> SavedResult:
    shown, claims = await answering.checked(text, made.evidence, noting(bench.kit, bench.run), bench.run)
    went_in = {**how, "contexts": made.context_count, "prompt_hash": sha256(made.text.encode()).hexdigest()[:12]}
    came_out = {"chars": len(shown), "verdicts": [claim.verdict for claim in claims]}
    done = account(bench.run, went_in, came_out)
    claimed = answering.told(claims, made.contexts)
    quoted = documents([passage.hit for passage in made.evidence])
    details = {**how, **done, "model": model, "claims": claimed, "document_ids": quoted}
    result = SavedResult(0, query.id, shown, model, details)
    kept = await bench.run.step("save", bench.kit.archive.add_result(result, bench.scope))
    with suppress(Conflict):  # the question was changed meanwhile: the account is in the result, too
        await _saved(replace(query, steps={**query.steps, "augment": done}), bench)
    return kept


def _taken_back(query: SavedQuery, step: str) -> SavedQuery:
    """Without what this step and those after it made."""
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
    """For a question that waits for a step before the one that is wanted."""
    return Conflict(f"{step} the query first", code="step_missing", details={"next_step": step})


def _question(text: str) -> str:
    if not text.strip():
        raise InvalidRequest("original_query", "must not be empty")
    return text.strip()


def _read(field: str, value: Any) -> Any:
    """A field's new value as it is kept."""
    kind = FIELDS.get(field)
    if kind is None:
        raise InvalidRequest(field, f"cannot be edited: those that can are {', '.join(FIELDS)}")
    if kind is str and isinstance(value, str):
        return {"original_query": _question, "intent": named}.get(field, str.strip)(value)
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(one.strip() for one in value if one.strip())
    raise InvalidRequest(field, "must be a text" if kind is str else "must be a list of texts")
