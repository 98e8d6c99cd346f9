"""Which columns of a database a statement of SQL reads, found by SQLGlot when questions asked before are indexed."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlglot import exp, parse, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from rag_core.schema.model import ColumnKey, Database
from rag_core.schema.writing_sql import has_effect

T = TypeVar("T")

DIALECTS = {"sqlite": "sqlite", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}  # as SQLAlchemy says it
OTHER_DIALECTS = ("postgres", "mysql", "tsql", "bigquery")  # tried where the server's own fails: logs are mixed
# SQLGlot checks some statements only by failing on them
SQLGLOT_FAILURES = (SqlglotError, RecursionError, ValueError, KeyError, AttributeError, TypeError)
MAX_SQL_CHARS = 20_000  # longer ones are reports that somebody generated, and cost seconds


class SqlReader:
    """Reads statements in a server's kind of SQL against one database; names match in any case."""

    def __init__(self, database: Database, dialect: str) -> None:
        self._dialect = DIALECTS.get(dialect, "")
        self._spelled = {(table.casefold(), column.casefold()): (table, column) for table, column in database.columns}
        self._schema: dict[str, object] = {}
        for table in database.tables:  # types do not change what is read
            self._schema[table.name.casefold()] = {column.name.casefold(): "text" for column in table.columns}

    def list_read_columns(self, sql: str) -> frozenset[ColumnKey] | None:
        """Return the columns that a statement reads, as the database spells them; None where it cannot be read.

        What the database does not have is left out, so that a statement of another database reads nothing.
        """
        return self._read_in_first_dialect(sql, lambda dialect: frozenset(self._iterate_columns(sql, dialect)))

    def is_writing(self, sql: str) -> bool:
        """Return whether SQL does more than read, in any part of it; by its words where nobody can read it."""
        return has_effect(sql, self._read_in_first_dialect(sql, lambda dialect: parse(sql, dialect=dialect)))

    def _read_in_first_dialect(self, sql: str, read: Callable[[str], T]) -> T | None:
        """Return what `read` finds by the server's own dialect, or the first other in which it succeeds, else None."""
        for dialect in (self._dialect, *OTHER_DIALECTS) if len(sql) <= MAX_SQL_CHARS else ():
            try:
                return read(dialect)
            except SQLGLOT_FAILURES:
                continue
        return None

    def _iterate_columns(self, sql: str, dialect: str) -> Iterator[ColumnKey]:
        statement = parse_one(sql, dialect=dialect)
        for name in statement.find_all(exp.Identifier):
            name.set("this", name.name.casefold())
        for table in statement.find_all(exp.Table):
            table.set("db", None)
            table.set("catalog", None)
        qualified = qualify(
            statement, schema=self._schema, dialect=dialect, validate_qualify_columns=False, identify=False
        )
        for scope in traverse_scope(qualified):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                key = (source.name, column.name) if isinstance(source, exp.Table) else ("", "")
                if key in self._spelled:
                    yield self._spelled[key]
