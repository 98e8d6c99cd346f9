"""SQLite files besides the index (outbox, jobs, cache): how they are opened and how their errors are translated."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

from rag_core.core.errors import StorageFull, Unavailable


class DurableSqliteFile:
    """An SQLite file whose commits survive the loss of power; in memory when `path` is None. Opened when first used.

    The journal is a rollback journal with synchronous=EXTRA, which also syncs the directory entry: it is safe on a file
    share, with several processes, and in the SQLite 3.40 of Python 3.11, whose write-ahead log can lose commits
    (sqlite.org/wal.html#walresetbug). With `secure_delete` removed data is overwritten. Errors are reported by the
    `name` of the file and with `code`.
    """

    def __init__(
        self,
        path: Path | None,
        schema: str,
        *,
        name: str,
        code: str,
        disk_full_effect: str,
        secure_delete: bool = False,
    ) -> None:
        self._path, self._schema, self._secure_delete = path, schema, secure_delete
        self._translate_errors = partial(translate_sqlite_errors, name, code=code, disk_full_effect=disk_full_effect)
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Give the block the connection to itself; each statement is a transaction of its own."""
        with self._lock, self._translate_errors():
            yield self._get_connection()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the block a transaction, which is durably committed when it ends and rolled back when it raises."""
        with self.connection() as db, db:
            db.execute("begin immediate")
            yield db

    def close(self) -> None:
        with self._lock:
            db, self._db = self._db, None
            if db:
                db.close()

    def _get_connection(self) -> sqlite3.Connection:
        if self._db is None:
            db = connect_sqlite(self._path, busy_s=5.0, isolation_level=None)
            db.row_factory = sqlite3.Row
            db.execute("pragma synchronous = extra")
            if self._secure_delete:
                db.execute("pragma secure_delete = on")
            db.executescript(self._schema)
            self._db = db  # assigned last, so that a failed setup is tried again
        return self._db


def connect_sqlite(
    path: Path | None, *, busy_s: float, isolation_level: Literal["DEFERRED"] | None = "DEFERRED"
) -> sqlite3.Connection:
    """Open the database at `path`, readable by its owner alone; in memory when `path` is None.

    Raises OSError and sqlite3.Error. The caller must use the connection in one thread at a time.
    """
    if path:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    return sqlite3.connect(path or ":memory:", timeout=busy_s, isolation_level=isolation_level, check_same_thread=False)


def write_mark_file(file: Path, content: str) -> None:
    """Replace a small file beside a database in one step, readable by its owner alone; nothing fails without it."""
    new_file = file.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        new_file.touch(mode=0o600)
        new_file.write_text(content)
        os.replace(new_file, file)


@contextmanager
def translate_sqlite_errors(name: str, *, code: str, disk_full_effect: str) -> Iterator[None]:
    """Raise errors of the file called `name` as Unavailable with `code`, or as StorageFull with `disk_full_effect`."""
    try:
        yield
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise StorageFull(f"the disk is full: {disk_full_effect}") from error
        raise Unavailable(f"{name}: {error}", code=code) from error
    except OSError as error:
        raise Unavailable(f"{name}: {error.strerror}", code=code) from error
