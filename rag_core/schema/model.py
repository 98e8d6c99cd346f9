"""The nouns: a database with its tables and columns, and what of it a question was linked to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from rag_core.text.identifiers import split_identifier, split_table_name
from rag_core.text.name_abbreviations import expand_identifier, expand_words
from rag_core.text.stop_words import parse_word_list


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with what was read of its values.

    `values` are some of them, the most frequent first. `distinct` and `null_share` (0..1) are None where nobody
    counted. `low` and `high` are the least and the greatest value, "" where they are not known. A column that
    `is_personal` looked like personal data when it was read: none of its values is kept. `unit` is what somebody said
    that its numbers are measured in, `meaning` what a document of the workflow says of a name that nobody described.
    """

    name: str
    type: str = ""
    description: str = ""
    values: tuple[str, ...] = ()
    distinct: int | None = None
    null_share: float | None = None
    low: str = ""
    high: str = ""
    is_personal: bool = False
    unit: str = ""
    meaning: str = ""

    @property
    def words(self) -> str:
        """The words of the name, its abbreviations in full where no description says what they mean."""
        return split_identifier(self.name) if self.description else expand_identifier(self.name)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A column whose values are those of a column of another table.

    `match_share` is None for a key that the database declares; for one that was inferred it is the share, 0..1, of the
    known values that the other column has as well, 0 where only names were compared.
    """

    table: str
    column: str
    referenced_table: str
    referenced_column: str
    match_share: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or a view; `row_count` is None where nobody counted."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    description: str = ""
    row_count: int | None = None
    is_view: bool = False

    @property
    def words(self) -> str:
        """The words of the name, its abbreviations in full where neither the table nor a column has a description."""
        is_described = bool(self.description) or any(column.description for column in self.columns)
        words = split_table_name(self.name)
        return words if is_described else expand_words(words)


@dataclass(frozen=True)
class Database:
    """A database as it was read: tables in order, and the foreign keys between them."""

    name: str
    tables: tuple[Table, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()

    @cached_property
    def tables_by_name(self) -> dict[str, Table]:
        return {table.name: table for table in self.tables}

    @cached_property
    def columns(self) -> tuple["ColumnKey", ...]:
        """The keys of all columns, table by table."""
        return tuple((table.name, column.name) for table in self.tables for column in table.columns)

    @cached_property
    def key_columns(self) -> frozenset["ColumnKey"]:
        """The columns of primary and foreign keys, whose values are seldom asked for themselves."""
        primary = {(table.name, name) for table in self.tables for name in table.primary_key}
        referring = {(key.table, key.column) for key in self.foreign_keys}
        return frozenset(
            primary | referring | {(key.referenced_table, key.referenced_column) for key in self.foreign_keys}
        )

    @cached_property
    def described_share(self) -> float:
        """The share, 0..1, of the columns that have a description."""
        return sum(bool(column.description) for _, column in self.iterate_columns()) / max(1, len(self.columns))

    def iterate_columns(self) -> Iterator[tuple[Table, Column]]:
        """Yield every column with its table, in the order of `columns`."""
        return ((table, column) for table in self.tables for column in table.columns)


ColumnKey = tuple[str, str]  # the names of a table and of a column of it


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """Words of the question, or only of a rule that was read with it, that are a value of a column as it spells it."""

    table: str
    column: str
    value: str
    words: str
    by_rule: bool = False

    @property
    def condition(self) -> str:
        """The match as a condition of SQL, quoted."""
        return f"{quote_name(self.table)}.{quote_name(self.column)} = {quote_text(self.value)}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Words of the question that may mean several columns, and that only who asks can settle.

    Each option is a column, with the value of it that the words are, or "" where they name the column.
    """

    words: str
    options: tuple[tuple[str, str, str], ...]  # table, column, value


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """A table that the question needs, with its score and the reasons in words."""

    name: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkedColumn:
    """A column that the question needs; its score, 0..1, is comparable within one question only."""

    table: str
    column: Column
    score: float
    is_primary: bool = False  # a part of its table's primary key


@dataclass(frozen=True, slots=True)
class SchemaLinks:
    """What of a database a question was linked to, best first; joins connect the tables where keys do.

    `ddl` shows it as CREATE TABLE statements of at most the asked tokens; `dropped` names the columns, of those that
    were linked, for which there was no room. `nearness` is by how many standard deviations the nearest column is nearer
    than to everyday questions, `answerable` the chance, 0..1, that the schema answers the question, both None without
    an embedder; with a small chance the question is `not_in_schema`. `unknown_words` are those of the question that
    nothing accounts for, and `parts` the questions into which a chat model split it.
    """

    database: str
    tables: tuple[LinkedTable, ...]
    columns: tuple[LinkedColumn, ...]
    joins: tuple[ForeignKey, ...]
    values: tuple[ValueMatch, ...]
    ddl: str = ""
    ddl_tokens: int = 0
    dropped: tuple[str, ...] = field(default=())
    unknown_words: tuple[str, ...] = ()
    nearness: float | None = None
    answerable: float | None = None
    not_in_schema: bool = False
    choices: tuple[Choice, ...] = ()
    parts: tuple[str, ...] = ()


RESERVED_WORDS = parse_word_list(  # of SQLite or PostgreSQL, which a table or column can have only in quotes
    """all alter analyse analyze and any array as asc both case cast check collate column commit constraint create cross
    current_date current_time current_timestamp default delete desc distinct drop else end escape except exists false
    fetch for foreign from full grant group having in index inner insert intersect into is isnull join leading left
    like limit natural not notnull null offset on only or order outer primary references returning right select set
    some table then to trailing true union unique update user using values when where window with"""
)


def quote_name(name: str) -> str:
    """Return a name as SQL writes it: as it is where it is plain, else in double quotes."""
    plain = name.isidentifier() and name.isascii() and name.casefold() not in RESERVED_WORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a text as SQL writes a value."""
    return "'" + text.replace("'", "''") + "'"
