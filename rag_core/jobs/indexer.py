"""Indexing by the service: short documents within the request, long ones as jobs that outlive it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rag_core.core.batching import batch_items
from rag_core.core.contextual_vectors import embed_passages
from rag_core.core.errors import Conflict, RagError, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.metrics import record_job
from rag_core.core.model import Chunk, Document, EmbeddableText, IndexingResult, Job, JobProgress, Scope, Vector
from rag_core.core.ports import Lease
from rag_core.core.run import Run
from rag_core.core.telemetry import trace_span
from rag_core.ingestion import originals
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.document_enrichment import enrich_document
from rag_core.ingestion.indexing import (
    build_indexing_result,
    derive_document_id,
    limit_enrichment,
    prepare_document,
)
from rag_core.ingestion.model_enrichment import CALLS_AT_ONCE, EnrichmentLog, RememberingLog, count_calls
from rag_core.ingestion.upload import Upload, UploadLimits, check_upload, count_upload_bytes
from rag_core.jobs.job_rows import SUPERSEDED_ERROR, USAGE_NOTE, compute_retry_delay_s
from rag_core.jobs.upload_codec import decode_upload, encode_upload

EMBED_BATCH_CHUNKS = 64  # chunks embedded between two saves: the most that a killed worker makes us pay for twice
LEASE_RENEWAL_INTERVAL_S = 15.0  # a quarter of a lease
MIN_JOB_S = 10.0  # less is too short to read a file: the attempt would fail, and a layout service be paid for it
MAX_CLOCK_SKEW = timedelta(seconds=5)  # between two machines, whose times are in whole seconds
RETRIED_AS_JOB = "kept as a job and tried again"
AddJob = Callable[..., Awaitable[tuple[Job, Lease | None]]]


@dataclass(frozen=True, slots=True)
class IndexingPolicy:
    """The limits of uploads, and up to which size a document is indexed within the request.

    `max_inline_bytes` limits the upload, `max_inline_chunks` the chunks to embed; a larger one becomes a job. With
    `require_vectors` no document is searchable before it has its vectors.
    """

    upload_limits: UploadLimits
    max_inline_bytes: int
    max_inline_chunks: int
    require_vectors: bool = False


@dataclass(frozen=True, slots=True)
class PreparedUpload:
    """An upload with its document and chunks, the vectors so far available, by content hash, and what a model wrote."""

    upload: Upload
    document: Document
    chunks: list[Chunk]
    scope: Scope
    vectors: dict[str, Vector]
    enrichments: RememberingLog = field(default_factory=RememberingLog)


@dataclass(frozen=True, slots=True)
class Indexer:
    """An indexer for one request, or for one attempt of a worker."""

    kit: Kit
    run: Run
    policy: IndexingPolicy

    async def index(
        self, upload: Upload, scope: Scope, *, chunking: Chunking, key: str | None = None, as_job: bool = False
    ) -> IndexingResult | Job:
        """Index a short document now and return the result; enqueue a long one as a job and return the job.

        With `as_job` every document becomes a job. A temporary failure does not fail the call: when the embedder is
        unavailable, the text is searchable by lexical search and a job adds the vectors; when the index is
        unavailable, a job tries again. A repeated call with the same `key` returns the first call's job or result.

        Raises:
            Conflict: the key was used for another upload.
            RagError: as `index_document` raises them.
        """
        check_upload(upload, self.policy.upload_limits)
        document_id = derive_document_id(upload, scope)

        async def add_job(*, hold: bool = False) -> tuple[Job, Lease | None]:
            payload = encode_upload(upload, chunking)  # here, because most uploads never become a job
            return await self.kit.jobs.add(payload, scope, document_id=document_id, key=key, hold=hold)

        if as_job or count_upload_bytes(upload) > self.policy.max_inline_bytes:
            return await self._enqueue_job(add_job)
        if key is not None:
            return await self._index_with_key(add_job)
        prepared = await self._prepare_upload(upload, scope, chunking)
        if self._needs_many_calls(prepared):
            return await self._enqueue_prepared(prepared, add_job)
        prepared = await self._enrich(prepared, prepared.enrichments)
        try:
            return await self._index_inline(prepared, add_job) or await self._enqueue_prepared(prepared, add_job)
        except Unavailable as error:
            if self.policy.require_vectors:
                raise
            return await self._enqueue_after_failure(prepared, add_job, error)

    async def run_job(self, lease: Lease, *, in_request: bool = False) -> IndexingResult | Job:
        """Continue a job as far as possible; return the result, or the job when it waits for a retry.

        With `in_request` a job that turns out to be long is released for the workers.

        Raises:
            RagError: the failure is permanent; it is also recorded in the job.
        """
        try:
            async with _keep_lease_alive(lease):
                return await self._run_attempt(lease, in_request)
        except RagError as error:
            if isinstance(error, Unavailable) and not (in_request and self.policy.require_vectors):
                return await self._schedule_retry(lease, error)
            with suppress(Conflict):  # another worker has the job and will record its outcome
                await lease.fail(error, self._collect_run_notes(lease))
            raise

    async def _enqueue_job(self, add_job: AddJob) -> Job:
        job, _ = await add_job()
        return await self._notify_worker(job)

    async def _schedule_retry(self, lease: Lease, error: Unavailable) -> Job:
        job = await lease.schedule_retry(error, self._collect_run_notes(lease))
        return (
            await self._notify_worker(job, after_s=compute_retry_delay_s(job.attempts))
            if job.state == "queued"
            else job
        )

    async def _notify_worker(self, job: Job, *, after_s: float = 0.0) -> Job:
        """Notify the worker of a job and return the job."""
        notification = self.kit.job_notifier.notify(job.id, after_s=after_s)
        fallback = "the worker finds the job at its next poll"
        await self.run.attempt("wake", notification, otherwise=None, fallback=fallback)
        return job

    async def _index_with_key(self, add_job: AddJob) -> IndexingResult | Job:
        """Add a job under its idempotency key and run it here; return the earlier job or result of a used key."""
        job, lease = await add_job(hold=True)
        if lease is None:
            return job.result or job
        return await self.run_job(lease, in_request=True)

    async def _enqueue_prepared(self, prepared: PreparedUpload, add_job: AddJob) -> Job:
        """Enqueue a job that begins with what a model wrote of the document within the request, and what was paid."""
        if not prepared.enrichments.saved and self.run.cost_usd == 0:
            return await self._enqueue_job(add_job)
        job, lease = await add_job(hold=True)
        if lease is not None:
            await prepared.enrichments.copy_to(lease)
            job = await lease.release(self._collect_run_notes(lease))
        return await self._notify_worker(job)

    async def _enqueue_after_failure(self, prepared: PreparedUpload, add_job: AddJob, error: Unavailable) -> Job:
        with suppress(Unavailable):
            job = await self._enqueue_prepared(prepared, add_job)
            self.run.degrade("index", error.code, error.message, RETRIED_AS_JOB)
            return job
        raise error

    async def _index_inline(self, prepared: PreparedUpload, add_job: AddJob) -> IndexingResult | Job | None:
        """Index a document within the request.

        Returns None when it has more chunks to embed than a request should wait for, and a job when the embedder or
        the index is unavailable.
        """
        prepared.vectors.update(await self._load_indexed_vectors(prepared))
        new_texts = await self._find_texts_to_embed(prepared)
        if len(new_texts) > self.policy.max_inline_chunks:
            return None
        try:
            await self._embed_texts(prepared, new_texts)
        except Unavailable as error:
            if self.policy.require_vectors:
                raise
            _, lease = await add_job(hold=True)
            if lease is None:
                return None
            await prepared.enrichments.copy_to(lease)
            return await self._index_lexically_or_retry_later(prepared, error, lease)
        return await self._write_or_retry_later(prepared, new_texts, add_job)

    async def _index_lexically_or_retry_later(self, prepared: PreparedUpload, error: Unavailable, lease: Lease) -> Job:
        """Make a document searchable by lexical search, or schedule a retry when the index is unavailable too."""
        try:
            return await self._index_lexically(prepared, error, lease)
        except Unavailable as index_error:
            return await self._degrade_and_schedule_retry(lease, index_error)

    async def _write_or_retry_later(
        self, prepared: PreparedUpload, new_texts: Mapping[str, EmbeddableText], add_job: AddJob
    ) -> IndexingResult | Job:
        """Write a document to the index; when the index is unavailable, save its vectors in a job for a later attempt.

        Raises:
            Unavailable: the job table is unavailable too, or `require_vectors` is set.
        """
        try:
            async with self.kit.jobs.supersede_document(prepared.document.id, prepared.scope):
                return await self._write_document(prepared, embedded=len(new_texts))
        except Unavailable as error:
            with suppress(Unavailable):
                if not self.policy.require_vectors and (lease := (await add_job(hold=True))[1]):
                    await self._save_vectors(prepared, new_texts, lease)
                    await prepared.enrichments.copy_to(lease)
                    return await self._degrade_and_schedule_retry(lease, error)
            raise

    async def _degrade_and_schedule_retry(self, lease: Lease, error: Unavailable) -> Job:
        self.run.degrade("index", error.code, error.message, RETRIED_AS_JOB)
        return await self._schedule_retry(lease, error)

    async def _run_attempt(self, lease: Lease, in_request: bool) -> IndexingResult | Job:
        upload, chunking = decode_upload(lease.payload)
        index, prepared = self.kit.index, await self._prepare_upload(upload, lease.job.scope, chunking)
        if not in_request:
            await self._refuse_deleted_document(prepared, lease.job)
        indexed_vectors = await self._load_indexed_vectors(prepared)
        prepared.vectors.update({**indexed_vectors, **await lease.load_vectors(index.embedder.space)})
        new_texts = await self._find_texts_to_embed(prepared)
        is_long = len(new_texts) > self.policy.max_inline_chunks or self._needs_many_calls(prepared)
        if in_request and is_long:
            return await self._notify_worker(await lease.release(self._collect_run_notes(lease)))
        prepared = await self._enrich(prepared, lease)
        new_texts = new_texts and await self._find_texts_to_embed(prepared)  # the described chunks may be there already
        is_unchanged = not (new_texts or prepared.vectors)
        try:
            await self._embed_in_batches(prepared, new_texts, lease)
        except Unavailable as error:
            if self.policy.require_vectors or lease.job.lexical_only:
                raise
            return await self._index_lexically(prepared, error, lease)
        await lease.claim_document(prepared.document.id)
        texts_to_embed = {} if is_unchanged else index.select_texts_to_embed(indexed_vectors, prepared.chunks)
        result = await self._write_document(prepared, embedded=len(texts_to_embed))
        await lease.finish(result, self._collect_run_notes(lease))
        return result

    async def _refuse_deleted_document(self, prepared: PreparedUpload, job: Job) -> None:
        """Raise Conflict when the document was deleted after the job was created.

        The deletion has ended the job, unless the job table was unavailable then. The two times come from two clocks,
        so a document that was deleted within seconds of its upload may come back.
        """
        document_scope = replace(prepared.scope, document_ids=(prepared.document.id,))
        deleted = await self.run.step("deleted", self.kit.index.store.list_deleted(document_scope))
        times = (document.deleted_at or "" for document in deleted if document.id == prepared.document.id)
        deleted_at = max(times, default="")
        if deleted_at and datetime.fromisoformat(deleted_at) > datetime.fromisoformat(job.created_at) + MAX_CLOCK_SKEW:
            raise Conflict(SUPERSEDED_ERROR.message, code=SUPERSEDED_ERROR.code)

    async def _embed_in_batches(
        self, prepared: PreparedUpload, new_texts: Mapping[str, EmbeddableText], lease: Lease
    ) -> None:
        """Embed texts in batches and save each batch, so that paid vectors survive a killed worker."""
        batches = batch_items(
            list(new_texts.items()), lambda _: 1, max_items=EMBED_BATCH_CHUNKS, max_size=EMBED_BATCH_CHUNKS
        )
        for batch in ({}, *map(dict, batches)):  # the empty first batch records the number of chunks
            await self._embed_texts(prepared, batch)
            await self._save_vectors(prepared, batch, lease)

    async def _save_vectors(self, prepared: PreparedUpload, texts: Mapping[str, EmbeddableText], lease: Lease) -> None:
        new_vectors = {content_hash: prepared.vectors[content_hash] for content_hash in texts}
        missing_texts = self.kit.index.select_texts_to_embed(prepared.vectors, prepared.chunks)
        progress = replace(_measure_progress(prepared, missing_texts), usage=self._add_up_usage(lease))
        await lease.save_vectors(new_vectors, self.kit.index.embedder.space, progress)

    async def _embed_texts(self, prepared: PreparedUpload, texts: Mapping[str, EmbeddableText]) -> None:
        if texts:
            vectors = await self.run.step("embed", embed_passages(list(texts.values()), self.kit.index.embedder))
            prepared.vectors.update(zip(texts, vectors, strict=True))

    async def _index_lexically(self, prepared: PreparedUpload, error: Unavailable, lease: Lease) -> Job:
        """Write a document without its missing vectors and schedule a retry of the job that adds them."""
        await lease.claim_document(prepared.document.id)
        await self._write_document(prepared, embedded=0)
        fallback = "searchable by lexical search; a job adds the vectors"
        self.run.degrade("embed", "embedding_pending", error.message, fallback)
        await lease.mark_lexical_only()
        return await self._schedule_retry(lease, error)

    async def _write_document(self, prepared: PreparedUpload, *, embedded: int) -> IndexingResult:
        writing = self.kit.index.replace_document(prepared.document, prepared.chunks, prepared.scope, prepared.vectors)
        replaced = await self.run.step("index", writing)
        await originals.store_original(prepared.document, prepared.upload, self.kit, self.run)
        return build_indexing_result(prepared.document, prepared.chunks, replaced, embedded, self.run)

    async def _prepare_upload(self, upload: Upload, scope: Scope, chunking: Chunking) -> PreparedUpload:
        limits = self.policy.upload_limits
        document, chunks = await prepare_document(upload, scope, self.kit, self.run, chunking=chunking, limits=limits)
        return PreparedUpload(upload, document, chunks, scope, {})

    def _needs_many_calls(self, prepared: PreparedUpload) -> bool:
        """Return whether a chat model would be asked more often than a request should wait for."""
        enrichment = limit_enrichment(self.kit, prepared.upload).enrichment
        return bool(enrichment and enrichment.budget_usd) and count_calls(prepared.chunks) > CALLS_AT_ONCE

    async def _enrich(self, prepared: PreparedUpload, log: EnrichmentLog) -> PreparedUpload:
        kit = limit_enrichment(self.kit, prepared.upload)
        scope = prepared.scope
        document, chunks = await enrich_document(prepared.document, prepared.chunks, scope, kit, self.run, log)
        return replace(prepared, document=document, chunks=chunks)

    async def _load_indexed_vectors(self, prepared: PreparedUpload) -> Mapping[str, Vector]:
        """Return the vectors that the index has of the document, by content hash."""
        return await self.run.step("index", self.kit.index.load_reusable_vectors(prepared.document.id, prepared.scope))

    async def _find_texts_to_embed(self, prepared: PreparedUpload) -> Mapping[str, EmbeddableText]:
        """Return the texts that lack a vector, by content hash."""
        finding = self.kit.index.find_texts_to_embed(
            prepared.document, prepared.chunks, prepared.scope, prepared.vectors
        )
        return await self.run.step("index", finding)

    def _collect_run_notes(self, lease: Lease) -> dict[str, Any]:
        """Return the run's degradations and warnings, and the usage of all attempts: what a job's reader is shown."""
        notes = {"degraded": list(map(asdict, self.run.degraded)), "warnings": list(map(asdict, self.run.warnings))}
        return {**notes, USAGE_NOTE: self._add_up_usage(lease)}

    def _add_up_usage(self, lease: Lease) -> dict[str, Any]:
        return self.run.add_up_usage(lease.job.run_notes.get(USAGE_NOTE, {}))


def _measure_progress(prepared: PreparedUpload, missing_texts: Mapping[str, EmbeddableText]) -> JobProgress:
    """Return how many chunks have their vectors, and on how many pages all have."""
    missing = [chunk for chunk in prepared.chunks if chunk.content_hash in missing_texts]
    embedded, chunks = len(prepared.chunks) - len(missing), len(prepared.chunks)
    if not (pages := prepared.document.pages):
        return JobProgress(embedded, chunks)
    missing_pages = {span.page for chunk in missing for span in chunk.spans if span.page}
    return JobProgress(embedded, chunks, pages - len(missing_pages), pages)


async def run_due_jobs(kit: Kit, policy: IndexingPolicy, *, within_s: float) -> int:
    """Run the jobs that are due, one after another, until none is or the time is up; return how many were claimed.

    None is begun in the last `MIN_JOB_S` seconds.
    The outcome of a job is recorded in the job. A job that the time limit interrupts continues with the next call.
    """
    run, claimed = Run(within_s), 0
    while run.remaining_s > MIN_JOB_S and (lease := await kit.jobs.claim()):
        claimed += 1
        with suppress(RagError):
            await _run_traced(Indexer(kit, Run(run.remaining_s, id=lease.job.id), policy), lease)
    return claimed


async def _run_traced(indexer: Indexer, lease: Lease) -> None:
    """Run a job as one span, and record in which state the attempt left it and how old the job was when it began."""
    job, state = lease.job, "failed"
    age = datetime.now(UTC) - datetime.fromisoformat(job.created_at)
    described = {"rag.run.id": job.id, "rag.workflow.id": job.scope.workflow_id}
    try:
        with trace_span("run index job", described, kind="CONSUMER"):
            left = await indexer.run_job(lease)
        state = left.state if isinstance(left, Job) else "done"
    finally:
        record_job(state, age.total_seconds())


@asynccontextmanager
async def _keep_lease_alive(lease: Lease) -> AsyncIterator[None]:
    """Renew the lease while the block runs, also during a step that takes longer than a lease."""
    renewal = asyncio.create_task(_renew_lease_periodically(lease))
    try:
        yield
    finally:
        renewal.cancel()


async def _renew_lease_periodically(lease: Lease) -> None:
    while True:
        await asyncio.sleep(LEASE_RENEWAL_INTERVAL_S)
        with suppress(RagError):  # the next one may succeed; a lost lease is reported by the job's own writes
            await lease.renew()
