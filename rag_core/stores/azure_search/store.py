"""The chunk store of one Azure AI Search index. Accepted changes stay in the outbox until the index has them."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from azure.core.pipeline.transport import AsyncHttpTransport

from rag_core.core.errors import Conflict, RagError, Unavailable
from rag_core.core.model import Bucket, Chunk, Document, Facet, Filter, Ranking, Scalar, Scope, Vector
from rag_core.core.ports import Probe, Replaced, StoreDescription
from rag_core.core.retrying import Dependency
from rag_core.stores.access import difference, owns, refuse_a_foreign_owner, sees, unknown
from rag_core.stores.azure_search import odata, schema
from rag_core.stores.azure_search.delivery import EVERYTHING, Delivery
from rag_core.stores.azure_search.facts import FIELDS, value_of
from rag_core.stores.azure_search.outbox import Job, Outbox
from rag_core.stores.azure_search.records import (
    CHUNK,
    chunk_of,
    chunk_record,
    document_key,
    document_of,
    document_record,
    kept_record,
    state_key,
)
from rag_core.stores.azure_search.schema import VECTOR
from rag_core.stores.azure_search.search import facets_of, ranked
from rag_core.stores.azure_search.sending import Sent, action, send
from rag_core.stores.azure_search.service import API_VERSION, Found, Service, checked

IN_ORDER = ["document_id asc", "ordinal asc", "id asc"]
NAMED = 500  # ids in one filter
TRY_S = 30.0  # a batch of up to 15 MB


class AzureSearchStore:
    """A `ChunkStore` in one index, which `rag setup` creates.

    A new version of a document is uploaded hidden and then made live while the old one is removed; its record is
    written last. Changes that the service does not take stay in `outbox`, their chunks are listed as failed in the
    replacement's result, and the next write or `flush` sends them again. Without an `outbox` file they are lost when
    the process ends.
    """

    def __init__(
        self,
        endpoint: str,
        credential: str | None,
        index: str,
        *,
        outbox: Path | None = None,
        space: str = "",
        dimensions: int,
        semantic: bool = True,
        exhaustive: bool = False,
        settled_s: float = 60.0,
        transport: AsyncHttpTransport[Any, Any] | None = None,
        dependency: Dependency | None = None,
    ) -> None:
        search_dependency = dependency or Dependency("Azure AI Search", code="search_throttled", try_s=TRY_S)
        self._client = Service(endpoint, credential, index, dependency=search_dependency, transport=transport)
        self._outbox = Outbox(outbox)
        self._delivery = Delivery(self._client, self._outbox)
        self._space, self._dimensions = space, dimensions
        self._semantic, self._exhaustive, self._settled_s = semantic, exhaustive, settled_s
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def setup(self) -> str:
        """Create the index or add missing fields; return "created", "upgraded" or "unchanged".

        Raises:
            Conflict: the index has another model's vectors, or fields of other types (reindex_required).
        """
        new_definition = schema.definition(self._client.index, self._dimensions)
        old_definition = await self._client.definition()
        if old_definition is None:
            await self._client.define(new_definition)
            return "created"
        upgraded_definition = schema.upgraded(old_definition, new_definition)
        self._refuse_another_space(await self.space(), self._space)
        if upgraded_definition == old_definition:
            return "unchanged"
        await self._client.define(upgraded_definition)
        return "upgraded"

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        """Search as the port specifies, but ignore `rrf_k`: the service always uses 60, and counts ranks from 0."""
        for probe in probes:
            self._refuse_another_width([probe.vector])
        filter = await self._filter(scope, filters)
        searches = [
            ranked(
                probe, self._client, filter=filter, limit=limit, exhaustive=self._exhaustive, semantic=self._semantic
            )
            for probe in probes
        ]
        return await asyncio.gather(*searches)

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await self._chunks(await self._filter(scope, filters), limit)

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        visible = odata.chunks_of(scope)
        id_parts = [ids[start : start + NAMED] for start in range(0, len(ids), NAMED)]
        chunk_parts = [
            await self._chunks(odata.all_of(visible, odata.among("id", part)), len(part)) for part in id_parts
        ]
        chunks_by_id = {chunk.id: chunk for part in chunk_parts for chunk in part}
        return [chunks_by_id[id] for id in ids if id in chunks_by_id]

    async def neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        filter = odata.all_of(
            odata.chunks_of(scope),
            odata.among("document_id", [chunk.document_id]),
            f"ordinal ge {chunk.ordinal - before:d} and ordinal le {chunk.ordinal + after:d}",
        )
        return [near for near in await self._chunks(filter, before + after + 1) if near.id != chunk.id]

    async def facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        index_fields = sorted({odata.index_field(field) for field in fields})
        counts = (
            await self._client.facets(index_fields, filter=await self._filter(scope, filters)) if index_fields else {}
        )
        return [_facet(field, counts, limit) for field in fields]

    async def facet_fields(self, scope: Scope) -> Sequence[str]:
        """List the fields with values in this order: any entity, entity types, common fields, metadata."""
        counts = await self._client.facets([*FIELDS.values(), "fact_names"], filter=odata.chunks_of(scope))
        common_fields = [
            field for field, index_field in FIELDS.items() if _buckets(field, facets_of(counts, index_field))
        ]
        encoded_fields = sorted(str(field) for field, _ in facets_of(counts, "fact_names"))
        if "entity_codes" not in common_fields:
            return [*common_fields, *encoded_fields]
        entity_types = [field for field in encoded_fields if not field.startswith("metadata.")]
        return [*common_fields[:1], *entity_types, *common_fields[1:], *encoded_fields[len(entity_types) :]]

    async def document(self, document_id: str, scope: Scope) -> Document | None:
        record = await self._client.lookup(document_key(scope.workflow_id, document_id))
        return _seen(record, scope) if record and record["live"] else None

    async def documents(self, scope: Scope) -> Sequence[Document]:
        return await self._documents(odata.documents_of(scope))

    async def deleted(self, scope: Scope) -> Sequence[Document]:
        return await self._documents(odata.documents_of(scope, deleted=True))

    async def vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        if not self._dimensions:
            return {}
        filter = odata.all_of(odata.chunks_of(scope), odata.among("document_id", [document_id]), "space ne null")
        select = ["content_hash", VECTOR]
        records = await self._client.search("*", filter=filter, order_by=IN_ORDER, select=select, top=EVERYTHING)
        return dict(checked(lambda record: (str(record["content_hash"]), list(map(float, record[VECTOR]))), records))

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> Replaced:
        """Replace a document as the port specifies; chunks that the service does not take are listed as failed.

        A search finds either the old version or the new one. Only a document of more than about 500 chunks is
        changed by several requests, between which a search may find parts of both.
        """
        refuse_a_foreign_owner(document, chunks, scope)
        _refuse_twins(chunks)
        self._refuse_another_width(vectors)
        await self.flush()
        async with self._lock(document.workflow_id, document.id):
            if space or any(vector is not None for vector in vectors):
                self._refuse_another_space(await self.space(), space)
            old_hashes = await self._hashes(document.id, scope)
            version = uuid.uuid4().hex
            bodies = (
                (chunk.id, chunk_record(document, chunk, vector, version=version, space=space))
                for chunk, vector in zip(chunks, vectors, strict=True)
            )
            record = document_record(document, version=version, chunks=len(chunks))
            new_job = Job(0, document.workflow_id, document.id, version, record)
            job = await asyncio.to_thread(self._outbox.add, new_job, bodies)
            failed = await self._delivered(job)
        result = difference(old_hashes, [chunk.content_hash for chunk in chunks])
        return Replaced(result.added, result.unchanged, result.removed, failed)

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        async with self._lock(scope.workflow_id, document_id):
            document = await self.document(document_id, scope)
            if document is None:
                raise unknown()
            key = document_key(scope.workflow_id, document_id)
            results = Sent()
            record = kept_record(replace(document, summary=summary))
            await send([action("merge", key, {"record": record})], self._client, results)
            if results.refused:  # the document was removed meanwhile
                raise unknown()

    async def delete(self, document_id: str, scope: Scope) -> bool:
        """Delete a document. Raises Unavailable when the service did not apply it; the next write or `flush` does."""
        await self.flush()
        async with self._lock(scope.workflow_id, document_id):
            job, is_unsent = await self._known(document_id, scope)
            if job is None or not (job.live or is_unsent):
                return False
            deleted_at = datetime.now(UTC).isoformat(timespec="seconds")
            await self._amend(job, deleted_at=deleted_at)
            return True

    async def restore(self, document_id: str, scope: Scope) -> bool:
        """Restore a document. Raises Unavailable when the service did not apply it; the next write or `flush` does."""
        await self.flush()
        async with self._lock(scope.workflow_id, document_id):
            job, _ = await self._known(document_id, scope)
            if job is None:
                return False
            if job.live:
                raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")
            await self._refuse_to_mix(job)
            await self._amend(job, deleted_at=None)
            return True

    async def purge(self, document_id: str, scope: Scope) -> bool:
        """Purge a document. Raises Unavailable when the service did not apply it; the next write or `flush` does."""
        await self.flush()
        async with self._lock(scope.workflow_id, document_id):
            if not _all_owned(scope, await self._records(document_id, scope)):
                return False
            job = Job(0, scope.workflow_id, document_id, uuid.uuid4().hex, None)
            await self._delivery.deliver(await asyncio.to_thread(self._outbox.add, job, ()))
            return True

    async def flush(self) -> tuple[str, ...]:
        """Send the jobs that earlier writes left, in order; return the ids of chunks that are still not searchable."""
        jobs = await asyncio.to_thread(self._outbox.jobs)
        unsearchable_ids: list[str] = []
        for index, job in enumerate(jobs):
            lock = self._lock(*job.about)
            if lock.locked():  # the holder of the lock is sending it
                continue
            async with lock:
                try:
                    unsearchable_ids += await self._delivery.deliver(job)
                except RagError:  # not reported here: the requests of the write that follows will raise
                    for other_job in jobs[index:]:
                        unsearchable_ids += await self._delivery.unseen(other_job)
                    break
        return tuple(unsearchable_ids)

    async def space(self) -> str:
        return _space(await self._client.facets(["space"], filter="live"))

    async def version(self, scope: Scope) -> str:
        """Return the version as the port specifies; "" for `settled_s` after a change, until searches see it too."""
        record = await self._client.lookup(state_key(scope.workflow_id))
        if record is None:
            return ""
        ((state, changed_at),) = checked(
            lambda record: (str(record["version"]), datetime.fromisoformat(record["record"])), [record]
        )
        return state if datetime.now(UTC) - changed_at >= timedelta(seconds=self._settled_s) else ""

    async def describe(self) -> StoreDescription:
        counts = await self._client.facets(["kind", "space"], filter="live")
        counts_by_kind = dict(facets_of(counts, "kind"))
        return StoreDescription(
            kind="azure_search",
            location=f"{self._client.endpoint}, index {self._client.index}",
            space=_space(counts),
            dimensions=self._dimensions if _space(counts) else 0,
            documents=counts_by_kind.get("document", 0),
            chunks=counts_by_kind.get("chunk", 0),
            details={"api_version": API_VERSION, "unsent": len(await asyncio.to_thread(self._outbox.jobs))},
        )

    async def close(self) -> None:
        await self._client.close()
        self._outbox.close()

    def _lock(self, workflow_id: str, document_id: str) -> asyncio.Lock:
        return self._locks.setdefault((workflow_id, document_id), asyncio.Lock())

    async def _filter(self, scope: Scope, filters: Sequence[Filter]) -> str:
        """Build the OData filter; comparisons that OData cannot evaluate cost a request for their fields' values."""
        fields = {chunk_filter.field for chunk_filter in filters if odata.looks_up(chunk_filter)}
        index_fields = sorted({odata.index_field(field) for field in fields})
        counts = await self._client.facets(index_fields, filter=odata.chunks_of(scope)) if index_fields else {}
        values = {field: [bucket.value for bucket in _facet(field, counts, EVERYTHING).buckets] for field in fields}
        expressions = [odata.passing(chunk_filter, values.get(chunk_filter.field, ())) for chunk_filter in filters]
        return odata.all_of(odata.chunks_of(scope), *expressions)

    async def _chunks(self, filter: str, limit: int) -> list[Chunk]:
        records = await self._client.search("*", filter=filter, order_by=IN_ORDER, select=list(CHUNK), top=limit)
        return checked(chunk_of, records)

    async def _documents(self, filter: str) -> list[Document]:
        records = await self._client.search(
            "*", filter=filter, order_by=["document_id asc"], select=["record"], top=EVERYTHING
        )
        return checked(document_of, records)

    async def _hashes(self, document_id: str, scope: Scope) -> list[str]:
        """Return the content hashes of a document's live chunks. Raises NotFound when the scope may not replace it."""
        records = await self._records(document_id, scope)
        if records and not _all_owned(scope, records):
            raise unknown()
        filter = odata.all_of(odata.versions_of(scope.workflow_id, document_id), "live")
        chunk_records = await self._client.search(
            "*", filter=filter, select=["content_hash"], order_by=IN_ORDER, top=EVERYTHING
        )
        return checked(lambda record: str(record["content_hash"]), chunk_records)

    async def _records(self, document_id: str, scope: Scope) -> list[Found]:
        """Return the document's record in the index and its unsent record in the outbox, where they exist."""
        stored_record = await self._client.lookup(document_key(scope.workflow_id, document_id))
        job = await asyncio.to_thread(self._outbox.waiting_for, scope.workflow_id, document_id)
        return [record for record in (stored_record, job and job.record) if record]

    async def _known(self, document_id: str, scope: Scope) -> tuple[Job | None, bool]:
        """Return the latest version of a document that the scope may replace, as a job, and whether it is unsent."""
        unsent_job = await asyncio.to_thread(self._outbox.waiting_for, scope.workflow_id, document_id)
        records = await self._records(document_id, scope)
        if not _all_owned(scope, records) or (unsent_job and unsent_job.record is None):
            return None, False
        record = dict(records[-1])
        return Job(0, scope.workflow_id, document_id, record["version"], record), unsent_job is not None

    async def _amend(self, job: Job, *, deleted_at: str | None) -> None:
        """Send the same version again with its chunks hidden (`deleted_at` given) or shown (None)."""
        (document,) = checked(document_of, [job.record or {}])
        chunks = int((job.record or {})["ordinal"])
        record = document_record(replace(document, deleted_at=deleted_at), version=job.version, chunks=chunks)
        amended_job = replace(job, record=record)
        await self._delivery.deliver(await asyncio.to_thread(self._outbox.amend, amended_job))

    async def _refuse_to_mix(self, deleted_job: Job) -> None:
        """Raise Conflict when a deleted document's vectors are of another space than the stored ones."""
        space = _space(await self._client.facets(["space"], filter=odata.versions_of(*deleted_job.about)))
        if space:
            self._refuse_another_space(await self.space(), space)

    async def _delivered(self, job: Job) -> tuple[str, ...]:
        try:
            return await self._delivery.deliver(job)
        except Unavailable:
            return await self._delivery.unseen(job)

    def _refuse_another_space(self, stored_space: str, new_space: str) -> None:
        if stored_space and new_space != stored_space:
            raise Conflict(
                f"the index holds vectors of {stored_space}, these are of {new_space or 'no model'}: "
                "configure the first, or name an empty index in AZURE_SEARCH_INDEX",
                code="reindex_required",
            )

    def _refuse_another_width(self, vectors: Sequence[Vector | None]) -> None:
        other_dimensions = {len(vector) for vector in vectors if vector is not None} - {self._dimensions}
        if other_dimensions:
            raise Conflict(
                f"the index takes vectors of {self._dimensions} dimensions, "
                f"not of {', '.join(map(str, sorted(other_dimensions)))}",
                code="reindex_required",
            )


def _seen(record: Found, scope: Scope) -> Document | None:
    """Return the document of a record, or None when the scope may not read it."""
    (document,) = checked(document_of, [record])
    return document if sees(scope, document) else None


def _all_owned(scope: Scope, records: Sequence[Found]) -> bool:
    """Return whether the scope may replace the document of all these records; False when there are none."""
    documents = [_seen(record, scope) for record in records]
    return bool(records) and all(document and owns(document, scope) for document in documents)


def _facet(field: str, counts: Mapping[str, Any], limit: int) -> Facet:
    buckets = _buckets(field, facets_of(counts, odata.index_field(field)))
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def _buckets(field: str, counts: Sequence[tuple[Any, int]]) -> list[Bucket]:
    """Sort the values of a field: most frequent first, ties by value, numbers before texts before booleans."""
    if odata.index_field(field) == "facts":
        counts = [(value_of(field, text), count) for text, count in counts]
    buckets = [Bucket(value, count) for value, count in counts if value is not None and value != ""]
    return sorted(buckets, key=lambda bucket: (-bucket.count, *_place(bucket.value)))


def _place(value: Scalar) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 1, 0.0, value
    return (2 if isinstance(value, bool) else 0), float(value), ""


def _space(counts: Mapping[str, Any]) -> str:
    return next((str(value) for value, _ in facets_of(counts, "space")), "")


def _refuse_twins(chunks: Sequence[Chunk]) -> None:
    if len({chunk.id for chunk in chunks}) < len(chunks):
        raise Conflict("two chunks of the document have the same id")
