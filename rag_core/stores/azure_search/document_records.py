"""The records of a document: the one in the index, and the one in the outbox that the index has not taken yet."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.errors import Conflict
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.stores.access import can_write_document
from rag_core.stores.azure_search.index_client import AzureIndexClient
from rag_core.stores.azure_search.outbox import Outbox, OutboxJob
from rag_core.stores.azure_search.records import (
    build_acl_fields,
    build_chunk_record,
    build_document_record,
    document_from_azure_record,
    make_document_record_key,
)
from rag_core.stores.azure_search.service_errors import SearchRecord, parse_records


@dataclass(frozen=True, slots=True)
class DocumentRecords:
    """Both places in which a document's records are."""

    client: AzureIndexClient
    outbox: Outbox
    has_acl: bool = False  # whether the service shows each record to its readers only

    async def load(self, document_id: str, scope: Scope) -> list[SearchRecord]:
        """Return the document's record in the index and its unsent record in the outbox, where they exist."""
        stored_record = await self.client.get_record(make_document_record_key(scope.workflow_id, document_id))
        job = await asyncio.to_thread(self.outbox.find_job, scope.workflow_id, document_id)
        return [record for record in (stored_record, job and job.record) if record]

    async def find_writable_job(self, document_id: str, scope: Scope) -> tuple[OutboxJob | None, bool]:
        """Return the latest version of a document that the scope may replace, as a job, and whether it is unsent."""
        unsent_job = await asyncio.to_thread(self.outbox.find_job, scope.workflow_id, document_id)
        records = await self.load(document_id, scope)
        if not can_write_records(records, scope) or (unsent_job and unsent_job.record is None):
            return None, False
        record = dict(records[-1])
        return OutboxJob(0, scope.workflow_id, document_id, record["version"], record), unsent_job is not None

    async def add_version(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], space: str
    ) -> OutboxJob:
        """Put a new version of a document into the outbox and return its job."""
        version = uuid.uuid4().hex
        acl = build_acl_fields(document) if self.has_acl else {}
        bodies = (
            (chunk.id, build_chunk_record(document, chunk, vector, version=version, space=space) | acl)
            for chunk, vector in zip(chunks, vectors, strict=True)
        )
        record = build_document_record(document, version=version, chunks=len(chunks))
        job = OutboxJob(0, document.workflow_id, document.id, version, record)
        return await asyncio.to_thread(self.outbox.add, job, bodies)


def can_write_records(records: Sequence[SearchRecord], scope: Scope) -> bool:
    """Return whether the scope may replace the document of all these records; False when there are none."""
    documents = parse_records(document_from_azure_record, records)
    return bool(documents) and all(can_write_document(document, scope) for document in documents)


def document_from_job(job: OutboxJob) -> Document:
    (document,) = parse_records(document_from_azure_record, [job.record or {}])
    return document


def require_unique_chunk_ids(chunks: Sequence[Chunk]) -> None:
    if len({chunk.id for chunk in chunks}) < len(chunks):
        raise Conflict("two chunks of the document have the same id")
