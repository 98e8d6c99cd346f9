"""The stores of chunks and of cached answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rag_core.core.model import Chunk, Document, EmbeddableText, Facet, Filter, QueryVariant, Ranking, Scope, Vector


@dataclass(frozen=True, slots=True)
class Probe:
    """A search request to a store: lexical, by a vector, or hybrid (the store then fuses the two legs).

    `semantic_query` is the text by which a store with a reranker of its own may rerank the hits; "" for no reranking.
    """

    label: str
    lexical_query: str = ""
    vector: Vector | None = None
    semantic_query: str = ""


class Cache(Protocol):
    """A cache of values with a time to live.

    It never raises: a value that cannot be written, read or authenticated is a miss.
    """

    @property
    def name(self) -> str: ...
    async def get(self, key: str) -> bytes | None:
        """Return the value of a key; None for a miss."""
        ...

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        """Keep a value for `ttl_s` seconds at most."""
        ...

    async def clear(self) -> None:
        """Remove all values, which may quote a purged document."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ReplacementResult:
    """The result of replacing a document's chunks: counts by content hash.

    `failed` has the ids of the chunks that are not searchable; the store retries those with a temporary failure.
    """

    added: int
    unchanged: int
    removed: int
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreDescription:
    """The kind, place and size of a store; `space` is "" until the first vector is written.

    `damage` has the codes of the damages that were met since the store was opened; they name no file and no document.
    """

    kind: str
    location: str
    space: str
    dimensions: int
    documents: int
    chunks: int
    details: Mapping[str, str | int] = field(default_factory=dict)
    damage: tuple[str, ...] = ()


class KnowledgeBase(Protocol):
    """A service over a store's chunks that runs several queries at once and ranks all that they find by its model."""

    async def retrieve(
        self, variants: Sequence[QueryVariant], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Ranking:
        """Return one ranking for all variants, at most `limit` long; each hit has the signal "semantic", 0..1.

        Only chunks that the scope may read and the filters admit are ranked and returned.

        Raises:
            Unavailable: the service refused the request, did not answer, or found nothing after a search failed.
            Misconfigured: the knowledge base does not exist.
        """
        ...


class ChunkStore(Protocol):
    """A store of chunks, their vectors and their documents; every access is scoped, filters apply before ranking."""

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        """Return one ranking per probe, at most `limit` long; equal scores are ordered by chunk id.

        Signals: "words" (BM25) and "meaning" (cosine similarity), where that leg found the chunk. A lexical query is
        plain text without operators. Acknowledged writes are visible, also those of other processes.
        """
        ...

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        """Return at most `limit` chunks that match the filters, ordered by document id and ordinal."""
        ...

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        """Return the chunks of these ids, in this order, without those absent or out of scope."""
        ...

    async def load_neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        """Return up to `before` and `after` chunks around a chunk of its document, in order, without the chunk."""
        ...

    async def count_facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        """Return one facet per field, in order, with at most `limit` buckets (0: none) and the exact total."""
        ...

    async def list_facet_fields(self, scope: Scope) -> Sequence[str]:
        """Return the fields with values in the scope: "entity_codes", entity types, "title", …, "metadata.NAME"."""
        ...

    async def load_document(self, document_id: str, scope: Scope) -> Document | None:
        """Return a live document; None when it does not exist or is out of scope."""
        ...

    async def list_documents(self, scope: Scope, *, source_prefix: str = "") -> Sequence[Document]:
        """Return the live documents of the scope whose source begins with these characters, ordered by id."""
        ...

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        """Return the stored vectors of a document's chunks by content hash, to embed only changed chunks."""
        ...

    async def is_embedded(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> bool:
        """Return whether the document is live with exactly these chunks and with vectors that the store cannot return.

        Replaced by the same chunks without vectors it then keeps its own. False where `load_vectors` returns them.
        """
        ...

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> ReplacementResult:
        """Replace all chunks of the document in one durable step; the return is the acknowledgement.

        `vectors` has one entry per chunk, None where there is none. Raises Conflict before any write when `space` is
        not the embedding space of the stored vectors (code "reindex_required"), NotFound when the document exists and
        the scope may not replace it, StorageFull, Unavailable.
        """
        ...

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        """Save the summary of a document. Raises NotFound when it does not exist or is out of scope."""
        ...

    async def delete(self, document_id: str, scope: Scope) -> bool:
        """Delete a document from search and lists; it can be restored until it is purged.

        Until then only its owner can index under its id. False, here and below, when there is no such document, or
        none that the scope may replace.
        """
        ...

    async def restore(self, document_id: str, scope: Scope) -> bool:
        """Restore a deleted document as it was: ids, vectors and summary.

        Raises Conflict when there is a live document of the id (code "document_exists"), or when the vectors stored
        meanwhile are another model's (code "reindex_required").
        """
        ...

    async def purge(self, document_id: str, scope: Scope) -> bool:
        """Remove a document, live or deleted, permanently: the store keeps no byte of its text."""
        ...

    async def list_deleted(self, scope: Scope) -> Sequence[Document]:
        """Return the documents that can be restored, ordered by id; a document that was indexed again cannot be."""
        ...

    async def load_embedding_space(self) -> str:
        """Return the embedding space of the stored vectors, "" before the first; read before every vector search."""
        ...

    async def load_corpus_version(self, scope: Scope) -> str:
        """Return a text that differs after each change of the scope's workflow by any process; "" when unknown.

        It may be part of the cache key of results; under "" nothing may be cached.
        """
        ...

    async def describe(self) -> StoreDescription:
        """Return what the store is and how much it holds."""
        ...

    async def close(self) -> None: ...


class IndexRebuild(Protocol):
    """The rebuild of an index with vectors of another model, next to the old index, which stays unchanged."""

    async def load_missing_texts(self) -> Mapping[str, EmbeddableText]:
        """Return the texts without a vector, each once, by content hash; all of them are held in memory."""
        ...

    async def save_vectors(self, vectors: Mapping[str, Vector]) -> None:
        """Save vectors by content hash durably: they are kept also when the process is killed."""
        ...

    async def copy_index(self) -> None:
        """Fill the new index with the present content of the old one."""
        ...

    async def switch_if_unchanged(self, switch: Callable[[], object]) -> bool:
        """Call `switch` with writers locked out; return False instead when the old index has changed since the copy."""
        ...

    async def close(self) -> None: ...
