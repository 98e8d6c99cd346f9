"""The jobs that index long documents, and how their workers are notified."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from rag_core.core.errors import RagError
from rag_core.core.model import IndexingResult, Job, JobProgress, Scope, Vector


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

    async def save_vectors(self, vectors: Mapping[str, Vector], space: str, progress: JobProgress) -> None:
        """Save vectors for a later attempt, and how far the job is with them."""
        ...

    async def load_enrichments(self, model: str) -> Mapping[str, str]:
        """Return what a chat model wrote of chunks in earlier attempts and what it cost, as JSON by key."""
        ...

    async def save_enrichments(self, enrichments: Mapping[str, str], model: str) -> None:
        """Save what a chat model wrote of chunks and what it cost, as JSON by key, so that it is not paid for twice."""
        ...

    async def claim_document(self, document_id: str) -> None:
        """Take over the document right before it is written: earlier jobs for it lose their leases.

        From here until this job's next event nobody changes the document by other means. Raises Unavailable
        (document_being_indexed) while an earlier job's worker is writing it.
        """
        ...

    async def mark_lexical_only(self) -> None:
        """Record that the document is searchable without vectors, and end earlier jobs for it."""
        ...

    async def finish(self, result: IndexingResult, run_notes: Mapping[str, Any]) -> Job:
        """Record that the document is in the index, and end this job and earlier ones for it."""
        ...

    async def release(self, run_notes: Mapping[str, Any]) -> Job:
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

    async def cancel(self, id: str, user_id: str | None) -> Job | None:
        """End a job that this user added, unless it has ended, and return it; None when there is no such job.

        Raises Unavailable (document_being_indexed) when its worker is writing the document and does not finish soon.
        """
        ...

    async def claim(self) -> Lease | None:
        """Lease the next job that is due, or whose worker was killed; None when there is none."""
        ...

    def supersede_document(self, document_id: str, scope: Scope) -> AbstractAsyncContextManager[bool]:
        """Suspend the jobs for a document while the block changes or removes it by other means.

        They end with the block, and their payloads are deleted; when the block raises, they continue. Jobs added
        meanwhile are not affected. The block is given whether there are any. It begins when no worker is writing the
        document: raises Unavailable (document_being_indexed) when that takes too long.
        """
        ...

    async def close(self) -> None: ...


class JobNotifier(Protocol):
    """A notifier that wakes a worker; a lost notification only delays the job, which stays in the queue."""

    async def notify(self, job_id: str, *, after_s: float = 0.0) -> None:
        """Notify a worker of a job, to be run in `after_s` seconds at the earliest. Raises Unavailable."""
        ...

    async def close(self) -> None: ...
