"""The steps that find the contexts of a saved query: embed, retrieve, consolidate (S0-40 to S0-61)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rag_core.core.errors import RagError, Unavailable, UnsupportedScript
from rag_core.core.model import SavedQuery, Vector
from rag_core.core.ports import Embedder
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.retrieval.search import HYDE_LABEL, VectorsByLabel, label_variants
from rag_core.retrieval.steps import EMBED_TIMEOUT_S
from rag_core.workbench import contexts
from rag_core.workbench.consolidation import consolidate_hits
from rag_core.workbench.hybrid_retrieval import RetrievedRankings, retrieve_with_embeddings
from rag_core.workbench.session import (
    WorkbenchSession,
    discard_from_step,
    find_next_step,
    load_saved_query,
    make_step_missing_error,
    resolve_workbench_preset,
    save_query_change,
    save_step,
)
from rag_core.workbench.step_records import build_step_record


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
            await save_query_change(
                replace(query, vector_status="vec_err", steps={**query.steps, "embed": record}), session
            )
        raise
    session.run.techniques["embed"] = embedder.space
    embeddings = sum(inputs.values()) if original else 0
    outputs = {"embeddings": embeddings, "dimensions": len(original or ()), "space": embedder.space}
    embedded = replace(
        discard_from_step(query, "embed"),
        embedding_original=original,
        embeddings_mqe=mqe,
        embedding_hyde=hyde,
        space=embedder.space,
        vector_status="vec",
    )
    return await save_step(embedded, "embed", inputs, outputs, session)


async def retrieve_for_saved_query(query_id: int, session: WorkbenchSession) -> SavedQuery:
    """Retrieve hits for a saved query with its embeddings and its text (S0-44 to S0-52). Nothing is embedded.

    Raises:
        Conflict: the query is not embedded, or in another embedding space than the index (step_missing).
        Unavailable: neither leg can be searched.
    """
    query = await load_saved_query(query_id, session)
    if query.vector_status != "vec" or query.space != session.kit.index.embedder.space:
        raise make_step_missing_error("embed")
    preset = await resolve_workbench_preset(session)
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
        discard_from_step(query, "retrieve"),
        retrieved_context=_encode_retrieved_hits(rankings),
        preset=preset.export_numbers(),
    )
    return await save_step(retrieved, "retrieve", inputs, outputs, session)


async def consolidate_saved_query(query_id: int, session: WorkbenchSession) -> SavedQuery:
    """Consolidate the retrieved passages of a saved query into groups (S0-56 to S0-61).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    query = await load_saved_query(query_id, session)
    if query.retrieved_context is None:
        raise make_step_missing_error(find_next_step(query))
    preset = await resolve_workbench_preset(session)
    hits = [contexts.decode_hit(context) for context in query.retrieved_context]
    groups = await consolidate_hits(
        hits, preset.build_query(query.original_query, session.scope), session.kit, session.run
    )
    encoded = tuple(contexts.encode_group(group) for group in groups)
    consolidated_query = replace(
        discard_from_step(query, "consolidate"), clean_retrieval_context=encoded, preset=preset.export_numbers()
    )
    outputs = {"groups": len(encoded), "enriched": sum(group.enriched for group in groups)}
    return await save_step(consolidated_query, "consolidate", {"chunks": len(hits)}, outputs, session)


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
