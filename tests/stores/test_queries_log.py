"""What was asked is kept in a table, and no answer waits for a log that cannot be written."""

import asyncio
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.run import Run
from rag_core.stores.archive import ArchiveDatabase, SqlQueryLog
from rag_core.stores.archive.query_log import QUERY_LOG_COLUMNS

ENTRY = {
    "query": "What did [PERSON] take?",
    "workflow_id": "ward",
    "user_id": "ann",
    "preset": "classical",
    "status": "answered",
    "confidence": 0.83,
    "metrics": {"chunks": ["a", "b"], "cached": False},
    "timings": {"search": 1.5},
}


async def test_an_entry_comes_back_as_it_was_with_its_time(tmp_path: Path) -> None:
    """S4-31: the table `queries_log`, with execution metrics."""
    log = SqlQueryLog(ArchiveDatabase(tmp_path / "data" / "archive.sqlite3"))
    await log.record(ENTRY)
    await log.record({"query": "täxt"})
    await log.close()
    log = SqlQueryLog(ArchiveDatabase(tmp_path / "data" / "archive.sqlite3"))
    newest, older = await log.list_latest(5)
    assert {name: older[name] for name in ENTRY} == ENTRY
    assert abs((datetime.now(UTC) - datetime.fromisoformat(older["created_at"])).total_seconds()) < 60
    assert (newest["query"], newest["user_id"], newest["metrics"]) == ("täxt", None, {})
    assert await log.list_latest(1) == [newest]
    await log.close()


async def test_the_table_has_its_documented_columns_and_is_its_owners_alone(tmp_path: Path) -> None:
    """S4-31."""
    path = tmp_path / "archive.sqlite3"
    log = SqlQueryLog(ArchiveDatabase(path))
    await log.record(ENTRY)
    await log.close()
    db = sqlite3.connect(path)
    assert [name for _, name, *_ in db.execute("pragma table_info(queries_log)")] == ["id", *QUERY_LOG_COLUMNS]
    db.close()
    assert path.stat().st_mode & 0o077 == 0


async def test_a_log_that_cannot_be_written_spoils_no_answer_and_follows_with_the_next(tmp_path: Path) -> None:
    """S4-31, RELIABILITY 3.1: the answer is served, `audit_deferred` says so, and nothing is lost or written twice."""
    path = tmp_path / "archive.sqlite3"
    log, run = SqlQueryLog(ArchiveDatabase(path, busy_s=0.05)), Run()
    await log.record({"query": "first"})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    for query in ("second", "third"):
        await run.attempt("audit", log.record({"query": query}), otherwise=None, fallback="the row follows")
    other.execute("rollback")
    other.close()
    await log.record({"query": "fourth"})
    assert {degradation.code for degradation in run.degraded} == {"audit_deferred"}
    assert [entry["query"] for entry in await log.list_latest(9)] == ["fourth", "third", "second", "first"]
    await log.close()


async def test_an_entry_that_its_caller_no_longer_waits_for_is_not_lost(tmp_path: Path) -> None:
    """S4-31: the request runs out of time, then the database turns out to be busy."""
    path = tmp_path / "archive.sqlite3"
    log = SqlQueryLog(ArchiveDatabase(path, busy_s=0.05))
    await log.record({"query": "first"})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    waiting = asyncio.create_task(log.record({"query": "second"}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(Unavailable):  # after the second, because one thread at a time has the connection
        await log.record({"query": "third"})
    other.execute("rollback")
    other.close()
    await log.record({"query": "fourth"})
    assert sorted(entry["query"] for entry in await log.list_latest(9)) == ["first", "fourth", "second", "third"]
    await log.close()


async def test_a_folder_that_is_a_file_defers_too(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = SqlQueryLog(ArchiveDatabase(tmp_path / "file" / "archive.sqlite3"))
    with pytest.raises(Unavailable) as deferred:
        await log.record(ENTRY)
    assert deferred.value.code == "audit_deferred"
    await log.close()


async def test_only_the_newest_are_kept() -> None:
    log = SqlQueryLog(ArchiveDatabase(None), max_entries=10)
    for number in range(25):
        await log.record({"query": str(number)})
    assert [entry["query"] for entry in await log.list_latest(99)] == [str(number) for number in range(24, 14, -1)]
    await log.close()


async def test_what_there_is_no_column_for_is_not_lost_without_a_word() -> None:
    log = SqlQueryLog(ArchiveDatabase(None))
    with pytest.raises(KeyError, match="anser"):
        await log.record({"anser": "x"})
    await log.close()


async def test_a_text_that_no_database_takes_does_not_keep_the_others_from_it() -> None:
    log = SqlQueryLog(ArchiveDatabase(None))
    await log.record({"query": "a\x00b\ud800", "metrics": {"note": "\x00"}})
    assert [entry["query"] for entry in await log.list_latest(9)] == ["a\ufffdb?"]
    await log.close()


async def test_a_database_of_a_newer_program_defers_too(tmp_path: Path) -> None:
    """S4-31: what is wrong with the archive spoils no answer."""
    path = tmp_path / "archive.sqlite3"
    first = SqlQueryLog(ArchiveDatabase(path))
    await first.record(ENTRY)
    await first.close()
    db = sqlite3.connect(path)
    db.execute("update alembic_version set version_num = '9999'")
    db.commit()
    db.close()
    with pytest.raises(Unavailable, match="newer") as deferred:
        await SqlQueryLog(ArchiveDatabase(path)).record(ENTRY)
    assert deferred.value.code == "audit_deferred"
