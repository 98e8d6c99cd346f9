"""Retrieval by the knowledge base over the index: what it refers to is loaded from the index, under the same filter."""

from collections.abc import Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.model import Hit, QueryVariant
from rag_core.stores.azure_search.index_client import AzureIndexClient
from rag_core.stores.azure_search.index_queries import MAX_IDS_PER_FILTER, load_chunks
from rag_core.stores.azure_search.knowledge_base import (
    build_ranking,
    build_retrieval_request,
    make_knowledge_base_name,
    read_found_passages,
)
from rag_core.stores.azure_search.service_errors import KnowledgeBaseRefused


async def retrieve_hits(
    variants: Sequence[QueryVariant], filter: str, limit: int, client: AzureIndexClient
) -> list[Hit]:
    """Return the chunks that the queries find together, best first, of those that a filter selects.

    Raises:
        Unavailable: the service has no knowledge base, refuses it, or answers in another form.
    """
    labels = {variant.text: variant.label for variant in variants}
    in_preview = bool(client.previews.api_version)
    request = build_retrieval_request(client.index, list(labels), filter=filter, limit=limit, in_preview=in_preview)
    try:
        reply = await client.retrieve(make_knowledge_base_name(client.index), request)
    except KnowledgeBaseRefused as refusal:
        raise Unavailable(refusal.message, code=refusal.code) from refusal
    passages = read_found_passages(reply)
    ids = list(dict.fromkeys(passage.chunk_id for passage in passages))[:MAX_IDS_PER_FILTER]
    return build_ranking(passages, await load_chunks(ids, filter, client), labels)[:limit]
