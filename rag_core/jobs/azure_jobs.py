"""The job table in Azure Storage, which all instances of the app share.

Each job has a row, whose key says whether the job is open or has ended. The upload and the vectors are too large for a
row and are blobs under the job's id. An idempotency key has a row of its own, written in one transaction with the job's
row. Every write is conditional on the row's ETag, so that only one of two workers can claim a job.
"""

import asyncio
import hashlib
import json
import re
import time
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from random import random
from typing import Any
from uuid import uuid4

from rag_core.core.errors import RagError, Unavailable
from rag_core.core.model import Indexed, Job, Scope, Vector
from rag_core.jobs import job_rows
from rag_core.jobs.azure_tables import AzureTables, Changed, Entity, created, removed, replaced
from rag_core.jobs.job_rows import ENDED, HOLD_S, KEPT_S, SUPERSEDED, UNDER_WAY, About, Held, Row

OPEN, PAST, KEY, PLACE = "open-", "past-", "key-", "place"  # row keys: three prefixes, and the sequence counter's key
ROUNDS = 20  # with n concurrent writers one succeeds in each attempt, so n attempts are enough
PAUSE_S = 0.02  # after the first attempt, and this much more after each further one: a few transactions' time
TIDY_EACH_S = 3600.0  # also the minimum age of a deleted orphan blob: a younger one may still get its job
Change = Callable[[Row], Mapping[str, Any]]


class AzureJobs:
    """The `Jobs` in a storage account, given by its connection string, or by its queue address and our identity."""

    def __init__(self, storage: str, *, now: Callable[[], float] = time.time) -> None:
        self._tables, self._now = AzureTables(storage), now
        self._add_lock = asyncio.Lock()  # every `add` changes the sequence row: serialized within this process
        self._last_cleanup = 0.0

    async def add(
        self, work: bytes, scope: Scope, *, document_id: str | None, key: str | None = None, hold: bool = False
    ) -> tuple[Job, "AzureLease | None"]:
        new = job_rows.added(work, scope, document_id, key, self._now())
        if hold:
            new |= job_rows.taken(new, self._now())
        _, earlier = await self._by_key(new)
        if earlier:
            return job_rows.job(earlier), None
        await self._tables.put(_work(new["id"]), work)
        async with self._add_lock:
            row = await self._added(new)
        if row["id"] != new["id"]:
            await self._forget_blobs(new["id"])
        return job_rows.job(row), AzureLease(self, row, work) if hold and row["id"] == new["id"] else None

    async def get(self, id: str, user_id: str | None) -> Job | None:
        row = await self._found(id) if re.fullmatch("[0-9a-f]{32}", id) else None
        return job_rows.job(row) if row and row["user"] == (user_id or "") else None

    async def claim(self) -> "AzureLease | None":
        for _ in range(ROUNDS):
            try:
                row = await self._taken()
            except Changed:  # another worker claimed it first
                continue
            if row is None:
                await self._tidy()
                return None
            if (work := await self._tables.blob(_work(row["id"]))) is not None:  # None: the job ended meanwhile
                return AzureLease(self, row, work)
        return None  # enough other workers are claiming jobs

    @asynccontextmanager
    async def superseding(self, document_id: str, scope: Scope) -> AsyncIterator[None]:
        suspended = await self.hold_back(job_rows.about(document_id, scope), self._now() + HOLD_S)
        async with job_rows.instead(suspended, self.end, self._release):
            yield

    async def close(self) -> None:
        await self._tables.close()

    async def change(self, id: str, change: Change) -> Row | None:
        """Apply a change to the row of an open job and return the new row; None when the job is not open.

        When the change ends the job, its blobs are deleted.
        """
        for _ in range(ROUNDS):
            stored = await self._tables.row(OPEN + id)
            if stored is None:
                return None
            with suppress(Changed):
                return await self._changed(stored, change(_row(stored)))
        raise _busy()

    async def hold_back(self, about: About, until: float, before: int | None = None) -> Held:
        """Suspend a document's open jobs until a time; with `before_place` only those added before that place."""
        rows = await self._of_document(about, before)
        for row in rows:
            await self.change(row["id"], partial(job_rows.held_back, until=until))
        return {row["id"]: row["due"] for row in rows}

    async def end(self, held: Held) -> None:
        for id in held:
            await self.change(id, lambda _: job_rows.failed(SUPERSEDED))

    async def end_earlier(self, row: Row) -> None:
        """End the open jobs that were added for the same document before this one, which is in the index."""
        document_key = (row["workflow"], row["user"], row["document"])
        await self.end({earlier["id"]: 0.0 for earlier in await self._of_document(document_key, row["place"])})

    async def keep(self, id: str, space: str, vectors: Mapping[str, Vector]) -> None:
        content_hashes = json.dumps(list(vectors)).encode()
        packed = array("f", [value for vector in vectors.values() for value in vector]).tobytes()
        await self._tables.put(f"{_vectors(id, space)}{uuid4().hex}", content_hashes + b"\n" + packed)

    async def vectors(self, id: str, space: str) -> dict[str, Vector]:
        vectors: dict[str, Vector] = {}
        for name, _ in await self._tables.blobs(_vectors(id, space)):
            vectors |= _unpacked(await self._tables.blob(name) or b"[]\n")
        return vectors

    @property
    def now(self) -> float:
        return self._now()

    async def _release(self, held: Held) -> None:
        for id, due_at in held.items():
            await self.change(id, partial(job_rows.released, due_at=due_at))

    async def _added(self, new: Row) -> Row:
        """Insert a new job and return its row, or the row of the job for which its key was used meanwhile."""
        for attempt in range(ROUNDS):
            key_row, earlier = await self._by_key(new)
            if earlier:
                return earlier
            try:
                return await self._insert(new, key_row)
            except Changed:  # also when our own write succeeded and only its reply was lost
                if inserted := await self._found(new["id"]):
                    return inserted
            await asyncio.sleep(random() * PAUSE_S * (attempt + 1))  # noqa: S311 - no secret
        raise _busy()

    async def _insert(self, new: Row, used: Entity | None) -> Row:
        """Write a job's row, the next place of the sequence and the row of its key in one transaction.

        Args:
            new: the row without its place.
            key_row: the row of its idempotency key as it was read when the key was free, None when there was none.

        Raises:
            RowChanged: another process wrote one of these rows meanwhile.
        """
        sequence = await self._tables.row(PLACE)
        row = {**new, "place": sequence.values["last"] + 1 if sequence else 1}
        sequence_values, key_values = {"last": row["place"]}, {"job": new["id"]}
        operations = [
            replaced(sequence, sequence_values) if sequence else created(PLACE, sequence_values),
            created(OPEN + new["id"], row),
        ]
        if new["key"] is not None:
            operations.append(replaced(used, key_values) if used else created(_key(new), key_values))
        await self._tables.write(*operations)
        return row

    async def _by_key(self, new: Row) -> tuple[Entity | None, Row | None]:
        """Return the row of a job's idempotency key, and the job that the key stands for.

        A failed job no longer occupies its key. Raises Conflict when the key was used for another upload.
        """
        key_row = await self._tables.row(_key(new)) if new["key"] is not None else None
        earlier = await self._found(key_row.values["job"]) if key_row else None
        return key_row, job_rows.same_work(earlier, new) if earlier and earlier["state"] != "failed" else None

    async def _found(self, id: str) -> Row | None:
        """Return the row of a job, open or ended; None when there is none."""
        for prefix in (OPEN, PAST):  # in this order: a job moves from open to ended, and never back
            if stored := await self._tables.row(prefix + id):
                return _row(stored)
        return None

    async def _under_way(self) -> list[Entity]:
        return sorted(await self._tables.rows(OPEN), key=lambda stored: int(stored.values["place"]))

    async def _of_document(self, about: About, before: int | None) -> list[Row]:
        rows = [row for row in map(_row, await self._under_way()) if _about(row) == about]
        return [row for row in rows if before is None or row["place"] < before]

    async def _taken(self) -> Row | None:
        """Claim the next job that is due and return its row; None when none is due.

        Two workers may claim two jobs of one document when the second becomes due between their reads: the later
        job's `claim_document` then takes the earlier one from its worker. Raises RowChanged.
        """
        now, rows_by_key = self._now(), {stored.key: stored for stored in await self._under_way()}
        for stored in rows_by_key.values():
            if job_rows.worn_out(stored.values, now):
                await self._changed(stored, job_rows.failed(ENDED))
                raise Changed("a job has failed: read the open jobs again")
        row = _next([_row(stored) for stored in rows_by_key.values()], now)
        return await self._changed(rows_by_key[OPEN + row["id"]], job_rows.taken(row, now)) if row else None

    async def _changed(self, entity: Entity, values: Mapping[str, Any]) -> Row:
        """Write a row with changed values, moving it when the job has ended, and return it. Raises RowChanged."""
        row = {**_row(entity), "updated": self._now(), **values}
        if row["state"] in UNDER_WAY:
            await self._tables.write(replaced(entity, row))
            return row
        await self._tables.write(removed(entity), created(PAST + row["id"], row))
        with suppress(Unavailable):  # the next cleanup deletes them
            await self._forget_blobs(row["id"])
        return row

    async def _forget_blobs(self, id: str) -> None:
        for name, _ in await self._tables.blobs(f"{id}/"):
            await self._tables.remove(name)

    async def _tidy(self) -> None:
        """Delete rows of jobs that ended long ago, and blobs that a killed process left behind."""
        now = self._now()
        if now < self._last_cleanup + TIDY_EACH_S:
            return
        self._last_cleanup = now
        for name, written in await self._tables.blobs():
            is_old = written.timestamp() < now - TIDY_EACH_S
            if is_old and await self._tables.row(OPEN + name.partition("/")[0]) is None:
                await self._tables.remove(name)
        for stored in await self._tables.rows(PAST):
            if stored.values["updated"] < now - KEPT_S:
                await self._forget_row(stored)

    async def _forget_row(self, entity: Entity) -> None:
        row = _row(entity)
        key_row = await self._tables.row(_key(row)) if row["key"] is not None else None
        with suppress(Changed):  # the next cleanup tries again
            key_operations = [removed(key_row)] if key_row and key_row.values["job"] == row["id"] else []
            await self._tables.write(removed(entity), *key_operations)


@dataclass(frozen=True, slots=True)
class AzureLease:
    """A `Lease` on a job in Azure Storage; every write first checks that the lease still holds."""

    jobs: AzureJobs
    row: Row
    work: bytes

    @property
    def job(self) -> Job:
        return job_rows.job(self.row)

    async def renew(self) -> None:
        await self._write(lambda row: {})  # every write extends the lease

    async def vectors(self, space: str) -> Mapping[str, Vector]:
        await self.renew()
        return await self.jobs.vectors(self.row["id"], space)

    async def keep(self, vectors: Mapping[str, Vector], space: str, *, done: int, chunks: int) -> None:
        if vectors:
            await self.renew()
            await self.jobs.keep(self.row["id"], space, vectors)
        await self._write(partial(job_rows.progressed, has_new_vectors=bool(vectors), embedded=done, chunks=chunks))

    async def publish(self, document_id: str) -> None:
        row = await self._write(lambda row: {"document": document_id})
        await self.jobs.hold_back((row["workflow"], row["user"], document_id), 0.0, row["place"])

    async def words_only(self) -> None:
        await self.jobs.end_earlier(await self._write(lambda row: {"words": 1}))

    async def finish(self, result: Indexed, told: Mapping[str, Any]) -> Job:
        await self.jobs.end_earlier(await self._write(lambda row: {}))
        return job_rows.job(await self._write(lambda row: job_rows.finished(result, told)))

    async def give_back(self) -> Job:
        return job_rows.job(await self._write(job_rows.given_back))

    async def put_off(self, error: RagError, told: Mapping[str, Any]) -> Job:
        return job_rows.job(await self._write(lambda row: job_rows.put_off(row, error, told, self.jobs.now)))

    async def fail(self, error: RagError, told: Mapping[str, Any]) -> Job:
        return job_rows.job(await self._write(lambda row: job_rows.failed(error, told)))

    async def _write(self, change: Change) -> Row:
        def update_if_held(row: Row) -> Mapping[str, Any]:
            if row["state"] != "running" or row["lease"] != self.row["lease"]:
                raise job_rows.taken_over()
            return {**job_rows.renewed(self.jobs.now), **change(row)}

        row = await self.jobs.change(self.row["id"], update_if_held)
        if row is None:
            raise job_rows.taken_over()
        return row


def _busy() -> Unavailable:
    return Unavailable("the job table is being changed by too many writers at once", code="jobs_unavailable")


def _row(entity: Entity) -> Row:
    """Return a job's row with the columns that are not stored because they are None."""
    return {**dict.fromkeys(("document", "key", "error", "result", "told", "lease")), **entity.values}


def _next(rows: Sequence[Row], now: float) -> Row | None:
    """Return the first row that is due or whose lease has expired; None when there is none.

    Jobs of a document that a worker is indexing are passed over.
    """
    busy_documents = {_about(row) for row in rows if row["state"] == "running" and row["lease_until"] > now}
    due_rows = [row for row in rows if row["due" if row["state"] == "queued" else "lease_until"] <= now]
    return next((row for row in due_rows if row["document"] is None or _about(row) not in busy_documents), None)


def _about(row: Row) -> tuple[str, str, str | None]:
    return row["workflow"], row["user"], row["document"]


def _key(row: Row) -> str:
    """Return the row key of a job's idempotency key, hashed because row keys may not contain all characters."""
    owned_key = json.dumps([row["workflow"], row["user"], row["key"]])
    return KEY + hashlib.sha256(owned_key.encode()).hexdigest()


def _work(id: str) -> str:
    return f"{id}/work"


def _vectors(id: str, space: str) -> str:
    return f"{id}/{hashlib.sha256(space.encode()).hexdigest()}/"


def _unpacked(data: bytes) -> dict[str, Vector]:
    """Decode the blob of a batch: a line of JSON with the content hashes, then all vectors as float32."""
    header, _, packed = data.partition(b"\n")
    content_hashes, values = json.loads(header), array("f", packed)
    dimensions = len(values) // max(1, len(content_hashes))
    return {
        content_hash: values[n * dimensions : (n + 1) * dimensions].tolist()
        for n, content_hash in enumerate(content_hashes)
    }
