"""The table `queries_log`: what was asked and how it went, the newest so many (S4-31)."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from rag_core.core.errors import RagError, Unavailable
from rag_core.stores.archive.database import Database
from rag_core.stores.archive.tables import QUERIES_LOG, now

COLUMNS = tuple(QUERIES_LOG.c.keys()[1:])
KEPT = 100_000  # some 100 MB
DEFERRED = 1_000  # kept in memory while the database takes nothing, the newest


class QueriesLog:
    """In a database that the archive uses too: closing it here closes it there."""

    name = "queries_log"

    def __init__(self, database: Database, *, kept: int = KEPT) -> None:
        self._database, self._kept = database, kept
        self._deferred: deque[Mapping[str, Any]] = deque(maxlen=DEFERRED)

    async def record(self, entry: Mapping[str, Any]) -> None:
        self._deferred.append(_row(entry))
        waiting = list(self._deferred)
        self._deferred.clear()  # so that nobody else writes them too
        try:
            await self._database.write(lambda db: self._keep(db, waiting))
        except RagError as failure:
            self._deferred = deque([*waiting, *self._deferred], maxlen=DEFERRED)
            raise _deferred(failure) from failure

    async def last(self, limit: int) -> Sequence[Mapping[str, Any]]:
        newest = select(*(QUERIES_LOG.c[name] for name in COLUMNS)).order_by(QUERIES_LOG.c.id.desc()).limit(limit)
        try:
            return await self._database.read(lambda db: [dict(row) for row in db.execute(newest).mappings()])
        except RagError as failure:
            raise _deferred(failure) from failure

    async def close(self) -> None:
        await self._database.close()

    def _keep(self, db: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write them, in order; forget the oldest of all."""
        db.execute(insert(QUERIES_LOG), rows)
        oldest = select(func.max(QUERIES_LOG.c.id) - self._kept).scalar_subquery()
        db.execute(delete(QUERIES_LOG).where(QUERIES_LOG.c.id <= oldest))


def _deferred(failure: RagError) -> Unavailable:
    return Unavailable(f"the log of queries: {failure.message}", code="audit_deferred")


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Raises KeyError for what there is no column for: a value must not be lost without a word."""
    if unknown := entry.keys() - set(COLUMNS):
        raise KeyError(f"queries_log has no {', '.join(sorted(unknown))}")
    named = {"created_at": now(), "metrics": {}, "timings": {}} | dict(entry)
    return {name: _storable(named.get(name)) for name in COLUMNS}


def _storable(value: Any) -> Any:
    """A text that a database would not take must not keep the others from it."""
    return value.encode("utf-8", "replace").decode().replace("\x00", "\ufffd") if isinstance(value, str) else value
