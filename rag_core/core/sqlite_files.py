"""SQLite files: how they are opened, how another in their place is noticed, and how their errors are translated."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

from rag_core.core.errors import StorageFull, Unavailable

FileIdentity = tuple[int, int]


def read_file_identity(path: Path | None) -> FileIdentity | None:
    """Return what tells the file at a path from any other while it is open; None when there is none."""
    try:
        found = os.stat(path) if path else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def make_moved_error() -> Unavailable:
    """Return the error for a data folder that is not where it was when it was opened."""
    return Unavailable(
        "the data folder was moved or deleted while this service ran: put it back, or a backup in its place by rag "
        "restore-backup, and repeat the request; a restart begins an empty index",
        code="store_moved",
    )


def connect_to_existing_file(path: Path) -> sqlite3.Connection:
    """Open a database that is there, to be read.

    A process that was killed while it wrote leaves its last transaction to be taken back, which `mode=ro` cannot do;
    where the file may not be written SQLite opens it to be read alone.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)


class FilePlace:
    """The place of a file that is held open: whoever moves it away leaves a handle that no path leads to any more.

    `require_in_place` raises Unavailable while nothing may be made there, as where a folder was moved away.
    """

    def __init__(self, path: Path | None, require_in_place: Callable[[], None]) -> None:
        self._path, self._require_in_place = path, require_in_place
        self._opened: FileIdentity | None = None

    def prepare_opening(self) -> None:
        """Make the file unless it lies here, and note which it is, so that one put here meanwhile is noticed."""
        make_sqlite_file(self._path)
        self._opened = read_file_identity(self._path)

    def is_another(self) -> bool:
        """Return whether the file here, if there is one, is not the one that was opened."""
        return self._opened is not None and read_file_identity(self._path) != self._opened

    def needs_reopening(self) -> bool:
        """Return whether the file here is another one and may be opened. Raises Unavailable while it may not."""
        if self.is_another():
            self._require_in_place()
            return True
        return False


def allow_any_place() -> None:
    """Allow a file to be made anew wherever it lay."""


class DurableSqliteFile:
    """An SQLite file whose commits survive the loss of power; in memory when `path` is None. Opened when first used.

    The journal is a rollback journal with synchronous=EXTRA, which also syncs the directory entry: it is safe on a file
    share, with several processes, and in the SQLite 3.40 of Python 3.11, whose write-ahead log can lose commits
    (sqlite.org/wal.html#walresetbug). With `secure_delete` removed data is overwritten. Errors are reported by the
    `name` of the file and with `code`. Where another file has taken its place, that one is opened.
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
        require_in_place: Callable[[], None] = allow_any_place,
    ) -> None:
        self._path, self._schema, self._secure_delete = path, schema, secure_delete
        self._translate_errors = partial(translate_sqlite_errors, name, code=code, disk_full_effect=disk_full_effect)
        self._place = FilePlace(path, require_in_place)
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Give the block the connection to itself; each statement is a transaction of its own."""
        with self._lock, self._translate_errors():
            yield self._get_connection()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the block a transaction, which is durably committed when it ends and rolled back when it raises.

        Raises Unavailable when the file was moved away meanwhile.
        """
        with self.connection() as db, db:
            db.execute("begin immediate")
            yield db
        if self._place.is_another():
            raise make_moved_error()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        db, self._db = self._db, None
        if db:
            db.close()

    def _get_connection(self) -> sqlite3.Connection:
        if self._place.needs_reopening():
            self._close()
        if self._db is None:
            self._place.prepare_opening()
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
    make_sqlite_file(path)
    return sqlite3.connect(path or ":memory:", timeout=busy_s, isolation_level=isolation_level, check_same_thread=False)


def make_sqlite_file(path: Path | None) -> None:
    """Make the file, and its folder, unless they are there. Raises OSError."""
    if path:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)


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
