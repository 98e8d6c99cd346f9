"""A chunk store together with the embedder of its vectors; vectors of another embedding space are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag_core.core.concurrency import run_together
from rag_core.core.contextual_vectors import build_chunk_text, embed_passages
from rag_core.core.errors import Conflict, InvalidRequest
from rag_core.core.model import Chunk, Document, EmbeddableText, Filter, QueryVariant, Ranking, Scope, Vector
from rag_core.core.ports import ChunkStore, Embedder, KnowledgeBase, Probe, ReplacementResult
from rag_core.core.rankings import sort_by_code_matches
from rag_core.core.telemetry import SpanAttributes, trace_span
from rag_core.text.periods import add_written_out_periods


@dataclass(frozen=True, slots=True)
class Index:
    """The chunk store and the embedder that makes its vectors."""

    store: ChunkStore
    embedder: Embedder
    knowledge_base: KnowledgeBase | None = None  # over the store, where its service offers one

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of query texts, in order. Raises Unavailable when there is no embedder or it fails."""
        return await run_together(self.embedder.embed_query(text) for text in texts)

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> list[Ranking]:
        """Return one ranking per probe; in a hybrid search, hits that contain the query's codes come first.

        A period such as FY2022 is also searched for in words.

        Raises:
            Conflict: the stored vectors were made by another model (reindex_required).
        """
        if any(probe.vector is not None for probe in probes):
            await self._check_embedding_space()
        probes = [replace(probe, lexical_query=add_written_out_periods(probe.lexical_query)) for probe in probes]
        with trace_span("search chunks", _describe_search(probes, scope, limit), kind="CLIENT") as span:
            rankings = await self.store.search(probes, scope, limit=limit, filters=filters, rrf_k=rrf_k)
            span.set_attribute("db.response.returned_rows", sum(map(len, rankings)))
        return [_order_code_matches(ranking, probe) for probe, ranking in zip(probes, rankings, strict=True)]

    async def retrieve(
        self, variants: Sequence[QueryVariant], scope: Scope, *, limit: int, filters: Sequence[Filter] = ()
    ) -> Ranking:
        """Return the ranking that the knowledge base gives for all variants; a period is also asked for in words.

        Raises:
            InvalidRequest: the store has no knowledge base.
        """
        base = self.require_knowledge_base()
        asked = [replace(variant, text=add_written_out_periods(variant.text)) for variant in variants]
        with trace_span("retrieve chunks", _describe_search(asked, scope, limit), kind="CLIENT") as span:
            ranking = await base.retrieve(asked, scope, limit=limit, filters=filters)
            span.set_attribute("db.response.returned_rows", len(ranking))
        return ranking

    def require_knowledge_base(self) -> KnowledgeBase:
        """Return the knowledge base. Raises InvalidRequest where the store has none."""
        if self.knowledge_base is None:
            raise InvalidRequest(
                "pipeline",
                "agentic needs the knowledge base of Azure AI Search, which this store lacks: choose standard, rerank "
                "or advanced, or have the operator set AZURE_SEARCH_ENDPOINT",
                code="pipeline_not_offered",
            )
        return self.knowledge_base

    async def add_document(
        self, document: Document, chunks: Sequence[Chunk], scope: Scope
    ) -> tuple[ReplacementResult, int]:
        """Embed the new chunks, replace the document's chunks in one step, and return also how many were embedded.

        Raises:
            Conflict: the store holds another model's vectors; raised before any vector is made.
            Unavailable: the embedder failed; nothing was written.
        """
        vectors = await self.load_reusable_vectors(document.id, scope)
        new_texts = await self.find_texts_to_embed(document, chunks, scope, vectors)
        new_vectors = await embed_passages(list(new_texts.values()), self.embedder) if new_texts else []
        vectors.update(zip(new_texts, new_vectors, strict=True))
        return await self.replace_document(document, chunks, scope, vectors), len(new_texts)

    async def load_reusable_vectors(self, document_id: str, scope: Scope) -> dict[str, Vector]:
        """Return the document's stored vectors by content hash; empty where there is no embedder.

        Raises:
            Conflict: the store holds another model's vectors.
        """
        if not self.embedder.dimensions:
            return {}
        await self._check_embedding_space()
        return dict(await self.store.load_vectors(document_id, scope))

    async def find_texts_to_embed(
        self, document: Document, chunks: Sequence[Chunk], scope: Scope, known_vectors: Mapping[str, Vector]
    ) -> dict[str, EmbeddableText]:
        """Return the texts to embed before the document is replaced, by content hash.

        There are none where the store has the same document with vectors that it cannot return: it keeps those.
        """
        texts = self.select_texts_to_embed(known_vectors, chunks)
        if texts and not known_vectors and await self.store.is_embedded(document, chunks, scope):
            return {}
        return texts

    def select_texts_to_embed(
        self, known_vectors: Mapping[str, Vector], chunks: Sequence[Chunk]
    ) -> dict[str, EmbeddableText]:
        """Return the texts without a known vector, each once, by content hash; empty where there is no embedder."""
        if not self.embedder.dimensions:
            return {}
        return {
            chunk.content_hash: build_chunk_text(chunk) for chunk in chunks if chunk.content_hash not in known_vectors
        }

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], scope: Scope, known_vectors: Mapping[str, Vector]
    ) -> ReplacementResult:
        """Replace the document's chunks in one step; a chunk without a known vector is found by lexical search only."""
        vectors = [known_vectors.get(chunk.content_hash) for chunk in chunks]
        space = self.embedder.space if any(vector is not None for vector in vectors) else ""
        return await self.store.replace_document(document, chunks, vectors, scope, space=space)

    async def _check_embedding_space(self) -> None:
        stored_space = await self.store.load_embedding_space()
        if stored_space and stored_space != self.embedder.space:
            raise Conflict(
                f"the index holds vectors of {stored_space}, the configured embedder makes {self.embedder.space}: "
                "set RAG_EMBEDDING_PROVIDER to the provider of the first, or change the model by rag reindex, "
                "as docs/reference/stores.md says",
                code="reindex_required",
            )


def _describe_search(searches: Sequence[Probe | QueryVariant], scope: Scope, limit: int) -> SpanAttributes:
    return {
        "db.operation.name": "search",
        "db.operation.batch.size": len(searches),
        "rag.search.limit": limit,
        "rag.workflow.id": scope.workflow_id,
    }


def _order_code_matches(ranking: Ranking, probe: Probe) -> Ranking:
    """Put hits with the probe's codes first, unless the store reranked: its model has scored only the first hits."""
    reranked = any("semantic" in hit.signals for hit in ranking)
    return ranking if reranked or probe.vector is None else sort_by_code_matches(ranking, probe.lexical_query)
