"""Bulk indexing for an evaluation, through the same function as every upload."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_core.core.concurrency import run_together
from rag_core.core.errors import UnreadableDocument
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits

EVALUATION_TIMEOUT_S = 3600.0  # an evaluation waits for the slowest step
DEFAULT_CHUNKING = Chunking()  # the default of an upload
DEFAULT_UPLOAD_LIMITS = UploadLimits(DEFAULT_SETTINGS.max_upload_bytes, EVALUATION_TIMEOUT_S)
MAX_CONCURRENT_DOCUMENTS = 4  # documents indexed at once: enough to keep two model threads busy


async def index_uploads(
    uploads: Sequence[tuple[Scope, Upload]],
    kit: Kit,
    *,
    chunking: Chunking = DEFAULT_CHUNKING,
    limits: UploadLimits = DEFAULT_UPLOAD_LIMITS,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> int:
    """Index the uploads and return the number of chunks. A record without text, as some collections have, yields none.

    Raises:
        RagError: the first failure, also for a file that cannot be read; the other uploads are cancelled first.
    """
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_DOCUMENTS)
    kit = replace(kit, enrichment=None)  # an evaluation pays for no entities and summaries
    done = 0

    async def add(scope: Scope, upload: Upload) -> int:
        nonlocal done
        async with semaphore:
            indexing = index_document(upload, scope, kit, Run(EVALUATION_TIMEOUT_S), chunking=chunking, limits=limits)
            try:
                chunks = (await indexing).chunks
            except UnreadableDocument as error:
                if upload.data is not None or error.code != "document_empty":
                    raise
                chunks = 0
        done += 1
        progress(done, len(uploads))
        return chunks

    return sum(await run_together(add(scope, upload) for scope, upload in uploads))
