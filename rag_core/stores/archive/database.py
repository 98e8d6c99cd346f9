"""One database, opened and brought up to date when first used; what its errors mean to a caller."""

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

BUSY_S = 5.0  # for another process to end its transaction
CONNECT_S = 5
CONNECTIONS = 4  # to PostgreSQL; fewer than threads, so that a server that hangs does not take them all
SILENT_S = 20  # of a server, before its connection is given up
DISK_FULL = "53100"  # SQLSTATE
# The journal is a rollback journal with synchronous=EXTRA: safe on a file share, with several processes, and in the
# SQLite 3.40 of Python 3.11, whose write-ahead log can lose commits (sqlite.org/wal.html#walresetbug).
SQLITE = (
    "pragma synchronous = extra",
    "pragma foreign_keys = on",
    "pragma secure_delete = on",  # a purge leaves no byte
)


class Database:
    """PostgreSQL at a URL, SQLite in the file `where`, or in memory when there is none.

    SQLite has one connection, which one thread at a time uses. A server that wants a token for a password is given one
    as the store's is; `credential` is whose. Raises Misconfigured for a URL that cannot be used.
    """

    def __init__(
        self, where: Path | str | None, *, busy_s: float = BUSY_S, credential: "Credential | None" = None
    ) -> None:
        self._where, self._busy_s = where, busy_s
        self._address = _address(where, credential) if isinstance(where, str) else None
        self._who: Mapping[str, Any] = {}  # of the next connection
        self._opening = threading.Lock()
        self._turn = nullcontext() if isinstance(where, str) else threading.Lock()
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        return "PostgreSQL" if isinstance(self._where, str) else "SQLite"

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._off_the_loop(work, "begin")

    async def write(self, work: Callable[[Connection], T]) -> T:
        """All or nothing, and durable on return."""
        return await self._off_the_loop(work, "begin immediate")

    async def close(self) -> None:
        await asyncio.to_thread(self._closed)
        if self._address:
            await self._address.close()

    async def _off_the_loop(self, work: Callable[[Connection], T], begin: str) -> T:
        """The token is had before, on the loop to which the credential belongs, which remembers it."""
        if self._address:
            self._who = await self._address.parameters()
        return await asyncio.to_thread(self._done, work, begin)

    def _closed(self) -> None:
        with self._opening, self._turn:
            engine, self._engine = self._engine, None
            if engine:
                engine.dispose()

    def _done(self, work: Callable[[Connection], T], begin: str) -> T:
        with _told():
            engine = self._opened().execution_options(begin=begin)
            with self._turn, engine.begin() as db:
                return work(db)

    def _opened(self) -> Engine:
        with self._opening:
            if self._engine is None:
                self._engine = self._made()
            return self._engine

    def _made(self) -> Engine:
        local = self._where if not isinstance(self._where, str) else None
        engine = _postgres(lambda: self._who) if self._address else _sqlite(local, self._busy_s)
        with ExitStack() as unless_ready:
            unless_ready.callback(engine.dispose)
            _upgrade(engine)
            unless_ready.pop_all()
        return engine


def _address(url: str, credential: "Credential | None") -> "Address":
    from rag_core.stores.postgres.address import Address

    return Address(url, credential, setting="ARCHIVE_URL")


def _postgres(who: Callable[[], Mapping[str, Any]]) -> Engine:
    import psycopg

    how = {"connect_timeout": CONNECT_S, "tcp_user_timeout": SILENT_S * 1000}

    def connect() -> "psycopg.Connection[Any]":
        # nothing prepared: the poolers that may stand between do not all keep it for us
        return psycopg.connect(prepare_threshold=None, **{**how, **who()})

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
    """Who is going to write says so at once: a reader that becomes a writer is refused when another writes."""
    db.exec_driver_sql(db.get_execution_options().get("begin", "begin"))


def _upgrade(engine: Engine) -> None:
    """Alembic is loaded only where there is something for it to do."""
    with engine.begin() as db:
        held = db.scalars(select(VERSIONS)).all() if inspect(db).has_table(VERSIONS.name) else []
    if held != [REVISION]:
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
        return StorageFull("the disk is full: the archive keeps nothing new")
    if isinstance(failure, DataError) or isinstance(cause, UnicodeEncodeError):
        return InvalidRequest("text", "must be valid Unicode without NUL, and numbers must be finite")
    if isinstance(cause, sqlite3.Error):
        return _unavailable(str(cause))
    if isinstance(cause, OSError):
        return _unavailable(cause.strerror or "cannot be opened")
    return _unavailable(f"its database does not answer as it should ({type(cause).__name__})")


def _unavailable(why: str) -> Unavailable:
    return Unavailable(f"the archive: {why}", code="archive_unavailable")
