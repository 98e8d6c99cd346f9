"""A part of a schema as CREATE TABLE statements with comments, as models of SQL are used to read it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rag_core.schema.joins import list_key_ends
from rag_core.schema.model import (
    Column,
    ColumnKey,
    Database,
    ForeignKey,
    SchemaLinks,
    Table,
    quote_name,
    quote_text,
)
from rag_core.text.identifiers import list_roots, split_identifier
from rag_core.text.tokens import count_tokens

Clause = tuple[str, str]  # of a CREATE TABLE: its code, and what is said of it in a comment
MAX_COMMENT_CHARS = 100  # of the description of a column
MAX_COMMENT_VALUES, MAX_COMMENT_VALUE_CHARS = 3, 30
LIKELY_CHANCE = 0.2  # below it a column has a shorter comment, and no values but those of the question
MAX_UNLIKELY_COMMENT_CHARS = 50


def write_ddl(links: SchemaLinks, database: Database, tokens: int) -> SchemaLinks:
    """Return the links with their DDL, of at most `tokens` o200k_base tokens, and the columns left out of it.

    Columns of joins come first, then the others, the best first; each is taken if it still fits.
    """
    draft = _Draft(database, links)
    joined = {end for key in links.joins for end in list_key_ends(key)}
    order = [*sorted(joined), *((one.table, one.column.name) for one in links.columns)]
    kept: list[ColumnKey] = []
    used = 0
    for column in dict.fromkeys(order):
        cost = draft.count_tokens_of(column, kept)
        if used + cost <= tokens:
            kept.append(column)
            used += cost
    dropped = [f"{table}.{name}" for table, name in dict.fromkeys(order) if (table, name) not in set(kept)]
    text = draft.write(kept)
    return replace(links, ddl=text, ddl_tokens=count_tokens(text), dropped=tuple(dropped))


def write_whole_ddl(database: Database) -> str:
    """Return the DDL of all tables and columns, written alike."""
    draft = _Draft(database, SchemaLinks(database.name, (), (), database.foreign_keys, ()))
    return draft.write(database.columns)


@dataclass(frozen=True)
class _Draft:
    """The lines of a DDL: of a table's head and foot, of its columns, and of its keys."""

    database: Database
    links: SchemaLinks

    def count_tokens_of(self, column: ColumnKey, kept: Sequence[ColumnKey]) -> int:
        """Return at least as many tokens as a column adds: lines are counted apart, with their line breaks."""
        table = self.database.tables_by_name[column[0]]
        added = [key for key in self.database.foreign_keys if _ends_at(key, column)]
        clauses = [self._write_column(table, column[1])]
        clauses += [self._write_key(key) for key in added if {*list_key_ends(key)} <= {*kept, column}]
        lines = [_end_line(clause, ",") for clause in clauses]
        if not any(owner == column[0] for owner, _ in kept):
            lines += [*self._write_head(table), ");", ""]
        return sum(count_tokens(f"{line}\n") for line in lines)

    def write(self, kept: Collection[ColumnKey]) -> str:
        chosen = set(kept)
        tables = [table for table in self.database.tables if any(owner == table.name for owner, _ in chosen)]
        return "\n\n".join("\n".join(self._write_table(table, chosen)) for table in tables)

    def _write_table(self, table: Table, chosen: Collection[ColumnKey]) -> Iterator[str]:
        yield from self._write_head(table)
        names = [column.name for column in table.columns if (table.name, column.name) in chosen]
        keys = [key for key in self.database.foreign_keys if key.table == table.name]
        clauses = [self._write_column(table, name) for name in names]
        clauses += [self._write_key(key) for key in keys if set(list_key_ends(key)) <= set(chosen)]
        yield from (_end_line(clause, ",") for clause in clauses[:-1])
        yield _end_line(clauses[-1], "")
        yield ");"

    def _write_head(self, table: Table) -> Iterator[str]:
        rows = f"{table.row_count} rows" if table.row_count is not None else ""
        kind = "a view" if table.is_view else ""
        note = "; ".join(filter(None, (kind, rows, _shorten(table.description, MAX_COMMENT_CHARS))))
        yield f"CREATE TABLE {quote_name(table.name)} (" + (f" -- {note}" if note else "")

    def _write_column(self, table: Table, name: str) -> Clause:
        column = next(one for one in table.columns if one.name == name)
        primary = " PRIMARY KEY" if table.primary_key == (name,) else ""
        matched = self._matched_values.get((table.name, name), ())
        is_likely = (table.name, name) not in self._unlikely_columns
        note = "; ".join(filter(None, _list_notes(table, column, matched, is_likely=is_likely)))
        return f"  {quote_name(name)} {_fold(column.type)}".rstrip() + primary, note

    def _write_key(self, key: ForeignKey) -> Clause:
        matching = f": {key.match_share:.0%} of the values match" if key.match_share else " from names"
        note = "" if key.match_share is None else f"inferred{matching}"
        target = f"{quote_name(key.referenced_table)} ({quote_name(key.referenced_column)})"
        return f"  FOREIGN KEY ({quote_name(key.column)}) REFERENCES {target}", note

    @cached_property
    def _unlikely_columns(self) -> frozenset[ColumnKey]:
        return frozenset((one.table, one.column.name) for one in self.links.columns if one.score < LIKELY_CHANCE)

    @cached_property
    def _matched_values(self) -> Mapping[ColumnKey, list[str]]:
        values: dict[ColumnKey, list[str]] = {}
        for match in self.links.values:
            values.setdefault((match.table, match.column), []).append(match.value)
        return values


def _end_line(clause: Clause, mark: str) -> str:
    """Return a clause on its line: its comment, if any, ends the line."""
    code, note = clause
    return f"{code}{mark} -- {note}" if note else f"{code}{mark}"


def _ends_at(key: ForeignKey, column: ColumnKey) -> bool:
    return column in list_key_ends(key)


def _list_notes(table: Table, column: Column, matched: Sequence[str], *, is_likely: bool) -> Iterator[str]:
    """Yield what a column means, unless its name says it, then the values that matter: those of the question first."""
    named = set(list_roots(split_identifier(f"{table.name} {column.name}")))
    said = column.description or column.meaning
    if not named.issuperset(list_roots(said)):
        yield _shorten(said, MAX_COMMENT_CHARS if is_likely else MAX_UNLIKELY_COMMENT_CHARS)
    if column.unit:
        yield f"in {_fold(column.unit)}"
    is_text = any(kind in column.type.casefold() for kind in ("char", "text", "enum"))
    all_values = ", ".join(map(quote_text, map(_fold, column.values))) if is_text and _has_all_values(column) else ""
    if all_values and len(all_values) <= (MAX_COMMENT_CHARS if is_likely else MAX_UNLIKELY_COMMENT_CHARS):
        yield f"one of {all_values}"
        return
    shown = list(dict.fromkeys([*matched, *(column.values if is_text and is_likely else ())]))[:MAX_COMMENT_VALUES]
    if shown:
        yield "e.g. " + ", ".join(quote_text(_shorten(value, MAX_COMMENT_VALUE_CHARS)) for value in shown)


def _has_all_values(column: Column) -> bool:
    return column.distinct is not None and column.distinct == len(column.values)


def _shorten(text: str, chars: int) -> str:
    folded = _fold(text)
    return folded if len(folded) <= chars else f"{folded[: chars - 1].rstrip()}…"


def _fold(text: str) -> str:
    """Return a text on one line, so that no comment of a database ends the comment in which it stands."""
    return " ".join(text.split())
