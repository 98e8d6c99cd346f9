"""A store with the embedder whose vectors it holds: unlike spaces refuse to join."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.errors import Conflict
from rag_core.model import Chunk, Document, Filter, Ranking, Scope, Vector
from rag_core.ports import ChunkStore, Embedder, Probe, Replaced
from rag_core.rankings import codes_first


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
        return [
            codes_first(ranking, probe.words) if probe.vector is not None else ranking
            for probe, ranking in zip(probes, found, strict=True)
        ]

    async def add(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> tuple[Replaced, int]:
        """Embed what is new, then make these the document's chunks in one step; also, how many were embedded.

        Raises:
            Conflict: the store holds another model's vectors; refused before any is made.
            Unavailable: the embedder failed; nothing was written.
        """
        if not self.embedder.dimensions:
            return await self.store.replace_document(document, chunks, [None] * len(chunks), scope, space=""), 0
        await self._same_space()
        known = dict(await self.store.vectors(document.id, scope))
        fresh = list({c.content_hash: c.content for c in chunks if c.content_hash not in known}.items())
        made = await self.embedder.embed_documents([text for _, text in fresh])
        known.update(zip((content_hash for content_hash, _ in fresh), made, strict=True))
        vectors = [known[c.content_hash] for c in chunks]
        space = self.embedder.space
        return await self.store.replace_document(document, chunks, vectors, scope, space=space), len(fresh)

    async def _same_space(self) -> None:
        stored = await self.store.space()
        if stored and stored != self.embedder.space:
            raise Conflict(
                f"the index holds vectors of {stored}, the configured embedder makes {self.embedder.space}: "
                "configure the first, or index the documents again into an empty store",
                code="reindex_required",
            )
