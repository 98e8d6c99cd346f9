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
from rag_core.stores.postgres.address import Address

CONNECT_S = 5
CONNECTIONS = 4

Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]
T = TypeVar("T")

# messages of a refused login, which is not retried; libpq reports no SQLSTATE for a failed connection
CLOSED = ("password authentication failed", "no pg_hba.conf entry", "does not exist")
TRANSIENT = ("08", "40", "57P")  # SQLSTATEs of lost connections, conflicting transactions, and a server shutdown


class _Text(StrDumper):
    """A dumper that sends a text with NUL as NULL: it cannot be stored, and NULL equals nothing."""

    def dump(self, obj: str) -> Any:
        return None if "\x00" in obj else super().dump(obj)


class Connections:
    """A few connections to one database, opened when first needed, in the event loop that uses them.

    `psycopg_pool` is not used: its background tasks keep a loop from ending when the pool was not closed, and on a
    refused login it waits for its timeout instead of reporting the server's reason.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._free_connections = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[Connection] = []

    async def read(self, operation: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `operation` in a read-only transaction, in which all reads see the same state."""
        return await self._twice(operation, IsolationLevel.REPEATABLE_READ, read_only=True)

    async def write(self, document: UUID, operation: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `operation` in a transaction, durable on return; other writers of the same document wait.

        An attempt whose connection was lost may still have been committed. The second attempt waits for the first one's
        lock, so that its outcome is known, and does not repeat a committed operation.
        """
        finished_attempts: list[tuple[str, T]] = []

        async def attempt(db: Connection) -> T:
            await db.execute("select pg_advisory_xact_lock(%s)", (lock(document),))
            if finished_attempts and await _committed(db, finished_attempts[0][0]):
                return finished_attempts[0][1]
            result = await operation(db)
            finished_attempts[:] = [(await _transaction_id(db), result)]
            return result

        return await self._twice(attempt, IsolationLevel.READ_COMMITTED)

    async def close(self) -> None:
        await self._hang_up()
        await self._address.close()

    async def _hang_up(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _twice(
        self, operation: Callable[[Connection], Awaitable[T]], isolation: IsolationLevel, *, read_only: bool = False
    ) -> T:
        try:
            try:
                return await self._once(operation, isolation, read_only)
            except (OperationalError, InterfaceError) as failure:
                if not _passes(failure):
                    raise
                await self._hang_up()  # when one is broken, all are: the server was restarted
            return await self._once(operation, isolation, read_only)
        except (Error, UnicodeEncodeError, OSError) as failure:
            raise _meaning(failure) from failure

    async def _once(
        self, operation: Callable[[Connection], Awaitable[T]], isolation: IsolationLevel, read_only: bool
    ) -> T:
        async with self._borrowed() as db:
            await db.set_isolation_level(isolation)
            await db.set_read_only(read_only)
            async with db.transaction():
                return await operation(db)

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        async with self._free_connections:
            db = self._idle.pop() if self._idle else await self._connected()
            try:
                yield db
            finally:
                if db.info.transaction_status == TransactionStatus.IDLE:
                    self._idle.append(db)
                else:
                    await db.close()

    async def _connected(self) -> Connection:
        # no prepared statements: not every connection pooler supports them
        parameters = {"connect_timeout": CONNECT_S, **await self._address.parameters()}
        db = await AsyncConnection.connect(prepare_threshold=None, **parameters)
        db.adapters.register_dumper(str, _Text)
        return db


def lock(key: UUID) -> int:
    """Return the number of the advisory lock for a key."""
    return int.from_bytes(key.bytes[:8], "big", signed=True)


async def _transaction_id(db: Connection) -> str:
    ((number,),) = await (await db.execute("select pg_current_xact_id()::text")).fetchall()
    return str(number)


async def _committed(db: Connection, transaction: str) -> bool:
    ((status,),) = await (await db.execute("select pg_xact_status(%s::xid8)", (transaction,))).fetchall()
    return bool(status == "committed")


def _passes(failure: Error) -> bool:
    """Return whether a second attempt may succeed; an error without SQLSTATE is a connection that broke."""
    return failure.sqlstate is None or failure.sqlstate.startswith(TRANSIENT)


def _meaning(failure: Exception) -> RagError:
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
            return _shut_out()
        case OperationalError(sqlstate=None) if any(message in str(failure) for message in CLOSED):
            return _shut_out()
        case errors.ProgramLimitExceeded():
            return TooLarge("a text or value is too large to be stored")
        case UnicodeEncodeError() | errors.NotNullViolation() | DataError():
            return InvalidRequest("text", "must be valid Unicode without NUL, and numbers must be finite")
        case errors.SerializationFailure() | errors.DeadlockDetected() | errors.QueryCanceled():
            return Unavailable("other writers kept changing the database: try again", code="store_busy")
        case _:
            return Unavailable("the database cannot be reached or does not answer", code="store_failed")


def _shut_out() -> Misconfigured:
    return Misconfigured("the database refuses the login in this address", field="POSTGRES_URL")
