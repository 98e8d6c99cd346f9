"""The documented local class (S1-07 to S1-10): the service in this process, with the replies that HTTP gives."""

from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from rag_core.answering.citation_styles import CitationStyle
from rag_core.core.kit import Kit
from rag_core.core.model import Filter, IndexingResult, Scope, Turn
from rag_core.core.preset_choice import PresetChoice
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG
from rag_core.replies import AskReply, ConsultReply
from rag_core.schema.linking import LinkBudget
from rag_core.schema_reply import LinkReply


class RAGRetrievalAgent:
    """Four ways to search and one to be answered; without an argument over local models and a store in memory.

    Every method takes, besides the question, its `workflow_id`, the `user_id` and `groups` of who asks, and the request
    fields of `consult_rag` (`top_k`, `search_type`, `enable_…`). Replies are plain data, as `consult_rag` gives them.
    """

    def __init__(self, service: RAG | Kit | None = None) -> None:
        self._service = service

    @cached_property
    def rag(self) -> RAG:
        """The service that is asked, opened when first used."""
        return self._service if isinstance(self._service, RAG) else RAG(self._service)

    async def index_document(
        self,
        source: Upload | Path | str,
        workflow_id: str = "default",
        *,
        title: str | None = None,
        user_id: str | None = None,
        groups: tuple[str, ...] = (),
    ) -> IndexingResult:
        """Make a document searchable: an upload, or a file by its path."""
        return await self.rag.index(source, title=title, scope=Scope(workflow_id, user_id, groups))

    async def consult_rag_tool(self, query: str, workflow_id: str = "default", **fields: Any) -> ConsultReply:
        """Search with the standard pipeline: hybrid search, reranked by a cross-encoder, with captions."""
        return await self.search(query, workflow_id, pipeline="standard", **fields)

    async def consult_rag_with_rerank(self, query: str, workflow_id: str = "default", **fields: Any) -> ConsultReply:
        """Search with the rerank pipeline: three times the candidates, of which a chat model grades the best."""
        return await self.search(query, workflow_id, pipeline="rerank", **fields)

    async def advanced_rag_retrieve(self, query: str, workflow_id: str = "default", **fields: Any) -> ConsultReply:
        """Search with the advanced pipeline: query expansion and HyDE, fused, then graded."""
        return await self.search(query, workflow_id, pipeline="advanced", **fields)

    async def get_entity_facets(
        self, query: str = "", workflow_id: str = "default", *, field: str | None = None, **fields: Any
    ) -> ConsultReply:
        """Count the unique values of `field`, or of the field that the question means."""
        return await self.search(query, workflow_id, pipeline="facets", facets=(field,) if field else (), **fields)

    async def search(
        self,
        query: str,
        workflow_id: str = "default",
        *,
        user_id: str | None = None,
        groups: tuple[str, ...] = (),
        filters: tuple[Filter, ...] = (),
        facets: tuple[str, ...] = (),
        history: tuple[Turn, ...] = (),
        **choice: Unpack[PresetChoice],
    ) -> ConsultReply:
        """Search with any pipeline or preset, as `consult_rag` is asked."""
        scope = Scope(workflow_id, user_id, groups)
        reply = await self.rag.search(query, scope=scope, filters=filters, facets=facets, history=history, **choice)
        return reply.to_json()

    async def link_schema(
        self,
        query: str,
        workflow_id: str = "default",
        *,
        user_id: str | None = None,
        groups: tuple[str, ...] = (),
        database: str | None = None,
        budget: LinkBudget | None = None,
    ) -> LinkReply:
        """Find what of an indexed database a question needs, as `api/link_schema` is asked."""
        scope = Scope(workflow_id, user_id, groups)
        reply = await self.rag.link_schema(query, database=database, budget=budget or LinkBudget(), scope=scope)
        return reply.to_json()

    async def answer(
        self,
        query: str,
        workflow_id: str = "default",
        *,
        user_id: str | None = None,
        groups: tuple[str, ...] = (),
        document_ids: tuple[str, ...] = (),
        filters: tuple[Filter, ...] = (),
        history: tuple[Turn, ...] = (),
        style: CitationStyle | None = None,
        **choice: Unpack[PresetChoice],
    ) -> AskReply:
        """Answer in sentences with their checked citations, as `api/rag/ask` is asked."""
        scope = Scope(workflow_id, user_id, groups, document_ids)
        reply = await self.rag.answer(query, scope=scope, filters=filters, history=history, **choice)
        return reply.to_json(style)
