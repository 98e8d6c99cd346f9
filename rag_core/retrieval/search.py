"""From wordings to rankings: which vectors are needed, and which legs each wording searches by."""

from collections.abc import Iterator, Mapping, Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Asked, Query, Ranking, SearchType, Vector
from rag_core.core.ports import Probe

HYDE = "hyde"
Vectors = Mapping[str, Vector]  # by label
Found = dict[str, Ranking]  # by label, in the order asked


def labelled(wordings: Sequence[str], imagined: Sequence[str] = ()) -> list[Asked]:
    """The wordings with the labels of `queries_used`: "original", "expanded1", …, and "hyde" for an imagined answer."""
    labels = ["original", *(f"expanded{number}" for number in range(1, len(wordings)))]
    return [*map(Asked, labels, wordings), *(Asked(HYDE, text) for text in imagined)]


async def embed(asked: Sequence[Asked], index: Index, *, how: SearchType) -> Vectors:
    """The vectors of the wordings; none for a search by keyword.

    Raises:
        Unavailable: there is no embedder, or it failed (embedding_unavailable).
    """
    if how == "keyword":
        return {}
    vectors = await index.embed([wording.text for wording in asked])
    return {wording.label: vector for wording, vector in zip(asked, vectors, strict=True)}


async def find(asked: Sequence[Asked], vectors: Vectors, query: Query, index: Index) -> Found:
    """The ranking of each wording that can be searched for. An imagined answer searches by meaning, or not at all.

    Raises:
        Unavailable: nothing is left to search by (retrieval_unavailable), or the store did not answer.
    """
    probes = list(_probes(asked, vectors, query))
    if not probes:
        raise Unavailable("this search needs embeddings, and there are none now", code="retrieval_unavailable")
    limit = depth(query)
    rankings = await index.find(probes, query.scope, limit=limit, filters=query.filters, rrf_k=query.rrf_k)
    return {probe.label: ranking for probe, ranking in zip(probes, rankings, strict=True)}


def depth(query: Query) -> int:
    """How many hits a search asks for: what is returned, times `overretrieve` when grading, and never fewer than
    `candidates`."""
    return max(query.candidates, query.top_k * (query.overretrieve if query.rerank else 1))


def _probes(asked: Sequence[Asked], vectors: Vectors, query: Query) -> Iterator[Probe]:
    question = query.text if query.semantic else ""
    for wording in asked:
        words = "" if query.how == "vector" or wording.label == HYDE else wording.text
        vector = vectors.get(wording.label)
        if words or vector is not None:
            yield Probe(wording.label, words, vector, question)
