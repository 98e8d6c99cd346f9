"""What is particular to the table of long work in SQLite: its file."""

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
