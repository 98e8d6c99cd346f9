"""Connections, transactions that are tried twice, and what PostgreSQL's errors mean to a caller."""

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

# how a server says at the door that it is not to be tried again: libpq keeps no SQLSTATE of a connection that failed
CLOSED = ("password authentication failed", "no pg_hba.conf entry", "does not exist")
TRANSIENT = ("08", "40", "57P")  # SQLSTATEs of lost connections, conflicting transactions, and a server that stops


class _Text(StrDumper):
    """A text with a NUL cannot be stored, so it is looked up as NULL, which equals nothing."""

    def dump(self, obj: str) -> Any:
        return None if "\x00" in obj else super().dump(obj)


class Connections:
    """A few connections to one database, opened when first needed, by the loop that uses them.

    Our own dozen lines: `psycopg_pool` keeps tasks that hinder a loop from ending when nobody closed it, and waits
    in silence where the server says why it lets nobody in.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._turn = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[Connection] = []

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """All that is read in here is of one moment."""
        return await self._twice(work, IsolationLevel.REPEATABLE_READ, read_only=True)

    async def write(self, document: UUID, work: Callable[[Connection], Awaitable[T]]) -> T:
        """All or nothing, and durable on return; who writes the same document waits.

        An attempt whose connection was lost may have been committed all the same: the second one waits for its lock,
        so that its end is known by then, and does not do again what was done.
        """
        done: list[tuple[str, T]] = []

        async def attempt(db: Connection) -> T:
            await db.execute("select pg_advisory_xact_lock(%s)", (lock(document),))
            if done and await _committed(db, done[0][0]):
                return done[0][1]
            result = await work(db)
            done[:] = [(await _transaction_id(db), result)]
            return result

        return await self._twice(attempt, IsolationLevel.READ_COMMITTED)

    async def close(self) -> None:
        await self._hang_up()
        await self._address.close()

    async def _hang_up(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _twice(
        self, work: Callable[[Connection], Awaitable[T]], isolation: IsolationLevel, *, read_only: bool = False
    ) -> T:
        try:
            try:
                return await self._once(work, isolation, read_only)
            except (OperationalError, InterfaceError) as failure:
                if not _passes(failure):
                    raise
                await self._hang_up()  # where one is broken, all are: the server was started anew
            return await self._once(work, isolation, read_only)
        except (Error, UnicodeEncodeError, OSError) as failure:
            raise _meaning(failure) from failure

    async def _once(self, work: Callable[[Connection], Awaitable[T]], isolation: IsolationLevel, read_only: bool) -> T:
        async with self._borrowed() as db:
            await db.set_isolation_level(isolation)
            await db.set_read_only(read_only)
            async with db.transaction():
                return await work(db)

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        async with self._turn:
            db = self._idle.pop() if self._idle else await self._connected()
            try:
                yield db
            finally:
                if db.info.transaction_status == TransactionStatus.IDLE:
                    self._idle.append(db)
                else:
                    await db.close()

    async def _connected(self) -> Connection:
        # nothing prepared: the poolers that may stand between do not all keep it for us
        how = {"connect_timeout": CONNECT_S, **await self._address.parameters()}
        db = await AsyncConnection.connect(prepare_threshold=None, **how)
        db.adapters.register_dumper(str, _Text)
        return db


def lock(key: UUID) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(key.bytes[:8], "big", signed=True)


async def _transaction_id(db: Connection) -> str:
    ((number,),) = await (await db.execute("select pg_current_xact_id()::text")).fetchall()
    return str(number)


async def _committed(db: Connection, transaction: str) -> bool:
    ((status,),) = await (await db.execute("select pg_xact_status(%s::xid8)", (transaction,))).fetchall()
    return bool(status == "committed")


def _passes(failure: Error) -> bool:
    """Whether a second attempt may do better; a connection that breaks without a word has no state."""
    return failure.sqlstate is None or failure.sqlstate.startswith(TRANSIENT)


def _meaning(failure: Exception) -> RagError:
    match failure:
        case errors.DiskFull():
            return StorageFull("the database's disk is full: what was indexed before can still be searched")
        case errors.UniqueViolation():
            return Conflict("two chunks have the same id", code="duplicate_chunk")
        case errors.UndefinedTable() | errors.UndefinedObject() | errors.UndefinedColumn():
            return Misconfigured("the database has no tables of ours: rag setup makes them", code="index_missing")
        case errors.InsufficientPrivilege() | errors.FeatureNotSupported() | errors.ReadOnlySqlTransaction():
            return Misconfigured(f"the database refuses: {failure}", code="store_refused", field="POSTGRES_URL")
        case errors.InvalidAuthorizationSpecification() | errors.InvalidPassword() | errors.InvalidCatalogName():
            return _shut_out()
        case OperationalError(sqlstate=None) if any(words in str(failure) for words in CLOSED):
            return _shut_out()
        case errors.ProgramLimitExceeded():
            return TooLarge("a text or value is too large to be stored")
        case UnicodeEncodeError() | errors.NotNullViolation() | DataError():
            return InvalidRequest("text", "must be valid Unicode without NUL, and numbers must be finite")
        case errors.SerializationFailure() | errors.DeadlockDetected() | errors.QueryCanceled():
            return Unavailable("others are writing to the database without a pause", code="store_busy")
        case _:
            return Unavailable("the database cannot be reached or does not answer", code="store_failed")


def _shut_out() -> Misconfigured:
    return Misconfigured("the database lets nobody in with this address", field="POSTGRES_URL")
