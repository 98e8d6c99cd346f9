"""SQLite files beside the index (outbox, long work, remembered answers, log): how they are opened, how they fail."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from rag_core.core.errors import StorageFull, Unavailable


def connect(
    path: Path | None, *, busy_s: float, isolation_level: Literal["DEFERRED"] | None = "DEFERRED"
) -> sqlite3.Connection:
    """The database at `path`, which holds texts and so is its owner's alone; in memory when there is none.

    Raises OSError and sqlite3.Error. The caller sees to it that one thread at a time uses it.
    """
    if path:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    return sqlite3.connect(path or ":memory:", timeout=busy_s, isolation_level=isolation_level, check_same_thread=False)


@contextmanager
def told(name: str, *, code: str, full: str) -> Iterator[None]:
    """What goes wrong with the file called `name`, as Unavailable of this code, or StorageFull, which says `full`."""
    try:
        yield
    except sqlite3.Error as failure:
        if failure.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise StorageFull(f"the disk is full: {full}") from failure
        raise Unavailable(f"{name}: {failure}", code=code) from failure
    except OSError as failure:
        raise Unavailable(f"{name}: {failure.strerror}", code=code) from failure
