"""The SQLite database of an index: its tables, its transactions, and the translation of its errors."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import apsw

from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, RagError, StorageFull, TooLarge, Unavailable

SQLITE_CONNECTIONS = 4
SQLITE_BUSY_TIMEOUT_MS = 5_000

# `version` identifies one state of a document and `row` one chunk of it. Neither is ever changed or reused, so what was
# derived from them stays valid for as long as they exist. `seq` counts the changes of a workflow.
TABLES_V1_SQL = """
create table store(id text not null, space text not null default '', dimensions integer not null default 0);
insert into store(id) values (lower(hex(randomblob(8))));
create table workflows(
    id integer primary key, name text not null unique, seq integer not null default 0,
    generation integer not null default 0, documents integer not null default 0, chunks integer not null default 0);
create table documents(
    version integer primary key autoincrement, workflow integer not null references workflows, seq integer not null,
    id text not null, title text not null, source text not null, content_hash text not null, extractor text not null,
    pages integer, summary text not null, user_id text, groups text not null, metadata text not null,
    chunks integer not null, unique(workflow, id));
create index documents_by_seq on documents(workflow, seq);
create table gone(
    workflow integer not null, seq integer not null, version integer not null,
    primary key(workflow, seq, version)) without rowid;
create table readers(
    workflow integer not null, reader text not null,
    version integer not null references documents on delete cascade,
    primary key(workflow, reader, version)) without rowid;
create index readers_by_version on readers(version);
create table chunks(
    row integer primary key autoincrement, workflow integer not null,
    version integer not null references documents on delete cascade,
    id text not null, document_id text not null, ordinal integer not null, content text not null, title text not null,
    source text not null, content_hash text not null, spans text not null, parent_id text, heading_path text not null,
    summary text not null, entities text not null, metadata text not null, unique(workflow, id));
create index chunks_by_version on chunks(version, ordinal);
create table vectors(row integer primary key references chunks on delete cascade, vector blob not null);
create table facts(
    workflow integer not null, field text not null, value not null, row integer not null,
    version integer not null references documents on delete cascade,
    primary key(workflow, field, value, row)) without rowid;
create index facts_by_version on facts(version);
"""

# Deleted documents that can be restored have tables of their own, so that no query can return them by mistake.
TABLES_V2_SQL = """
create table deleted(
    version integer primary key, workflow integer not null references workflows, deleted_at text not null,
    space text not null, id text not null, title text not null, source text not null, content_hash text not null,
    extractor text not null, pages integer, summary text not null, user_id text, groups text not null,
    metadata text not null, chunks integer not null, unique(workflow, id));
create table deleted_chunks(
    version integer not null references deleted on delete cascade,
    id text not null, document_id text not null, ordinal integer not null, content text not null, title text not null,
    source text not null, content_hash text not null, spans text not null, parent_id text, heading_path text not null,
    summary text not null, entities text not null, metadata text not null, vector blob,
    primary key(version, ordinal, id)) without rowid;
"""

SCHEMA_UPGRADES_SQL = (TABLES_V1_SQL, TABLES_V2_SQL)  # the statements that each schema version added
SCHEMA_VERSION = len(SCHEMA_UPGRADES_SQL)


class IndexDatabase:
    """The database in `folder`, or in memory without one. Threads borrow a connection for a transaction."""

    def __init__(self, folder: Path | None) -> None:
        self._idle: queue.LifoQueue[apsw.Connection] = queue.LifoQueue()
        self._writer = threading.Lock()
        with translate_apsw_errors():
            first_connection = _open_index_database(folder)
            self._idle.put(first_connection)
            for _ in range(SQLITE_CONNECTIONS - 1 if folder else 0):
                self._idle.put(connect_to_index_database(folder))

    @contextmanager
    def read_transaction(self) -> Iterator[apsw.Connection]:
        """Open a transaction in which all reads see the same state of the database."""
        with self._borrow_in_transaction("deferred") as db:
            yield db

    @contextmanager
    def write_transaction(self) -> Iterator[apsw.Connection]:
        """Open a transaction that is committed durably when the block ends, and rolled back when it raises.

        Raises StorageFull, and Unavailable when other processes hold the write lock too long.
        """
        with self._writer, self._borrow_in_transaction("immediate") as db:
            yield db

    def erase_deleted_bytes(self) -> None:
        """Rewrite the file so that no deleted byte remains, and truncate the journal once no other process reads it.

        `secure_delete` would be cheaper, but leaves copies of keys in pages of a rebalanced B-tree.
        """
        db = self._idle.get()
        try:
            with translate_apsw_errors(), self._writer:
                db.execute("vacuum")
                db.execute("pragma wal_checkpoint(truncate)")
        finally:
            self._idle.put(db)

    def close(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()

    @contextmanager
    def _borrow_in_transaction(self, kind: Literal["deferred", "immediate"]) -> Iterator[apsw.Connection]:
        db = self._idle.get()
        try:
            with translate_apsw_errors():
                db.execute(f"begin {kind}")
                try:
                    yield db
                    db.execute("commit")
                finally:
                    if db.in_transaction:
                        db.execute("rollback")
        finally:
            self._idle.put(db)


def get_database_file(folder: Path) -> Path:
    return folder / "index.sqlite"


def get_lexical_index_folder(folder: Path) -> Path:
    return folder / "words"


def _open_index_database(folder: Path | None) -> apsw.Connection:
    if folder:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        get_database_file(folder).touch(mode=0o600)
    db = connect_to_index_database(folder)
    if _get_schema_version(db) < SCHEMA_VERSION:
        _upgrade_index_schema(db, folder)
    if (version := _get_schema_version(db)) > SCHEMA_VERSION:
        raise Misconfigured(
            f"the index was written by a newer version (schema {version}, this one reads up to {SCHEMA_VERSION}): "
            "install that version, or name another data folder",
            code="schema_newer",
        )
    return db


def _upgrade_index_schema(db: apsw.Connection, folder: Path | None) -> None:
    """Create the missing tables, unless another process did so while this one waited for the write lock."""
    db.execute("begin immediate")
    version = _get_schema_version(db)
    if not version:
        _require_no_lost_database(folder)
    for new_version, statements in enumerate(SCHEMA_UPGRADES_SQL[version:], version + 1):
        db.execute(statements)
        db.pragma("user_version", new_version)
    db.execute("commit")


def _get_schema_version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


def connect_to_index_database(folder: Path | None) -> apsw.Connection:
    """Open a connection with the pragmas that every connection to an index database needs."""
    db = apsw.Connection(str(get_database_file(folder)) if folder else ":memory:")
    db.set_busy_timeout(SQLITE_BUSY_TIMEOUT_MS)
    db.pragma("page_size", 8192)  # five vectors of 384 to a page: a fifth smaller than with 4096
    db.pragma("cache_size", -32_000)  # KiB at most: the pages of a hundred hits are spread over the file
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "full")  # WAL with NORMAL loses acknowledged documents at a power cut
    db.pragma("foreign_keys", "on")
    return db


def _require_no_lost_database(folder: Path | None) -> None:
    if folder and get_lexical_index_folder(folder).exists():
        raise Misconfigured(
            f"{get_database_file(folder)} is empty, but the lexical index beside it is not: "
            "restore the file from a backup, or remove the data folder and index the documents again",
            code="storage_damaged",
        )


@contextmanager
def translate_apsw_errors() -> Iterator[None]:
    """Translate errors of apsw and of the file system into errors of `core.errors`."""
    try:
        yield
    except (apsw.Error, OSError, UnicodeEncodeError, OverflowError) as failure:
        raise _error_from_apsw(failure) from failure


def _error_from_apsw(failure: Exception) -> RagError:
    match failure:
        case apsw.FullError():
            return StorageFull("the disk is full: what was indexed before can still be searched")
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("another process is writing to the index", code="store_busy")
        case apsw.CorruptError() | apsw.NotADBError() | apsw.SQLError() | apsw.FormatError():
            return Misconfigured(
                "the index file is damaged or not an index: restore it from a backup, or remove the data folder and "
                "index the documents again",
                code="storage_damaged",
            )
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | OSError():
            return Misconfigured(f"the data folder cannot be used: {failure}", code="storage_unusable")
        case apsw.ConstraintError():
            return Conflict("two chunks have the same id", code="duplicate_chunk")
        case apsw.TooBigError():
            return TooLarge("a text or value is too large to be stored")
        case UnicodeEncodeError():
            return InvalidRequest("text", "must be valid Unicode: it holds half of a surrogate pair")
        case OverflowError():
            return InvalidRequest("metadata", "holds a number that is too large")
        case _:
            return Unavailable("the index could not be read or written", code="store_failed")
