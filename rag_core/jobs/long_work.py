"""Indexing as the service does it: short work within the request, long work as a job that outlives it."""

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

BATCH = 64  # chunks embedded between two savings: what a kill can make us pay for twice
BEAT_S = 15.0  # a quarter of a lease
CLOCKS_DIFFER = timedelta(seconds=5)  # of the machines: at most, and both tell whole seconds
AGAIN = "kept as a job, and tried again"
Add = Callable[..., Awaitable[tuple[Job, Lease | None]]]


@dataclass(frozen=True, slots=True)
class Terms:
    """What is short: at most so many bytes of upload, and chunks to embed. And whether a text may wait for vectors."""

    limits: Limits
    inline_bytes: int
    inline_chunks: int
    require_vectors: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """An upload that was read and cut, and the vectors that there are of it, by content hash."""

    upload: Upload
    document: Document
    chunks: list[Chunk]
    scope: Scope
    vectors: dict[str, Vector]


@dataclass(frozen=True, slots=True)
class Indexer:
    """Indexes for one request, or for one attempt of a worker."""

    kit: Kit
    run: Run
    terms: Terms

    async def index(
        self, upload: Upload, scope: Scope, *, chunking: Chunking, key: str | None = None, later: bool = False
    ) -> Indexed | Job:
        """Index a short document now; take a long one on, or any if it is asked for `later`, as a job.

        What time can put right does not fail: where the embedder does not answer, the text is searchable by its words
        and a job makes the vectors; where the index does not, a job tries again. With a `key` the same call again
        gives the first one's job or result. Raises as `index_document` does, and Conflict for a key that came with
        another upload.
        """
        check(upload, self.terms.limits)
        add = partial(self.kit.jobs.add, encoded(upload, chunking), scope, document_id=known_id(upload, scope), key=key)
        if later or size_of(upload) > self.terms.inline_bytes:
            return await self._queued(add)
        if key is not None:
            return await self._once(add)
        ready = await self._prepared(upload, scope, chunking)
        try:
            return await self._now(ready, add) or await self._queued(add)
        except Unavailable as failure:
            if self.terms.require_vectors:
                raise
            return await self._kept(add, failure)

    async def work(self, lease: Lease, *, in_request: bool = False) -> Indexed | Job:
        """Do a job from where it was left, as far as it goes: the result, or the job as it waits for its next attempt.

        In a request, what turns out to be long is given back. Raises what time cannot put right, having noted it.
        """
        try:
            async with _beating(lease):
                return await self._worked(lease, in_request)
        except RagError as failure:
            if isinstance(failure, Unavailable) and not (in_request and self.terms.require_vectors):
                return await self._put_off(lease, failure)
            with suppress(Conflict):  # another has it now, and will say what becomes of it
                await lease.fail(failure, self._told())
            raise

    async def _queued(self, add: Add) -> Job:
        job, _ = await add()
        return await self._rung(job)

    async def _put_off(self, lease: Lease, failure: Unavailable) -> Job:
        job = await lease.put_off(failure, self._told())
        return await self._rung(job, after_s=pause_s(job.attempts)) if job.state == "queued" else job

    async def _rung(self, job: Job, *, after_s: float = 0.0) -> Job:
        """The job, of which the worker is told."""
        ring = self.kit.bell.ring(job.id, after_s=after_s)
        await self.run.attempt("wake", ring, otherwise=None, fallback="the worker finds the job when it next looks")
        return job

    async def _once(self, add: Add) -> Indexed | Job:
        """The work of a key, done here the first time."""
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
        """None when there is more to embed than a request should wait for."""
        ready.vectors.update(await self._known(ready))
        fresh = self.kit.index.without(ready.vectors, ready.chunks)
        if len(fresh) > self.terms.inline_chunks:
            return None
        try:
            await self._embed(ready, fresh)
        except Unavailable as failure:
            if self.terms.require_vectors:
                raise
            _, lease = await add(hold=True)
            return await self._by_words_or_later(ready, failure, lease) if lease else None
        return await self._put_or_later(ready, fresh, add)

    async def _by_words_or_later(self, ready: Ready, failure: Unavailable, lease: Lease) -> Job:
        """One job either way, and the one that is told of."""
        try:
            return await self._by_words(ready, failure, lease)
        except Unavailable as another:
            return await self._later(lease, another)

    async def _put_or_later(self, ready: Ready, fresh: Mapping[str, str], add: Add) -> Indexed | Job:
        """Where the index does not answer, a job is given the vectors: they are not paid for twice."""
        try:
            async with self.kit.jobs.superseding(ready.document.id, ready.scope):
                return await self._put(ready, embedded=len(fresh))
        except Unavailable as failure:
            with suppress(Unavailable):
                if not self.terms.require_vectors and (lease := (await add(hold=True))[1]):
                    await self._keep(ready, fresh, lease)
                    return await self._later(lease, failure)
            raise

    async def _later(self, lease: Lease, failure: Unavailable) -> Job:
        self.run.degrade("index", failure.code, failure.message, AGAIN)
        return await self._put_off(lease, failure)

    async def _worked(self, lease: Lease, in_request: bool) -> Indexed | Job:
        upload, chunking = decoded(lease.work)
        index, ready = self.kit.index, await self._prepared(upload, lease.job.scope, chunking)
        if not in_request:
            await self._refuse_deleted(ready, lease.job)
        known = await self._known(ready)
        ready.vectors.update({**known, **await lease.vectors(index.embedder.space)})
        fresh = index.without(ready.vectors, ready.chunks)
        if in_request and len(fresh) > self.terms.inline_chunks:
            return await self._rung(await lease.give_back())
        try:
            await self._embed_and_keep(ready, fresh, lease)
        except Unavailable as failure:
            if self.terms.require_vectors or lease.job.words_only:
                raise
            return await self._by_words(ready, failure, lease)
        await lease.publish(ready.document.id)
        indexed = await self._put(ready, embedded=len(index.without(known, ready.chunks)))
        await lease.finish(indexed, self._told())
        return indexed

    async def _refuse_deleted(self, ready: Ready, job: Job) -> None:
        """A deletion ends what came before it: where the table could not be told of it, the index tells.

        By two clocks, so a document that was deleted right after it came in may come back. Raises Conflict.
        """
        named = replace(ready.scope, document_ids=(ready.document.id,))
        deleted = await self.run.step("deleted", self.kit.index.store.deleted(named))
        at = max((document.deleted_at or "" for document in deleted if document.id == ready.document.id), default="")
        if at and datetime.fromisoformat(at) > datetime.fromisoformat(job.created_at) + CLOCKS_DIFFER:
            raise Conflict(SUPERSEDED.message, code=SUPERSEDED.code)

    async def _embed_and_keep(self, ready: Ready, fresh: Mapping[str, str], lease: Lease) -> None:
        """By batches, so that what was paid for outlives the worker."""
        batches = packed(list(fresh.items()), lambda _: 1, items_each=BATCH, size_each=BATCH)
        for batch in ({}, *map(dict, batches)):  # the first says how many chunks there are
            await self._embed(ready, batch)
            await self._keep(ready, batch, lease)

    async def _keep(self, ready: Ready, texts: Mapping[str, str], lease: Lease) -> None:
        made = {content_hash: ready.vectors[content_hash] for content_hash in texts}
        missing = self.kit.index.without(ready.vectors, ready.chunks)
        done = sum(chunk.content_hash not in missing for chunk in ready.chunks)
        await lease.keep(made, self.kit.index.embedder.space, done=done, chunks=len(ready.chunks))

    async def _embed(self, ready: Ready, texts: Mapping[str, str]) -> None:
        if texts:
            made = await self.run.step("embed", self.kit.index.embedder.embed_documents(list(texts.values())))
            ready.vectors.update(zip(texts, made, strict=True))

    async def _by_words(self, ready: Ready, failure: Unavailable, lease: Lease) -> Job:
        await lease.publish(ready.document.id)
        await self._put(ready, embedded=0)
        self.run.degrade("embed", "embedding_pending", failure.message, "searchable by words; a job makes the vectors")
        await lease.words_only()
        return await self._put_off(lease, failure)

    async def _put(self, ready: Ready, *, embedded: int) -> Indexed:
        put = self.kit.index.put(ready.document, ready.chunks, ready.scope, ready.vectors)
        replaced = await self.run.step("index", put)
        await originals.keep(ready.document, ready.upload, self.kit, self.run)
        return account(ready.document, ready.chunks, replaced, embedded, self.run)

    async def _prepared(self, upload: Upload, scope: Scope, chunking: Chunking) -> Ready:
        limits = self.terms.limits
        document, chunks = await prepare(upload, scope, self.kit, self.run, chunking=chunking, limits=limits)
        return Ready(upload, document, chunks, scope, {})

    async def _known(self, ready: Ready) -> Mapping[str, Vector]:
        """The vectors that the index has of it."""
        return await self.run.step("index", self.kit.index.vectors(ready.document.id, ready.scope))

    def _told(self) -> dict[str, Any]:
        """What a job's reader should know of the work."""
        return {"degraded": list(map(asdict, self.run.degraded)), "warnings": list(map(asdict, self.run.warnings))}


async def drain(kit: Kit, terms: Terms, *, within_s: float) -> int:
    """Do the jobs that are due, one after the other, until none is or the time is up; gives how many were taken.

    What happens to a job is written in the job. One that the time cuts short goes on with the next call.
    """
    run, taken = Run(within_s), 0
    while run.remaining_s and (lease := await kit.jobs.claim()):
        taken += 1
        with suppress(RagError):
            await Indexer(kit, Run(run.remaining_s, id=lease.job.id), terms).work(lease)
    return taken


@asynccontextmanager
async def _beating(lease: Lease) -> AsyncIterator[None]:
    """Keep the lease while the block runs, also through a step that takes longer than one."""
    beat = asyncio.create_task(_beat(lease))
    try:
        yield
    finally:
        beat.cancel()


async def _beat(lease: Lease) -> None:
    while True:
        await asyncio.sleep(BEAT_S)
        with suppress(RagError):  # the next may come through; that the lease is lost, the work's own writes will say
            await lease.renew()
