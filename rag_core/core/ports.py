"""The ports of the domain as protocols; stores and providers implement them, `composition.assembly` chooses."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from rag_core.core.errors import RagError
from rag_core.core.model import (
    Chunk,
    Document,
    Extraction,
    Facet,
    Filter,
    IndexingResult,
    Job,
    Original,
    PiiSpan,
    Ranking,
    SavedQuery,
    SavedResult,
    Scope,
    Vector,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A search request to a store: lexical, by a vector, or hybrid (the store then fuses the two legs).

    `semantic_query` is the text by which a store with a reranker of its own may rerank the hits; "" for no reranking.
    """

    label: str
    lexical_query: str = ""
    vector: Vector | None = None
    semantic_query: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a chat model.

    `task` is the template's name ("query_expansion", "rerank", "summary"), `inputs` the values that filled it, from
    which a local technique works. `schema` is the JSON schema of the completion, None for plain text.
    """

    task: str
    system: str
    user: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    schema: Mapping[str, object] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float | None = None  # None: the provider's default

    @property
    def text(self) -> str:
        """The system and user messages as one text, to be displayed or pasted into a chat."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Completion:
    """The completion of a prompt; `model` names what wrote it: a deployment, or a local technique."""

    text: str
    model: str
    local: bool = False


class Embedder(Protocol):
    """An embedding model with unit vectors.

    `space` names the embedding space: the model and everything else that changes its vectors. `dimensions` is 0 where
    there is no model.
    """

    @property
    def space(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a query text. Raises Unavailable."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order. Raises Unavailable."""
        ...


class LLM(Protocol):
    """A chat model, or a local technique in its place; `name` is shown to the user."""

    @property
    def name(self) -> str: ...
    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's completion of a prompt.

        Raises Unavailable, also for a task for which there is no local technique.
        """
        ...


class Reranker(Protocol):
    """A cross-encoder that scores query-passage pairs; `name` is shown to the user."""

    @property
    def name(self) -> str: ...
    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        """Return the relevance of each passage to a text, 0..1, in order; comparable within one call only.

        Raises Unavailable.
        """
        ...


class LayoutReader(Protocol):
    """A service that extracts text from the layout of pages.

    `kinds` are the kinds of document that it is used for: "docx", "scan" (a PDF without text), "image".
    """

    @property
    def name(self) -> str: ...
    @property
    def kinds(self) -> frozenset[str]: ...
    async def read(self, data: bytes, kind: str) -> Extraction:
        """Extract a document of one of `kinds`. Raises Unavailable, also for a document that the service refuses."""
        ...

    async def close(self) -> None: ...


class Redactor(Protocol):
    """A detector of personal data (PII) in texts; `name` is shown to the user."""

    @property
    def name(self) -> str: ...
    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        """Return the spans with personal data, in any order; they may overlap.

        Raises Unavailable; the caller must then not use the text.
        """
        ...


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page listed by a web search; `snippet` is the search engine's excerpt, the page itself was not read."""

    title: str
    url: str
    snippet: str


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


class QueryLog(Protocol):
    """A log of queries and their outcomes."""

    @property
    def name(self) -> str: ...
    async def record(self, entry: Mapping[str, Any]) -> None:
        """Append an entry with the time. It has any of: "query" (redacted by the caller), "workflow_id", "user_id",
        "preset", "status", "confidence", and "metrics" and "timings" as mappings.

        Raises Unavailable (code "audit_deferred") when it cannot be written yet; it is written with the next entry.
        """
        ...

    async def list_latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return at most `limit` entries, newest first, each with "created_at" (ISO 8601, UTC)."""
        ...

    async def close(self) -> None: ...


class Archive(Protocol):
    """A database of saved queries with their results, edited presets and prompts, and originals (S0-86 to S0-93).

    A saved query is visible to its workflow or, where it has a user, to that user alone. Every call raises Unavailable
    (code "archive_unavailable") when the database does not answer, and StorageFull.
    """

    @property
    def name(self) -> str: ...
    async def list_queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        """Return at most `limit` saved queries with an id below `before`, highest id first.

        They are without embeddings, and a context is () where there is one and None where there is none.
        """
        ...

    async def count_queries(self, scope: Scope) -> int:
        """Return the number of saved queries in the scope."""
        ...

    async def load_query(self, id: int, scope: Scope) -> SavedQuery | None:
        """Return the saved query of an id; None when it does not exist or is out of scope."""
        ...

    async def add_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        """Save a new query, owned by the scope, and return it with its id, version and times."""
        ...

    async def update_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        """Replace the saved query of the same id and return it with the next version.

        Raises NotFound ("query_not_found"), and Conflict ("query_changed") unless `version` is the stored one.
        """
        ...

    async def delete_query(self, id: int, scope: Scope) -> bool:
        """Delete a saved query with its results; False when it does not exist or is out of scope."""
        ...

    async def list_results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        """Return the results of a saved query, newest first."""
        ...

    async def load_result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        """Return one result of a saved query; None when it does not exist or is out of scope."""
        ...

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        """Save a result of a saved query and return it with its id and times.

        Raises NotFound ("query_not_found") for a query that does not exist or is out of scope, and Conflict
        ("query_changed") when a document that the result quotes was purged meanwhile.
        """
        ...

    async def load_edited_presets(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the edited numbers of presets by the preset's name (table `rag_config`)."""
        ...

    async def load_preset_descriptions(self) -> Mapping[str, str]:
        """Return the descriptions of the edited presets by name; "" where there is none."""
        ...

    async def save_edited_preset(self, name: str, overrides: Mapping[str, Any] | None, description: str = "") -> None:
        """Save the edited numbers of a preset; None removes the edit."""
        ...

    async def load_edited_prompts(self) -> Mapping[str, str]:
        """Return the edited prompt templates by function tag (table `prompt_meta`)."""
        ...

    async def save_edited_prompt(self, tag: str, template: str | None) -> None:
        """Save an edited prompt template; None removes the edit."""
        ...

    async def load_original(self, document_id: str, workflow_id: str) -> Original | None:
        """Return the original of a document, None when there is none.

        It is not scoped to a user: check with the chunk store first that the caller may see the document.
        """
        ...

    async def list_original_hashes(self, workflow_id: str) -> Mapping[str, str]:
        """Return the content hashes of all originals of a workflow by document id, whoever may see them."""
        ...

    async def save_original(self, original: Original) -> None:
        """Save the original of a document in place of an earlier one."""
        ...

    async def delete_original(self, document_id: str, workflow_id: str) -> None:
        """Delete the original of a document, if there is one."""
        ...

    async def purge_document(self, document_id: str, workflow_id: str) -> None:
        """Delete the original of a purged document, and all that saved queries of the workflow quote of it.

        A saved query that ever named it, as a "document_id" or among "document_ids" in its contexts, its steps or the
        details of its results, loses its contexts, expansion, step records and results.
        """
        ...

    async def close(self) -> None: ...


class WebSearch(Protocol):
    """A web search engine, used when the index has no answer."""

    @property
    def name(self) -> str: ...
    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        """Return at most `limit` results, best first; none where web search is off. Raises Unavailable."""
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


class Lease(Protocol):
    """The exclusive right of one worker to a job for a limited time, which every call here extends.

    Every call raises Conflict when the lease was lost: it expired and another worker took the job, or a later change
    of the document replaced the job.
    """

    @property
    def job(self) -> Job:
        """The job as it was when the lease was granted."""
        ...

    @property
    def payload(self) -> bytes:
        """The payload that the job was added with."""
        ...

    async def renew(self) -> None:
        """Extend the lease."""
        ...

    async def load_vectors(self, space: str) -> Mapping[str, Vector]:
        """Return the vectors of an embedding space saved by earlier attempts, by content hash."""
        ...

    async def save_vectors(self, vectors: Mapping[str, Vector], space: str, *, done: int, chunks: int) -> None:
        """Save vectors for a later attempt; `done` of the `chunks` chunks now have theirs."""
        ...

    async def claim_document(self, document_id: str) -> None:
        """Take over the document right before it is written: earlier jobs for it lose their leases."""
        ...

    async def mark_lexical_only(self) -> None:
        """Record that the document is searchable without vectors, and end earlier jobs for it."""
        ...

    async def finish(self, result: IndexingResult, run_notes: Mapping[str, Any]) -> Job:
        """Record that the document is in the index, and end this job and earlier ones for it."""
        ...

    async def release(self) -> Job:
        """Return the job to the queue at once, without counting an attempt."""
        ...

    async def schedule_retry(self, error: RagError, run_notes: Mapping[str, Any]) -> Job:
        """Return the job to the queue for a retry after a pause; after the last attempt it has failed."""
        ...

    async def fail(self, error: RagError, run_notes: Mapping[str, Any]) -> Job:
        """End the job as failed. Only the record of an ended job is kept, without its payload and vectors."""
        ...


class Jobs(Protocol):
    """A durable job queue: an accepted job is kept until it is done, and any process may run it."""

    async def add(
        self, payload: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, Lease | None]:
        """Add a job; the return is the acknowledgement. With `hold` the caller gets the lease to run it itself.

        A `key` (idempotency key) that was used before returns its job, without a lease. Raises Conflict when it was
        used with another payload, StorageFull, Unavailable.
        """
        ...

    async def get(self, id: str, user_id: str | None) -> Job | None:
        """Return a job that this user added (None: a caller without a name); None when there is no such job."""
        ...

    async def claim(self) -> Lease | None:
        """Lease the next job that is due, or whose worker was killed; None when there is none."""
        ...

    def supersede_document(self, document_id: str, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Suspend the jobs for a document while the block changes or removes it by other means.

        They end with the block, and their payloads are deleted; when the block raises, they continue. Jobs added
        meanwhile are not affected.
        """
        ...

    async def close(self) -> None: ...


class JobNotifier(Protocol):
    """A notifier that wakes a worker; a lost notification only delays the job, which stays in the queue."""

    async def notify(self, job_id: str, *, after_s: float = 0.0) -> None:
        """Notify a worker of a job, to be run in `after_s` seconds at the earliest. Raises Unavailable."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StoreDescription:
    """The kind, place and size of a store; `space` is "" until the first vector is written."""

    kind: str
    location: str
    space: str
    dimensions: int
    documents: int
    chunks: int
    details: Mapping[str, str | int] = field(default_factory=dict)


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

    async def list_documents(self, scope: Scope) -> Sequence[Document]:
        """Return the live documents of the scope, ordered by id."""
        ...

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        """Return the stored vectors of a document's chunks by content hash, to embed only changed chunks."""
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

    async def load_missing_texts(self) -> Mapping[str, str]:
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
