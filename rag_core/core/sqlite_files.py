"""SQLite files besides the index (outbox, jobs, cache): how they are opened and how their errors are translated."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from rag_core.core.errors import StorageFull, Unavailable


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
