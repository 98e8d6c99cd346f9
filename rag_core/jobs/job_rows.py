"""Rows of the job table, independent of the database: their columns, and the columns that each event changes."""

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from rag_core.core.errors import Conflict, RagError, Unavailable
from rag_core.core.model import IndexingResult, Job, JobProgress, Scope

LEASE_DURATION_S = 60.0
SUSPENSION_S = 240.0  # longer than a request: the document's jobs wait while a request changes the document itself
MAX_ATTEMPTS = 8  # in a row without new vectors or descriptions
RETRY_DELAYS_S = (
    5.0,
    20.0,
    80.0,
    320.0,
    1280.0,
    3600.0,
)  # before the second attempt, the third, …: about 3 hours in all
JOB_RETENTION_S = 7 * 24 * 3600.0  # how long an ended job and its idempotency key are kept
WRITE_WAIT_S = 5.0  # how long a change of a document waits for the worker that is writing the document
WRITE_POLL_INTERVAL_S = 0.05
DOCUMENT_BUSY = "document_being_indexed"
OPEN_STATES = ("queued", "running", "writing")
CLAIMED_STATES = ("running", "writing")  # "writing" is shown as running: the worker changes the index, undisturbed

WORKER_ENDED_ERROR = RagError("the worker was terminated during every attempt", code="worker_ended")
SUPERSEDED_ERROR = RagError("a later change of the document superseded this job", code="superseded")
CANCELLED_ERROR = RagError("the job was cancelled by its owner", code="cancelled")

PAGES_NOTE = "pages"  # beside the notes of a run: its pages that are done, and all
USAGE_NOTE = "usage"  # of all attempts so far, as a reply has it

JobRow: TypeAlias = dict[str, Any]  # values by column
DocumentKey: TypeAlias = tuple[str, str, str]  # workflow, user ("" is none) and document
T = TypeVar("T")
SuspendedJobs: TypeAlias = Mapping[str, float]  # the time at which each suspended job was due, by job id


def create_job_row(payload: bytes, scope: Scope, document_id: str | None, key: str | None, now: float) -> JobRow:
    """Create a row without its `place`, the sequence number that the database assigns."""
    return {
        "id": uuid.uuid4().hex,
        "workflow": scope.workflow_id,
        "user": scope.user_id or "",
        "groups": json.dumps(scope.groups),
        "document": document_id,
        "key": key,
        "fingerprint": hashlib.sha256(payload).hexdigest(),
        "state": "queued",
        "attempts": 0,
        "words": 0,
        "done": 0,
        "chunks": 0,
        "error": None,
        "result": None,
        "told": None,
        "lease": None,
        "lease_until": 0.0,
        "due": 0.0,
        "created": now,
        "updated": now,
    }


def make_document_key(document_id: str, scope: Scope) -> DocumentKey:
    return scope.workflow_id, scope.user_id or "", document_id


def check_same_upload(earlier: JobRow, new: JobRow) -> JobRow:
    """Return the earlier job of an idempotency key. Raises Conflict when the key was used for another upload."""
    if earlier["fingerprint"] != new["fingerprint"]:
        raise Conflict("the idempotency key was used for another upload", code="idempotency_key_reused")
    return earlier


def mark_claimed(row: JobRow, now: float) -> JobRow:
    """Return the columns of a job that a worker claims: a new lease, and one more attempt."""
    return {"state": "running", "lease": uuid.uuid4().hex, "attempts": row["attempts"] + 1, **extend_lease(now)}


def extend_lease(now: float) -> JobRow:
    """Return the columns that extend a job's lease."""
    return {"lease_until": now + LEASE_DURATION_S, "updated": now}


def has_used_all_attempts(row: JobRow, now: float) -> bool:
    """Return whether the lease of a job's last attempt has expired."""
    return bool(row["state"] in CLAIMED_STATES and row["lease_until"] <= now and row["attempts"] >= MAX_ATTEMPTS)


def is_being_written(row: JobRow, now: float) -> bool:
    """Return whether a worker with a lease is writing the job's document to the index."""
    return bool(row["state"] == "writing" and row["lease_until"] > now)


def mark_progress(row: JobRow, progress: JobProgress, *, has_new_vectors: bool) -> JobRow:
    """Return the columns for what is embedded so far; new vectors reset the count of attempts.

    The pages stand beside the notes of the run until it ends, and its usage replaces the earlier one, which is in it.
    """
    attempts = 1 if has_new_vectors else row["attempts"]
    columns = {"done": progress.embedded, "chunks": progress.chunks, "attempts": attempts}
    pages = {} if progress.pages is None else {PAGES_NOTE: (progress.pages_done, progress.pages)}
    usage = {} if progress.usage is None else {USAGE_NOTE: progress.usage}
    notes = {**json.loads(row["told"] or "{}"), **usage, **pages}
    return {**columns, "told": json.dumps(notes)}


def mark_described(row: JobRow, enrichments: Mapping[str, str]) -> JobRow:
    """Return the columns for what a chat model wrote: something new resets the count of attempts."""
    return {"attempts": 1 if enrichments else row["attempts"]}


def mark_suspended(row: JobRow, until: float, now: float) -> JobRow:
    """Return the columns of a job that is suspended until a time; a worker that has it loses it.

    Raises Unavailable (document_being_indexed) while the worker is writing the document.
    """
    if is_being_written(row, now):
        raise make_document_busy_error()
    return {**mark_released(row), "due": max(row["due"], until)}


def mark_resumed(row: JobRow, due_at: float) -> JobRow:
    """Return the columns of a job that is due as before its suspension; none when it was claimed meanwhile."""
    return {"due": due_at} if row["state"] == "queued" else {}


def mark_released(row: JobRow, run_notes: Mapping[str, Any] | None = None) -> JobRow:
    """Return the columns of a job that its worker releases; the attempt is not counted."""
    notes = {} if run_notes is None else {"told": json.dumps(run_notes)}
    return {**notes, "state": "queued", "lease": None, "attempts": row["attempts"] - (row["state"] in CLAIMED_STATES)}


def mark_retry_scheduled(row: JobRow, error: RagError, run_notes: Mapping[str, Any], now: float) -> JobRow:
    """Return the columns of a job that is tried again after a delay; of a failed one after the last attempt."""
    if row["attempts"] >= MAX_ATTEMPTS:
        return mark_failed(error, run_notes)
    due = now + compute_retry_delay_s(row["attempts"])
    return {"state": "queued", "due": due, "error": _encode_error(error), "told": json.dumps(run_notes)}


def compute_retry_delay_s(attempts: int) -> float:
    """Return the seconds that a job waits after this number (at least 1) of attempts without progress."""
    return RETRY_DELAYS_S[min(attempts, len(RETRY_DELAYS_S)) - 1]


def mark_cancelled(row: JobRow, now: float) -> JobRow:
    """Return the columns of an open job that its owner cancels; none when it has ended already.

    Raises Unavailable when its worker is writing the document.
    """
    if is_being_written(row, now):
        raise make_document_busy_error()
    return mark_failed(CANCELLED_ERROR) if row["state"] in OPEN_STATES else {}


def mark_failed(error: RagError, run_notes: Mapping[str, Any] | None = None) -> JobRow:
    """Return the columns of a job that has failed; without notes those of its last attempt stay."""
    notes = {} if run_notes is None else {"told": json.dumps(run_notes)}
    return {"state": "failed", "error": _encode_error(error), **notes}


def mark_finished(result: IndexingResult, run_notes: Mapping[str, Any]) -> JobRow:
    """Return the columns of a job whose document is in the index."""
    columns = {"state": "done", "result": json.dumps(asdict(result)), "told": json.dumps(run_notes), "error": None}
    return {**columns, "words": 0, "done": result.chunks, "chunks": result.chunks}


def make_document_busy_error() -> Unavailable:
    """Return the error for a change of a document that a worker has been writing for longer than we wait."""
    message = "a job is writing the document to the index just now: repeat the request in some seconds"
    return Unavailable(message, code=DOCUMENT_BUSY)


def make_lease_lost_error() -> Conflict:
    return Conflict("another worker has taken over the job", code="job_taken_over")


async def wait_for_writer(change: Callable[[], Awaitable[T]]) -> T:
    """Make a change of the job table as soon as no worker is writing the document that it is about.

    Raises Unavailable (document_being_indexed) when the worker takes longer than WRITE_WAIT_S.
    """
    end = time.monotonic() + WRITE_WAIT_S
    while True:
        try:
            return await change()
        except Unavailable as error:
            if error.code != DOCUMENT_BUSY or time.monotonic() > end:
                raise
        await asyncio.sleep(WRITE_POLL_INTERVAL_S)


@asynccontextmanager
async def end_or_resume(
    suspended: SuspendedJobs,
    end_jobs: Callable[[SuspendedJobs], Awaitable[None]],
    resume_jobs: Callable[[SuspendedJobs], Awaitable[None]],
) -> AsyncIterator[bool]:
    """Give the block whether there are suspended jobs; end them when it succeeds and resume them when it raises."""
    succeeded = False
    try:
        yield bool(suspended)
        succeeded = True
    finally:
        if succeeded:
            await end_jobs(suspended)
        else:
            with suppress(Unavailable):  # the suspension then ends by itself
                await resume_jobs(suspended)


def job_from_row(row: JobRow) -> Job:
    """Return the job that a row holds."""
    result = json.loads(row["result"]) if row["result"] else None
    run_notes = json.loads(row["told"] or "{}")
    pages_done, pages = run_notes.pop(PAGES_NOTE, (None, None))
    return Job(
        id=row["id"],
        scope=Scope(row["workflow"], row["user"] or None, tuple(json.loads(row["groups"]))),
        document_id=row["document"],
        state="running" if row["state"] == "writing" else row["state"],
        attempts=row["attempts"],
        progress=JobProgress(row["done"], row["chunks"], pages_done, pages),
        lexical_only=bool(row["words"]),
        error=json.loads(row["error"]) if row["error"] else None,
        result=result and IndexingResult(**{**result, "failed": tuple(result["failed"])}),
        run_notes=run_notes,
        created_at=_format_epoch_time(row["created"]),
        updated_at=_format_epoch_time(row["updated"]),
    )


def _encode_error(error: RagError) -> str:
    """Encode an error as JSON with the fields of the error contract."""
    contract = {"code": error.code, "message": error.message, "field": error.field, "retryable": error.retryable}
    return json.dumps({**contract, "details": error.details}, default=str)


def _format_epoch_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
