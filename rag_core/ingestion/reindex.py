"""Reindexing for another embedding model: the new index is built beside the old one, then switched to (S3-13)."""

from collections.abc import Callable

from rag_core.core.batching import batch_items
from rag_core.core.contextual_vectors import embed_passages
from rag_core.core.errors import Unavailable
from rag_core.core.ports import Embedder, IndexRebuild

REINDEX_BATCH_TEXTS = 64  # embedded between two saves: what a killed process may have to pay for twice
MAX_SWITCH_ATTEMPTS = 5  # to catch up with concurrent writers

ReindexProgress = Callable[[str, int, int], None]  # name of the stage, how much of it is done, of how much


async def build_new_index(
    rebuild: IndexRebuild, embedder: Embedder, progress: ReindexProgress = lambda *_: None
) -> None:
    """Embed every text that has no vector yet, then copy the rest. An interrupted build is continued by the next call.

    Raises:
        Unavailable, BudgetSpent: the embedder stopped; the vectors made before are saved.
    """
    texts = await rebuild.load_missing_texts()
    done = 0
    for batch in batch_items(
        list(texts.items()), lambda _: 1, max_items=REINDEX_BATCH_TEXTS, max_size=REINDEX_BATCH_TEXTS
    ):
        hashes, passages = zip(*batch, strict=True)
        await rebuild.save_vectors(dict(zip(hashes, await embed_passages(passages, embedder), strict=True)))
        done += len(batch)
        progress("embedding", done, len(texts))
    await rebuild.copy_index()


async def switch_to_new_index(rebuild: IndexRebuild, embedder: Embedder, switch: Callable[[], object]) -> None:
    """Switch to the new index after adding what was written to the old one since the build.

    Raises:
        Unavailable: the old index is written to faster than the new one can follow (store_busy); the old one stays.
    """
    for _ in range(MAX_SWITCH_ATTEMPTS):
        if await rebuild.switch_if_unchanged(switch):
            return
        await build_new_index(rebuild, embedder)
    raise Unavailable("the index is being written to all the time: stop the writers and try again", code="store_busy")
