"""Does long work in a process of its own, telling over a pipe what it pays for, until it is killed."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Vector
from rag_core.ingestion.upload import UploadLimits
from rag_core.jobs import indexer, sqlite_jobs
from rag_core.jobs.indexer import IndexingPolicy, run_due_jobs
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import OverlapReranker, ScriptedLLM
from tests.stores.sample import SPACE, vector

TERMS = IndexingPolicy(UploadLimits(10**6, 10.0), max_inline_bytes=0, max_inline_chunks=0)
BATCH = 4
Payment = tuple[str, ...]  # the texts of a batch


class Paid:
    """An embedder that says what it is paid for."""

    space, dimensions = SPACE, 16

    def __init__(self, told: Connection | None = None) -> None:
        self.told = told

    async def embed_query(self, text: str) -> Vector:
        return vector(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.told:
            self.told.send(tuple(texts))
        return [vector(text) for text in texts]


def parts(folder: Path, embedder: Paid, *, ahead_s: float = 0.0) -> Kit:
    """The parts over a folder, by a clock that is ahead: leases of those before have run out."""
    table = sqlite_jobs.SqliteJobs(folder / "jobs.sqlite3", now=lambda: time.time() + ahead_s)
    return Kit(Index(EmbeddedStore(folder), embedder), ScriptedLLM(), OverlapReranker(), jobs=table)


def work(folder: Path, told: Connection, ahead_s: float, forgetful: bool) -> None:
    """Do what there is to do; a `forgetful` worker keeps no vectors."""
    indexer.EMBED_BATCH_CHUNKS = BATCH
    if forgetful:
        sqlite_jobs._insert_job_vectors = _keep_nothing  # type: ignore[assignment]
    asyncio.run(run_due_jobs(parts(folder, Paid(told), ahead_s=ahead_s), TERMS, within_s=60.0))


def _keep_nothing(db: Any, row: Any, vectors: Mapping[str, Vector], *more: Any) -> None:
    """As if they had been kept."""
