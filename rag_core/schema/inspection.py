"""Reading of a live database: tables, columns, keys, and figures of the values; read-only, bounded in time and rows."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import LargeBinary, NullType, String, TypeEngine

from rag_core.core.errors import Unavailable
from rag_core.schema.connection import (
    STATEMENT_TIMEOUT_S,
    connect_read_only,
    describe_error,
    name_database,
)
from rag_core.schema.joins import MIN_MATCH_SHARE, propose_keys
from rag_core.schema.model import Column, Database, ForeignKey, Table
from rag_core.schema.sqlite_comments import TABLE, read_sqlite_comments

MAX_ROWS = 200_000  # of a table that are counted; the first that the database gives
MAX_VALUES = 1000  # of a column of text that are kept, the most frequent
MAX_OTHER_VALUES = 5  # of a column of numbers or dates, as examples
MAX_NAMED = 5  # schemas that are not read
MAX_VALUE_CHARS = 80  # of a value that is kept; a longer one is prose

# of a column for which the database states no type, as of an expression in a view of SQLite, by that of its values
VALUE_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT"}

FindPersonal = Callable[[str, list[str]], set[str]]  # the values of a column of this name that are personal data


@dataclass(slots=True)
class InspectedDatabase:
    """What was read of a database: its schema, the values to keep by table and column, and what was left out.

    `dialect` is its kind of SQL as SQLAlchemy names it.
    """

    database: Database
    values: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dialect: str = "sqlite"

    def note(self, text: str) -> None:
        """Keep a note once."""
        if text not in self.notes[-2:]:  # of a column, which two statements read
            self.notes.append(text)


def inspect_database(url: str, *, find_personal: FindPersonal, within_s: float) -> InspectedDatabase:
    """Read a database: `sqlite:///PATH`, `postgresql://…`, `mysql://…` or `mariadb://…`.

    What is not read `within_s` seconds is left without figures and values, which the notes say. A value that
    `find_personal` names is not kept; a column of which it names one in ten is marked and keeps none.

    Raises:
        InvalidRequest: the address is of none of these kinds.
        NotFound: there is no such file.
        Misconfigured, Unavailable: the database refuses, or does not answer.
    """
    reader, name = _Reader(find_personal, time.monotonic() + within_s), name_database(url)
    try:
        with connect_read_only(url, reader.is_statement_over) as connection:
            return replace(reader.read(connection, name), dialect=connection.dialect.name)
    except SQLAlchemyError as error:
        raise Unavailable(f"the database cannot be read: {describe_error(error)}", code="source_unavailable") from error


@dataclass(slots=True)
class _Reader:
    """One reading, with its deadline; `_statement_ends_at` is that of the statement under way."""

    find_personal: FindPersonal
    ends_at: float
    _statement_ends_at: float = field(default=float("inf"), init=False)

    def is_statement_over(self) -> bool:
        return time.monotonic() > self._statement_ends_at

    def read(self, connection: sa.Connection, name: str) -> InspectedDatabase:
        inspector = sa.inspect(connection)
        names = sorted(inspector.get_table_names())
        read = InspectedDatabase(Database(name, ()), notes=_note_other_schemas(inspector))
        tables = [self._read_table(connection, inspector, one, read) for one in names]
        keys = [key for one in names for key in _read_keys(inspector, one, names)]
        tables += filter(None, (self._read_view(connection, inspector, one, read) for one in _list_views(inspector)))
        database = Database(name, tuple(tables), tuple(keys))
        inferred = [replace(key, match_share=share) for key, share in self._match_keys(connection, database)]
        read.database = replace(database, foreign_keys=(*keys, *inferred))
        return read

    def _read_table(
        self, connection: sa.Connection, inspector: sa.Inspector, name: str, read: InspectedDatabase
    ) -> Table:
        described = inspector.get_columns(name)
        said = _read_comments(connection, inspector, name)
        rows = self._run(connection, sa.select(sa.func.count()).select_from(sa.table(name)), read, name)
        columns = [(_build_column(one, said), one["type"]) for one in described]
        if rows or self._has_readable_rows(connection, name, read):
            columns = [(self._read_column(connection, name, *one, read), one[1]) for one in columns]
        primary = tuple(inspector.get_pk_constraint(name).get("constrained_columns") or ())
        read_columns = tuple(column for column, _ in columns)
        return Table(name, read_columns, primary, said.get(TABLE, ""), rows[0][0] if rows else None)

    def _read_view(
        self, connection: sa.Connection, inspector: sa.Inspector, name: str, read: InspectedDatabase
    ) -> Table | None:
        """Return a view as a table; None where what it reads is gone."""
        try:
            return replace(self._read_table(connection, inspector, name, read), is_view=True)
        except SQLAlchemyError as error:
            read.note(f"{name}: the view cannot be read: what it reads may be gone ({describe_error(error)})")
            return None

    def _has_readable_rows(self, connection: sa.Connection, table: str, read: InspectedDatabase) -> bool:
        """Return whether a table that cannot be counted, for its size or for want of a right, gives a row at all."""
        one = sa.select(sa.literal(1)).select_from(sa.table(table)).limit(1)
        return bool(self._run(connection, one, read, table))

    def _read_column(
        self, connection: sa.Connection, table: str, column: Column, kind: TypeEngine[Any], read: InspectedDatabase
    ) -> Column:
        if isinstance(kind, LargeBinary):
            return column
        where = f"{table}.{column.name}"
        sample = _sample(table, column.name)
        figures = self._run(connection, _count_values(sample), read, where)
        limit = MAX_VALUES if isinstance(kind, String | NullType) else MAX_OTHER_VALUES
        most = self._run(connection, _rank_values(sample, limit), read, where)
        if not figures:
            return column
        if most and not column.type:
            column = replace(column, type=VALUE_TYPES.get(type(most[0][0]), ""))
            most = most if column.type == "TEXT" else most[:MAX_OTHER_VALUES]
        rows, filled, distinct, low, high = figures[0]
        column = replace(
            column, distinct=distinct, null_share=1 - filled / rows if rows else None, low=_show(low), high=_show(high)
        )
        return self._keep_values(column, table, [_show(value) for value, _ in most], read)

    def _keep_values(self, column: Column, table: str, values: list[str], read: InspectedDatabase) -> Column:
        """Return the column with its most frequent values, of which no personal one is kept."""
        candidates = [value for value in values if value.strip() and len(value) <= MAX_VALUE_CHARS]
        ends = [value for value in (column.low, column.high) if value]
        personal = self.find_personal(column.name, [*candidates, *ends])
        if len(personal) * 10 > len(set(candidates) | set(ends)):
            read.notes.append(f"{table}.{column.name} looks like personal data: none of its values is kept")
            return replace(column, low="", high="", is_personal=True)
        kept = [value for value in candidates if value not in personal]
        if len(kept) > MAX_OTHER_VALUES:
            read.values.setdefault(table, {})[column.name] = kept
        low, high = ("" if one in personal or len(one) > MAX_VALUE_CHARS else one for one in (column.low, column.high))
        return replace(column, values=tuple(kept[:MAX_OTHER_VALUES]), low=low, high=high)

    def _match_keys(self, connection: sa.Connection, database: Database) -> Iterator[tuple[ForeignKey, float]]:
        """Yield the proposed keys whose values match, with the share of the values that do."""
        for key in propose_keys(database):
            found = self._run(connection, _count_matches(key), InspectedDatabase(database), "")
            if found and found[0][0] and found[0][1] / found[0][0] >= MIN_MATCH_SHARE:
                yield key, found[0][1] / found[0][0]

    def _run(
        self, connection: sa.Connection, statement: sa.Executable, read: InspectedDatabase, what: str
    ) -> Sequence[Any]:
        """Return the rows of a statement; none where it fails or the time is over, which is noted."""
        left_s = self.ends_at - time.monotonic()
        self._statement_ends_at = time.monotonic() + min(STATEMENT_TIMEOUT_S, left_s)
        try:
            if left_s > 0:
                return connection.execute(statement).all()
            read.note(f"{what}: there was no time left to look at its values")
        except SQLAlchemyError as error:
            read.note(f"{what}: its values could not be read ({describe_error(error)})")
        finally:
            self._statement_ends_at = float("inf")
        return ()


def _read_keys(inspector: sa.Inspector, table: str, tables: Sequence[str]) -> Iterator[ForeignKey]:
    """Yield the declared keys of a table, a pair of columns each."""
    for key in inspector.get_foreign_keys(table):
        referenced = str(key["referred_table"])
        target = key["referred_columns"] or inspector.get_pk_constraint(referenced)["constrained_columns"]
        if referenced in tables:
            for column, other in zip(key["constrained_columns"], target, strict=False):
                yield ForeignKey(table, column, referenced, other)


def _note_other_schemas(inspector: sa.Inspector) -> list[str]:
    """Return what is to be said of the other schemas of a PostgreSQL database, whose tables are not read."""
    if inspector.dialect.name != "postgresql":
        return []
    read = inspector.default_schema_name
    others = [one for one in inspector.get_schema_names() if one not in (read, "information_schema")]
    if not (filled := [one for one in others if inspector.get_table_names(schema=one)]):
        return []
    shown = ", ".join(filled[:MAX_NAMED]) + (", …" if len(filled) > MAX_NAMED else "")
    return [
        f"only the schema {read} is read, not {shown}: add ?options=-csearch_path%3D{filled[0]} to the address to read "
        "another, under a --name of its own"
    ]


def _list_views(inspector: sa.Inspector) -> list[str]:
    names = inspector.get_view_names()
    with suppress(NotImplementedError):  # of kinds of databases without them
        names += inspector.get_materialized_view_names()
    return sorted(names)


def _build_column(described: Any, said: Mapping[str, str]) -> Column:
    kind = "" if isinstance(described["type"], NullType) else str(described["type"])
    return Column(described["name"], kind, described.get("comment") or said.get(described["name"], ""))


def _read_comments(connection: sa.Connection, inspector: sa.Inspector, table: str) -> dict[str, str]:
    """Return the comment on a table as `TABLE`; of SQLite, which has none, those within its definition, by column."""
    if connection.dialect.name != "sqlite":
        return {TABLE: inspector.get_table_comment(table)["text"] or ""}
    query = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name").bindparams(name=table)
    return read_sqlite_comments(str(connection.execute(query).scalar() or ""))


def _sample(table: str, column: str) -> sa.Subquery:
    return sa.select(sa.column(column).label("value")).select_from(sa.table(table)).limit(MAX_ROWS).subquery()


def _count_values(sample: sa.Subquery) -> sa.Executable:
    value, functions = sample.c.value, sa.func
    distinct = functions.count(sa.distinct(value))
    return sa.select(functions.count(), functions.count(value), distinct, functions.min(value), functions.max(value))


def _rank_values(sample: sa.Subquery, limit: int) -> sa.Executable:
    value, frequency = sample.c.value, sa.func.count()
    filled = sa.select(value, frequency).where(value.is_not(None)).group_by(value)
    return filled.order_by(frequency.desc(), value).limit(limit)


def _count_matches(key: ForeignKey) -> sa.Executable:
    """Count the distinct values of a column, and those of them that the column it may refer to has."""
    values = _sample(key.table, key.column)
    target = sa.table(key.referenced_table, sa.column(key.referenced_column)).alias("target")
    other = target.c[key.referenced_column]
    both = sa.distinct(sa.case((other.is_not(None), values.c.value)))
    joined = values.outerjoin(target, values.c.value == other)
    return sa.select(sa.func.count(sa.distinct(values.c.value)), sa.func.count(both)).select_from(joined)


def _show(value: object) -> str:
    return "" if value is None or isinstance(value, bytes) else str(value)
