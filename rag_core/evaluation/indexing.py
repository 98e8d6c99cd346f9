"""Documents into a store for a measurement, as any upload goes."""

import asyncio
from collections.abc import Callable, Sequence

from rag_core.core.errors import UnreadableDocument
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULTS
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Limits, Upload, index_document

PATIENCE_S = 3600.0  # a measurement waits for the slowest answer
CHUNKING = Chunking()  # an upload's that asks for no other
LIMITS = Limits(DEFAULTS.max_upload_bytes, PATIENCE_S)
TOGETHER = 4  # documents indexed at once: enough to keep two model threads busy


async def index(
    uploads: Sequence[tuple[Scope, Upload]],
    kit: Kit,
    *,
    chunking: Chunking = CHUNKING,
    limits: Limits = LIMITS,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> int:
    """Index them all; how many chunks came of it. A record without text, as some collections hold, has none.

    Raises:
        RagError: the first failure, a file that cannot be read among them; by then nothing is written any more.
    """
    turns = asyncio.Semaphore(TOGETHER)
    done = 0

    async def add(scope: Scope, upload: Upload) -> int:
        nonlocal done
        async with turns:
            work = index_document(upload, scope, kit, Run(PATIENCE_S), chunking=chunking, limits=limits)
            try:
                chunks = (await work).chunks
            except UnreadableDocument as unreadable:
                if upload.data is not None or unreadable.code != "document_empty":
                    raise
                chunks = 0
        done += 1
        progress(done, len(uploads))
        return chunks

    try:
        async with asyncio.TaskGroup() as group:  # the first failure ends the others, which a caller may pay for
            added = [group.create_task(add(scope, upload)) for scope, upload in uploads]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return sum(task.result() for task in added)
