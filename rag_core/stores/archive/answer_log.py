"""The answer log in the table `answer_logs` of the archive's database: a row for each answer under way."""

import time
from collections.abc import Callable

from sqlalchemy import Connection, delete, select, update

from rag_core.core.model import Scope
from rag_core.stores.answer_log_key import (
    ANSWER_LOG_LIFETIME_S,
    make_log_exists_error,
    make_log_gone_error,
    make_log_key,
    make_workflow_key,
)
from rag_core.stores.archive.database import ArchiveDatabase
from rag_core.stores.archive.keyed_rows import build_dialect_insert
from rag_core.stores.archive.tables import ANSWER_LOGS


class SqlAnswerLog:
    """The answer log, in a database shared with the archive: closing one closes both."""

    def __init__(self, database: ArchiveDatabase, *, now: Callable[[], float] = time.time) -> None:
        self._database, self._now = database, now

    async def start(self, id: str, scope: Scope) -> None:
        row = {"key": make_log_key(id, scope), "updated_s": self._now(), "told": ""}
        await self._database.write(lambda db: _insert_log(db, row, expired_before=self._oldest_s))

    async def append(self, id: str, text: str, scope: Scope) -> None:
        values = {"told": ANSWER_LOGS.c.told + text, "updated_s": self._now()}
        adding = update(ANSWER_LOGS).where(ANSWER_LOGS.c.key == make_log_key(id, scope)).values(values)
        if not await self._database.write(lambda db: db.execute(adding).rowcount):
            raise make_log_gone_error()

    async def read(self, id: str, scope: Scope) -> str | None:
        told = select(ANSWER_LOGS.c.told).where(
            ANSWER_LOGS.c.key == make_log_key(id, scope), ANSWER_LOGS.c.updated_s > self._oldest_s
        )
        return await self._database.read(lambda db: db.execute(told).scalar())

    async def purge_workflow(self, workflow_id: str) -> None:
        purging = delete(ANSWER_LOGS).where(ANSWER_LOGS.c.key.startswith(make_workflow_key(workflow_id)))
        await self._database.write(lambda db: db.execute(purging))

    async def close(self) -> None:
        await self._database.close()

    @property
    def _oldest_s(self) -> float:
        return self._now() - ANSWER_LOG_LIFETIME_S


def _insert_log(db: Connection, row: dict[str, object], *, expired_before: float) -> None:
    """Insert a log and delete those that have expired. Raises Conflict where there is one with this key."""
    db.execute(delete(ANSWER_LOGS).where(ANSWER_LOGS.c.updated_s <= expired_before))
    inserting = build_dialect_insert(db, ANSWER_LOGS).values(row).on_conflict_do_nothing()
    if db.execute(inserting.returning(ANSWER_LOGS.c.key)).first() is None:
        raise make_log_exists_error()
