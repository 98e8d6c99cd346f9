"""A cache without a server: an SQLite file in the data folder, or in memory when there is no data folder."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rag_core.core import sqlite_files
from rag_core.core.telemetry import span
from rag_core.providers.sealing import sealed, steady_clock, unsealed

T = TypeVar("T")

SCHEMA = """
create table if not exists cache(
    key text primary key, written real not null, size integer not null, value blob not null);
"""
VALUE_BYTES = 1024**2
BUSY_S = 0.05  # while another process writes: recomputing is soon cheaper than waiting longer
LEAVE = """
    delete from cache where key in (
        select key from (select key, sum(size) over (order by written desc, key) as total from cache)
        where total > ?)
"""  # keeps the newest entries, up to the given total of bytes


class EmbeddedCache:
    """A cache of the newest `limit_bytes` of values; a value over `VALUE_BYTES` is not stored.

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
    ) -> None:
        self._path, self._secret, self._limit_bytes = path, secret, limit_bytes
        self._now = clock or steady_clock()
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    async def get(self, key: str) -> bytes | None:
        sealed_value = await asyncio.to_thread(self._tried, lambda db: _value(db, key))
        return unsealed(key, sealed_value, now=self._now(), secret=self._secret)

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        if len(value) <= VALUE_BYTES:
            now = self._now()
            sealed_value = sealed(key, value, now=now, ttl_s=ttl_s, secret=self._secret)
            await asyncio.to_thread(self._tried, lambda db: self._put(db, key, now, sealed_value))

    async def clear(self) -> None:
        await asyncio.to_thread(self._tried, _emptied)

    async def close(self) -> None:
        with self._lock:
            self._close()

    def _put(self, db: sqlite3.Connection, key: str, now: float, kept: bytes) -> None:
        db.execute("insert or replace into cache values (?, ?, ?, ?)", (key, now, len(kept), kept))
        db.execute(LEAVE, (self._limit_bytes,))

    def _tried(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an operation on the database; return None, a miss, when the file cannot be used."""
        with self._lock:
            try:
                with self._opened() as db:  # commits, or rolls back
                    return work(db)
            except (sqlite3.Error, OSError) as error:
                with span("cache_bypassed", {"error.type": type(error).__name__}):
                    self._close()
                if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                    self._remove()
                return None

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            db = sqlite_files.connect(self._path, busy_s=BUSY_S)
            self._db = db  # set first, so that `_close` closes it when a statement below fails
            db.execute("pragma synchronous = off")  # entries lost in a power cut are recomputed
            db.execute(SCHEMA)
        return self._db

    def _close(self) -> None:
        db, self._db = self._db, None
        if db:
            db.close()

    def _remove(self) -> None:
        if self._path:
            self._path.unlink(missing_ok=True)


def _emptied(db: sqlite3.Connection) -> None:
    """Delete every entry and vacuum the file, so that no byte of a purged document remains (docs/isolation.md)."""
    db.execute("delete from cache")
    db.commit()
    db.execute("vacuum")


def _value(db: sqlite3.Connection, key: str) -> object:
    row = db.execute("select value from cache where key = ?", (key,)).fetchone()
    return row and row[0]
