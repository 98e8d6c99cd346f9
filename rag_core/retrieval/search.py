"""Searches of the index: query variants to vectors, probes and rankings."""

from collections.abc import Iterator, Mapping, Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Filter, QueryVariant, Ranking, SearchType, Vector
from rag_core.core.ports import Probe
from rag_core.core.presets import Query
from rag_core.retrieval.candidates import find_crowding_documents

HYDE_LABEL = "hyde"
VectorsByLabel = Mapping[str, Vector]  # by the label of the variant
RankingsByLabel = dict[str, Ranking]  # by the label of the variant, in the order of the variants


def label_variants(query_texts: Sequence[str], hyde_answers: Sequence[str] = ()) -> list[QueryVariant]:
    """Label query texts "original", "expanded1", … in order, and each HyDE answer "hyde", as in `queries_used`."""
    labels = ["original", *(f"expanded{number}" for number in range(1, len(query_texts)))]
    return [*map(QueryVariant, labels, query_texts), *(QueryVariant(HYDE_LABEL, text) for text in hyde_answers)]


async def embed_variants(variants: Sequence[QueryVariant], index: Index, *, search_type: SearchType) -> VectorsByLabel:
    """Embed the variants; return no vectors for a keyword search.

    Raises:
        Unavailable: there is no embedder, or it failed (embedding_unavailable).
    """
    if search_type == "keyword":
        return {}
    vectors = await index.embed_queries([variant.text for variant in variants])
    return {variant.label: vector for variant, vector in zip(variants, vectors, strict=True)}


async def search_index(
    variants: Sequence[QueryVariant], vectors: VectorsByLabel, query: Query, index: Index
) -> RankingsByLabel:
    """Search for each variant by the legs of the query's search type, and return a ranking per searchable variant.

    A variant without a vector is searched by the lexical leg only, a HyDE answer by the vector leg or not at all. Where
    one document takes more than half of what is to be reranked, the best hits of all others follow.

    Raises:
        Unavailable: no variant can be searched (retrieval_unavailable), or the store did not answer.
    """
    probes = list(_build_probes(variants, vectors, query))
    if not probes:
        raise Unavailable("this search needs embeddings, and none are available now", code="retrieval_unavailable")
    rankings = await _search_probes(probes, query.filters, query, index)
    is_reranked = query.preset.search.reranked_hits or query.preset.grading.graded_hits
    crowding = find_crowding_documents(rankings, limit=compute_candidate_limit(query)) if is_reranked else []
    if crowding:
        others = [Filter("document_id", "ne", id) for id in crowding]
        added = await _search_probes(probes, (*query.filters, *others), query, index)
        rankings = [_append_new_hits(ranking, more) for ranking, more in zip(rankings, added, strict=True)]
    return {probe.label: ranking for probe, ranking in zip(probes, rankings, strict=True)}


def _append_new_hits(ranking: Ranking, more: Ranking) -> Ranking:
    """Return a ranking followed by the further hits that it does not have: a hit that stood twice would count twice."""
    ids = {hit.chunk.id for hit in ranking}
    return [*ranking, *(hit for hit in more if hit.chunk.id not in ids)]


async def _search_probes(
    probes: Sequence[Probe], filters: Sequence[Filter], query: Query, index: Index
) -> Sequence[Ranking]:
    limit, rrf_k = compute_candidate_limit(query), query.preset.search.rrf_k
    return await index.search(probes, query.scope, limit=limit, filters=filters, rrf_k=rrf_k)


def compute_candidate_limit(query: Query) -> int:
    """Return how many hits a search asks for: `top_k`, times `overretrieve` when grading, at least `candidates`."""
    return max(
        query.preset.search.candidates,
        query.preset.search.top_k * (query.preset.grading.overretrieve if query.preset.grading.graded_hits else 1),
    )


def _build_probes(variants: Sequence[QueryVariant], vectors: VectorsByLabel, query: Query) -> Iterator[Probe]:
    question = query.text_in_context if query.preset.search.reranked_hits else ""
    for variant in variants:
        words = "" if query.preset.search.search_type == "vector" or variant.label == HYDE_LABEL else variant.text
        vector = vectors.get(variant.label)
        if words or vector is not None:
            yield Probe(variant.label, words, vector, question)
