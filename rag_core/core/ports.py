"""What the domain needs from outside, as protocols: stores and providers fill them, `bootstrap` chooses."""

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
    Indexed,
    Job,
    PiiSpan,
    Ranking,
    SavedQuery,
    SavedResult,
    Scope,
    Vector,
    Work,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing to look for: words, a vector, or both (the store then fuses the two legs by rank).

    `question` is what a store with a semantic ranker of its own may judge the hits against; "" is not at all.
    """

    label: str
    words: str = ""
    vector: Vector | None = None
    question: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a chat model.

    `task` is the template's name ("query_expansion", "rerank", "summary"), `inputs` the values that
    filled it: a local technique works from these. `schema` is the JSON schema of the reply, if it has one.
    """

    task: str
    system: str
    user: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    schema: Mapping[str, object] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float | None = None  # None: the provider's own

    @property
    def text(self) -> str:
        """All that is sent, as one text to be shown or pasted into a chat."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model said. `model` names who really said it: a deployment, or a local technique."""

    text: str
    model: str
    local: bool = False


class Embedder(Protocol):
    """Texts to unit vectors. `space` names the model and everything that changes its vectors; `dimensions` 0 = none."""

    @property
    def space(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    async def embed_query(self, text: str) -> Vector: ...
    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector a text, in order. Raises Unavailable."""
        ...


class LLM(Protocol):
    """A chat model, or what stands in for one. `name` is shown to the reader of a reply."""

    @property
    def name(self) -> str: ...
    async def complete(self, prompt: Prompt) -> Reply:
        """Raises Unavailable, also for a task that the stand-in has no technique for."""
        ...


class Reranker(Protocol):
    """Judges passages against a question. `name` is shown to the reader of a reply."""

    @property
    def name(self) -> str: ...
    async def scores(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        """One relevance in 0..1 a passage, in order; comparable within one call only. Raises Unavailable."""
        ...


class Layout(Protocol):
    """Reads a document by sight. `kinds` are those it is asked for: "docx", "scan" (a PDF without text), "image"."""

    @property
    def name(self) -> str: ...
    @property
    def kinds(self) -> frozenset[str]: ...
    async def read(self, data: bytes, kind: str) -> Extraction:
        """Raises Unavailable, also for a document that it refuses."""
        ...

    async def close(self) -> None: ...


class Redactor(Protocol):
    """Finds what tells of a person. `name` is shown to the reader of a reply."""

    @property
    def name(self) -> str: ...
    def spans(self, text: str) -> Sequence[PiiSpan]:
        """In any order; they may overlap. Raises Unavailable: a text that was not looked at is not passed on."""
        ...


@dataclass(frozen=True, slots=True)
class WebResult:
    """What a search engine lists: its own words on a page that nobody here has read."""

    title: str
    url: str
    snippet: str


class Cache(Protocol):
    """Values kept for a while. It never fails: what cannot be kept or read, or is not what was written, is a miss."""

    @property
    def name(self) -> str: ...
    async def get(self, key: str) -> bytes | None: ...
    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None: ...
    async def clear(self) -> None:
        """Forget everything, for what was purged may stand in it."""
        ...

    async def close(self) -> None: ...


class Audit(Protocol):
    """Keeps what was asked, and how it went."""

    @property
    def name(self) -> str: ...
    async def record(self, entry: Mapping[str, Any]) -> None:
        """Keep an entry and when it was made. It has any of: "query" (redacted by the caller), "workflow_id",
        "user_id", "preset", "status", "confidence", and "metrics" and "timings" as mappings.

        Raises Unavailable (code "audit_deferred") when it cannot be kept yet: it is, with the next one that can.
        """
        ...

    async def last(self, limit: int) -> Sequence[Mapping[str, Any]]:
        """The newest entries, newest first, each with "created_at" (ISO 8601, UTC)."""
        ...

    async def close(self) -> None: ...


class Archive(Protocol):
    """Kept questions with their results, the edited presets and prompts, and the documents as they came (S0-86 to 93).

    A question is seen by its workflow or, where it has a user, by that user alone. Every call raises Unavailable (code
    "archive_unavailable") when the database does not answer, and StorageFull.
    """

    @property
    def name(self) -> str: ...
    async def queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        """By id, highest first, without contexts and embeddings but with `results_count`: one statement.

        Whether a context is there is told by () for one that is and None for one that is not.
        """
        ...

    async def count(self, scope: Scope) -> int: ...
    async def query(self, id: int, scope: Scope) -> SavedQuery | None: ...
    async def add(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        """Keep a new one, owned by the scope; its id, version and times are given here."""
        ...

    async def change(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        """Replace it by this, its version one higher.

        Raises NotFound ("query_not_found"), and Conflict ("query_changed") unless `version` is the kept one's.
        """
        ...

    async def remove(self, id: int, scope: Scope) -> bool:
        """With its results."""
        ...

    async def results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        """Newest first."""
        ...

    async def result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None: ...
    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        """Raises NotFound ("query_not_found") for a question that is not there, or not the scope's."""
        ...

    async def configs(self) -> Mapping[str, Mapping[str, Any]]:
        """The presets that were edited, by name: only the numbers that were (`rag_config`)."""
        ...

    async def descriptions(self) -> Mapping[str, str]:
        """What was said of each edited preset, by name; "" where nothing was."""
        ...

    async def save_config(self, name: str, config: Mapping[str, Any] | None, description: str = "") -> None:
        """None takes the edit back."""
        ...

    async def prompts(self) -> Mapping[str, str]:
        """The wordings that were edited, by function tag (`prompt_meta`)."""
        ...

    async def save_prompt(self, tag: str, wording: str | None) -> None:
        """None takes the edit back."""
        ...

    async def work(self, document_id: str, workflow_id: str) -> Work | None:
        """Not scoped to a user: ask the store first whether the document may be seen."""
        ...

    async def works(self, workflow_id: str) -> Mapping[str, str]:
        """The content hashes of a workflow's works by document id, whoever may see them."""
        ...

    async def save_work(self, work: Work) -> None:
        """In place of the document's earlier one."""
        ...

    async def remove_work(self, document_id: str, workflow_id: str) -> None: ...
    async def forget(self, document_id: str, workflow_id: str) -> None:
        """Remove the work of a document that is purged, and what questions of anyone in the workflow quote of it.

        Of a question that ever named it, as a "document_id" or among "document_ids" in its contexts, its steps or the
        details of its results, that is the contexts, the HyDE answer, the steps' accounts and the results.
        """
        ...

    async def close(self) -> None: ...


class Web(Protocol):
    """A search engine of the web, asked when the index knows nothing."""

    @property
    def name(self) -> str: ...
    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        """At most `limit` results, best first; none where the web is switched off. Raises Unavailable."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a replacement did to a document's chunks, by content hash.

    `failed` names the chunks that are not searchable, by id. Those that time can put right are kept and sent again.
    """

    added: int
    unchanged: int
    removed: int
    failed: tuple[str, ...] = ()


class Lease(Protocol):
    """A job in one worker's hands, for a while that each call here prolongs.

    Every call raises Conflict when it is no longer so: the time ran out and another took the job up, or a later change
    of the document took its place.
    """

    @property
    def job(self) -> Job:
        """As it was when it was taken."""
        ...

    @property
    def work(self) -> bytes: ...
    async def renew(self) -> None: ...
    async def vectors(self, space: str) -> Mapping[str, Vector]:
        """Those kept by earlier attempts, by content hash."""
        ...

    async def keep(self, vectors: Mapping[str, Vector], space: str, *, done: int, chunks: int) -> None:
        """Keep vectors so that they are not made again, and say how many of the chunks now have theirs."""
        ...

    async def publish(self, document_id: str) -> None:
        """Ask right before the document is written: what came for it earlier is then in no other worker's hands."""
        ...

    async def words_only(self) -> None:
        """It is in the index by its words: what came for it earlier ends."""
        ...

    async def finish(self, result: Indexed, told: Mapping[str, Any]) -> Job:
        """It is in the index: what came for it earlier ends too."""
        ...

    async def give_back(self) -> Job:
        """Leave it to another, at once; this was no attempt."""
        ...

    async def put_off(self, error: RagError, told: Mapping[str, Any]) -> Job:
        """Give it back, to be tried again after a pause; failed after the last attempt."""
        ...

    async def fail(self, error: RagError, told: Mapping[str, Any]) -> Job:
        """Time will not put it right. Of a job that ended, so or otherwise, only what is told of it is kept."""
        ...


class Jobs(Protocol):
    """Long work: what was acknowledged is kept until it is done, and any process may do it."""

    async def add(
        self, work: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, Lease | None]:
        """Take work on; the return is the acknowledgement. To `hold` it is to do it oneself, by the lease.

        A `key` stands for the work that it first came with: that job is given, and no lease. Raises Conflict when it
        came with other work, StorageFull, Unavailable.
        """
        ...

    async def get(self, id: str, user_id: str | None) -> Job | None:
        """A job that this user asked for; None is who asks without a name."""
        ...

    async def claim(self) -> Lease | None:
        """The next job that is due, also one whose worker was killed; None when there is nothing to do."""
        ...

    def superseding(self, document_id: str, scope: Scope) -> AbstractAsyncContextManager[None]:
        """While the block changes or removes a document by other means, what is under way for it is in nobody's hands.

        It ends with the block, and no byte of it is kept. When the block raises, it goes on as if nothing had been.
        What is added meanwhile came later and is left alone.
        """
        ...

    async def close(self) -> None: ...


class Bell(Protocol):
    """Wakes a worker. What it says is a hint: the jobs are the truth, and a call that is lost loses nothing."""

    async def ring(self, job_id: str, *, after_s: float = 0.0) -> None:
        """Raises Unavailable."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StoreDescription:
    """What a store is and holds. `space` is "" until the first vector is written."""

    kind: str
    location: str
    space: str
    dimensions: int
    documents: int
    chunks: int
    details: Mapping[str, str | int] = field(default_factory=dict)


class ChunkStore(Protocol):
    """Chunks, their vectors and their documents. Every read and write is scoped; filters come before ranking."""

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        """One ranking a probe, at most `limit` long; equal scores are ordered by chunk id.

        Signals: "words" (BM25) and "meaning" (cosine), where that leg found the chunk. Words are plain text:
        no character has a meaning of its own. Read-your-writes, also of other processes' writes.
        """
        ...

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        """Chunks that pass the filters, by document id and ordinal."""
        ...

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        """The chunks of these ids, in this order; those absent or out of scope are left out."""
        ...

    async def neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        """The chunks around one in its document, in order, itself not included."""
        ...

    async def facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        """One facet a field, in order; at most `limit` buckets (0: none), the total exact all the same."""
        ...

    async def facet_fields(self, scope: Scope) -> Sequence[str]:
        """The fields with values in this scope: "entity_codes", entity types, "title", "source", "metadata.NAME"."""
        ...

    async def document(self, document_id: str, scope: Scope) -> Document | None: ...
    async def documents(self, scope: Scope) -> Sequence[Document]: ...

    async def vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        """The stored vectors of a document's chunks by content hash, so that what did not change is not embedded."""
        ...

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> Replaced:
        """Make these the document's only chunks, in one durable step: the return is the acknowledgement.

        `vectors` has one entry a chunk, None where there is none. Raises Conflict before any write when
        `space` is not the space of the vectors already stored (code "reindex_required"), NotFound when the
        document exists and is not the scope's to replace, StorageFull, Unavailable.
        """
        ...

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None: ...

    async def delete(self, document_id: str, scope: Scope) -> bool:
        """Take a document out of everything at once, to be restored until it is purged.

        Until then its id stays its owner's: nobody else can index under it. False, here and below, when there is no
        such document, or none that the scope may replace.
        """
        ...

    async def restore(self, document_id: str, scope: Scope) -> bool:
        """Bring a deleted document back as it was: ids, vectors and summary.

        Raises Conflict when a live one is there (code "document_exists"), or when the vectors stored meanwhile are
        another model's (code "reindex_required").
        """
        ...

    async def purge(self, document_id: str, scope: Scope) -> bool:
        """Remove a document, live or deleted, for good: the store keeps no byte of its text."""
        ...

    async def deleted(self, scope: Scope) -> Sequence[Document]:
        """The documents that can be restored, by id. Indexing one anew leaves nothing to restore."""
        ...

    async def space(self) -> str:
        """That of the vectors that are stored; "" before the first. Asked before every search by meaning."""
        ...

    async def version(self, scope: Scope) -> str:
        """Another text after each change of the scope's workflow, by whatever process; "" when that cannot be known.

        What was made of the documents may be remembered under it, and not at all under "".
        """
        ...

    async def describe(self) -> StoreDescription: ...
    async def close(self) -> None: ...


class Rebuild(Protocol):
    """An index in the making beside another, which it copies but for the vectors; the other stays as it is."""

    async def missing(self) -> Mapping[str, str]:
        """The texts that have no vector yet, each once, by content hash: all in memory, as vectors are in a search."""
        ...

    async def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors by content hash: what is acknowledged is not missing again, also after a kill."""
        ...

    async def copy(self) -> None:
        """Make the new index of what the old one holds at this moment."""
        ...

    async def settle(self, switch: Callable[[], object]) -> bool:
        """Call `switch`, unless the old index has changed since it was copied; nobody writes to it meanwhile."""
        ...

    async def close(self) -> None: ...
