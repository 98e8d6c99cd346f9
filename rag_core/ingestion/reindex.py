"""Another embedding model for an index: built beside, compared, switched to in one step, and back (S3-13)."""

from collections.abc import Callable

from rag_core.core.batching import packed
from rag_core.core.errors import Unavailable
from rag_core.core.ports import Embedder, Rebuild

BATCH = 64  # texts embedded between two savings: what a kill can make us pay for twice
TRIES = 5  # to come up with writers

Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much


async def build(rebuild: Rebuild, embedder: Embedder, progress: Progress = lambda *_: None) -> None:
    """Embed every text that has no vector yet, then copy the rest. Broken off, it goes on where it was.

    Raises:
        Unavailable, BudgetSpent: the embedder stopped; what it made before is kept.
    """
    texts = await rebuild.missing()
    done = 0
    for batch in packed(list(texts.items()), lambda _: 1, items_each=BATCH, size_each=BATCH):
        hashes, contents = zip(*batch, strict=True)
        await rebuild.keep(dict(zip(hashes, await embedder.embed_documents(contents), strict=True)))
        done += len(batch)
        progress("embedding", done, len(texts))
    await rebuild.copy()


async def settle(rebuild: Rebuild, embedder: Embedder, switch: Callable[[], object]) -> None:
    """Switch to an index that was built, with what was written to the old one meanwhile.

    Raises Unavailable when others write to it faster than this can follow; the old one stays.
    """
    for _ in range(TRIES):
        if await rebuild.settle(switch):
            return
        await build(rebuild, embedder)
    raise Unavailable("the index is being written to all the time: stop that, and do this again", code="store_busy")
