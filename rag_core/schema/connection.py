"""Connections to databases that others own: read-only, limited in time, and what went wrong with them in words.

No address is ever repeated: it may have a password in it.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from rag_core.core.errors import InvalidRequest, Misconfigured, NotFound

STATEMENT_TIMEOUT_S = 10.0
SQLITE_LOCK_TIMEOUT_S = 5.0  # that a writer may hold its lock
SQLITE_STEPS = 10_000  # virtual machine instructions between two looks at the clock
SQLITE_PREFIX = "sqlite:///"
KNOWN_ADDRESSES = (
    "must be an address such as sqlite:///shop.sqlite, postgresql://host/shop, mysql://host/shop or mariadb://host/shop"
)


@dataclass(frozen=True, slots=True)
class Server:
    """How a kind of server is reached, and told to refuse writes and to end what takes too long."""

    driver: str  # as SQLAlchemy names it
    options: Mapping[str, Any] = field(default_factory=lambda: {"connect_timeout": 10})
    session: tuple[str, ...] = ()  # statements at the beginning of each connection


_STATEMENT_MS = int(STATEMENT_TIMEOUT_S * 1000)
_POSTGRES_LIMITS = f"-c default_transaction_read_only=on -c statement_timeout={_STATEMENT_MS}"
_POSTGRES = Server("postgresql+psycopg", {"options": _POSTGRES_LIMITS, "connect_timeout": 10})
_MYSQL_LIMITS = (
    "SET SESSION TRANSACTION READ ONLY",
    # each of the two servers takes the comment of the other for a comment
    f"SET @limits = 1 /*!50704 , SESSION max_execution_time = {_STATEMENT_MS} */"
    f" /*M! , SESSION max_statement_time = {STATEMENT_TIMEOUT_S} */",
)
SERVERS = {  # by the beginning of the address
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "mysql": Server("mysql+pymysql", session=_MYSQL_LIMITS),
    "mariadb": Server("mariadb+pymysql", session=_MYSQL_LIMITS),
}


# what drivers say of a connection that failed, which has no code of its own, and what is said of it here
FAILED_CONNECTIONS = {
    "connection refused": "nothing listens at that host and port",
    "can't connect": "nothing listens at that host and port",
    "resolve": "there is no such host",
    "name or service not known": "there is no such host",
    "no password supplied": "it wants a password",
    "password authentication failed": "it refuses the user or the password",
    "access denied": "it refuses the user or the password",
    'role "': "it has no such user",
    "unknown database": "the server has no database of that name",
    "does not exist": "the server has no database of that name",
    "timeout expired": "the server did not answer in 10 s",
    "timed out": "the server did not answer in 10 s",
}
FAILED_FILES = {
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_BUSY: "another program has locked the file: try again when it has finished",
    sqlite3.SQLITE_CANTOPEN: "the file, or one beside it, may not be opened",
    sqlite3.SQLITE_INTERRUPT: "it took too long",
}


def name_database(url: str) -> str:
    """Return the name of a database: of the file, or of the database on its server.

    Raises:
        InvalidRequest: the address names none. What stands last in it may then be its password.
    """
    if url.startswith(SQLITE_PREFIX):
        return Path(url.removeprefix(SQLITE_PREFIX)).stem
    if name := _parse_address(url).database:
        return name
    raise InvalidRequest("database", "must name a database after the host, as postgresql://host/shop does")


def describe_error(error: SQLAlchemyError) -> str:
    """Return what is wrong, without the statement, the address and the values that drivers add to their texts."""
    original = getattr(error, "orig", None) or error
    if isinstance(original, sqlite3.DatabaseError):
        return FAILED_FILES.get(original.sqlite_errorcode & 0xFF, type(original).__name__)
    if getattr(original, "sqlstate", None) is None:  # PostgreSQL's other errors are named for what is wrong
        said = str(original).casefold()
        return next((ours for theirs, ours in FAILED_CONNECTIONS.items() if theirs in said), type(original).__name__)
    return type(original).__name__


def _parse_address(url: str) -> sa.URL:
    try:
        return sa.make_url(url)
    except (ArgumentError, ValueError):  # which repeats the address, or a part of it
        raise InvalidRequest("database", KNOWN_ADDRESSES) from None


@contextmanager
def connect_read_only(url: str, is_over: Callable[[], bool] = lambda: False) -> Iterator[sa.Connection]:
    """Yield a connection on which the database itself refuses writes and ends what runs for too long.

    SQLite has no such limit of its own: it asks `is_over`.
    """
    engine = _create_engine(url, is_over)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _create_engine(url: str, is_over: Callable[[], bool]) -> sa.Engine:
    if url.startswith(SQLITE_PREFIX):
        path = Path(url.removeprefix(SQLITE_PREFIX))
        if not path.is_file():
            hint = "; an absolute path begins after sqlite:////" if Path(f"/{path}").is_file() else ""
            raise NotFound(f"{path}: no such database file{hint}", field="database")
        if not path.stat().st_size:
            raise InvalidRequest("database", f"must be a database: {path} is an empty file")
        return sa.create_engine("sqlite://", creator=lambda: _open_sqlite(path, is_over), poolclass=sa.StaticPool)
    kind, _, rest = url.partition("://")
    kind = kind.partition("+")[0]  # a driver of another program is not needed
    if not rest or kind not in SERVERS:
        raise InvalidRequest("database", KNOWN_ADDRESSES)
    return _create_server_engine(SERVERS[kind], _parse_address(url))


def _create_server_engine(server: Server, address: sa.URL) -> sa.Engine:
    options = dict(server.options)
    if (asked := address.query.get("options")) and "options" in options:
        options["options"] = f"{asked} {options['options']}"  # the last of two counts
    try:
        engine = sa.create_engine(
            address.set(drivername=server.driver),
            connect_args=options,
            isolation_level="AUTOCOMMIT",  # a refused statement spoils none after it
        )
    except ModuleNotFoundError as error:
        raise Misconfigured(f"{error.name} is not installed, which reads such a database", field="database") from error
    except (NoSuchModuleError, ValueError):
        raise Misconfigured("the address of the database cannot be used", field="database") from None
    sa.event.listen(engine, "connect", partial(_begin_session, server.session))
    return engine


def _begin_session(statements: Sequence[str], connection: DBAPIConnection, _: object) -> None:
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()


def _open_sqlite(path: Path, is_over: Callable[[], bool]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", SQLITE_LOCK_TIMEOUT_S, uri=True, check_same_thread=False
    )
    connection.execute("pragma query_only = on")
    connection.set_progress_handler(is_over, SQLITE_STEPS)
    return connection
