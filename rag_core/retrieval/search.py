"""Searches of the index: query variants to vectors, probes and rankings."""

from collections.abc import Iterator, Mapping, Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Asked, Query, Ranking, SearchType, Vector
from rag_core.core.ports import Probe

HYDE = "hyde"
Vectors = Mapping[str, Vector]  # by the label of the variant
Found = dict[str, Ranking]  # by the label of the variant, in the order of the variants


def labelled(wordings: Sequence[str], imagined: Sequence[str] = ()) -> list[Asked]:
    """Label query texts "original", "expanded1", … in order, and each HyDE answer "hyde", as in `queries_used`."""
    labels = ["original", *(f"expanded{number}" for number in range(1, len(wordings)))]
    return [*map(Asked, labels, wordings), *(Asked(HYDE, text) for text in imagined)]


async def embed(asked: Sequence[Asked], index: Index, *, how: SearchType) -> Vectors:
    """Embed the variants; return no vectors for a keyword search.

    Raises:
        Unavailable: there is no embedder, or it failed (embedding_unavailable).
    """
    if how == "keyword":
        return {}
    vectors = await index.embed([variant.text for variant in asked])
    return {variant.label: vector for variant, vector in zip(asked, vectors, strict=True)}


async def find(asked: Sequence[Asked], vectors: Vectors, query: Query, index: Index) -> Found:
    """Search for each variant by the legs of the query's search type, and return a ranking per searchable variant.

    A variant without a vector is searched by the lexical leg only, a HyDE answer by the vector leg or not at all.

    Raises:
        Unavailable: no variant can be searched (retrieval_unavailable), or the store did not answer.
    """
    probes = list(_probes(asked, vectors, query))
    if not probes:
        raise Unavailable("this search needs embeddings, and none are available now", code="retrieval_unavailable")
    limit = depth(query)
    rankings = await index.find(probes, query.scope, limit=limit, filters=query.filters, rrf_k=query.rrf_k)
    return {probe.label: ranking for probe, ranking in zip(probes, rankings, strict=True)}


def depth(query: Query) -> int:
    """Return how many hits a search asks for: `top_k`, times `overretrieve` when grading, at least `candidates`."""
    return max(query.candidates, query.top_k * (query.overretrieve if query.rerank else 1))


def _probes(variants: Sequence[Asked], vectors: Vectors, query: Query) -> Iterator[Probe]:
    question = query.text if query.semantic else ""
    for variant in variants:
        words = "" if query.how == "vector" or variant.label == HYDE else variant.text
        vector = vectors.get(variant.label)
        if words or vector is not None:
            yield Probe(variant.label, words, vector, question)
