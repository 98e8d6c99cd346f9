"""The SQLite database of an index: its tables, its transactions, and the translation of its errors."""

import json
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

import apsw

from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, RagError, StorageFull, TooLarge, Unavailable
from rag_core.stores.embedded import page_checksums, row_checksums
from rag_core.stores.embedded.change_mark import get_change_mark_file

SQLITE_CONNECTIONS = 4
SQLITE_BUSY_TIMEOUT_MS = 5_000
JOURNAL_BYTES = 64 * 1024  # the least that a journal and its shared memory take

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

# `changes` counts every write, so that an index put back to an earlier state is noticed. With this version every page
# has a checksum, and so has every row of a document.
TABLES_V3_SQL = (
    f"alter table store add column changes integer not null default 0;\n{row_checksums.ADD_ROW_CHECKSUMS_SQL}"
)

SCHEMA_UPGRADES_SQL = (TABLES_V1_SQL, TABLES_V2_SQL, TABLES_V3_SQL)  # the statements that each schema version added
SCHEMA_VERSION = len(SCHEMA_UPGRADES_SQL)
OLDEST_READABLE_VERSION = 2  # where it cannot be upgraded, because the disk is full or the folder read-only
DAMAGE_CODE = "storage_damaged"
DAMAGE_MESSAGE = (
    "the index file is damaged: rag check says which documents it concerns, rag check --repair keeps the others; "
    "rag restore-backup puts a backup in its place"
)
IO_ERRORS_OF_DAMAGE = (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ)

IO_ERRORS_OF_FULL_DISK = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_WRITE)


class IndexDatabase:
    """The database in `folder`, or in memory without one. Threads borrow a connection for a transaction.

    `read_only` is true where the folder or the file may not be written to; every write is refused then. So it is with
    `lacks_room`, on a disk without room for the journal: the database must be opened again once there may be some.
    """

    def __init__(self, folder: Path | None) -> None:
        self._idle: queue.LifoQueue[apsw.Connection | None] = queue.LifoQueue()  # None: it is closed
        self._writer = threading.Lock()  # always taken before a connection
        with translate_apsw_errors():
            self.read_only = folder is not None and is_read_only(folder)
            self.lacks_room = False
            try:
                first_connection = _open_index_database(folder, read_only=self.read_only)
            except (apsw.FullError, apsw.IOError) as failure:
                if folder is None or not _is_lack_of_room(failure):
                    raise
                self.read_only = self.lacks_room = True
                first_connection = _open_index_database(folder, read_only=True)
            self._idle.put(first_connection)
            self._open_count = SQLITE_CONNECTIONS if folder else 1
            for _ in range(self._open_count - 1):
                self._idle.put(connect_to_index_database(folder, read_only=self.read_only))

    @contextmanager
    def read_transaction(self) -> Iterator[apsw.Connection]:
        """Open a transaction in which all reads see the same state of the database."""
        with self._borrow_in_transaction("deferred") as db:
            yield db

    @contextmanager
    def write_transaction(self) -> Iterator[apsw.Connection]:
        """Open a transaction that is committed durably when the block ends, and rolled back when it raises.

        Raises StorageFull, Misconfigured in a read-only folder, and Unavailable when other processes hold the write
        lock too long.
        """
        if self.lacks_room:
            raise _make_full_error()
        if self.read_only:
            raise Misconfigured(
                "the data folder is read-only: what it holds can be searched, nothing can be changed",
                code="storage_read_only",
            )
        with self._writer, self._borrow_in_transaction("immediate") as db:
            yield db

    def erase_deleted_bytes(self) -> None:
        """Rewrite the file so that no deleted byte remains, and truncate the journal once no other process reads it.

        `secure_delete` would be cheaper, but leaves copies of keys in pages of a rebalanced B-tree.
        """
        with self._writer, self._borrow_connection() as db, translate_apsw_errors():
            db.execute("vacuum")
            db.execute("pragma wal_checkpoint(truncate)")

    def empty_journal(self) -> None:
        """Move the journal into the database, where that needs no room: the next write then starts it anew."""
        with self._writer, self._borrow_connection() as db, suppress(apsw.Error):
            db.execute("pragma wal_checkpoint(restart)")

    def close(self) -> None:
        """Close each connection once nobody uses it; who asks for one afterwards is refused and does not wait."""
        with self._writer:
            while self._open_count and (db := self._idle.get()):
                db.close()
                self._open_count -= 1
            self._idle.put(None)

    @contextmanager
    def _borrow_in_transaction(self, kind: Literal["deferred", "immediate"]) -> Iterator[apsw.Connection]:
        with self._borrow_connection() as db, translate_apsw_errors():
            db.execute(f"begin {kind}")
            try:
                yield db
                db.execute("commit")
            finally:
                if db.in_transaction:
                    db.execute("rollback")

    @contextmanager
    def _borrow_connection(self) -> Iterator[apsw.Connection]:
        """Lend a connection that nobody else uses. Raises Unavailable once the database is closed."""
        db = self._idle.get()
        try:
            if db is None:
                raise Unavailable("the index is being closed: ask again", code="store_busy")
            yield db
        finally:
            self._idle.put(db)


def get_database_file(folder: Path) -> Path:
    return folder / "index.sqlite"


def get_lexical_index_folder(folder: Path) -> Path:
    return folder / "words"


def is_read_only(folder: Path) -> bool:
    """Return whether an index lies in the folder that this process can read and not write."""
    file = get_database_file(folder)
    return file.is_file() and not (os.access(folder, os.W_OK | os.X_OK) and os.access(file, os.W_OK))


def _open_index_database(folder: Path | None, *, read_only: bool) -> apsw.Connection:
    if folder and not read_only:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        get_database_file(folder).touch(mode=0o600)
    db = connect_to_index_database(folder, read_only=read_only)
    with ExitStack() as on_failure:
        on_failure.callback(db.close)  # its transaction would keep every other connection waiting
        if not read_only and _get_schema_version(db) < SCHEMA_VERSION:
            _upgrade_index_schema(db, folder)
        _check_schema_version(db)
        on_failure.pop_all()
    return db


def _check_schema_version(db: apsw.Connection) -> None:
    version = _get_schema_version(db)
    if version > SCHEMA_VERSION:
        if not db.table_exists("main", "store"):
            raise apsw.NotADBError("the file is a database of something else")
        raise Misconfigured(
            f"the index was written by a newer version (schema {version}, this one reads up to {SCHEMA_VERSION}): "
            "install that version, or name another data folder",
            code="schema_newer",
        )
    if version < OLDEST_READABLE_VERSION:
        raise Misconfigured(
            "the index was written by an older version and cannot be upgraded in a read-only folder",
            code="storage_read_only",
        )
    if version == SCHEMA_VERSION and db.filename and not page_checksums.has_page_checksums(db):
        raise apsw.CorruptError("the database has lost the mark of its checksums")


def _upgrade_index_schema(db: apsw.Connection, folder: Path | None) -> None:
    """Create the missing tables and checksums, unless another process did so while this one waited for the write lock.

    An index that is readable as it is stays so when there is no room for the upgrade.
    """
    is_new = not _get_schema_version(db)
    try:
        if not is_new and folder:
            page_checksums.reserve_page_checksums(db)
            db.execute("vacuum")
        db.execute("begin immediate")
        version = _get_schema_version(db)
        if not version:
            _require_no_lost_database(folder)
        for new_version, statements in enumerate(SCHEMA_UPGRADES_SQL[version:], version + 1):
            db.execute(statements)
            db.pragma("user_version", new_version)
        db.execute("commit")
    except apsw.FullError:
        if db.in_transaction:
            db.execute("rollback")
        if _get_schema_version(db) < OLDEST_READABLE_VERSION:
            raise


def _get_schema_version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


def connect_to_index_database(folder: Path | None, *, read_only: bool = False) -> apsw.Connection:
    """Open a connection with the pragmas that every connection to an index database needs."""
    page_checksums.load_page_checksums()
    if folder and read_only:
        return _connect_read_only(get_database_file(folder))
    db = apsw.Connection(str(get_database_file(folder)) if folder else ":memory:")
    db.set_busy_timeout(SQLITE_BUSY_TIMEOUT_MS)
    row_checksums.register_row_checksum(db)
    if folder and not _holds_bytes(get_database_file(folder)):
        page_checksums.reserve_page_checksums(db)
    db.pragma("page_size", page_checksums.PAGE_BYTES)
    db.pragma("cache_size", -32_000)  # KiB at most: the pages of a hundred hits are spread over the file
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "full")  # WAL with NORMAL loses acknowledged documents at a power cut
    db.pragma("foreign_keys", "on")
    return db


def _connect_read_only(file: Path) -> apsw.Connection:
    """Open the database of a read-only folder.

    A journal that a writer left beside it is read as well. Without one the file is taken as unchangeable, because
    SQLite could not make the shared memory that a journal needs.
    """
    parameter = "mode=ro" if _holds_bytes(Path(f"{file}-wal")) else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"{file.absolute().as_uri()}?{parameter}", flags=flags)
    db.set_busy_timeout(SQLITE_BUSY_TIMEOUT_MS)
    row_checksums.register_row_checksum(db)
    db.pragma("cache_size", -32_000)
    return db


def _holds_bytes(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _require_no_lost_database(folder: Path | None) -> None:
    if folder and (get_lexical_index_folder(folder).exists() or get_change_mark_file(folder).exists()):
        raise Misconfigured(
            f"{get_database_file(folder).name} is empty, but what belongs to it is not: put a backup in its place by "
            "rag restore-backup, or remove the data folder and index the documents again",
            code=DAMAGE_CODE,
        )


@contextmanager
def translate_apsw_errors() -> Iterator[None]:
    """Translate errors of apsw and of the file system into errors of `core.errors`."""
    try:
        yield
    except (apsw.Error, OSError, UnicodeError, OverflowError, json.JSONDecodeError) as failure:
        raise _error_from_apsw(failure) from failure


def _describe_os_error(failure: OSError) -> str:
    """Return the error with the name of its file but not its folder: replies must not show where the data is."""
    return f"{Path(failure.filename).name}: {failure.strerror}" if failure.filename else str(failure.strerror)


def _error_from_apsw(failure: Exception) -> RagError:
    match failure:
        case apsw.FullError() | apsw.IOError() if _is_lack_of_room(failure):
            return _make_full_error()
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("another process is writing to the index", code="store_busy")
        case _ if is_damage(failure):
            return Misconfigured(DAMAGE_MESSAGE, code=DAMAGE_CODE)
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | OSError():
            reason = _describe_os_error(failure) if isinstance(failure, OSError) else failure
            return Misconfigured(f"the data folder cannot be used: {reason}", code="storage_unusable")
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


def has_room(folder: Path) -> bool:
    """Return whether a journal fits on the disk, or lies there already."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize > JOURNAL_BYTES or _holds_bytes(Path(f"{get_database_file(folder)}-wal"))


def _make_full_error() -> StorageFull:
    return StorageFull("the disk is full: what was indexed before can still be searched")


def _is_lack_of_room(failure: BaseException) -> bool:
    return isinstance(failure, apsw.FullError) or _get_extended_code(failure) in IO_ERRORS_OF_FULL_DISK


def is_damage(failure: BaseException) -> bool:
    """Return whether a failure shows that the database holds something else than what was written to it."""
    if isinstance(failure, apsw.IOError):
        return _get_extended_code(failure) in IO_ERRORS_OF_DAMAGE
    kinds = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.FormatError, UnicodeDecodeError)
    return isinstance(failure, (*kinds, json.JSONDecodeError))


def _get_extended_code(failure: BaseException) -> int:
    """Return SQLite's code for what exactly failed, which apsw sets without declaring it."""
    return int(getattr(failure, "extendedresult", 0))
