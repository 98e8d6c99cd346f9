"""Rows of the job table, independent of the database: their columns, and the columns that each event changes."""

import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeAlias

from rag_core.core.errors import Conflict, RagError, Unavailable
from rag_core.core.model import Indexed, Job, Scope

LEASE_S = 60.0
HOLD_S = 240.0  # longer than a request: the document's jobs wait while a request changes the document itself
MAX_ATTEMPTS = 8  # in a row without new vectors
PAUSES_S = (5.0, 20.0, 80.0, 320.0, 1280.0, 3600.0)  # before the second attempt, the third, …: about 3 hours in all
KEPT_S = 7 * 24 * 3600.0  # how long an ended job and its idempotency key are kept
UNDER_WAY = ("queued", "running")

ENDED = RagError("the worker was terminated during every attempt", code="worker_ended")
SUPERSEDED = RagError("a later change of the document superseded this job", code="superseded")

Row: TypeAlias = dict[str, Any]  # values by column
About: TypeAlias = tuple[str, str, str]  # workflow, user ("" is none) and document
Held: TypeAlias = Mapping[str, float]  # the time at which each suspended job was due, by job id


def added(work: bytes, scope: Scope, document_id: str | None, key: str | None, now: float) -> Row:
    """Create a row without its `place`, the sequence number that the database assigns."""
    return {
        "id": uuid.uuid4().hex,
        "workflow": scope.workflow_id,
        "user": scope.user_id or "",
        "groups": json.dumps(scope.groups),
        "document": document_id,
        "key": key,
        "fingerprint": hashlib.sha256(work).hexdigest(),
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


def about(document_id: str, scope: Scope) -> About:
    return scope.workflow_id, scope.user_id or "", document_id


def same_work(earlier: Row, new: Row) -> Row:
    """Return the earlier job of an idempotency key. Raises Conflict when the key was used for another upload."""
    if earlier["fingerprint"] != new["fingerprint"]:
        raise Conflict("the idempotency key was used for another upload", code="idempotency_key_reused")
    return earlier


def taken(row: Row, now: float) -> Row:
    """Return the columns of a job that a worker claims: a new lease, and one more attempt."""
    return {"state": "running", "lease": uuid.uuid4().hex, "attempts": row["attempts"] + 1, **renewed(now)}


def renewed(now: float) -> Row:
    """Return the columns that extend a job's lease."""
    return {"lease_until": now + LEASE_S, "updated": now}


def worn_out(row: Row, now: float) -> bool:
    """Return whether the lease of a job's last attempt has expired."""
    return bool(row["state"] == "running" and row["lease_until"] <= now and row["attempts"] >= MAX_ATTEMPTS)


def progressed(row: Row, *, has_new_vectors: bool, embedded: int, chunks: int) -> Row:
    """Return the columns for `embedded` of `chunks` embedded; new vectors reset the count of attempts."""
    return {"done": embedded, "chunks": chunks, "attempts": 1 if has_new_vectors else row["attempts"]}


def held_back(row: Row, until: float) -> Row:
    """Return the columns of a job that is suspended until a time; a worker that has it loses it."""
    return {**given_back(row), "due": max(row["due"], until)}


def released(row: Row, due_at: float) -> Row:
    """Return the columns of a job that is due as before its suspension; none when it was claimed meanwhile."""
    return {"due": due_at} if row["state"] == "queued" else {}


def given_back(row: Row) -> Row:
    """Return the columns of a job that its worker releases; the attempt is not counted."""
    return {"state": "queued", "lease": None, "attempts": row["attempts"] - (row["state"] == "running")}


def put_off(row: Row, error: RagError, told: Mapping[str, Any], now: float) -> Row:
    """Return the columns of a job that is tried again after a delay; of a failed one after the last attempt."""
    if row["attempts"] >= MAX_ATTEMPTS:
        return failed(error, told)
    due = now + pause_s(row["attempts"])
    return {"state": "queued", "due": due, "error": _contract(error), "told": json.dumps(told)}


def pause_s(attempts: int) -> float:
    """Return the seconds that a job waits after this number (at least 1) of attempts without progress."""
    return PAUSES_S[min(attempts, len(PAUSES_S)) - 1]


def failed(error: RagError, told: Mapping[str, Any] | None = None) -> Row:
    return {"state": "failed", "error": _contract(error), "told": json.dumps(told or {})}


def finished(result: Indexed, told: Mapping[str, Any]) -> Row:
    """Return the columns of a job whose document is in the index."""
    columns = {"state": "done", "result": json.dumps(asdict(result)), "told": json.dumps(told), "error": None}
    return {**columns, "words": 0, "done": result.chunks, "chunks": result.chunks}


def taken_over() -> Conflict:
    return Conflict("another worker has taken over the job", code="job_taken_over")


@asynccontextmanager
async def instead(
    held: Held, end: Callable[[Held], Awaitable[None]], release: Callable[[Held], Awaitable[None]]
) -> AsyncIterator[None]:
    """End the suspended jobs when the block succeeds; resume them when it raises."""
    succeeded = False
    try:
        yield
        succeeded = True
    finally:
        if succeeded:
            await end(held)
        else:
            with suppress(Unavailable):  # the suspension then ends by itself
                await release(held)


def job(row: Row) -> Job:
    """Return the job that a row holds."""
    result = json.loads(row["result"]) if row["result"] else None
    return Job(
        id=row["id"],
        scope=Scope(row["workflow"], row["user"] or None, tuple(json.loads(row["groups"]))),
        document_id=row["document"],
        state=row["state"],
        attempts=row["attempts"],
        embedded=row["done"],
        chunks=row["chunks"],
        words_only=bool(row["words"]),
        error=json.loads(row["error"]) if row["error"] else None,
        result=result and Indexed(**{**result, "failed": tuple(result["failed"])}),
        told=json.loads(row["told"]) if row["told"] else {},
        created_at=_iso(row["created"]),
        updated_at=_iso(row["updated"]),
    )


def _contract(error: RagError) -> str:
    """Encode an error as JSON with the fields of the error contract."""
    contract = {"code": error.code, "message": error.message, "field": error.field, "retryable": error.retryable}
    return json.dumps({**contract, "details": error.details}, default=str)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
