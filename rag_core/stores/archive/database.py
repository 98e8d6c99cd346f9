"""The archive's database: opened and migrated when first used, with its errors translated."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, StaticPool, create_engine, event, inspect, select
from sqlalchemy.exc import DataError, StatementError
from sqlalchemy.exc import TimeoutError as NoneFree

from rag_core.core import sqlite_files
from rag_core.core.errors import InvalidRequest, RagError, StorageFull, Unavailable
from rag_core.core.run import warn_current_run
from rag_core.stores.archive.row_checksums import ARCHIVE_DAMAGED
from rag_core.stores.archive.shipped_rows import list_outdated_rows, write_shipped_rows
from rag_core.stores.archive.tables import ALEMBIC_VERSION, NEWEST_REVISION

if TYPE_CHECKING:
    from rag_core.stores.postgres.address import PostgresAddress, TokenCredential

T = TypeVar("T")

ARCHIVE_BUSY_TIMEOUT_S = 5.0  # wait for another process to end its transaction
ARCHIVE_CONNECT_TIMEOUT_S = 5
ARCHIVE_CONNECTIONS = 4  # to PostgreSQL; fewer than threads, so that a hanging server does not block all threads
TCP_USER_TIMEOUT_S = 20  # until a connection to a silent server is closed
WRITE = "begin immediate"
EARLIER_ARCHIVE_MESSAGE = (
    "the archive was put back to an earlier state: what was saved since is missing; rag check --repair accepts it"
)
MAX_BYTES_CHECKED_AT_OPEN = 16 * 1024**2  # a tenth of a second
DISK_FULL_SQLSTATE = "53100"  # SQLSTATE
# A rollback journal with synchronous=EXTRA is safe on a file share and with several processes. The write-ahead log of
# SQLite 3.40, which Python 3.11 has, can lose commits (sqlite.org/wal.html#walresetbug).
SQLITE_PRAGMAS = (
    "pragma synchronous = extra",
    "pragma foreign_keys = on",
    "pragma secure_delete = on",  # a purge leaves no byte
)


class ArchiveDatabase:
    """The archive's database: PostgreSQL when `location` is a URL, SQLite when it is a path, in memory when it is None.

    SQLite has one connection, used by one thread at a time. A server that takes an access token for a password gets one
    of `credential`, as in the PostgreSQL store. Raises Misconfigured for an unusable URL.
    """

    def __init__(
        self,
        location: Path | str | None,
        *,
        busy_s: float = ARCHIVE_BUSY_TIMEOUT_S,
        credential: "TokenCredential | None" = None,
        require_in_place: Callable[[], None] = sqlite_files.allow_any_place,
    ) -> None:
        self._location, self._busy_s = location, busy_s
        self._address = _parse_archive_url(location, credential) if isinstance(location, str) else None
        self._connection_parameters: Mapping[str, Any] = {}  # of the next connection
        self._open_lock = threading.Lock()
        self._sqlite_lock = nullcontext() if isinstance(location, str) else threading.Lock()
        self._engine: Engine | None = None
        self._path = None if isinstance(location, str) else location
        self._place = sqlite_files.FilePlace(self._path, require_in_place)
        self._is_earlier = False

    @property
    def name(self) -> str:
        return "PostgreSQL" if isinstance(self._location, str) else "SQLite"

    async def read(self, operation: Callable[[Connection], T]) -> T:
        """Run `operation` in a transaction, in a thread."""
        return await self._run_in_thread(operation, "begin")

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Run `operation` in a write transaction, in a thread; it is durable on return."""
        return await self._run_in_thread(operation, WRITE)

    async def close(self) -> None:
        await asyncio.to_thread(self._dispose_engine)
        if self._address:
            await self._address.close()

    async def _run_in_thread(self, operation: Callable[[Connection], T], begin: str) -> T:
        """Run `operation` in a thread, after fetching the token on the event loop that the credential belongs to."""
        if self._address:
            self._connection_parameters = await self._address.get_connection_parameters()
        return await asyncio.to_thread(self._run_transaction, operation, begin)

    def _dispose_engine(self) -> None:
        with self._open_lock:
            self._dispose_engine_when_idle()

    def _dispose_engine_when_idle(self) -> None:
        with self._sqlite_lock:
            engine, self._engine = self._engine, None
            if engine:
                engine.dispose()

    def _run_transaction(self, operation: Callable[[Connection], T], begin: str) -> T:
        with _translate_archive_errors():
            engine = self._get_engine().execution_options(begin=begin)
            with self._sqlite_lock:
                with engine.begin() as db:
                    result = operation(db)
                    count = _count_sqlite_change(db) if self._path and begin == WRITE else None
                if self._path and count is not None:
                    if self._place.is_another():
                        raise sqlite_files.make_moved_error()
                    write_archive_mark(self._path, count, is_earlier=self._is_earlier)
        if self._is_earlier:
            warn_current_run("archive_earlier", EARLIER_ARCHIVE_MESSAGE)
        return result

    def _get_engine(self) -> Engine:
        with self._open_lock:
            if self._place.needs_reopening():
                self._dispose_engine_when_idle()
            if self._engine is None:
                self._engine = self._create_engine()
            return self._engine

    def _create_engine(self) -> Engine:
        path = self._location if not isinstance(self._location, str) else None
        _require_no_lost_archive(path)
        engine = (
            _create_postgres_engine(lambda: self._connection_parameters)
            if self._address
            else _create_sqlite_engine(path, self._busy_s)
        )
        with ExitStack() as on_failure:
            on_failure.callback(engine.dispose)
            if path:
                self._place.prepare_opening()
                _check_sqlite_archive(engine, path)
            _upgrade_archive_schema(engine)
            _update_shipped_rows(engine)
            on_failure.pop_all()
        if path:
            self._is_earlier = is_earlier_archive(path)
            if not get_archive_mark(path).exists():
                write_archive_mark(path, 0)
        return engine


def get_archive_mark(path: Path) -> Path:
    """Return the file that says that an archive was once made here."""
    return path.with_suffix(".made")


def write_archive_mark(path: Path, changes: int, *, is_earlier: bool = False) -> None:
    """Write how many changes the archive has had, so that one put back to an earlier state is noticed."""
    sqlite_files.write_mark_file(get_archive_mark(path), f"{changes}{' earlier' if is_earlier else ''}")


def count_archive_changes(path: Path) -> int:
    with closing(sqlite_files.connect_to_existing_file(path)) as db:
        return int(db.execute("pragma user_version").fetchone()[0])


def is_earlier_archive(path: Path) -> bool:
    """Return whether more was once written here than the archive holds. Raises sqlite3.Error for a damaged file."""
    try:
        changes, _, earlier = get_archive_mark(path).read_text().partition(" ")
        return bool(earlier) or count_archive_changes(path) < int(changes)
    except (OSError, ValueError):
        return False


def _count_sqlite_change(db: Connection) -> int:
    count: int = db.exec_driver_sql("pragma user_version").scalar_one() + 1
    db.exec_driver_sql(f"pragma user_version = {count:d}")
    return count


def _require_no_lost_archive(path: Path | None) -> None:
    if path and get_archive_mark(path).exists() and not (path.is_file() and path.stat().st_size):
        raise _make_archive_damaged_error(f"{path.name} is missing or empty", path)


def _check_sqlite_archive(engine: Engine, path: Path) -> None:
    """Refuse a file of other tables and, up to a size that is read in an instant, one whose trees are damaged.

    `rag check` looks at those of any size. An altered value is found by the checksum of its row.
    """
    with engine.connect() as db:
        tables = inspect(db).get_table_names()
        if tables and ALEMBIC_VERSION.name not in tables:
            raise _make_archive_damaged_error(f"{path.name} holds no archive", path)
        if path.stat().st_size <= MAX_BYTES_CHECKED_AT_OPEN:
            said = db.exec_driver_sql("pragma integrity_check(1)").scalar_one()
            if said != "ok":
                raise _make_archive_damaged_error(f"{path.name} is damaged", path)


def _make_archive_damaged_error(what: str, path: Path) -> Unavailable:
    mark = get_archive_mark(path).name
    return Unavailable(
        f"{what}: put a backup back by rag restore-backup, or remove it and {mark} to begin anew", code=ARCHIVE_DAMAGED
    )


def _parse_archive_url(url: str, credential: "TokenCredential | None") -> "PostgresAddress":
    from rag_core.stores.postgres.address import PostgresAddress

    return PostgresAddress(url, credential, setting="ARCHIVE_URL")


def _create_postgres_engine(get_parameters: Callable[[], Mapping[str, Any]]) -> Engine:
    import psycopg

    options = {"connect_timeout": ARCHIVE_CONNECT_TIMEOUT_S, "tcp_user_timeout": TCP_USER_TIMEOUT_S * 1000}

    def connect() -> "psycopg.Connection[Any]":
        # no prepared statements: not every connection pooler supports them
        return psycopg.connect(prepare_threshold=None, **{**options, **get_parameters()})

    pool = {
        "pool_size": ARCHIVE_CONNECTIONS,
        "max_overflow": 0,
        "pool_timeout": ARCHIVE_CONNECT_TIMEOUT_S,
        "pool_pre_ping": True,
    }
    return create_engine("postgresql+psycopg://", creator=connect, **pool)


def _create_sqlite_engine(path: Path | None, busy_s: float) -> Engine:
    connect = partial(sqlite_files.connect_sqlite, path, busy_s=busy_s, isolation_level=None)
    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    event.listen(engine, "connect", _set_sqlite_pragmas)
    event.listen(engine, "begin", _begin_transaction)
    return engine


def _set_sqlite_pragmas(connection: sqlite3.Connection, _: object) -> None:
    for pragma in SQLITE_PRAGMAS:
        connection.execute(pragma)


def _begin_transaction(db: Connection) -> None:
    """Begin a transaction; writers take the lock at once, as SQLite refuses it to a reader while another writes."""
    db.exec_driver_sql(db.get_execution_options().get("begin", "begin"))


def _upgrade_archive_schema(engine: Engine) -> None:
    """Migrate the tables to the newest revision; Alembic is imported only when a migration is needed."""
    with engine.begin() as db:
        revisions = db.scalars(select(ALEMBIC_VERSION)).all() if inspect(db).has_table(ALEMBIC_VERSION.name) else []
    if revisions != [NEWEST_REVISION]:
        from rag_core.stores.archive.migrations import migrate

        with engine.execution_options(begin=WRITE).begin() as db:
            migrate(db)


def _update_shipped_rows(engine: Engine) -> None:
    """Write what this version ships and the tables lack; a database that lacks nothing is only read."""
    with engine.begin() as db:
        is_outdated = any(list_outdated_rows(db))
    if is_outdated:
        with engine.execution_options(begin=WRITE).begin() as db:
            write_shipped_rows(db)


@contextmanager
def _translate_archive_errors() -> Iterator[None]:
    try:
        yield
    except (StatementError, NoneFree, OSError, ValueError) as failure:
        raise _error_from_sqlalchemy(failure, getattr(failure, "orig", None) or failure) from failure


def _error_from_sqlalchemy(failure: Exception, cause: Any) -> RagError:
    if isinstance(cause, RagError):
        return cause
    if (
        getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        or getattr(cause, "sqlstate", None) == DISK_FULL_SQLSTATE
    ):
        return StorageFull("the disk is full: the archive accepts nothing new")
    if isinstance(failure, DataError) or isinstance(cause, UnicodeEncodeError):
        return InvalidRequest("text", "must be valid Unicode without NUL, and numbers must be finite")
    if isinstance(cause, sqlite3.Error):
        return _make_archive_unavailable_error(str(cause))
    if isinstance(cause, OSError):
        return _make_archive_unavailable_error(cause.strerror or "cannot be opened")
    return _make_archive_unavailable_error(f"its database does not answer as it should ({type(cause).__name__})")


def _make_archive_unavailable_error(why: str) -> Unavailable:
    return Unavailable(f"the archive: {why}", code="archive_unavailable")
