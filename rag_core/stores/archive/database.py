"""The archive's database: opened and migrated when first used, with its errors translated."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, StaticPool, create_engine, event, inspect, select
from sqlalchemy.exc import DataError, StatementError
from sqlalchemy.exc import TimeoutError as NoneFree

from rag_core.core import sqlite_files
from rag_core.core.errors import InvalidRequest, RagError, StorageFull, Unavailable
from rag_core.stores.archive.tables import REVISION, VERSIONS

if TYPE_CHECKING:
    from rag_core.stores.postgres.address import Address, Credential

T = TypeVar("T")

BUSY_S = 5.0  # wait for another process to end its transaction
CONNECT_S = 5
CONNECTIONS = 4  # to PostgreSQL; fewer than threads, so that a hanging server does not block all threads
SILENT_S = 20  # until a connection to a silent server is closed
DISK_FULL = "53100"  # SQLSTATE
# A rollback journal with synchronous=EXTRA is safe on a file share and with several processes. The write-ahead log of
# SQLite 3.40, which Python 3.11 has, can lose commits (sqlite.org/wal.html#walresetbug).
SQLITE = (
    "pragma synchronous = extra",
    "pragma foreign_keys = on",
    "pragma secure_delete = on",  # a purge leaves no byte
)


class Database:
    """The archive's database: PostgreSQL when `location` is a URL, SQLite when it is a path, in memory when it is None.

    SQLite has one connection, used by one thread at a time. A server that takes an access token for a password gets one
    of `credential`, as in the PostgreSQL store. Raises Misconfigured for an unusable URL.
    """

    def __init__(
        self, location: Path | str | None, *, busy_s: float = BUSY_S, credential: "Credential | None" = None
    ) -> None:
        self._location, self._busy_s = location, busy_s
        self._address = _address(location, credential) if isinstance(location, str) else None
        self._connection_parameters: Mapping[str, Any] = {}  # of the next connection
        self._open_lock = threading.Lock()
        self._sqlite_lock = nullcontext() if isinstance(location, str) else threading.Lock()
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        return "PostgreSQL" if isinstance(self._location, str) else "SQLite"

    async def read(self, operation: Callable[[Connection], T]) -> T:
        """Run `operation` in a transaction, in a thread."""
        return await self._off_the_loop(operation, "begin")

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Run `operation` in a write transaction, in a thread; it is durable on return."""
        return await self._off_the_loop(operation, "begin immediate")

    async def close(self) -> None:
        await asyncio.to_thread(self._closed)
        if self._address:
            await self._address.close()

    async def _off_the_loop(self, operation: Callable[[Connection], T], begin: str) -> T:
        """Run `operation` in a thread, after fetching the token on the event loop that the credential belongs to."""
        if self._address:
            self._connection_parameters = await self._address.parameters()
        return await asyncio.to_thread(self._done, operation, begin)

    def _closed(self) -> None:
        with self._open_lock, self._sqlite_lock:
            engine, self._engine = self._engine, None
            if engine:
                engine.dispose()

    def _done(self, operation: Callable[[Connection], T], begin: str) -> T:
        with _told():
            engine = self._opened().execution_options(begin=begin)
            with self._sqlite_lock, engine.begin() as db:
                return operation(db)

    def _opened(self) -> Engine:
        with self._open_lock:
            if self._engine is None:
                self._engine = self._made()
            return self._engine

    def _made(self) -> Engine:
        path = self._location if not isinstance(self._location, str) else None
        engine = _postgres(lambda: self._connection_parameters) if self._address else _sqlite(path, self._busy_s)
        with ExitStack() as on_failure:
            on_failure.callback(engine.dispose)
            _upgrade(engine)
            on_failure.pop_all()
        return engine


def _address(url: str, credential: "Credential | None") -> "Address":
    from rag_core.stores.postgres.address import Address

    return Address(url, credential, setting="ARCHIVE_URL")


def _postgres(get_parameters: Callable[[], Mapping[str, Any]]) -> Engine:
    import psycopg

    options = {"connect_timeout": CONNECT_S, "tcp_user_timeout": SILENT_S * 1000}

    def connect() -> "psycopg.Connection[Any]":
        # no prepared statements: not every connection pooler supports them
        return psycopg.connect(prepare_threshold=None, **{**options, **get_parameters()})

    pool = {"pool_size": CONNECTIONS, "max_overflow": 0, "pool_timeout": CONNECT_S, "pool_pre_ping": True}
    return create_engine("postgresql+psycopg://", creator=connect, **pool)


def _sqlite(path: Path | None, busy_s: float) -> Engine:
    connect = partial(sqlite_files.connect, path, busy_s=busy_s, isolation_level=None)
    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    for pragma in SQLITE:
        connection.execute(pragma)


def _begin(db: Connection) -> None:
    """Begin a transaction; writers take the lock at once, as SQLite refuses it to a reader while another writes."""
    db.exec_driver_sql(db.get_execution_options().get("begin", "begin"))


def _upgrade(engine: Engine) -> None:
    """Migrate the tables to the newest revision; Alembic is imported only when a migration is needed."""
    with engine.begin() as db:
        revisions = db.scalars(select(VERSIONS)).all() if inspect(db).has_table(VERSIONS.name) else []
    if revisions != [REVISION]:
        from rag_core.stores.archive.migrations import migrate

        with engine.execution_options(begin="begin immediate").begin() as db:
            migrate(db)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (StatementError, NoneFree, OSError, ValueError) as failure:
        raise _meaning(failure, getattr(failure, "orig", None) or failure) from failure


def _meaning(failure: Exception, cause: Any) -> RagError:
    if isinstance(cause, RagError):
        return cause
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or getattr(cause, "sqlstate", None) == DISK_FULL:
        return StorageFull("the disk is full: the archive accepts nothing new")
    if isinstance(failure, DataError) or isinstance(cause, UnicodeEncodeError):
        return InvalidRequest("text", "must be valid Unicode without NUL, and numbers must be finite")
    if isinstance(cause, sqlite3.Error):
        return _unavailable(str(cause))
    if isinstance(cause, OSError):
        return _unavailable(cause.strerror or "cannot be opened")
    return _unavailable(f"its database does not answer as it should ({type(cause).__name__})")


def _unavailable(why: str) -> Unavailable:
    return Unavailable(f"the archive: {why}", code="archive_unavailable")
