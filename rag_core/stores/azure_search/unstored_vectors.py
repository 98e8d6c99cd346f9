"""What an index needs that keeps no vectors: whether a document is there with its vectors, and its deleted version.

Such an index searches by vectors and returns none. A document that is the same as before keeps the ones it has; every
other write, and a restoration, makes them anew from the text.
"""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.contextual_vectors import build_chunk_text, embed_passages
from rag_core.core.errors import Misconfigured
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.core.ports import Embedder
from rag_core.stores.access import can_read_document
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.delivery import MAX_SEARCH_RESULTS, list_uploaded_keys
from rag_core.stores.azure_search.index_client import AzureIndexClient
from rag_core.stores.azure_search.index_queries import ORDER_BY_ORDINAL
from rag_core.stores.azure_search.outbox import OutboxJob
from rag_core.stores.azure_search.records import (
    SELECTED_CHUNK_FIELDS,
    chunk_from_azure_record,
    document_from_azure_record,
    make_document_record_key,
)
from rag_core.stores.azure_search.service_errors import SearchRecord, parse_records


async def is_version_embedded(
    document: Document, chunks: Sequence[Chunk], scope: Scope, client: AzureIndexClient
) -> bool:
    """Return whether the live version of a document is this one, with exactly these chunks and a vector for each.

    Summaries of documents are saved later, and not compared.
    """
    if not can_read_document(document, scope):
        return False
    record = await client.get_record(make_document_record_key(document.workflow_id, document.id))
    stored = parse_records(document_from_azure_record, [record] if record and record["live"] else [])
    if record is None or [replace(one, summary=document.summary) for one in stored] != [document]:
        return False
    version = f"version eq {odata.format_odata_literal(record['version'])}"
    filter = odata.join_odata_with_and(odata.build_visible_chunks_filter(scope), version)
    records = await _search_chunk_records(filter, client)
    return all(record["space"] for record in records) and parse_records(chunk_from_azure_record, records) == [*chunks]


async def embed_deleted_version(
    job: OutboxJob, embedder: Embedder | None, client: AzureIndexClient
) -> tuple[list[Chunk], list[Vector | None]]:
    """Return the chunks of a version and new vectors for those that had one, before a deletion dropped them.

    Raises:
        Misconfigured: the chunks had vectors, and there is no embedder.
        Unavailable: the embedder failed.
    """
    records = await _load_version_records(job, client)
    chunks = parse_records(chunk_from_azure_record, records)
    texts = {
        chunk.id: build_chunk_text(chunk) for chunk, record in zip(chunks, records, strict=True) if record["space"]
    }
    if texts and embedder is None:
        raise Misconfigured("the index keeps no vectors, and there is no embedding model to make them anew")
    vectors = dict(zip(texts, await embed_passages(list(texts.values()), embedder), strict=True)) if embedder else {}
    return chunks, [vectors.get(chunk.id) for chunk in chunks]


async def _load_version_records(job: OutboxJob, client: AzureIndexClient) -> list[SearchRecord]:
    """Return the records of a version's chunks in order; those that no search finds yet are read by their keys."""
    filter = odata.join_odata_with_and(
        odata.build_document_chunks_filter(*job.document_ref), f"version eq {odata.format_odata_literal(job.version)}"
    )
    records: dict[str, SearchRecord | None] = {
        record["key"]: record for record in await _search_chunk_records(filter, client)
    }
    for key in list_uploaded_keys(job):
        if key not in records:
            records[key] = await client.get_record(key, elevated=True)
    return [record for key in list_uploaded_keys(job) if (record := records[key])]


async def _search_chunk_records(filter: str, client: AzureIndexClient) -> list[SearchRecord]:
    select = ["key", "space", *SELECTED_CHUNK_FIELDS]
    return await client.search(
        "*", filter=filter, order_by=ORDER_BY_ORDINAL, select=select, top=MAX_SEARCH_RESULTS, elevated=True
    )
