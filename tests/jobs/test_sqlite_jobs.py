"""What is particular to the table of long work in SQLite: its file."""

import subprocess
import sys
from pathlib import Path

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.model import Scope
from rag_core.jobs.sqlite_jobs import SqliteJobs

SCOPE = Scope("garage", "ann")
SECRET = b"a secret of the garage, " * 5000


async def test_what_was_brought_is_for_the_eyes_of_the_process_only(tmp_path: Path) -> None:
    table = SqliteJobs(tmp_path / "jobs.sqlite3")
    await table.add(SECRET, SCOPE, document_id="notes")
    assert (tmp_path / "jobs.sqlite3").stat().st_mode & 0o777 == 0o600
    await table.close()


async def test_nothing_of_a_superseded_text_stays_in_the_file(tmp_path: Path) -> None:
    table = SqliteJobs(tmp_path / "jobs.sqlite3")
    await table.add(SECRET, SCOPE, document_id="notes")
    async with table.supersede_document("notes", SCOPE):
        assert b"secret" in (tmp_path / "jobs.sqlite3").read_bytes()
    await table.close()
    assert b"secret" not in (tmp_path / "jobs.sqlite3").read_bytes()


async def test_a_file_that_cannot_be_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable) as failed:
        await SqliteJobs(tmp_path / "file" / "jobs.sqlite3").add(b"work", SCOPE, document_id="notes")
    assert failed.value.code == "jobs_unavailable"


WORKER = """
import asyncio, sys, time
from pathlib import Path
from rag_core.jobs.sqlite_jobs import SqliteJobs

async def claim() -> None:
    lease = await SqliteJobs(Path(sys.argv[1])).claim()
    if sys.argv[2] == "writing":
        await lease.claim_document("notes")
    print("claimed", flush=True)
    time.sleep(600)

asyncio.run(claim())
"""


def start_worker(table: Path, at: str) -> subprocess.Popen[bytes]:
    """Return a process that has claimed the first job, and stays `at` it until it is killed."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(table), at], stdout=subprocess.PIPE)
    assert worker.stdout
    assert worker.stdout.readline() == b"claimed\n"
    return worker


@pytest.mark.parametrize("at", ["embedding", "writing"])
async def test_the_job_of_a_killed_worker_is_taken_up_at_once(tmp_path: Path, at: str) -> None:
    """C56 (RELIABILITY): its lease would go on for a minute, but its process is known to be gone."""
    table = SqliteJobs(tmp_path / "jobs.sqlite3")
    job, _ = await table.add(b"work", SCOPE, document_id="notes")
    with start_worker(tmp_path / "jobs.sqlite3", at) as worker:
        assert await table.claim() is None
        worker.kill()
    lease = await table.claim()
    assert lease
    assert (lease.job.id, lease.job.attempts) == (job.id, 2)
    assert len(list((tmp_path / "jobs.sqlite3.workers").iterdir())) == 1
    await table.close()
    assert not list((tmp_path / "jobs.sqlite3.workers").iterdir())


async def test_a_deletion_does_not_wait_for_a_writer_that_was_killed(tmp_path: Path) -> None:
    """S3-16."""
    table = SqliteJobs(tmp_path / "jobs.sqlite3")
    await table.add(b"work", SCOPE, document_id="notes")
    with start_worker(tmp_path / "jobs.sqlite3", "writing") as worker:
        worker.kill()
    async with table.supersede_document("notes", SCOPE) as had_jobs:
        assert had_jobs
    await table.close()
