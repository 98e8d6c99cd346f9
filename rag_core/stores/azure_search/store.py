"""The chunk store of one Azure AI Search index. What was accepted is in the outbox until the index has it."""

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
TRY_S = 30.0  # a batch of 15 MB takes a while


class AzureSearchStore:
    """A `ChunkStore` in one index; `rag setup` makes it.

    A new version of a document goes up unseen, is then made live while the old one is removed, and its record comes
    last. What the service does not take stays in `outbox`, is named in `Replaced.failed`, and is sent again by the
    next write or by `flush`. Without an `outbox` that lasts as long as the process.
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
        asked = dependency or Dependency("Azure AI Search", code="search_throttled", try_s=TRY_S)
        self._service = Service(endpoint, credential, index, dependency=asked, transport=transport)
        self._outbox = Outbox(outbox)
        self._delivery = Delivery(self._service, self._outbox)
        self._space, self._dimensions = space, dimensions
        self._semantic, self._exhaustive, self._settled_s = semantic, exhaustive, settled_s
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def setup(self) -> str:
        """Make the index, or give it the fields it lacks: "created", "upgraded" or "unchanged".

        Raises:
            Conflict: it holds another model's vectors, or other fields under our names (reindex_required).
        """
        wanted = schema.definition(self._service.index, self._dimensions)
        existing = await self._service.definition()
        if existing is None:
            await self._service.define(wanted)
            return "created"
        better = schema.upgraded(existing, wanted)
        self._refuse_another_space(await self.space(), self._space)
        if better == existing:
            return "unchanged"
        await self._service.define(better)
        return "upgraded"

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        """As the port says, but for `rrf_k`: the service's own constant is 60, and it ranks from 0."""
        for probe in probes:
            self._refuse_another_width([probe.vector])
        filter = await self._filter(scope, filters)
        asked = [
            ranked(
                probe, self._service, filter=filter, limit=limit, exhaustive=self._exhaustive, semantic=self._semantic
            )
            for probe in probes
        ]
        return await asyncio.gather(*asked)

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await self._chunks(await self._filter(scope, filters), limit)

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        seen = odata.chunks_of(scope)
        parts = [ids[start : start + NAMED] for start in range(0, len(ids), NAMED)]
        found = [await self._chunks(odata.all_of(seen, odata.among("id", part)), len(part)) for part in parts]
        chunks = {chunk.id: chunk for part in found for chunk in part}
        return [chunks[id] for id in ids if id in chunks]

    async def neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        around = odata.all_of(
            odata.chunks_of(scope),
            odata.among("document_id", [chunk.document_id]),
            f"ordinal ge {chunk.ordinal - before:d} and ordinal le {chunk.ordinal + after:d}",
        )
        return [found for found in await self._chunks(around, before + after + 1) if found.id != chunk.id]

    async def facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        listed = sorted({odata.index_field(field) for field in fields})
        found = await self._service.facets(listed, filter=await self._filter(scope, filters)) if listed else {}
        return [_facet(field, found, limit) for field in fields]

    async def facet_fields(self, scope: Scope) -> Sequence[str]:
        """In the order: any entity, entity types, what every document has, metadata."""
        found = await self._service.facets([*FIELDS.values(), "fact_names"], filter=odata.chunks_of(scope))
        own = [field for field, name in FIELDS.items() if _buckets(field, facets_of(found, name))]
        names = sorted(str(name) for name, _ in facets_of(found, "fact_names"))
        types = [name for name in names if not name.startswith("metadata.")]
        return [*own[:1], *types, *own[1:], *names[len(types) :]] if "entity_codes" in own else [*own, *names]

    async def document(self, document_id: str, scope: Scope) -> Document | None:
        found = await self._service.lookup(document_key(scope.workflow_id, document_id))
        return _seen(found, scope) if found and found["live"] else None

    async def documents(self, scope: Scope) -> Sequence[Document]:
        return await self._documents(odata.documents_of(scope))

    async def deleted(self, scope: Scope) -> Sequence[Document]:
        return await self._documents(odata.documents_of(scope, deleted=True))

    async def vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        if not self._dimensions:
            return {}
        seen = odata.all_of(odata.chunks_of(scope), odata.among("document_id", [document_id]), "space ne null")
        select = ["content_hash", VECTOR]
        found = await self._service.search("*", filter=seen, order_by=IN_ORDER, select=select, top=EVERYTHING)
        return dict(checked(lambda one: (str(one["content_hash"]), list(map(float, one[VECTOR]))), found))

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> Replaced:
        """As the port says; what the service has not taken is named in `failed`, and the version it has stays.

        Readers see the old version or the new one, but for a document of more than some 500 chunks: its change takes
        several requests, and a search in between may see parts of both.
        """
        refuse_a_foreign_owner(document, chunks, scope)
        _refuse_twins(chunks)
        self._refuse_another_width(vectors)
        await self.flush()
        async with self._lock(document.workflow_id, document.id):
            if space or any(vector is not None for vector in vectors):
                self._refuse_another_space(await self.space(), space)
            before = await self._hashes(document.id, scope)
            version = uuid.uuid4().hex
            bodies = (
                (chunk.id, chunk_record(document, chunk, vector, version=version, space=space))
                for chunk, vector in zip(chunks, vectors, strict=True)
            )
            record = document_record(document, version=version, chunks=len(chunks))
            new = Job(0, document.workflow_id, document.id, version, record)
            job = await asyncio.to_thread(self._outbox.add, new, bodies)
            failed = await self._delivered(job)
        counted = difference(before, [chunk.content_hash for chunk in chunks])
        return Replaced(counted.added, counted.unchanged, counted.removed, failed)

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        async with self._lock(scope.workflow_id, document_id):
            found = await self.document(document_id, scope)
            if found is None:
                raise unknown()
            key = document_key(scope.workflow_id, document_id)
            sent = Sent()
            record = kept_record(replace(found, summary=summary))
            await send([action("merge", key, {"record": record})], self._service, sent)
            if sent.refused:  # it was removed meanwhile
                raise unknown()

    async def delete(self, document_id: str, scope: Scope) -> bool:
        """As the port says. Raises Unavailable when it is not gone yet: it then goes with the next write or `flush`."""
        await self.flush()
        async with self._lock(scope.workflow_id, document_id):
            known, waits = await self._known(document_id, scope)
            if known is None or not (known.live or waits):
                return False
            now = datetime.now(UTC).isoformat(timespec="seconds")
            await self._amend(known, deleted_at=now)
            return True

    async def restore(self, document_id: str, scope: Scope) -> bool:
        """As the port says. Raises Unavailable when it is not back yet: it comes with the next write or `flush`."""
        await self.flush()
        async with self._lock(scope.workflow_id, document_id):
            known, _ = await self._known(document_id, scope)
            if known is None:
                return False
            if known.live:
                raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")
            await self._refuse_to_mix(known)
            await self._amend(known, deleted_at=None)
            return True

    async def purge(self, document_id: str, scope: Scope) -> bool:
        """As the port says. Raises Unavailable when it is not gone yet: it then goes with the next write or `flush`."""
        await self.flush()
        async with self._lock(scope.workflow_id, document_id):
            if not _all_owned(scope, await self._records(document_id, scope)):
                return False
            job = Job(0, scope.workflow_id, document_id, uuid.uuid4().hex, None)
            await self._delivery.deliver(await asyncio.to_thread(self._outbox.add, job, ()))
            return True

    async def flush(self) -> tuple[str, ...]:
        """Send what earlier writes have left, in their order; names the chunks that are still not searchable."""
        jobs = await asyncio.to_thread(self._outbox.jobs)
        left: list[str] = []
        for place, job in enumerate(jobs):
            lock = self._lock(*job.about)
            if lock.locked():  # whoever holds it is sending it
                continue
            async with lock:
                try:
                    left += await self._delivery.deliver(job)
                except RagError:  # not the fault of the write that this comes before: its own requests say
                    for one in jobs[place:]:
                        left += await self._delivery.unseen(one)
                    break
        return tuple(left)

    async def space(self) -> str:
        return _space(await self._service.facets(["space"], filter="live"))

    async def version(self, scope: Scope) -> str:
        """As the port says; "" also for `settled_s` after a change, which a lookup sees before searches do."""
        found = await self._service.lookup(state_key(scope.workflow_id))
        if found is None:
            return ""
        ((name, since),) = checked(lambda one: (str(one["version"]), datetime.fromisoformat(one["record"])), [found])
        return name if datetime.now(UTC) - since >= timedelta(seconds=self._settled_s) else ""

    async def describe(self) -> StoreDescription:
        found = await self._service.facets(["kind", "space"], filter="live")
        kinds = dict(facets_of(found, "kind"))
        return StoreDescription(
            kind="azure_search",
            location=f"{self._service.endpoint}, index {self._service.index}",
            space=_space(found),
            dimensions=self._dimensions if _space(found) else 0,
            documents=kinds.get("document", 0),
            chunks=kinds.get("chunk", 0),
            details={"api_version": API_VERSION, "unsent": len(await asyncio.to_thread(self._outbox.jobs))},
        )

    async def close(self) -> None:
        await self._service.close()
        self._outbox.close()

    def _lock(self, workflow_id: str, document_id: str) -> asyncio.Lock:
        return self._locks.setdefault((workflow_id, document_id), asyncio.Lock())

    async def _filter(self, scope: Scope, filters: Sequence[Filter]) -> str:
        """The scope and the filters. Some comparisons want the values of a field first: these cost a request."""
        wanted = sorted({odata.index_field(one.field) for one in filters if odata.looks_up(one)})
        found = await self._service.facets(wanted, filter=odata.chunks_of(scope)) if wanted else {}
        known = {one.field: _facet(one.field, found, EVERYTHING).buckets for one in filters if odata.looks_up(one)}
        passing = [odata.passing(one, [bucket.value for bucket in known.get(one.field, ())]) for one in filters]
        return odata.all_of(odata.chunks_of(scope), *passing)

    async def _chunks(self, filter: str, limit: int) -> list[Chunk]:
        found = await self._service.search("*", filter=filter, order_by=IN_ORDER, select=list(CHUNK), top=limit)
        return checked(chunk_of, found)

    async def _documents(self, filter: str) -> list[Document]:
        found = await self._service.search(
            "*", filter=filter, order_by=["document_id asc"], select=["record"], top=EVERYTHING
        )
        return checked(document_of, found)

    async def _hashes(self, document_id: str, scope: Scope) -> list[str]:
        """Of the document's chunks as they are. Raises NotFound when it is not the scope's to replace."""
        records = await self._records(document_id, scope)
        if records and not _all_owned(scope, records):
            raise unknown()
        mine = odata.all_of(odata.versions_of(scope.workflow_id, document_id), "live")
        chunks = await self._service.search(
            "*", filter=mine, select=["content_hash"], order_by=IN_ORDER, top=EVERYTHING
        )
        return checked(lambda one: str(one["content_hash"]), chunks)

    async def _records(self, document_id: str, scope: Scope) -> list[Found]:
        """Of the document as it is, and as it will be when what waits has been sent."""
        known = await self._service.lookup(document_key(scope.workflow_id, document_id))
        waits = await asyncio.to_thread(self._outbox.waiting_for, scope.workflow_id, document_id)
        return [record for record in (known, waits and waits.record) if record]

    async def _known(self, document_id: str, scope: Scope) -> tuple[Job | None, bool]:
        """The document as it will be once what waits is sent, if the scope may replace it; and whether that waits."""
        waits = await asyncio.to_thread(self._outbox.waiting_for, scope.workflow_id, document_id)
        records = await self._records(document_id, scope)
        if not _all_owned(scope, records) or (waits and waits.record is None):
            return None, False
        latest = dict(records[-1])
        return Job(0, scope.workflow_id, document_id, latest["version"], latest), waits is not None

    async def _amend(self, known: Job, *, deleted_at: str | None) -> None:
        """Send the same version with its chunks shown or hidden."""
        (document,) = checked(document_of, [known.record or {}])
        chunks = int((known.record or {})["ordinal"])
        record = document_record(replace(document, deleted_at=deleted_at), version=known.version, chunks=chunks)
        job = replace(known, record=record)
        await self._delivery.deliver(await asyncio.to_thread(self._outbox.amend, job))

    async def _refuse_to_mix(self, deleted: Job) -> None:
        """Of the vectors that a document would bring back with those that came meanwhile."""
        kept = _space(await self._service.facets(["space"], filter=odata.versions_of(*deleted.about)))
        if kept:
            self._refuse_another_space(await self.space(), kept)

    async def _delivered(self, job: Job) -> tuple[str, ...]:
        try:
            return await self._delivery.deliver(job)
        except Unavailable:
            return await self._delivery.unseen(job)

    def _refuse_another_space(self, stored: str, given: str) -> None:
        if stored and given != stored:
            raise Conflict(
                f"the index holds vectors of {stored}, these are of {given or 'no model'}: "
                "configure the first, or name an empty index in AZURE_SEARCH_INDEX",
                code="reindex_required",
            )

    def _refuse_another_width(self, vectors: Sequence[Vector | None]) -> None:
        other = {len(vector) for vector in vectors if vector is not None} - {self._dimensions}
        if other:
            raise Conflict(
                f"the index takes vectors of {self._dimensions} numbers, not of {', '.join(map(str, sorted(other)))}",
                code="reindex_required",
            )


def _seen(record: Found, scope: Scope) -> Document | None:
    """The document of a record, when the scope sees it."""
    (document,) = checked(document_of, [record])
    return document if sees(scope, document) else None


def _all_owned(scope: Scope, records: Sequence[Found]) -> bool:
    """Whether the document of these records is the scope's to replace; not when there is none."""
    documents = [_seen(record, scope) for record in records]
    return bool(records) and all(document and owns(document, scope) for document in documents)


def _facet(field: str, found: Mapping[str, Any], limit: int) -> Facet:
    buckets = _buckets(field, facets_of(found, odata.index_field(field)))
    return Facet(field, len(buckets), tuple(buckets[:limit]))


def _buckets(field: str, counted: Sequence[tuple[Any, int]]) -> list[Bucket]:
    """Most frequent first, ties by value, numbers before texts before truth values."""
    if odata.index_field(field) == "facts":
        counted = [(value_of(field, fact), count) for fact, count in counted]
    buckets = [Bucket(value, count) for value, count in counted if value is not None and value != ""]
    return sorted(buckets, key=lambda bucket: (-bucket.count, *_place(bucket.value)))


def _place(value: Scalar) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 1, 0.0, value
    return (2 if isinstance(value, bool) else 0), float(value), ""


def _space(found: Mapping[str, Any]) -> str:
    return next((str(value) for value, _ in facets_of(found, "space")), "")


def _refuse_twins(chunks: Sequence[Chunk]) -> None:
    if len({chunk.id for chunk in chunks}) < len(chunks):
        raise Conflict("two chunks of the document have one id")
