"""A row of the table of long work, in whatever database: what it says, and what each event makes of it."""

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
HOLD_S = 240.0  # longer than a request: while it changes a document by other means, its jobs wait
MAX_ATTEMPTS = 8  # without any progress
PAUSES_S = (5.0, 20.0, 80.0, 320.0, 1280.0, 3600.0)  # before the second attempt, the third, and so on: some 3 hours
KEPT_S = 7 * 24 * 3600.0  # how long one that ended is told of, and its key known
UNDER_WAY = ("queued", "running")

ENDED = RagError("the worker ended before the work did, each time", code="worker_ended")
SUPERSEDED = RagError("a later change of the document took its place", code="superseded")

Row: TypeAlias = dict[str, Any]
About: TypeAlias = tuple[str, str, str]  # workflow, user and document
Held: TypeAlias = Mapping[str, float]  # when each job that is held back was due, by its id


def added(work: bytes, scope: Scope, document_id: str | None, key: str | None, now: float) -> Row:
    """A new row; its place among the others is the database's to give."""
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
    """The job that a key stands for. Raises Conflict when the key comes with other work."""
    if earlier["fingerprint"] != new["fingerprint"]:
        raise Conflict("the idempotency key was used for another upload", code="idempotency_key_reused")
    return earlier


def taken(row: Row, now: float) -> Row:
    return {"state": "running", "lease": uuid.uuid4().hex, "attempts": row["attempts"] + 1, **renewed(now)}


def renewed(now: float) -> Row:
    return {"lease_until": now + LEASE_S, "updated": now}


def worn_out(row: Row, now: float) -> bool:
    """Whether the last worker that it is given was killed too."""
    return bool(row["state"] == "running" and row["lease_until"] <= now and row["attempts"] >= MAX_ATTEMPTS)


def progressed(row: Row, *, gained: bool, done: int, chunks: int) -> Row:
    return {"done": done, "chunks": chunks, "attempts": 1 if gained else row["attempts"]}


def held_back(row: Row, until: float) -> Row:
    """Out of its worker's hands, if it was in any; that was no attempt."""
    return {**given_back(row), "due": max(row["due"], until)}


def released(row: Row, due: float) -> Row:
    """As it was before it was held back, unless it was taken up meanwhile."""
    return {"due": due} if row["state"] == "queued" else {}


def given_back(row: Row) -> Row:
    return {"state": "queued", "lease": None, "attempts": row["attempts"] - (row["state"] == "running")}


def put_off(row: Row, error: RagError, told: Mapping[str, Any], now: float) -> Row:
    if row["attempts"] >= MAX_ATTEMPTS:
        return failed(error, told)
    due = now + pause_s(row["attempts"])
    return {"state": "queued", "due": due, "error": _contract(error), "told": json.dumps(told)}


def pause_s(attempts: int) -> float:
    """How long a job waits after so many attempts without progress."""
    return PAUSES_S[min(attempts, len(PAUSES_S)) - 1]


def failed(error: RagError, told: Mapping[str, Any] | None = None) -> Row:
    return {"state": "failed", "error": _contract(error), "told": json.dumps(told or {})}


def finished(result: Indexed, told: Mapping[str, Any]) -> Row:
    ended = {"state": "done", "result": json.dumps(asdict(result)), "told": json.dumps(told), "error": None}
    return {**ended, "words": 0, "done": result.chunks, "chunks": result.chunks}


def taken_over() -> Conflict:
    return Conflict("another took the job over", code="job_taken_over")


@asynccontextmanager
async def instead(
    held: Held, end: Callable[[Held], Awaitable[None]], release: Callable[[Held], Awaitable[None]]
) -> AsyncIterator[None]:
    """End what is held back when the block is done, or let it go on as it was when the block raises."""
    done = False
    try:
        yield
        done = True
    finally:
        if done:
            await end(held)
        else:
            with suppress(Unavailable):  # they go on all the same when their time comes
                await release(held)


def job(row: Row) -> Job:
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
    told = {"code": error.code, "message": error.message, "field": error.field, "retryable": error.retryable}
    return json.dumps({**told, "details": error.details}, default=str)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
