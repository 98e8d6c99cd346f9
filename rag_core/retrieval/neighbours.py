"""Neighbouring chunks of the best hits, which complete what those leave out (S4-41)."""

from dataclasses import replace

from rag_core.core.model import Hit, Ranking, Scope
from rag_core.core.ports import ChunkStore


async def add_neighbouring_chunks(hits: Ranking, scope: Scope, store: ChunkStore, *, count: int) -> list[Hit]:
    """Insert after each hit the `count` chunks before and after it in its document; each chunk occurs once.

    A neighbouring chunk gets the score and signals of its hit.

    Raises:
        Unavailable: the store did not answer.
    """
    hits_by_id: dict[str, Hit] = {}
    hit_ids = {hit.chunk.id for hit in hits}
    for hit in hits:
        hits_by_id[hit.chunk.id] = hit
        for chunk in await store.load_neighbours(hit.chunk, scope, before=count, after=count):
            if chunk.id not in hit_ids:
                hits_by_id.setdefault(chunk.id, replace(hit, chunk=chunk))
    return list(hits_by_id.values())
