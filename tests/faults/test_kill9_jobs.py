"""Workers are killed at random moments; what was acknowledged with 202 is done all the same, once, and paid once."""

import asyncio
import multiprocessing
import os
import random
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from rag_core.core.model import Job, Scope
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.jobs.indexer import Indexer
from rag_core.jobs.job_rows import LEASE_DURATION_S
from tests.faults import child_worker
from tests.faults.child_worker import Paid, Payment, parts

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.faults.child_worker"])
SCOPE = Scope("garage")
ROWS = 30


def table(name: str) -> str:
    return "\n".join(["code,kept", *(f"P{row:04},in {name}" for row in range(ROWS))])


async def taken_on(folder: Path, names: Sequence[str]) -> list[str]:
    """The ids of the jobs that were acknowledged, one a document."""
    kit = parts(folder, Paid())
    indexer = Indexer(kit, Run(), child_worker.TERMS)
    uploads = [Upload(content=table(name), source="codes.csv", document_id=name) for name in names]
    jobs = [await indexer.index(upload, SCOPE, chunking=Chunking(), as_job=True) for upload in uploads]
    await kit.close()
    return [job.id for job in jobs if isinstance(job, Job)]


def paid_until(
    folder: Path, ahead_s: float, batches: int | None, draw: random.Random, forgetful: bool
) -> list[Payment]:
    """Start a worker, kill it at a random moment after so many batches, or let it finish; what it paid for."""
    told, tells = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=child_worker.work, args=(folder, tells, ahead_s, forgetful))
    child.start()
    tells.close()
    paid = received(told, batches)
    if batches is not None:
        spin(draw.randrange(20_000))
        child.kill()
    paid += received(told, None)
    child.join()
    return paid


def received(told: Connection, batches: int | None) -> list[Payment]:
    paid: list[Payment] = []
    try:
        while batches is None or len(paid) < batches:
            paid.append(told.recv())
    except EOFError:
        pass
    return paid


def spin(turns: int) -> None:
    for _ in range(turns):
        pass


def paid_again(workers: Sequence[Sequence[Payment]]) -> list[str]:
    """Texts whose batch was finished, as its worker went on to another, and that were embedded again."""
    finished: set[str] = set()
    again: list[str] = []
    for paid in workers:
        again += [text for batch in paid for text in batch if text in finished]
        finished.update(text for batch in paid[:-1] for text in batch)
    return again


async def wrong(folder: Path, jobs: Sequence[str], names: Sequence[str]) -> list[str]:
    """What is not as it was acknowledged."""
    kit = parts(folder, Paid())
    found = [await kit.jobs.get(id, None) for id in jobs]
    faults = [f"a job is {job and job.state}" for job in found if job is None or job.state != "done"]
    for name in names:
        chunks = [c for c in await kit.index.store.select(SCOPE, limit=9999) if c.document_id == name]
        whole = len(chunks) == len({c.content for c in chunks}) == ROWS
        if not whole or len(await kit.index.store.load_vectors(name, SCOPE)) != ROWS:
            faults.append(f"{name} has {len(chunks)} chunks")
    await kit.close()
    return faults


def kill_many(folder: Path, kills: int, documents: int, *, forgetful: bool = False) -> tuple[list[str], list[str]]:
    """What is wrong in the end, and what was paid for again."""
    seed = int(os.environ.get("KILL_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    print(f"KILL_SEED={seed}")
    draw, names = random.Random(seed), [f"doc{n}" for n in range(documents)]
    jobs = asyncio.run(taken_on(folder, names))
    assert len(jobs) == documents
    ends = [draw.randrange(1, 8) for _ in range(kills)]
    workers = [
        paid_until(folder, turn * (LEASE_DURATION_S + 1), end, draw, forgetful)
        for turn, end in enumerate([*ends, None])
    ]
    return asyncio.run(wrong(folder, jobs, names)), paid_again(workers)


def test_every_acknowledged_job_is_done_once_and_paid_once_wherever_its_worker_is_killed(tmp_path: Path) -> None:
    """C36, C56 (RELIABILITY): no job lost, whole documents, and finished batches are not embedded again."""
    assert kill_many(tmp_path, 8, 5) == ([], [])


@pytest.mark.soak
def test_a_hundred_kills_lose_no_job_and_pay_nothing_twice(tmp_path: Path) -> None:
    assert kill_many(tmp_path, 100, 60) == ([], [])


def test_the_harness_catches_a_worker_that_keeps_no_vectors(tmp_path: Path) -> None:
    _, again = kill_many(tmp_path, 4, 2, forgetful=True)
    assert again
