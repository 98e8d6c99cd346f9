"""Which columns of a database a statement of SQL reads, found by SQLGlot when questions asked before are indexed."""

from collections.abc import Iterator

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from rag_core.schema.model import ColumnKey, Database

DIALECTS = {"sqlite": "sqlite", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}  # as SQLAlchemy says it
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
        if len(sql) > MAX_SQL_CHARS:
            return None
        try:
            return frozenset(self._iterate_columns(sql))
        except (SqlglotError, RecursionError, ValueError, KeyError, AttributeError, TypeError):
            return None  # SQLGlot checks some statements only by failing on them

    def _iterate_columns(self, sql: str) -> Iterator[ColumnKey]:
        statement = parse_one(sql, dialect=self._dialect)
        for name in statement.find_all(exp.Identifier):
            name.set("this", name.name.casefold())
        for table in statement.find_all(exp.Table):
            table.set("db", None)
            table.set("catalog", None)
        qualified = qualify(
            statement, schema=self._schema, dialect=self._dialect, validate_qualify_columns=False, identify=False
        )
        for scope in traverse_scope(qualified):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                key = (source.name, column.name) if isinstance(source, exp.Table) else ("", "")
                if key in self._spelled:
                    yield self._spelled[key]
