"""The passages beside the best ones, for what those leave unsaid (S4-41)."""

from dataclasses import replace

from rag_core.core.model import Hit, Ranking, Scope
from rag_core.core.ports import ChunkStore


async def widened(hits: Ranking, scope: Scope, store: ChunkStore, *, count: int) -> list[Hit]:
    """Each hit followed by the `count` chunks before and after it, which stand on its score; each chunk once.

    Raises:
        Unavailable: the store did not answer.
    """
    found: dict[str, Hit] = {}
    own = {hit.chunk.id for hit in hits}
    for hit in hits:
        found[hit.chunk.id] = hit
        for chunk in await store.neighbours(hit.chunk, scope, before=count, after=count):
            if chunk.id not in own:
                found.setdefault(chunk.id, replace(hit, chunk=chunk))
    return list(found.values())
