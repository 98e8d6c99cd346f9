"""Checksums of the archive's rows, made of what is read back when a row is written and compared when it is read."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, delete, insert, select, update

from rag_core.core.errors import Unavailable
from rag_core.stores.archive.tables import ROW_CHECKSUMS, UNLISTED_COLUMNS

ARCHIVE_DAMAGED = "archive_damaged"


def seal_row(db: Connection, table: Table, id: int) -> None:
    """Keep the checksums of a row that was just written: one of the columns that lists show, one of all columns."""
    row = db.execute(select(table).where(table.c.id == id)).mappings().one()
    values = {"listed": _compute_checksum(row, _list_columns(table)), "whole": _compute_checksum(row, table.c.keys())}
    key = (ROW_CHECKSUMS.c.table_name == table.name) & (ROW_CHECKSUMS.c.row_id == id)
    if not db.execute(update(ROW_CHECKSUMS).where(key).values(values)).rowcount:
        db.execute(insert(ROW_CHECKSUMS).values(table_name=table.name, row_id=id, **values))


def check_rows(db: Connection, table: Table, rows: Iterable[RowMapping], *, whole: bool) -> list[RowMapping]:
    """Return the rows, each with all columns of the table or with those that lists show.

    A row of a version that kept no checksums passes. Raises Unavailable (code "archive_damaged") for one that is not as
    it was written.
    """
    checked = list(rows)
    column = ROW_CHECKSUMS.c.whole if whole else ROW_CHECKSUMS.c.listed
    ids = [row["id"] for row in checked]
    of_rows = (ROW_CHECKSUMS.c.table_name == table.name) & ROW_CHECKSUMS.c.row_id.in_(ids)
    checksums = dict(db.execute(select(ROW_CHECKSUMS.c.row_id, column).where(of_rows)).all())
    names = table.c.keys() if whole else _list_columns(table)
    for row in checked:
        if row["id"] in checksums and checksums[row["id"]] != _compute_checksum(row, names):
            raise Unavailable(
                f"row {row['id']} of the archive's table {table.name} is damaged: put a backup back by "
                "rag restore-backup, or delete it",
                code=ARCHIVE_DAMAGED,
            )
    return checked


def remove_stale_checksums(db: Connection, tables: Iterable[Table]) -> None:
    """Remove the checksums of rows that are gone: not even these remain of a purged text."""
    for table in tables:
        is_gone = (ROW_CHECKSUMS.c.table_name == table.name) & ROW_CHECKSUMS.c.row_id.not_in(select(table.c.id))
        db.execute(delete(ROW_CHECKSUMS).where(is_gone))


def _list_columns(table: Table) -> list[str]:
    return [column.name for column in table.c if column.name not in UNLISTED_COLUMNS]


def _compute_checksum(row: RowMapping, names: Sequence[str]) -> str:
    values: list[Any] = [row[name] for name in names]
    return blake2b(repr(values).encode("utf-8", "replace"), digest_size=8).hexdigest()
