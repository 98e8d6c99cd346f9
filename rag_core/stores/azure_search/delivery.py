"""The delivery of outbox jobs: a version is uploaded hidden, replaces the old one, and is shown unless deleted."""

import asyncio
from dataclasses import dataclass

from rag_core.core.errors import RagError
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.outbox import REFUSED, SENT, WAITING, Job, Outbox
from rag_core.stores.azure_search.records import chunk_key, document_key, state_key, state_record
from rag_core.stores.azure_search.sending import MAX_ACTIONS, Action, Sent, action, send
from rag_core.stores.azure_search.service import Service, checked

EVERYTHING = 100_000  # the service returns no more results of a search


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of jobs. An interrupted job can be delivered again: every action may safely be repeated."""

    service: Service
    outbox: Outbox

    async def deliver(self, job: Job) -> tuple[str, ...]:
        """Deliver a job completely and return the ids of the chunks that the service refused for good.

        Raises:
            RagError: the service refused to remove or to show part of the document (code "search_refused").
            Unavailable: something is still unsent; the outbox keeps it.
        """
        if not await asyncio.to_thread(self.outbox.has, job):
            return ()
        await self._upload(job)
        unchanged = await self._publish(job)
        refused = await self._named(job, REFUSED)
        await asyncio.to_thread(self.outbox.finish, job)
        if job.record is None:
            await asyncio.to_thread(self.outbox.scrub)
        if unchanged:
            raise RagError("Azure AI Search refused part of the change to the document", code="search_refused")
        return refused

    async def unseen(self, job: Job) -> tuple[str, ...]:
        """Return the ids of the chunks of an unfinished job: none of them is searchable yet."""
        return await self._named(job, WAITING, SENT, REFUSED)

    async def _named(self, job: Job, *states: str) -> tuple[str, ...]:
        return tuple(chunk_id for _, chunk_id in await asyncio.to_thread(self.outbox.named, job, *states))

    async def _upload(self, job: Job) -> None:
        """Upload the unsent chunks, hidden, in parts that fit in memory."""
        after = -1
        while items := await asyncio.to_thread(self.outbox.waiting, job, after=after, limit=MAX_ACTIONS):
            after = items[-1].place
            positions_by_key = {_key(job, item.place): item.place for item in items}
            results = Sent()
            try:
                await send([_staged(_key(job, item.place), item.body) for item in items], self.service, results)
            finally:
                for keys, state in ((results.done, SENT), (results.refused, REFUSED)):
                    await asyncio.to_thread(self.outbox.settle, job, [positions_by_key[key] for key in keys], state)

    async def _publish(self, job: Job) -> set[str]:
        """Show or hide the version, remove all others, and write its record and the workflow's state last.

        Returns the keys of refused actions, except refused chunks of this version and records that do not exist.
        """
        positions_by_key = {
            _key(job, position): position for position, _ in await asyncio.to_thread(self.outbox.named, job, SENT)
        }
        actions = [action("merge", key, {"live": job.live}) for key in positions_by_key or _held(job)]
        actions += [action("delete", key, {}) for key in await self._others(job)]
        results = Sent()
        await send([*actions, _recorded(job), _changed(job)], self.service, results)
        refused_positions = [positions_by_key[key] for key in results.refused & positions_by_key.keys()]
        await asyncio.to_thread(self.outbox.settle, job, refused_positions, REFUSED)
        return results.refused - results.absent - positions_by_key.keys()

    async def _others(self, job: Job) -> list[str]:
        """Return the chunk keys of all other versions, known to the outbox or found by search (other machines')."""
        versions = await asyncio.to_thread(self.outbox.versions, *job.about)
        known_keys = [
            chunk_key(*job.about, version, position)
            for version, count in versions
            if version != job.version
            for position in range(count)
        ]
        other_versions = odata.all_of(odata.versions_of(*job.about), f"version ne {odata.literal(job.version)}")
        order = ["version asc", "ordinal asc"]
        records = await self.service.search("*", filter=other_versions, order_by=order, select=["key"], top=EVERYTHING)
        return list(dict.fromkeys([*known_keys, *checked(lambda record: str(record["key"]), records)]))


def _key(job: Job, position: int) -> str:
    return chunk_key(*job.about, job.version, position)


def _held(job: Job) -> list[str]:
    """Return the chunk keys of a version uploaded earlier; those refused then do not exist."""
    chunks = 0 if job.record is None else int(job.record["ordinal"])
    return [_key(job, position) for position in range(chunks)]


def _staged(key: str, body: str) -> Action:
    """Build the upload of a body that the outbox keeps as JSON."""
    return Action(key, f'{{"@search.action":"upload","key":"{key}",{body[1:]}')


def _recorded(job: Job) -> Action:
    key = document_key(*job.about)
    return action("delete", key, {}) if job.record is None else action("upload", key, job.record)


def _changed(job: Job) -> Action:
    return action("upload", state_key(job.workflow_id), state_record(job.workflow_id))
