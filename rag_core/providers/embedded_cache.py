"""A cache without a server: an SQLite file in the data folder, or in memory when there is no data folder."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rag_core.core import sqlite_files
from rag_core.core.errors import Unavailable
from rag_core.core.telemetry import trace_span
from rag_core.providers.cache_sealing import MAX_VALUE_BYTES, make_steady_clock, seal_value, unseal_value

T = TypeVar("T")

CACHE_SCHEMA = """
create table if not exists cache(
    key text primary key, written real not null, size integer not null, value blob not null);
"""
CACHE_BUSY_TIMEOUT_S = 0.05  # while another process writes: recomputing is soon cheaper than waiting longer
EVICT_OLDEST_SQL = """
    delete from cache where key in (
        select key from (select key, sum(size) over (order by written desc, key) as total from cache)
        where total > ?)
"""  # keeps the newest entries, up to the given total of bytes


class EmbeddedCache:
    """A cache of the newest `limit_bytes` of values; a value over `MAX_VALUE_BYTES` is not stored.

    A file that cannot be read is deleted and created again, because everything in it can be recomputed.
    """

    name = "embedded"

    def __init__(
        self,
        path: Path | None,
        secret: bytes,
        *,
        limit_bytes: int = 64 * 1024**2,
        clock: Callable[[], float] | None = None,
        require_in_place: Callable[[], None] = sqlite_files.allow_any_place,
    ) -> None:
        self._path, self._secret, self._limit_bytes = path, secret, limit_bytes
        self._now = clock or make_steady_clock()
        self._place = sqlite_files.FilePlace(path, require_in_place)
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    async def get(self, key: str) -> bytes | None:
        sealed_value = await asyncio.to_thread(self._run_or_miss, lambda db: _read_cached_value(db, key))
        return unseal_value(key, sealed_value, now=self._now(), secret=self._secret)

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        if len(value) <= MAX_VALUE_BYTES:
            now = self._now()
            sealed_value = seal_value(key, value, now=now, ttl_s=ttl_s, secret=self._secret)
            await asyncio.to_thread(self._run_or_miss, lambda db: self._store_entry(db, key, now, sealed_value))

    async def clear(self) -> None:
        await asyncio.to_thread(self._run_or_miss, _clear_cache_table)

    async def close(self) -> None:
        with self._lock:
            self._close()

    def _store_entry(self, db: sqlite3.Connection, key: str, now: float, sealed_value: bytes) -> None:
        db.execute("insert or replace into cache values (?, ?, ?, ?)", (key, now, len(sealed_value), sealed_value))
        db.execute(EVICT_OLDEST_SQL, (self._limit_bytes,))

    def _run_or_miss(self, operation: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an operation on the database; return None, a miss, when the file cannot be used."""
        with self._lock:
            try:
                with self._open() as db:  # commits, or rolls back
                    return operation(db)
            except (sqlite3.Error, OSError, Unavailable) as error:
                with trace_span("cache_bypassed", {"error.type": type(error).__name__}):
                    self._close()
                if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                    self._delete_file()
                return None

    def _open(self) -> sqlite3.Connection:
        if self._place.needs_reopening():
            self._close()
        if self._db is None:
            self._place.prepare_opening()
            db = sqlite_files.connect_sqlite(self._path, busy_s=CACHE_BUSY_TIMEOUT_S)
            self._db = db  # set first, so that `_close` closes it when a statement below fails
            db.execute("pragma synchronous = off")  # entries lost in a power cut are recomputed
            db.execute(CACHE_SCHEMA)
        return self._db

    def _close(self) -> None:
        db, self._db = self._db, None
        if db:
            db.close()

    def _delete_file(self) -> None:
        if self._path:
            self._path.unlink(missing_ok=True)


def _clear_cache_table(db: sqlite3.Connection) -> None:
    """Delete every entry and vacuum the file, so that no byte of a purged document remains."""
    db.execute("delete from cache")
    db.commit()
    db.execute("vacuum")


def _read_cached_value(db: sqlite3.Connection, key: str) -> object:
    row = db.execute("select value from cache where key = ?", (key,)).fetchone()
    return row and row[0]
