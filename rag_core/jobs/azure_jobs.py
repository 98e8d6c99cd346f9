"""The table of long work, in Azure Storage: every instance of the app sees the same jobs.

A row a job, under a key that tells whether it is under way or ended; the upload and the vectors, which no row can
hold, are blobs under its id. An idempotency key has a row of its own, made in one transaction with the job's. A row is
changed only as it was read (ETag), so that of two workers one has the job.
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

OPEN, PAST, KEY, PLACE = "open-", "past-", "key-", "place"  # how the keys of rows start
ROUNDS = 20  # of reading again what another changed: each round one of them gets on
PAUSE_S = 0.02  # at most, after the first round, and so much more after each: a few transactions
TIDY_EACH_S = 3600.0  # also how old a blob without a job is before it goes: one without may get its job yet
Change = Callable[[Row], Mapping[str, Any]]


class AzureJobs:
    """The `Jobs` of a storage account, by its connection string, or an address of it and our identity."""

    def __init__(self, storage: str, *, now: Callable[[], float] = time.time) -> None:
        self._tables, self._now = AzureTables(storage), now
        self._adding = asyncio.Lock()  # all who add change one row: of this process, one after the other
        self._tidied = 0.0

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
        async with self._adding:
            kept = await self._added(new)
        if kept["id"] != new["id"]:
            await self._forget_blobs(new["id"])
        return job_rows.job(kept), AzureLease(self, kept, work) if hold and kept["id"] == new["id"] else None

    async def get(self, id: str, user_id: str | None) -> Job | None:
        found = await self._found(id) if re.fullmatch("[0-9a-f]{32}", id) else None
        return job_rows.job(found) if found and found["user"] == (user_id or "") else None

    async def claim(self) -> "AzureLease | None":
        for _ in range(ROUNDS):
            try:
                row = await self._taken()
            except Changed:  # another was quicker
                continue
            if row is None:
                await self._tidy()
                return None
            if (work := await self._tables.blob(_work(row["id"]))) is not None:  # it may have ended meanwhile
                return AzureLease(self, row, work)
        return None  # there are workers enough

    @asynccontextmanager
    async def superseding(self, document_id: str, scope: Scope) -> AsyncIterator[None]:
        held = await self.hold_back(job_rows.about(document_id, scope), self._now() + HOLD_S)
        async with job_rows.instead(held, self.end, self._release):
            yield

    async def close(self) -> None:
        await self._tables.close()

    async def change(self, id: str, change: Change) -> Row | None:
        """Change the row of a job that is under way, as it is at that moment; None when it is not.

        When it ends by that, its blobs go after it.
        """
        for _ in range(ROUNDS):
            entity = await self._tables.row(OPEN + id)
            if entity is None:
                return None
            with suppress(Changed):
                return await self._changed(entity, change(_row(entity)))
        raise _busy()

    async def hold_back(self, about: About, until: float, before: int | None = None) -> Held:
        """Keep the jobs of a document from being done; only those `before` one, when it is named."""
        rows = await self._of_document(about, before)
        for row in rows:
            await self.change(row["id"], partial(job_rows.held_back, until=until))
        return {row["id"]: row["due"] for row in rows}

    async def end(self, held: Held) -> None:
        for id in held:
            await self.change(id, lambda _: job_rows.failed(SUPERSEDED))

    async def end_earlier(self, row: Row) -> None:
        """The document is in the index: what came for it before is not to be done any more."""
        about = (row["workflow"], row["user"], row["document"])
        await self.end({earlier["id"]: 0.0 for earlier in await self._of_document(about, row["place"])})

    async def keep(self, id: str, space: str, vectors: Mapping[str, Vector]) -> None:
        hashes = json.dumps(list(vectors)).encode()
        packed = array("f", [number for vector in vectors.values() for number in vector]).tobytes()
        await self._tables.put(f"{_vectors(id, space)}{uuid4().hex}", hashes + b"\n" + packed)

    async def vectors(self, id: str, space: str) -> dict[str, Vector]:
        found: dict[str, Vector] = {}
        for name, _ in await self._tables.blobs(_vectors(id, space)):
            found |= _unpacked(await self._tables.blob(name) or b"[]\n")
        return found

    @property
    def now(self) -> float:
        return self._now()

    async def _release(self, held: Held) -> None:
        for id, due in held.items():
            await self.change(id, partial(job_rows.released, due=due))

    async def _added(self, new: Row) -> Row:
        """The job as it is kept: the new one, or the one that its key was used for meanwhile."""
        for past in range(ROUNDS):
            used, earlier = await self._by_key(new)
            if earlier:
                return earlier
            try:
                return await self._insert(new, used)
            except Changed:  # or a try of ours came through, whose reply was lost
                if kept := await self._found(new["id"]):
                    return kept
            await asyncio.sleep(random() * PAUSE_S * (past + 1))  # noqa: S311 - no secret
        raise _busy()

    async def _insert(self, new: Row, used: Entity | None) -> Row:
        """With its place, and its key, which is given as it was read when it was free. Raises Changed."""
        last = await self._tables.row(PLACE)
        row = {**new, "place": last.values["last"] + 1 if last else 1}
        place, stands_for = {"last": row["place"]}, {"job": new["id"]}
        operations = [replaced(last, place) if last else created(PLACE, place), created(OPEN + new["id"], row)]
        if new["key"] is not None:
            operations.append(replaced(used, stands_for) if used else created(_key(new), stands_for))
        await self._tables.write(*operations)
        return row

    async def _by_key(self, new: Row) -> tuple[Entity | None, Row | None]:
        """The row of its key, and the job that this stands for. A failed one has given it back."""
        used = await self._tables.row(_key(new)) if new["key"] is not None else None
        found = await self._found(used.values["job"]) if used else None
        return used, job_rows.same_work(found, new) if found and found["state"] != "failed" else None

    async def _found(self, id: str) -> Row | None:
        """In this order: a job goes from the one place to the other, and never back."""
        for start in (OPEN, PAST):
            if entity := await self._tables.row(start + id):
                return _row(entity)
        return None

    async def _under_way(self) -> list[Entity]:
        return sorted(await self._tables.rows(OPEN), key=lambda entity: int(entity.values["place"]))

    async def _of_document(self, about: About, before: int | None) -> list[Row]:
        mine = [row for row in map(_row, await self._under_way()) if _about(row) == about]
        return [row for row in mine if before is None or row["place"] < before]

    async def _taken(self) -> Row | None:
        """Two workers may still hold two jobs of one document, when one is due between their looks: `publish` tells."""
        now, entities = self._now(), {entity.key: entity for entity in await self._under_way()}
        for entity in entities.values():
            if job_rows.worn_out(entity.values, now):
                await self._changed(entity, job_rows.failed(ENDED))
                raise Changed("one ended")
        row = _next([_row(entity) for entity in entities.values()], now)
        return await self._changed(entities[OPEN + row["id"]], job_rows.taken(row, now)) if row else None

    async def _changed(self, entity: Entity, values: Mapping[str, Any]) -> Row:
        """Raises Changed."""
        row = {**_row(entity), "updated": self._now(), **values}
        if row["state"] in UNDER_WAY:
            await self._tables.write(replaced(entity, row))
            return row
        await self._tables.write(removed(entity), created(PAST + row["id"], row))
        with suppress(Unavailable):  # tidied up later
            await self._forget_blobs(row["id"])
        return row

    async def _forget_blobs(self, id: str) -> None:
        for name, _ in await self._tables.blobs(f"{id}/"):
            await self._tables.remove(name)

    async def _tidy(self) -> None:
        """Remove what nobody needs: rows that ended long ago, and blobs that a process which was killed left behind."""
        now = self._now()
        if now < self._tidied + TIDY_EACH_S:
            return
        self._tidied = now
        for name, written in await self._tables.blobs():
            old = written.timestamp() < now - TIDY_EACH_S
            if old and await self._tables.row(OPEN + name.partition("/")[0]) is None:
                await self._tables.remove(name)
        for entity in await self._tables.rows(PAST):
            if entity.values["updated"] < now - KEPT_S:
                await self._forget_row(entity)

    async def _forget_row(self, entity: Entity) -> None:
        row = _row(entity)
        used = await self._tables.row(_key(row)) if row["key"] is not None else None
        with suppress(Changed):  # the next time
            key = [removed(used)] if used and used.values["job"] == row["id"] else []
            await self._tables.write(removed(entity), *key)


@dataclass(frozen=True, slots=True)
class AzureLease:
    """A `Lease`: every write of it asks first whether it still holds."""

    jobs: AzureJobs
    row: Row
    work: bytes

    @property
    def job(self) -> Job:
        return job_rows.job(self.row)

    async def renew(self) -> None:
        await self._write(lambda row: {})  # any write renews

    async def vectors(self, space: str) -> Mapping[str, Vector]:
        await self.renew()
        return await self.jobs.vectors(self.row["id"], space)

    async def keep(self, vectors: Mapping[str, Vector], space: str, *, done: int, chunks: int) -> None:
        if vectors:
            await self.renew()
            await self.jobs.keep(self.row["id"], space, vectors)
        await self._write(partial(job_rows.progressed, gained=bool(vectors), done=done, chunks=chunks))

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
        def held(row: Row) -> Mapping[str, Any]:
            if row["state"] != "running" or row["lease"] != self.row["lease"]:
                raise job_rows.taken_over()
            return {**job_rows.renewed(self.jobs.now), **change(row)}

        row = await self.jobs.change(self.row["id"], held)
        if row is None:
            raise job_rows.taken_over()
        return row


def _busy() -> Unavailable:
    return Unavailable("others are changing the table of long work without a pause", code="jobs_unavailable")


def _row(entity: Entity) -> Row:
    """With what was left out for being None."""
    return {**dict.fromkeys(("document", "key", "error", "result", "told", "lease")), **entity.values}


def _next(rows: Sequence[Row], now: float) -> Row | None:
    """Due, or held by one whose lease ran out; not while another of the same document is in hands."""
    in_hands = {_about(row) for row in rows if row["state"] == "running" and row["lease_until"] > now}
    due = [row for row in rows if row["due" if row["state"] == "queued" else "lease_until"] <= now]
    return next((row for row in due if row["document"] is None or _about(row) not in in_hands), None)


def _about(row: Row) -> tuple[str, str, str | None]:
    return row["workflow"], row["user"], row["document"]


def _key(row: Row) -> str:
    """Of any characters: the keys of rows may not have some of them."""
    said = json.dumps([row["workflow"], row["user"], row["key"]])
    return KEY + hashlib.sha256(said.encode()).hexdigest()


def _work(id: str) -> str:
    return f"{id}/work"


def _vectors(id: str, space: str) -> str:
    return f"{id}/{hashlib.sha256(space.encode()).hexdigest()}/"


def _unpacked(data: bytes) -> dict[str, Vector]:
    """The blob of a batch: the hashes as JSON in the first line, then the numbers of one vector after the other."""
    said, _, packed = data.partition(b"\n")
    hashes, numbers = json.loads(said), array("f", packed)
    width = len(numbers) // max(1, len(hashes))
    return {hash: numbers[n * width : (n + 1) * width].tolist() for n, hash in enumerate(hashes)}
