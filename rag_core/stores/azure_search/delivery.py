"""The delivery of outbox jobs: a version is uploaded hidden, replaces the old one, and is shown unless deleted.

A version is shown by a merge of one field. An index that does not keep vectors would lose them by that: there its
chunks are uploaded once more, shown, from the outbox.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rag_core.core.errors import RagError, Unavailable
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.action_batches import (
    MAX_BATCH_ACTIONS,
    ActionResults,
    IndexAction,
    build_index_action,
    send_actions,
)
from rag_core.stores.azure_search.document_records import document_from_job
from rag_core.stores.azure_search.index_client import AzureIndexClient
from rag_core.stores.azure_search.outbox import ITEM_REFUSED, ITEM_SENT, ITEM_WAITING, Outbox, OutboxJob
from rag_core.stores.azure_search.records import (
    build_document_record,
    build_state_record,
    make_chunk_record_key,
    make_document_record_key,
    make_state_record_key,
)
from rag_core.stores.azure_search.service_errors import parse_records

MAX_SEARCH_RESULTS = 100_000  # the service returns no more results of a search


@dataclass(frozen=True, slots=True)
class OutboxDelivery:
    """The delivery of jobs. An interrupted job can be delivered again: every action may safely be repeated."""

    client: AzureIndexClient
    outbox: Outbox
    public_fields: Mapping[str, Any] = field(default_factory=dict)  # of records that no user reads by themselves

    async def deliver(self, job: OutboxJob) -> tuple[str, ...]:
        """Deliver a job completely and return the ids of the chunks that the service refused for good.

        Raises:
            RagError: the service refused to remove or to show part of the document (code "search_refused").
            Unavailable: something is still unsent; the outbox keeps it.
        """
        if not await asyncio.to_thread(self.outbox.has_job, job):
            return ()
        await self._upload_waiting_chunks(job)
        unchanged = await self._publish_version(job)
        refused = await self._list_chunk_ids(job, ITEM_REFUSED)
        await asyncio.to_thread(self.outbox.finish_job, job)
        if job.record is None:
            await asyncio.to_thread(self.outbox.erase_deleted_bytes)
        if unchanged:
            raise RagError("Azure AI Search refused part of the change to the document", code="search_refused")
        return refused

    async def deliver_or_list_unsearchable(self, job: OutboxJob) -> tuple[str, ...]:
        """Deliver a job; while something of it is unsent, return the ids of all its chunks."""
        try:
            return await self.deliver(job)
        except Unavailable:
            return await self.list_unsearchable_chunks(job)

    async def deliver_amended_record(self, job: OutboxJob, *, deleted_at: str | None) -> None:
        """Send the same version again with its chunks hidden (`deleted_at` given) or shown (None)."""
        document, chunks = replace(document_from_job(job), deleted_at=deleted_at), int((job.record or {})["ordinal"])
        record = build_document_record(document, version=job.version, chunks=chunks)
        await self.deliver(await asyncio.to_thread(self.outbox.amend, replace(job, record=record)))

    async def list_unsearchable_chunks(self, job: OutboxJob) -> tuple[str, ...]:
        """Return the ids of the chunks of an unfinished job: none of them is searchable yet."""
        return await self._list_chunk_ids(job, ITEM_WAITING, ITEM_SENT, ITEM_REFUSED)

    async def _list_chunk_ids(self, job: OutboxJob, *states: str) -> tuple[str, ...]:
        return tuple(
            chunk_id for _, chunk_id in await asyncio.to_thread(self.outbox.list_positions_and_chunk_ids, job, *states)
        )

    async def _upload_waiting_chunks(self, job: OutboxJob) -> None:
        """Upload the unsent chunks, hidden, in parts that fit in memory."""
        after, merges = -1, await self.client.returns_vectors()
        while items := await asyncio.to_thread(
            self.outbox.list_items, job, ITEM_WAITING, after=after, limit=MAX_BATCH_ACTIONS
        ):
            after = items[-1].position
            positions_by_key = {_make_job_chunk_key(job, item.position): item.position for item in items}
            results = ActionResults()
            try:
                await send_actions(
                    [_build_upload_action(_make_job_chunk_key(job, item.position), item.body) for item in items],
                    self.client,
                    results,
                )
            finally:
                for keys, state in ((results.succeeded_keys, ITEM_SENT), (results.refused_keys, ITEM_REFUSED)):
                    await asyncio.to_thread(
                        self.outbox.set_item_states,
                        job,
                        [positions_by_key[key] for key in keys],
                        state,
                        drops_bodies=merges or state == ITEM_REFUSED,
                    )

    async def _publish_version(self, job: OutboxJob) -> set[str]:
        """Show or hide the version, remove all others, and write its record and the workflow's state last.

        Returns the keys of refused actions, except refused chunks of this version and records that do not exist.
        """
        positions_by_key = {
            _make_job_chunk_key(job, position): position
            for position, _ in await asyncio.to_thread(self.outbox.list_positions_and_chunk_ids, job, ITEM_SENT)
        }
        removals = [build_index_action("delete", key, {}) for key in await self._list_other_version_keys(job)]
        results, last_part = ActionResults(), list[IndexAction]()
        async for part in self._iter_visibility_actions(job, list(positions_by_key)):
            await send_actions(last_part, self.client, results)
            last_part = part
        await send_actions([*last_part, *removals, *self._build_record_actions(job)], self.client, results)
        refused_positions = [positions_by_key[key] for key in results.refused_keys & positions_by_key.keys()]
        await asyncio.to_thread(self.outbox.set_item_states, job, refused_positions, ITEM_REFUSED)
        return results.refused_keys - results.absent_keys - positions_by_key.keys()

    async def _iter_visibility_actions(self, job: OutboxJob, sent_keys: list[str]) -> AsyncIterator[list[IndexAction]]:
        """Yield the actions that show or hide the chunks of a version, in parts that fit in memory."""
        if not (job.is_live and sent_keys) or await self.client.returns_vectors():
            keys = sent_keys or list_uploaded_keys(job)
            yield [build_index_action("merge", key, {"live": job.is_live}) for key in keys]
            return
        after = -1
        while items := await asyncio.to_thread(
            self.outbox.list_items, job, ITEM_SENT, after=after, limit=MAX_BATCH_ACTIONS
        ):
            after = items[-1].position
            yield [_build_showing_action(_make_job_chunk_key(job, item.position), item.body) for item in items]

    def _build_record_actions(self, job: OutboxJob) -> list[IndexAction]:
        """Build the actions for the record of the document and for that of its workflow's state."""
        key, state_key = make_document_record_key(*job.document_ref), make_state_record_key(job.workflow_id)
        document_action = (
            build_index_action("delete", key, {})
            if job.record is None
            else build_index_action("upload", key, {**job.record, **self.public_fields})
        )
        state = {**build_state_record(job.workflow_id), **self.public_fields}
        return [document_action, build_index_action("upload", state_key, state)]

    async def _list_other_version_keys(self, job: OutboxJob) -> list[str]:
        """Return the chunk keys of all other versions, known to the outbox or found by search (other machines')."""
        versions = await asyncio.to_thread(self.outbox.list_versions, *job.document_ref)
        known_keys = [
            make_chunk_record_key(*job.document_ref, version, position)
            for version, count in versions
            if version != job.version
            for position in range(count)
        ]
        other_versions = odata.join_odata_with_and(
            odata.build_document_chunks_filter(*job.document_ref),
            f"version ne {odata.format_odata_literal(job.version)}",
        )
        order = ["version asc", "ordinal asc"]
        records = await self.client.search(
            "*", filter=other_versions, order_by=order, select=["key"], top=MAX_SEARCH_RESULTS, elevated=True
        )
        return list(dict.fromkeys([*known_keys, *parse_records(lambda record: str(record["key"]), records)]))


def _make_job_chunk_key(job: OutboxJob, position: int) -> str:
    return make_chunk_record_key(*job.document_ref, job.version, position)


def list_uploaded_keys(job: OutboxJob) -> list[str]:
    """Return the chunk keys of a version uploaded earlier; those refused then do not exist."""
    chunks = 0 if job.record is None else int(job.record["ordinal"])
    return [_make_job_chunk_key(job, position) for position in range(chunks)]


def _build_upload_action(key: str, body: str) -> IndexAction:
    """Build the upload of a body that the outbox keeps as JSON."""
    return IndexAction(key, f'{{"@search.action":"upload","key":"{key}",{body[1:]}')


def _build_showing_action(key: str, body: str) -> IndexAction:
    """Build the upload of a body that the outbox keeps as JSON, so that searches find it."""
    return build_index_action("upload", key, json.loads(body) | {"live": True})
