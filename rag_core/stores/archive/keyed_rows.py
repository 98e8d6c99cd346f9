"""Rows with a key of their own, which are inserted or updated in one statement."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, delete
from sqlalchemy.dialects import postgresql, sqlite

from rag_core.stores.archive.tables import format_utc_now


def put_keyed_row(db: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any] | None) -> None:
    """Insert or update the one row with this key; None deletes it."""
    if values is None:
        db.execute(delete(table).filter_by(**key))
        return
    timestamp = format_utc_now()
    statement = build_dialect_insert(db, table).values(**key, **values, created_at=timestamp, updated_at=timestamp)
    updated_values = {name: statement.excluded[name] for name in (*values, "updated_at")}
    db.execute(statement.on_conflict_do_update(index_elements=list(key), set_=updated_values))


def build_dialect_insert(db: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return the dialect's INSERT, which supports ON CONFLICT; both dialects have the same interface."""
    return postgresql.insert(table) if db.dialect.name == "postgresql" else sqlite.insert(table)
