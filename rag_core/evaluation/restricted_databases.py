"""Whether SQL still runs on a copy of its database that has only the columns that were linked.

A copy is made in memory: of the rows of `NAME.sqlite` where that stands beside `schemas.json`, else of made rows whose
values are the sample values. A statement that names a column that is not there fails, so what is shown is whether SQL
that is right can be written from the linked columns; not that a model would write it, nor that made rows answer it.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_core.schema.model import Column, ColumnKey, Database, Table

MADE_ROWS = 20
MAX_STEPS = 10**8  # of SQLite's virtual machine, some seconds: a join without its condition must end

Rows = Sequence[tuple[object, ...]]


@dataclass(frozen=True)
class FilledDatabase:
    """A schema with the rows of each table."""

    database: Database
    rows: Mapping[str, Rows]

    def list_read_columns(self, sql: str, columns: Collection[ColumnKey]) -> frozenset[ColumnKey] | None:
        """Return the columns that a statement reads on a copy of these columns, or None where it does not run."""
        read: set[ColumnKey] = set()

        def note_column(action: int, table: str | None, column: str | None, *_: object) -> int:
            if action == sqlite3.SQLITE_READ and table and column:
                read.add((table, column))
            return sqlite3.SQLITE_OK

        copy = self._copy(set(columns))
        try:
            copy.set_authorizer(note_column)
            copy.set_progress_handler(lambda: 1, MAX_STEPS)
            copy.execute(sql).fetchall()
        except sqlite3.Error:
            return None
        finally:
            copy.close()
        return frozenset(read)

    def runs_on(self, sql: str, columns: Collection[ColumnKey]) -> bool | None:
        """Return whether a statement runs on these columns as on all of them, or None where it runs on neither.

        It must read the same columns: SQLite takes a name in double quotes that it does not know for a text, and `*`
        for the columns that are left.
        """
        expected = self.list_read_columns(sql, self.database.columns)
        return None if expected is None else self.list_read_columns(sql, columns) == expected

    def _copy(self, columns: Collection[ColumnKey]) -> sqlite3.Connection:
        copy = sqlite3.connect(":memory:")
        for table in self.database.tables:
            places = [place for place, one in enumerate(table.columns) if (table.name, one.name) in columns]
            if places:
                _copy_table(copy, table, places, self.rows[table.name])
        return copy


def fill_database(database: Database, folder: Path) -> FilledDatabase:
    """Return a database with the rows of its file in a folder, or with made ones."""
    file = folder / f"{database.name}.sqlite"
    if not file.is_file():
        return FilledDatabase(database, {table.name: _make_rows(table, database) for table in database.tables})
    source = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return FilledDatabase(database, {table.name: _read_rows(source, table) for table in database.tables})
    finally:
        source.close()


def _copy_table(copy: sqlite3.Connection, table: Table, places: Sequence[int], rows: Rows) -> None:
    kept = [table.columns[place] for place in places]
    copy.execute(f"CREATE TABLE {_quote(table.name)} ({', '.join(f'{_quote(one.name)} {one.type}' for one in kept)})")
    marks = ", ".join("?" * len(places))
    statement = f"INSERT INTO {_quote(table.name)} VALUES ({marks})"  # noqa: S608 - a quoted name
    copy.executemany(statement, (tuple(row[place] for place in places) for row in rows))


def _read_rows(source: sqlite3.Connection, table: Table) -> Rows:
    names = ", ".join(_quote(column.name) for column in table.columns)
    return source.execute(f"SELECT {names} FROM {_quote(table.name)}").fetchall()  # noqa: S608 - quoted names


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _make_rows(table: Table, database: Database) -> Rows:
    values = [list(_make_values(table, column, database)) for column in table.columns]
    return list(zip(*values, strict=True))


def _make_values(table: Table, column: Column, database: Database) -> Iterator[object]:
    """Yield sample values, of the column referred to where there is one, so that joins find partners."""
    columns = {(owner.name, one.name): one for owner, one in database.iterate_columns()}
    referred = [
        columns[key.referenced_table, key.referenced_column]
        for key in database.foreign_keys
        if (key.table, key.column) == (table.name, column.name)
    ]
    samples = (referred or [column])[0].values
    yield from (samples[place % len(samples)] if samples else place + 1 for place in range(MADE_ROWS))
