"""Connections to PostgreSQL, transactions with one retry, and the translation of its errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from psycopg import AsyncConnection, DataError, Error, InterfaceError, IsolationLevel, OperationalError, errors
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumper

from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, RagError, StorageFull, TooLarge, Unavailable
from rag_core.core.model import Scope
from rag_core.stores.postgres.address import PostgresAddress

POSTGRES_CONNECT_TIMEOUT_S = 5
POSTGRES_CONNECTIONS = 4
WORKFLOW_SETTING = "rag.workflow_id"  # names the workflow that a transaction reaches; unset or empty: none

PostgresConnection: TypeAlias = AsyncConnection[tuple[Any, ...]]
T = TypeVar("T")

# messages of a refused login, which is not retried; libpq reports no SQLSTATE for a failed connection
REFUSED_LOGIN_MESSAGES = ("password authentication failed", "no pg_hba.conf entry", "does not exist")
TRANSIENT_SQLSTATES = (
    "08",
    "40",
    "57P",
)  # SQLSTATEs of lost connections, conflicting transactions, and a server shutdown


class _NulSafeTextDumper(StrDumper):
    """A dumper that sends a text with NUL as NULL: it cannot be stored, and NULL equals nothing."""

    def dump(self, obj: str) -> Any:
        return None if "\x00" in obj else super().dump(obj)


class PostgresConnections:
    """A few connections to one database, opened when first needed, in the event loop that uses them.

    `psycopg_pool` is not used: its background tasks keep a loop from ending when the pool was not closed, and on a
    refused login it waits for its timeout instead of reporting the server's reason.
    """

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._free_connections = asyncio.Semaphore(POSTGRES_CONNECTIONS)
        self._idle: list[PostgresConnection] = []

    async def read(self, operation: Callable[[PostgresConnection], Awaitable[T]], scope: Scope | None = None) -> T:
        """Run `operation` in a read-only transaction, in which all reads see the same state.

        Without a scope it reaches no workflow.
        """
        return await self._run_with_retry(operation, IsolationLevel.REPEATABLE_READ, scope, read_only=True)

    async def write(
        self, document: UUID, operation: Callable[[PostgresConnection], Awaitable[T]], scope: Scope | None = None
    ) -> T:
        """Run `operation` in a transaction, durable on return; other writers of the same document wait.

        Without a scope it reaches no workflow.
        An attempt whose connection was lost may still have been committed. The second attempt waits for the first one's
        lock, so that its outcome is known, and does not repeat a committed operation.
        """
        finished_attempts: list[tuple[str, T]] = []

        async def attempt(db: PostgresConnection) -> T:
            await db.execute("select pg_advisory_xact_lock(%s)", (compute_advisory_lock_id(document),))
            if finished_attempts and await _is_committed(db, finished_attempts[0][0]):
                return finished_attempts[0][1]
            result = await operation(db)
            finished_attempts[:] = [(await _get_transaction_id(db), result)]
            return result

        return await self._run_with_retry(attempt, IsolationLevel.READ_COMMITTED, scope)

    async def close(self) -> None:
        await self._close_idle()
        await self._address.close()

    async def _close_idle(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _run_with_retry(
        self,
        operation: Callable[[PostgresConnection], Awaitable[T]],
        isolation: IsolationLevel,
        scope: Scope | None,
        *,
        read_only: bool = False,
    ) -> T:
        try:
            try:
                return await self._run_transaction(operation, isolation, scope, read_only)
            except (OperationalError, InterfaceError) as failure:
                if not _is_transient_error(failure):
                    raise
                await self._close_idle()  # when one is broken, all are: the server was restarted
            return await self._run_transaction(operation, isolation, scope, read_only)
        except (Error, UnicodeEncodeError, OSError) as failure:
            raise _error_from_psycopg(failure) from failure

    async def _run_transaction(
        self,
        operation: Callable[[PostgresConnection], Awaitable[T]],
        isolation: IsolationLevel,
        scope: Scope | None,
        read_only: bool,
    ) -> T:
        async with self._borrow() as db:
            await db.set_isolation_level(isolation)
            await db.set_read_only(read_only)
            async with db.transaction():
                named = scope.workflow_id if scope else ""
                await db.execute("select set_config(%s, %s, true)", (WORKFLOW_SETTING, named))
                return await operation(db)

    @asynccontextmanager
    async def _borrow(self) -> AsyncIterator[PostgresConnection]:
        async with self._free_connections:
            db = self._idle.pop() if self._idle else await self._connect()
            try:
                yield db
            finally:
                if db.info.transaction_status == TransactionStatus.IDLE:
                    self._idle.append(db)
                else:
                    await db.close()

    async def _connect(self) -> PostgresConnection:
        # no prepared statements: not every connection pooler supports them
        parameters = {"connect_timeout": POSTGRES_CONNECT_TIMEOUT_S, **await self._address.get_connection_parameters()}
        db = await AsyncConnection.connect(prepare_threshold=None, **parameters)
        db.adapters.register_dumper(str, _NulSafeTextDumper)
        return db


def compute_advisory_lock_id(key: UUID) -> int:
    """Return the number of the advisory lock for a key."""
    return int.from_bytes(key.bytes[:8], "big", signed=True)


async def _get_transaction_id(db: PostgresConnection) -> str:
    ((number,),) = await (await db.execute("select pg_current_xact_id()::text")).fetchall()
    return str(number)


async def _is_committed(db: PostgresConnection, transaction: str) -> bool:
    ((status,),) = await (await db.execute("select pg_xact_status(%s::xid8)", (transaction,))).fetchall()
    return bool(status == "committed")


def _is_transient_error(failure: Error) -> bool:
    """Return whether a second attempt may succeed; an error without SQLSTATE is a connection that broke."""
    return failure.sqlstate is None or failure.sqlstate.startswith(TRANSIENT_SQLSTATES)


def _error_from_psycopg(failure: Exception) -> RagError:
    match failure:
        case errors.DiskFull():
            return StorageFull("the database's disk is full: what was indexed before can still be searched")
        case errors.UniqueViolation():
            return Conflict("two chunks have the same id", code="duplicate_chunk")
        case errors.UndefinedTable() | errors.UndefinedObject() | errors.UndefinedColumn():
            return Misconfigured(
                "the database lacks the tables of the index: run rag setup to create them", code="index_missing"
            )
        case errors.InsufficientPrivilege() | errors.FeatureNotSupported() | errors.ReadOnlySqlTransaction():
            return Misconfigured(
                f"the database refuses a statement: {failure}", code="store_refused", field="POSTGRES_URL"
            )
        case errors.InvalidAuthorizationSpecification() | errors.InvalidPassword() | errors.InvalidCatalogName():
            return _make_refused_login_error()
        case OperationalError(sqlstate=None) if any(message in str(failure) for message in REFUSED_LOGIN_MESSAGES):
            return _make_refused_login_error()
        case errors.ProgramLimitExceeded():
            return TooLarge("a text or value is too large to be stored")
        case UnicodeEncodeError() | errors.NotNullViolation() | DataError():
            return InvalidRequest("text", "must be valid Unicode without NUL, and numbers must be finite")
        case errors.SerializationFailure() | errors.DeadlockDetected() | errors.QueryCanceled():
            return Unavailable("other writers kept changing the database: try again", code="store_busy")
        case _:
            return Unavailable("the database cannot be reached or does not answer", code="store_failed")


def _make_refused_login_error() -> Misconfigured:
    return Misconfigured("the database refuses the login in this address", field="POSTGRES_URL")
