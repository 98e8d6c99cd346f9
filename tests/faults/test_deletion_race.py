"""A deletion at a random moment after a 202: the document must not come back, whatever the worker was at."""

import asyncio
import os
import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rag_core.core.errors import NotFound
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Job
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.lifecycle import delete_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.jobs.indexer import Indexer, IndexingPolicy, run_due_jobs
from rag_core.jobs.sqlite_jobs import SqliteJobs, SqliteLease
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import SCOPE, ConceptEmbedder, kit

POLICY = IndexingPolicy(UploadLimits(100_000, 10.0), max_inline_bytes=10_000, max_inline_chunks=100)
WORKERS = 2
LONGEST_WAIT_S = 0.06  # a job is done in about 40 ms
LONGEST_END_S = 30.0  # of a worker that is cancelled


@dataclass
class Race:
    """Uploads that are accepted and then deleted while two workers run the jobs."""

    parts: Kit
    draw: random.Random

    async def run(self, rounds: int) -> Counter[str]:
        """Return how often the deletion met a document, a job, or nothing, and how often the document came back."""
        outcomes: Counter[str] = Counter()
        workers = [asyncio.create_task(self._work()) for _ in range(WORKERS)]
        for number in range(rounds):
            outcomes[await self._accept_and_delete(f"doc{number}")] += 1
        for worker in workers:
            worker.cancel()
        ended, _ = await asyncio.wait(workers, timeout=LONGEST_END_S)
        assert [worker.cancelled() for worker in ended] == [True] * WORKERS, "a worker failed, or does not end"
        await run_due_jobs(self.parts, POLICY, within_s=30.0)
        left = await self.parts.index.store.list_documents(SCOPE)
        outcomes["came back"] += len(left)
        return outcomes

    async def _work(self) -> None:
        while True:
            await run_due_jobs(self.parts, POLICY, within_s=30.0)
            await asyncio.sleep(0.001)

    async def _accept_and_delete(self, document_id: str) -> str:
        if self.draw.random() < 0.3:
            await self._submit(document_id, "an earlier text", as_job=False)
        job = await self._submit(document_id, "a text that must not come back", as_job=True)
        assert isinstance(job, Job)
        await asyncio.sleep(self.draw.random() * LONGEST_WAIT_S)
        was_live = await self.parts.index.store.load_document(document_id, SCOPE) is not None
        try:
            await delete_document(document_id, SCOPE, self.parts, Run(30.0), purge=self.draw.random() < 0.5)
        except NotFound:
            return "refused"
        return "document" if was_live else "job alone"

    async def _submit(self, document_id: str, text: str, *, as_job: bool) -> object:
        indexer = Indexer(self.parts, Run(30.0), POLICY)
        upload = Upload(content=f"{text} of {document_id}", document_id=document_id)
        return await indexer.index(upload, SCOPE, chunking=Chunking(), as_job=as_job)


async def race(folder: Path, rounds: int) -> Counter[str]:
    seed = int(os.environ.get("RACE_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    print(f"RACE_SEED={seed}")
    store, jobs = EmbeddedStore(folder), SqliteJobs(folder / "jobs.sqlite3")
    parts = replace(kit(Index(store, ConceptEmbedder())), jobs=jobs)
    try:
        return await Race(parts, random.Random(seed)).run(rounds)
    finally:
        await jobs.close()
        await store.close()


async def test_what_was_deleted_after_a_202_does_not_come_back(tmp_path: Path) -> None:
    """S3-16: no deletion is refused, and none is undone by a worker."""
    outcomes = await race(tmp_path, 60)
    assert (outcomes["refused"], outcomes["came back"]) == (0, 0), outcomes
    assert outcomes["job alone"], outcomes
    assert outcomes["document"], outcomes


async def test_a_worker_that_does_not_claim_its_document_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted twin: the write begins while the deletion is under way."""

    async def claim_nothing(lease: SqliteLease, document_id: str) -> None:
        await asyncio.sleep(LONGEST_WAIT_S)

    monkeypatch.setattr(SqliteLease, "claim_document", claim_nothing)
    assert (await race(tmp_path, 60))["came back"]


@pytest.mark.soak
async def test_what_was_deleted_after_a_202_does_not_come_back_in_a_thousand_races(tmp_path: Path) -> None:
    """S3-16."""
    outcomes = await race(tmp_path, 1000)
    print(outcomes)
    assert (outcomes["refused"], outcomes["came back"]) == (0, 0), outcomes
