"""The queries of the store other than its search: chunks, documents and hashes by a filter, and the filter itself."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rag_core.core.model import Chunk, Document, Filter, Scope, Vector
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.delivery import MAX_SEARCH_RESULTS
from rag_core.stores.azure_search.facet_counts import facet_from_azure_counts, parse_azure_space
from rag_core.stores.azure_search.index_client import AzureIndexClient
from rag_core.stores.azure_search.records import (
    SELECTED_CHUNK_FIELDS,
    chunk_from_azure_record,
    document_from_azure_record,
    make_state_record_key,
)
from rag_core.stores.azure_search.schema import VECTOR_FIELD
from rag_core.stores.azure_search.service_errors import parse_records

MAX_IDS_PER_FILTER = 500  # ids in one filter
ORDER_BY_ORDINAL = ["document_id asc", "ordinal asc", "id asc"]


async def search_chunks(filter: str, limit: int, client: AzureIndexClient) -> list[Chunk]:
    """Return the chunks that a filter selects, at most `limit`, in the order of their documents and ordinals."""
    records = await client.search(
        "*", filter=filter, order_by=ORDER_BY_ORDINAL, select=list(SELECTED_CHUNK_FIELDS), top=limit
    )
    return parse_records(chunk_from_azure_record, records)


async def load_chunks(ids: Sequence[str], filter: str, client: AzureIndexClient) -> list[Chunk]:
    """Return the chunks of these ids that a filter selects, in parts of the ids."""
    parts = [ids[start : start + MAX_IDS_PER_FILTER] for start in range(0, len(ids), MAX_IDS_PER_FILTER)]
    found = [
        await search_chunks(
            odata.join_odata_with_and(filter, odata.build_odata_membership_filter("id", part)), len(part), client
        )
        for part in parts
    ]
    return [chunk for part in found for chunk in part]


async def search_documents(filter: str, client: AzureIndexClient) -> list[Document]:
    """Return the documents that a filter selects, by id."""
    records = await client.search(
        "*", filter=filter, order_by=["document_id asc"], select=["record"], top=MAX_SEARCH_RESULTS
    )
    return parse_records(document_from_azure_record, records)


async def list_live_content_hashes(document_id: str, scope: Scope, client: AzureIndexClient) -> list[str]:
    """Return the content hashes of a document's live chunks."""
    filter = odata.join_odata_with_and(odata.build_document_chunks_filter(scope.workflow_id, document_id), "live")
    chunk_records = await client.search(
        "*",
        filter=filter,
        select=["content_hash"],
        order_by=ORDER_BY_ORDINAL,
        top=MAX_SEARCH_RESULTS,
        elevated=True,
    )
    return parse_records(lambda record: str(record["content_hash"]), chunk_records)


async def load_chunk_vectors(document_id: str, scope: Scope, client: AzureIndexClient) -> dict[str, Vector]:
    """Return the vectors of a document's chunks by content hash; a chunk without one is left out."""
    filter = odata.join_odata_with_and(
        odata.build_visible_chunks_filter(scope),
        odata.build_odata_membership_filter("document_id", [document_id]),
        "space ne null",
    )
    select = ["content_hash", VECTOR_FIELD]
    records = await client.search(
        "*", filter=filter, order_by=ORDER_BY_ORDINAL, select=select, top=MAX_SEARCH_RESULTS, elevated=True
    )
    return dict(
        parse_records(lambda record: (str(record["content_hash"]), list(map(float, record[VECTOR_FIELD]))), records)
    )


async def count_field_values(fields: Sequence[str], filter: str, client: AzureIndexClient) -> Mapping[str, Any]:
    """Return the counts of the values of fields among the chunks that a filter selects, as the service sends them."""
    index_fields = sorted({odata.get_index_field(field) for field in fields})
    return await client.count_facets(index_fields, filter=filter) if index_fields else {}


async def build_visible_filter(scope: Scope, filters: Sequence[Filter], client: AzureIndexClient) -> str:
    """Build the OData filter of the chunks that a scope sees and the filters keep.

    Comparisons that OData cannot evaluate cost a request for their fields' values.
    """
    fields = {chunk_filter.field for chunk_filter in filters if odata.is_compared_locally(chunk_filter)}
    counts = await count_field_values(sorted(fields), odata.build_visible_chunks_filter(scope), client)
    values = {
        field: [bucket.value for bucket in facet_from_azure_counts(field, counts, MAX_SEARCH_RESULTS).buckets]
        for field in fields
    }
    expressions = [
        odata.build_odata_filter(chunk_filter, values.get(chunk_filter.field, ())) for chunk_filter in filters
    ]
    return odata.join_odata_with_and(odata.build_visible_chunks_filter(scope), *expressions)


async def load_settled_state(workflow_id: str, settled_s: float, client: AzureIndexClient) -> str:
    """Load the name of a workflow's state; "" without one, and for `settled_s` after a change."""
    record = await client.get_record(make_state_record_key(workflow_id))
    if record is None:
        return ""
    ((state, changed_at),) = parse_records(
        lambda record: (str(record["version"]), datetime.fromisoformat(record["record"])), [record]
    )
    return state if datetime.now(UTC) - changed_at >= timedelta(seconds=settled_s) else ""


async def load_document_space(workflow_id: str, document_id: str, client: AzureIndexClient) -> str:
    """Return the embedding space of a document's chunks, live or not; "" when none of them has a vector."""
    filter = odata.build_document_chunks_filter(workflow_id, document_id)
    return parse_azure_space(await client.count_facets(["space"], filter=filter, elevated=True))
