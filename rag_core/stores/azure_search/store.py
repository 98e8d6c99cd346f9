"""The chunk store of one Azure AI Search index. Accepted changes stay in the outbox until the index has them."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from azure.core.pipeline.transport import AsyncHttpTransport

from rag_core.core.concurrency import run_together
from rag_core.core.errors import Conflict, RagError, Unavailable, make_unknown_document_error
from rag_core.core.model import Chunk, Document, Facet, Filter, QueryVariant, Ranking, Scope, Vector
from rag_core.core.ports import Embedder, Probe, ReplacementResult, StoreDescription
from rag_core.core.retrying import Dependency
from rag_core.stores.access import (
    can_read_document,
    require_replaceable_documents,
    require_writable_document,
)
from rag_core.stores.azure_search import odata, schema
from rag_core.stores.azure_search.action_batches import ActionResults, build_index_action, send_actions
from rag_core.stores.azure_search.delivery import OutboxDelivery
from rag_core.stores.azure_search.document_records import (
    DocumentRecords,
    can_write_records,
    document_from_job,
    require_unique_chunk_ids,
)
from rag_core.stores.azure_search.facet_counts import (
    facet_from_azure_counts,
    list_fields_with_values,
    parse_azure_space,
    parse_facet_counts,
)
from rag_core.stores.azure_search.field_value_codec import INDEX_FIELDS
from rag_core.stores.azure_search.index_client import NO_PREVIEWS, AzureIndexClient
from rag_core.stores.azure_search.index_queries import (
    build_visible_filter,
    count_field_values,
    list_live_content_hashes,
    load_chunk_vectors,
    load_chunks,
    load_document_space,
    load_settled_state,
    search_chunks,
    search_documents,
)
from rag_core.stores.azure_search.knowledge_base import (
    build_knowledge_base,
    build_knowledge_source,
)
from rag_core.stores.azure_search.knowledge_retrieval import retrieve_hits
from rag_core.stores.azure_search.outbox import Outbox, OutboxJob
from rag_core.stores.azure_search.previews import SearchPreviews
from rag_core.stores.azure_search.records import (
    build_acl_fields,
    document_from_azure_record,
    encode_document_json,
    make_document_record_key,
)
from rag_core.stores.azure_search.search import search_azure_probe
from rag_core.stores.azure_search.semantic_ranker import SemanticRanker
from rag_core.stores.azure_search.service_errors import parse_records
from rag_core.stores.azure_search.unstored_vectors import embed_deleted_version, is_version_embedded
from rag_core.stores.document_rules import (
    EmbeddingSpace,
    count_replaced_chunks,
    format_deletion_time,
    require_deleted_document,
    require_same_embedding_space,
)

BATCH_TIMEOUT_S = 30.0  # a batch of up to 15 MB
OTHER_SPACE_REMEDY = "configure the first, or name an empty index in AZURE_SEARCH_INDEX"


class AzureSearchStore:
    """A `ChunkStore` in one index, which `rag setup` creates.

    A new version of a document is uploaded hidden and then made live while the old one is removed; its record is
    written last. Changes that the service does not take stay in `outbox`, their chunks are listed as failed in the
    replacement's result, and the next write or `flush` sends them again. Without an `outbox` file they are lost when
    the process ends. `embedder` makes the vectors of a restored document where the index does not keep them.
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
        embedder: Embedder | None = None,
        stores_vectors: bool = True,
        semantic: bool = True,
        exhaustive: bool = False,
        compression: schema.VectorCompression | None = None,
        vectorizer: schema.QueryVectorizer | None = None,
        vector_weight: float = 1.0,
        previews: SearchPreviews = NO_PREVIEWS,
        settled_s: float = 60.0,
        transport: AsyncHttpTransport[Any, Any] | None = None,
        dependency: Dependency | None = None,
    ) -> None:
        search_dependency = dependency or Dependency("Azure AI Search", code="search_throttled", try_s=BATCH_TIMEOUT_S)
        self._client = AzureIndexClient(
            endpoint, credential, index, dependency=search_dependency, transport=transport, previews=previews
        )
        self._previews = previews
        self._outbox = Outbox(outbox)
        public = build_acl_fields(None) if previews.document_acl else {}
        self._records = DocumentRecords(self._client, self._outbox, has_acl=previews.document_acl)
        self._delivery = OutboxDelivery(self._client, self._outbox, public)
        self._space, self._dimensions, self._compression = space, dimensions, compression
        self._embedder, self._stores_vectors = embedder, stores_vectors
        self._vectorizer, self._vector_weight = vectorizer, vector_weight
        self._ranker = SemanticRanker(is_used=semantic)
        self._exhaustive, self._settled_s = exhaustive, settled_s
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def setup(self) -> str:
        """Create the index or add missing fields; return "created", "upgraded" or "unchanged".

        Raises:
            Conflict: the index has another model's vectors, another compression or fields of other types
                (reindex_required).
        """
        name, acl = self._client.index, self._previews.document_acl
        new_definition = schema.build_index_definition(
            name,
            self._dimensions,
            self._compression,
            self._vectorizer,
            document_acl=acl,
            stores_vectors=self._stores_vectors,
        )
        old_definition = await self._client.get_definition()
        if old_definition is None:
            await self._client.put_definition(new_definition)
            return "created"
        upgraded_definition = schema.upgrade_index_definition(old_definition, new_definition)
        await self._require_same_space(self._space)
        if upgraded_definition == old_definition:
            return "unchanged"
        await self._client.put_definition(upgraded_definition)
        return "upgraded"

    async def set_up_knowledge_base(self) -> None:
        """Create or update the knowledge base over the index. Raises RagError where the service does not offer it."""
        index = self._client.index
        await self._client.put_knowledge_base(build_knowledge_source(index), build_knowledge_base(index))

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        """Search as the port specifies, but ignore `rrf_k`: the service always uses 60, and counts ranks from 0."""
        for probe in probes:
            self._require_same_dimensions([probe.vector])
        filter = await build_visible_filter(scope, filters, self._client)
        searches = [
            search_azure_probe(
                probe,
                self._client,
                filter=filter,
                limit=limit,
                exhaustive=self._exhaustive,
                vector_weight=self._vector_weight,
                ranker=self._ranker,
                previews=self._previews,
            )
            for probe in probes
        ]
        return await run_together(searches)

    async def retrieve(
        self, variants: Sequence[QueryVariant], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Ranking:
        """Retrieve as the port specifies; the scope filters the retrieval, and again the loading of what it found."""
        filter = await build_visible_filter(scope, filters, self._client)
        return await retrieve_hits(variants, filter, limit, self._client)

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await search_chunks(await build_visible_filter(scope, filters, self._client), limit, self._client)

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        visible = odata.build_visible_chunks_filter(scope)
        chunks_by_id = {chunk.id: chunk for chunk in await load_chunks(ids, visible, self._client)}
        return [chunks_by_id[id] for id in ids if id in chunks_by_id]

    async def load_neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        filter = odata.join_odata_with_and(
            odata.build_visible_chunks_filter(scope),
            odata.build_odata_membership_filter("document_id", [chunk.document_id]),
            f"ordinal ge {chunk.ordinal - before:d} and ordinal le {chunk.ordinal + after:d}",
        )
        return [near for near in await search_chunks(filter, before + after + 1, self._client) if near.id != chunk.id]

    async def count_facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        if not fields:
            return []
        counts = await count_field_values(
            fields, await build_visible_filter(scope, filters, self._client), self._client
        )
        return [facet_from_azure_counts(field, counts, limit) for field in fields]

    async def list_facet_fields(self, scope: Scope) -> Sequence[str]:
        """List the fields with values in this order: any entity, entity types, common fields, metadata."""
        counts = await self._client.count_facets(
            [*INDEX_FIELDS.values(), "fact_names"], filter=odata.build_visible_chunks_filter(scope)
        )
        return list_fields_with_values(counts)

    async def load_document(self, document_id: str, scope: Scope) -> Document | None:
        record = await self._client.get_record(make_document_record_key(scope.workflow_id, document_id))
        live_documents = parse_records(document_from_azure_record, [record] if record and record["live"] else [])
        return next((document for document in live_documents if can_read_document(document, scope)), None)

    async def list_documents(self, scope: Scope, *, source_prefix: str = "") -> Sequence[Document]:
        filter = odata.build_visible_documents_filter(scope, source_prefix=source_prefix)
        return await search_documents(filter, self._client)

    async def list_deleted(self, scope: Scope) -> Sequence[Document]:
        return await search_documents(odata.build_visible_documents_filter(scope, deleted=True), self._client)

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        returns_vectors = self._dimensions and await self._client.returns_vectors()
        return await load_chunk_vectors(document_id, scope, self._client) if returns_vectors else {}

    async def is_embedded(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> bool:
        if not self._dimensions or await self._client.returns_vectors():
            return False
        if await asyncio.to_thread(self._outbox.find_job, document.workflow_id, document.id):
            return False  # another version is on its way
        return await is_version_embedded(document, chunks, scope, self._client)

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> ReplacementResult:
        """Replace a document as the port specifies; chunks that the service does not take are listed as failed.

        A search finds either the old version or the new one. Only a document of more than about 500 chunks is
        changed by several requests, between which a search may find parts of both.
        """
        require_writable_document(document, chunks, scope)
        require_unique_chunk_ids(chunks)
        self._require_same_dimensions(vectors)
        await self.flush()
        async with self._get_document_lock(document.workflow_id, document.id):
            if space or any(vector is not None for vector in vectors):
                await self._require_same_space(space)
            records = await self._records.load(document.id, scope)
            require_replaceable_documents(parse_records(document_from_azure_record, records), scope)
            old_hashes = await list_live_content_hashes(document.id, scope, self._client)
            failed: tuple[str, ...] = ()
            if any(vector is not None for vector in vectors) or not await self.is_embedded(document, chunks, scope):
                job = await self._records.add_version(document, chunks, vectors, space)
                failed = await self._delivery.deliver_or_list_unsearchable(job)
        result = count_replaced_chunks(old_hashes, [chunk.content_hash for chunk in chunks])
        return ReplacementResult(result.added, result.unchanged, result.removed, failed)

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        async with self._get_document_lock(scope.workflow_id, document_id):
            document = await self.load_document(document_id, scope)
            if document is None:
                raise make_unknown_document_error()
            key = make_document_record_key(scope.workflow_id, document_id)
            results = ActionResults()
            record = encode_document_json(replace(document, summary=summary))
            await send_actions([build_index_action("merge", key, {"record": record})], self._client, results)
            if results.refused_keys:  # the document was removed meanwhile
                raise make_unknown_document_error()

    async def delete(self, document_id: str, scope: Scope) -> bool:
        """Delete a document. Raises Unavailable when the service did not apply it; the next write or `flush` does."""
        await self.flush()
        async with self._get_document_lock(scope.workflow_id, document_id):
            job, is_unsent = await self._records.find_writable_job(document_id, scope)
            if job is None or not (job.is_live or is_unsent):
                return False
            await self._delivery.deliver_amended_record(job, deleted_at=format_deletion_time())
            return True

    async def restore(self, document_id: str, scope: Scope) -> bool:
        """Restore a document. Raises Unavailable when the service did not apply it; the next write or `flush` does."""
        await self.flush()
        async with self._get_document_lock(scope.workflow_id, document_id):
            job, is_unsent = await self._records.find_writable_job(document_id, scope)
            if job is None:
                return False
            require_deleted_document(document_from_job(job))
            if not await self._client.returns_vectors():
                await self._restore_by_embedding(job, is_unsent=is_unsent)
                return True
            if deleted_space := await load_document_space(*job.document_ref, self._client):
                await self._require_same_space(deleted_space)
            await self._delivery.deliver_amended_record(job, deleted_at=None)
            return True

    async def purge(self, document_id: str, scope: Scope) -> bool:
        """Purge a document. Raises Unavailable when the service did not apply it; the next write or `flush` does."""
        await self.flush()
        async with self._get_document_lock(scope.workflow_id, document_id):
            if not can_write_records(await self._records.load(document_id, scope), scope):
                return False
            job = OutboxJob(0, scope.workflow_id, document_id, uuid.uuid4().hex, None)
            await self._delivery.deliver(await asyncio.to_thread(self._outbox.add, job, ()))
            return True

    async def flush(self) -> tuple[str, ...]:
        """Send the jobs that earlier writes left, in order; return the ids of chunks that are still not searchable."""
        jobs = await asyncio.to_thread(self._outbox.list_jobs)
        unsearchable_ids: list[str] = []
        for index, job in enumerate(jobs):
            lock = self._get_document_lock(*job.document_ref)
            if lock.locked():  # the holder of the lock is sending it
                continue
            async with lock:
                try:
                    unsearchable_ids += await self._delivery.deliver(job)
                except RagError:  # not reported here: the requests of the write that follows will raise
                    for other_job in jobs[index:]:
                        unsearchable_ids += await self._delivery.list_unsearchable_chunks(other_job)
                    break
        return tuple(unsearchable_ids)

    async def load_embedding_space(self) -> str:
        return parse_azure_space(await self._client.count_facets(["space"], filter="live", elevated=True))

    async def load_corpus_version(self, scope: Scope) -> str:
        """Return the version as the port specifies; "" for `settled_s` after a change, until searches see it too."""
        return await load_settled_state(scope.workflow_id, self._settled_s, self._client)

    async def describe(self) -> StoreDescription:
        counts = await self._client.count_facets(["kind", "space"], filter="live", elevated=True)
        counts_by_kind = dict(parse_facet_counts(counts, "kind"))
        return StoreDescription(
            kind="azure_search",
            location=f"{self._client.endpoint}, index {self._client.index}",
            space=parse_azure_space(counts),
            dimensions=self._dimensions if parse_azure_space(counts) else 0,
            documents=counts_by_kind.get("document", 0),
            chunks=counts_by_kind.get("chunk", 0),
            details={
                "api_version": self._client.api_version,
                "unsent": len(await asyncio.to_thread(self._outbox.list_jobs)),
            },
        )

    async def close(self) -> None:
        await self._client.close()
        self._outbox.close()

    def _get_document_lock(self, workflow_id: str, document_id: str) -> asyncio.Lock:
        return self._locks.setdefault((workflow_id, document_id), asyncio.Lock())

    async def _restore_by_embedding(self, job: OutboxJob, *, is_unsent: bool) -> None:
        """Write a deleted version anew, its vectors made again from its text: the deletion has dropped them."""
        if is_unsent:
            raise Unavailable("the deletion of the document has not reached the index yet", code="search_throttled")
        chunks, vectors = await embed_deleted_version(job, self._embedder, self._client)
        if any(vector is not None for vector in vectors):
            await self._require_same_space(self._space)
        document = replace(document_from_job(job), deleted_at=None)
        await self._delivery.deliver(await self._records.add_version(document, chunks, vectors, self._space))

    async def _require_same_space(self, name: str) -> None:
        """Raise Conflict unless the live vectors are of the space `name`; all have the dimensions of the index."""
        stored_space = EmbeddingSpace(await self.load_embedding_space(), self._dimensions)
        require_same_embedding_space(stored_space, name, {self._dimensions}, remedy=OTHER_SPACE_REMEDY)

    def _require_same_dimensions(self, vectors: Sequence[Vector | None]) -> None:
        other_dimensions = {len(vector) for vector in vectors if vector is not None} - {self._dimensions}
        if other_dimensions:
            raise Conflict(
                f"the index takes vectors of {self._dimensions} dimensions, "
                f"not of {', '.join(map(str, sorted(other_dimensions)))}",
                code="reindex_required",
            )
