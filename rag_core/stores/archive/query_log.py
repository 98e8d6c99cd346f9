"""The query log in the table `queries_log`: the newest entries, each a query with its metrics (S4-31)."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from rag_core.core.errors import RagError, Unavailable
from rag_core.stores.archive.database import ArchiveDatabase
from rag_core.stores.archive.tables import QUERIES_LOG, format_utc_now

QUERY_LOG_COLUMNS = tuple(QUERIES_LOG.c.keys()[1:])
MAX_LOG_ENTRIES = 100_000  # about 100 MB
MAX_DEFERRED_ENTRIES = 1_000  # the newest ones stay in memory while the database accepts none


class SqlQueryLog:
    """The query log, in a database shared with the archive: closing one closes both."""

    name = "queries_log"

    def __init__(self, database: ArchiveDatabase, *, max_entries: int = MAX_LOG_ENTRIES) -> None:
        self._database, self._max_entries = database, max_entries
        self._deferred_rows: deque[Mapping[str, Any]] = deque(maxlen=MAX_DEFERRED_ENTRIES)

    async def record(self, entry: Mapping[str, Any]) -> None:
        self._deferred_rows.append(_log_row_from_entry(entry))
        rows = list(self._deferred_rows)
        self._deferred_rows.clear()  # so that no concurrent call writes them again
        await asyncio.shield(self._insert_or_defer(rows))  # a caller that stops waiting loses no entry

    async def list_latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        newest = (
            select(*(QUERIES_LOG.c[name] for name in QUERY_LOG_COLUMNS)).order_by(QUERIES_LOG.c.id.desc()).limit(limit)
        )
        try:
            return await self._database.read(lambda db: [dict(row) for row in db.execute(newest).mappings()])
        except RagError as failure:
            raise _make_log_deferred_error(failure) from failure

    async def close(self) -> None:
        await self._database.close()

    async def _insert_or_defer(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the rows, or keep them for the next entry. Raises Unavailable (audit_deferred)."""
        try:
            await self._database.write(lambda db: self._insert_entries(db, rows))
        except RagError as failure:
            self._deferred_rows = deque([*rows, *self._deferred_rows], maxlen=MAX_DEFERRED_ENTRIES)
            raise _make_log_deferred_error(failure) from failure

    def _insert_entries(self, db: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, in order, and delete the oldest ones beyond the maximum."""
        db.execute(insert(QUERIES_LOG), rows)
        oldest = select(func.max(QUERIES_LOG.c.id) - self._max_entries).scalar_subquery()
        db.execute(delete(QUERIES_LOG).where(QUERIES_LOG.c.id <= oldest))


def _make_log_deferred_error(failure: RagError) -> Unavailable:
    return Unavailable(f"the query log: {failure.message}", code="audit_deferred")


def _log_row_from_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an entry to a row. Raises KeyError for a name without a column, so that no value is lost silently."""
    if unknown_names := entry.keys() - set(QUERY_LOG_COLUMNS):
        raise KeyError(f"queries_log has no column {', '.join(sorted(unknown_names))}")
    values = {"created_at": format_utc_now(), "metrics": {}, "timings": {}} | dict(entry)
    return {name: _replace_unstorable_characters(values.get(name)) for name in QUERY_LOG_COLUMNS}


def _replace_unstorable_characters(value: Any) -> Any:
    """Replace characters that a database refuses, so that one entry does not block the others."""
    return value.encode("utf-8", "replace").decode().replace("\x00", "\ufffd") if isinstance(value, str) else value
