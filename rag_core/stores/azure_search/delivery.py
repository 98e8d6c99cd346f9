"""From the outbox to the index: a version goes up unseen, takes the old one's place, seen or not, and is done with."""

import asyncio
from dataclasses import dataclass

from rag_core.core.errors import RagError
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.outbox import REFUSED, SENT, WAITING, Job, Outbox
from rag_core.stores.azure_search.records import chunk_key, document_key, state_key, state_record
from rag_core.stores.azure_search.sending import MAX_ACTIONS, Action, Sent, action, send
from rag_core.stores.azure_search.service import Service, checked

EVERYTHING = 100_000  # the service pages no further


@dataclass(frozen=True, slots=True)
class Delivery:
    """Whatever stops it, a job can be delivered again from where it was: each action may be done twice."""

    service: Service
    outbox: Outbox

    async def deliver(self, job: Job) -> tuple[str, ...]:
        """Bring a job to its end, and name the chunks that the service refused for good.

        Raises:
            Unavailable: something is left to be sent; the outbox keeps it.
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
            raise RagError("Azure AI Search refuses a part of the document's change", code="search_refused")
        return refused

    async def unseen(self, job: Job) -> tuple[str, ...]:
        """The chunks of a job that is not done: none of them is searchable yet."""
        return await self._named(job, WAITING, SENT, REFUSED)

    async def _named(self, job: Job, *states: str) -> tuple[str, ...]:
        return tuple(chunk for _, chunk in await asyncio.to_thread(self.outbox.named, job, *states))

    async def _upload(self, job: Job) -> None:
        """The chunks that wait, by pieces that fit in memory; nobody sees them yet."""
        after = -1
        while items := await asyncio.to_thread(self.outbox.waiting, job, after=after, limit=MAX_ACTIONS):
            after = items[-1].place
            places = {_key(job, item.place): item.place for item in items}
            sent = Sent()
            try:
                await send([_staged(_key(job, item.place), item.body) for item in items], self.service, sent)
            finally:
                for keys, state in ((sent.done, SENT), (sent.refused, REFUSED)):
                    await asyncio.to_thread(self.outbox.settle, job, [places[key] for key in keys], state)

    async def _publish(self, job: Job) -> set[str]:
        """Show or hide the version and remove others, its record and the workflow's state last; what was refused."""
        staged = {_key(job, place): place for place, _ in await asyncio.to_thread(self.outbox.named, job, SENT)}
        actions = [action("merge", key, {"live": job.live}) for key in staged or _held(job)]
        actions += [action("delete", key, {}) for key in await self._others(job)]
        sent = Sent()
        await send([*actions, _recorded(job), _changed(job)], self.service, sent)
        lost = [staged[key] for key in sent.refused & staged.keys()]
        await asyncio.to_thread(self.outbox.settle, job, lost, REFUSED)
        return sent.refused - sent.absent - staged.keys()

    async def _others(self, job: Job) -> list[str]:
        """The keys of every other version: those we know of, and those that searches show (another machine's)."""
        known = await asyncio.to_thread(self.outbox.versions, *job.about)
        ours = [chunk_key(*job.about, v, place) for v, count in known if v != job.version for place in range(count)]
        others = odata.all_of(odata.versions_of(*job.about), f"version ne {odata.literal(job.version)}")
        order = ["version asc", "ordinal asc"]
        found = await self.service.search("*", filter=others, order_by=order, select=["key"], top=EVERYTHING)
        return list(dict.fromkeys([*ours, *checked(lambda one: str(one["key"]), found)]))


def _key(job: Job, place: int) -> str:
    return chunk_key(*job.about, job.version, place)


def _held(job: Job) -> list[str]:
    """The keys of a version that went up earlier; some may be absent, as they were refused then."""
    chunks = 0 if job.record is None else int(job.record["ordinal"])
    return [_key(job, place) for place in range(chunks)]


def _staged(key: str, body: str) -> Action:
    """An upload of a body that the outbox keeps as JSON."""
    return Action(key, f'{{"@search.action":"upload","key":"{key}",{body[1:]}')


def _recorded(job: Job) -> Action:
    key = document_key(*job.about)
    return action("delete", key, {}) if job.record is None else action("upload", key, job.record)


def _changed(job: Job) -> Action:
    return action("upload", state_key(job.workflow_id), state_record(job.workflow_id))
