"""Indexing by the service: short documents within the request, long ones as jobs that outlive it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from rag_core.core.batching import packed
from rag_core.core.errors import Conflict, RagError, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Document, Indexed, Job, Scope, Vector
from rag_core.core.ports import Lease
from rag_core.core.run import Run
from rag_core.ingestion import originals
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Limits, Upload, account, check, known_id, prepare, size_of
from rag_core.jobs.job_rows import SUPERSEDED, pause_s
from rag_core.jobs.uploads import decoded, encoded

BATCH = 64  # chunks embedded between two saves: the most that a killed worker makes us pay for twice
BEAT_S = 15.0  # a quarter of a lease
CLOCKS_DIFFER = timedelta(seconds=5)  # between two machines, whose times are in whole seconds
AGAIN = "kept as a job and tried again"
Add = Callable[..., Awaitable[tuple[Job, Lease | None]]]


@dataclass(frozen=True, slots=True)
class Terms:
    """The limits of uploads, and up to which size a document is indexed within the request.

    `max_inline_bytes` limits the upload, `max_inline_chunks` the chunks to embed; a larger one becomes a job. With
    `require_vectors` no document is searchable before it has its vectors.
    """

    limits: Limits
    inline_bytes: int
    inline_chunks: int
    require_vectors: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """An upload with its document, its chunks, and the vectors so far available, by content hash."""

    upload: Upload
    document: Document
    chunks: list[Chunk]
    scope: Scope
    vectors: dict[str, Vector]


@dataclass(frozen=True, slots=True)
class Indexer:
    """An indexer for one request, or for one attempt of a worker."""

    kit: Kit
    run: Run
    terms: Terms

    async def index(
        self, upload: Upload, scope: Scope, *, chunking: Chunking, key: str | None = None, later: bool = False
    ) -> Indexed | Job:
        """Index a short document now and return the result; enqueue a long one as a job and return the job.

        With `as_job` every document becomes a job. A temporary failure does not fail the call: when the embedder is
        unavailable, the text is searchable by lexical search and a job adds the vectors; when the index is
        unavailable, a job tries again. A repeated call with the same `key` returns the first call's job or result.

        Raises:
            Conflict: the key was used for another upload.
            RagError: as `index_document` raises them.
        """
        check(upload, self.terms.limits)
        document_id = known_id(upload, scope)
        add_job = partial(self.kit.jobs.add, encoded(upload, chunking), scope, document_id=document_id, key=key)
        if later or size_of(upload) > self.terms.inline_bytes:
            return await self._queued(add_job)
        if key is not None:
            return await self._once(add_job)
        prepared = await self._prepared(upload, scope, chunking)
        try:
            return await self._now(prepared, add_job) or await self._queued(add_job)
        except Unavailable as error:
            if self.terms.require_vectors:
                raise
            return await self._kept(add_job, error)

    async def work(self, lease: Lease, *, in_request: bool = False) -> Indexed | Job:
        """Continue a job as far as possible; return the result, or the job when it waits for a retry.

        With `in_request` a job that turns out to be long is released for the workers.

        Raises:
            RagError: the failure is permanent; it is also recorded in the job.
        """
        try:
            async with _beating(lease):
                return await self._worked(lease, in_request)
        except RagError as error:
            if isinstance(error, Unavailable) and not (in_request and self.terms.require_vectors):
                return await self._put_off(lease, error)
            with suppress(Conflict):  # another worker has the job and will record its outcome
                await lease.fail(error, self._told())
            raise

    async def _queued(self, add: Add) -> Job:
        job, _ = await add()
        return await self._rung(job)

    async def _put_off(self, lease: Lease, failure: Unavailable) -> Job:
        job = await lease.put_off(failure, self._told())
        return await self._rung(job, after_s=pause_s(job.attempts)) if job.state == "queued" else job

    async def _rung(self, job: Job, *, after_s: float = 0.0) -> Job:
        """Notify the worker of a job and return the job."""
        notification = self.kit.bell.ring(job.id, after_s=after_s)
        fallback = "the worker finds the job at its next poll"
        await self.run.attempt("wake", notification, otherwise=None, fallback=fallback)
        return job

    async def _once(self, add: Add) -> Indexed | Job:
        """Add a job under its idempotency key and run it here; return the earlier job or result of a used key."""
        job, lease = await add(hold=True)
        if lease is None:
            return job.result or job
        return await self.work(lease, in_request=True)

    async def _kept(self, add: Add, failure: Unavailable) -> Job:
        with suppress(Unavailable):
            job = await self._queued(add)
            self.run.degrade("index", failure.code, failure.message, AGAIN)
            return job
        raise failure

    async def _now(self, ready: Ready, add: Add) -> Indexed | Job | None:
        """Index a document within the request.

        Returns None when it has more chunks to embed than a request should wait for, and a job when the embedder or
        the index is unavailable.
        """
        ready.vectors.update(await self._known(ready))
        new_texts = self.kit.index.without(ready.vectors, ready.chunks)
        if len(new_texts) > self.terms.inline_chunks:
            return None
        try:
            await self._embed(ready, new_texts)
        except Unavailable as error:
            if self.terms.require_vectors:
                raise
            _, lease = await add(hold=True)
            return await self._by_words_or_later(ready, error, lease) if lease else None
        return await self._put_or_later(ready, new_texts, add)

    async def _by_words_or_later(self, ready: Ready, failure: Unavailable, lease: Lease) -> Job:
        """Make a document searchable by lexical search, or schedule a retry when the index is unavailable too."""
        try:
            return await self._by_words(ready, failure, lease)
        except Unavailable as index_error:
            return await self._later(lease, index_error)

    async def _put_or_later(self, ready: Ready, fresh: Mapping[str, str], add: Add) -> Indexed | Job:
        """Write a document to the index; when the index is unavailable, save its vectors in a job for a later attempt.

        Raises:
            Unavailable: the job table is unavailable too, or `require_vectors` is set.
        """
        try:
            async with self.kit.jobs.superseding(ready.document.id, ready.scope):
                return await self._put(ready, embedded=len(fresh))
        except Unavailable as error:
            with suppress(Unavailable):
                if not self.terms.require_vectors and (lease := (await add(hold=True))[1]):
                    await self._keep(ready, fresh, lease)
                    return await self._later(lease, error)
            raise

    async def _later(self, lease: Lease, failure: Unavailable) -> Job:
        self.run.degrade("index", failure.code, failure.message, AGAIN)
        return await self._put_off(lease, failure)

    async def _worked(self, lease: Lease, in_request: bool) -> Indexed | Job:
        upload, chunking = decoded(lease.work)
        index, prepared = self.kit.index, await self._prepared(upload, lease.job.scope, chunking)
        if not in_request:
            await self._refuse_deleted(prepared, lease.job)
        indexed_vectors = await self._known(prepared)
        prepared.vectors.update({**indexed_vectors, **await lease.vectors(index.embedder.space)})
        new_texts = index.without(prepared.vectors, prepared.chunks)
        if in_request and len(new_texts) > self.terms.inline_chunks:
            return await self._rung(await lease.give_back())
        try:
            await self._embed_and_keep(prepared, new_texts, lease)
        except Unavailable as error:
            if self.terms.require_vectors or lease.job.words_only:
                raise
            return await self._by_words(prepared, error, lease)
        await lease.publish(prepared.document.id)
        result = await self._put(prepared, embedded=len(index.without(indexed_vectors, prepared.chunks)))
        await lease.finish(result, self._told())
        return result

    async def _refuse_deleted(self, ready: Ready, job: Job) -> None:
        """Raise Conflict when the document was deleted after the job was created.

        The deletion has ended the job, unless the job table was unavailable then. The two times come from two clocks,
        so a document that was deleted within seconds of its upload may come back.
        """
        document_scope = replace(ready.scope, document_ids=(ready.document.id,))
        deleted = await self.run.step("deleted", self.kit.index.store.deleted(document_scope))
        times = (document.deleted_at or "" for document in deleted if document.id == ready.document.id)
        deleted_at = max(times, default="")
        if deleted_at and datetime.fromisoformat(deleted_at) > datetime.fromisoformat(job.created_at) + CLOCKS_DIFFER:
            raise Conflict(SUPERSEDED.message, code=SUPERSEDED.code)

    async def _embed_and_keep(self, ready: Ready, fresh: Mapping[str, str], lease: Lease) -> None:
        """Embed texts in batches and save each batch, so that paid vectors survive a killed worker."""
        batches = packed(list(fresh.items()), lambda _: 1, items_each=BATCH, size_each=BATCH)
        for batch in ({}, *map(dict, batches)):  # the empty first batch records the number of chunks
            await self._embed(ready, batch)
            await self._keep(ready, batch, lease)

    async def _keep(self, ready: Ready, texts: Mapping[str, str], lease: Lease) -> None:
        new_vectors = {content_hash: ready.vectors[content_hash] for content_hash in texts}
        missing_texts = self.kit.index.without(ready.vectors, ready.chunks)
        done = sum(chunk.content_hash not in missing_texts for chunk in ready.chunks)
        await lease.keep(new_vectors, self.kit.index.embedder.space, done=done, chunks=len(ready.chunks))

    async def _embed(self, ready: Ready, texts: Mapping[str, str]) -> None:
        if texts:
            vectors = await self.run.step("embed", self.kit.index.embedder.embed_documents(list(texts.values())))
            ready.vectors.update(zip(texts, vectors, strict=True))

    async def _by_words(self, ready: Ready, failure: Unavailable, lease: Lease) -> Job:
        """Write a document without its missing vectors and schedule a retry of the job that adds them."""
        await lease.publish(ready.document.id)
        await self._put(ready, embedded=0)
        fallback = "searchable by lexical search; a job adds the vectors"
        self.run.degrade("embed", "embedding_pending", failure.message, fallback)
        await lease.words_only()
        return await self._put_off(lease, failure)

    async def _put(self, ready: Ready, *, embedded: int) -> Indexed:
        writing = self.kit.index.put(ready.document, ready.chunks, ready.scope, ready.vectors)
        replaced = await self.run.step("index", writing)
        await originals.keep(ready.document, ready.upload, self.kit, self.run)
        return account(ready.document, ready.chunks, replaced, embedded, self.run)

    async def _prepared(self, upload: Upload, scope: Scope, chunking: Chunking) -> Ready:
        limits = self.terms.limits
        document, chunks = await prepare(upload, scope, self.kit, self.run, chunking=chunking, limits=limits)
        return Ready(upload, document, chunks, scope, {})

    async def _known(self, ready: Ready) -> Mapping[str, Vector]:
        """Return the vectors that the index has of the document, by content hash."""
        return await self.run.step("index", self.kit.index.vectors(ready.document.id, ready.scope))

    def _told(self) -> dict[str, Any]:
        """Return the degradations and warnings of the run, which a job's reader is shown."""
        return {"degraded": list(map(asdict, self.run.degraded)), "warnings": list(map(asdict, self.run.warnings))}


async def drain(kit: Kit, terms: Terms, *, within_s: float) -> int:
    """Run the jobs that are due, one after another, until none is or the time is up; return how many were claimed.

    The outcome of a job is recorded in the job. A job that the time limit interrupts continues with the next call.
    """
    run, claimed = Run(within_s), 0
    while run.remaining_s and (lease := await kit.jobs.claim()):
        claimed += 1
        with suppress(RagError):
            await Indexer(kit, Run(run.remaining_s, id=lease.job.id), terms).work(lease)
    return claimed


@asynccontextmanager
async def _beating(lease: Lease) -> AsyncIterator[None]:
    """Renew the lease while the block runs, also during a step that takes longer than a lease."""
    renewal = asyncio.create_task(_beat(lease))
    try:
        yield
    finally:
        renewal.cancel()


async def _beat(lease: Lease) -> None:
    while True:
        await asyncio.sleep(BEAT_S)
        with suppress(RagError):  # the next one may succeed; a lost lease is reported by the job's own writes
            await lease.renew()
