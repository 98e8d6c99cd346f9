"""What a search is made of and gives: conditions, query variants, hits, facets, and the graph of entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rag_core.core.model.documents import Chunk, Scalar


@dataclass(frozen=True, slots=True)
class Caption:
    """The sentence of a passage that best matches the query; `highlights` marks shared words with <em>."""

    text: str
    highlights: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk as found by a search.

    `score` is the search's own and stays when a model reorders the hits; `signals` holds the score of each leg and
    model: "words" (BM25), "meaning" (cosine similarity), "semantic" (cross-encoder, 0..1), "grade" (LLM grading,
    0..10). `found_by` holds the labels of the probes that found it. `similar_count` is how many more passages of its
    document the search found that are near-identical to it; they are left out of the ranking.
    """

    chunk: Chunk
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    captions: tuple[Caption, ...] = ()
    found_by: tuple[str, ...] = ()
    similar_count: int = 0


Ranking = Sequence[Hit]  # best first; each chunk once
ANY_ENTITY_FIELD = "entity_codes"  # the field with the entities of all types of a chunk
CHUNK_FIELDS = (ANY_ENTITY_FIELD, "title", "source", "document_id", "page")  # besides entity types and metadata


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a field of chunks, applied before ranking.

    Fields: "document_id", "title", "source", "page", "entity_codes" (any entity), an entity type such as
    "dtc", or "metadata.NAME". A chunk with several values of a field matches when one of them does.
    """

    field: str
    op: Literal["eq", "ne", "in", "gt", "ge", "lt", "le"]
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class FacetBucket:
    """A value of a facet and the number of chunks that have it; `chunk` is one of them, where it was looked up."""

    value: Scalar
    count: int
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of a field, most frequent first, ties by value; `total` is the exact number of distinct values."""

    field: str
    total: int
    buckets: tuple[FacetBucket, ...]


@dataclass(frozen=True, slots=True)
class SemanticAnswer:
    """A sentence of the index that may answer the query by itself; `score` is 0..1."""

    text: str
    score: float
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said in a conversation before a question."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class QueryVariant:
    """A text that is searched for a query; `label` is "original", "expanded1", … or "hyde"."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a pipeline: hits, and the query variants that were searched to find them."""

    hits: Ranking = ()
    variants: tuple[QueryVariant, ...] = ()
    answers: tuple[SemanticAnswer, ...] = ()
    facets: tuple[Facet, ...] = ()
    reranked: bool = False


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity of the graph; `count` is the number of chunks in which it occurs."""

    id: str
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """Two entities that occur together in `count` chunks; `chunk_ids` names some of them."""

    source: str
    target: str
    count: int
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """A part of the entity graph; `paths` list node ids from the first entity to the target."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
