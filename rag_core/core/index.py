"""A store with the embedder whose vectors it holds: unlike spaces refuse to join."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_core.core.errors import Conflict
from rag_core.core.model import Chunk, Document, Filter, Ranking, Scope, Vector
from rag_core.core.ports import ChunkStore, Embedder, Probe, Replaced
from rag_core.core.rankings import codes_first


@dataclass(frozen=True, slots=True)
class Index:
    """Where chunks are kept and how texts become vectors there."""

    store: ChunkStore
    embedder: Embedder

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of questions, in order. Raises Unavailable when there is no embedder or it fails."""
        return list(await asyncio.gather(*(self.embedder.embed_query(text) for text in texts)))

    async def find(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> list[Ranking]:
        """One ranking a probe; where both legs are asked, hits with the codes of the words come first.

        Raises:
            Conflict: the stored vectors are another model's (reindex_required).
        """
        if any(probe.vector is not None for probe in probes):
            await self._same_space()
        found = await self.store.search(probes, scope, limit=limit, filters=filters, rrf_k=rrf_k)
        return [_ordered(ranking, probe) for probe, ranking in zip(probes, found, strict=True)]

    async def add(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> tuple[Replaced, int]:
        """Embed what is new, then make these the document's chunks in one step; also, how many were embedded.

        Raises:
            Conflict: the store holds another model's vectors; refused before any is made.
            Unavailable: the embedder failed; nothing was written.
        """
        known = await self.vectors(document.id, scope)
        fresh = self.without(known, chunks)
        made = await self.embedder.embed_documents(list(fresh.values())) if fresh else []
        known.update(zip(fresh, made, strict=True))
        return await self.put(document, chunks, scope, known), len(fresh)

    async def vectors(self, document_id: str, scope: Scope) -> dict[str, Vector]:
        """The document's vectors that can be used again, by content hash.

        Raises:
            Conflict: the store holds another model's vectors.
        """
        if not self.embedder.dimensions:
            return {}
        await self._same_space()
        return dict(await self.store.vectors(document_id, scope))

    def without(self, known: Mapping[str, Vector], chunks: Sequence[Chunk]) -> dict[str, str]:
        """The texts that are to be embedded, each once, by content hash: none where there is no embedder."""
        if not self.embedder.dimensions:
            return {}
        return {chunk.content_hash: chunk.content for chunk in chunks if chunk.content_hash not in known}

    async def put(
        self, document: Document, chunks: Sequence[Chunk], scope: Scope, known: Mapping[str, Vector]
    ) -> Replaced:
        """Make these the document's chunks in one step; one whose vector is not known is found by its words only."""
        vectors = [known.get(chunk.content_hash) for chunk in chunks]
        space = self.embedder.space if any(vector is not None for vector in vectors) else ""
        return await self.store.replace_document(document, chunks, vectors, scope, space=space)

    async def _same_space(self) -> None:
        stored = await self.store.space()
        if stored and stored != self.embedder.space:
            raise Conflict(
                f"the index holds vectors of {stored}, the configured embedder makes {self.embedder.space}: "
                "configure the first, or change the model as docs/plan-and-reindex.md says",
                code="reindex_required",
            )


def _ordered(ranking: Ranking, probe: Probe) -> Ranking:
    """What a store's own ranker has judged is left as the store gave it: it has read the first of that order only."""
    judged = any("semantic" in hit.signals for hit in ranking)
    return ranking if judged or probe.vector is None else codes_first(ranking, probe.words)
