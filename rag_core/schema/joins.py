"""Joins: the graph of the foreign keys, paths through it, and keys inferred where a database declares none."""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, Table
from rag_core.text.identifiers import list_roots, split_identifier

STEP_COST = 1.3  # of a join; less by up to 0.9 for a table and a key that the question itself is about
TABLE_DISCOUNT, KEY_DISCOUNT = 0.6, 0.3
MIN_MATCH_SHARE = 0.8  # of the known values, for two columns to be joined without a declared key
ID_WORDS = frozenset(("id", "key", "code", "no", "number", "uid"))


@dataclass(frozen=True, slots=True)
class JoinGraph:
    """The joins from each table; a key from a table to itself joins nothing new and is left out."""

    keys_by_table: Mapping[str, Sequence[ForeignKey]]

    @classmethod
    def from_database(cls, database: Database) -> "JoinGraph":
        keys: dict[str, list[ForeignKey]] = {table.name: [] for table in database.tables}
        for key in database.foreign_keys:
            if key.table != key.referenced_table and {key.table, key.referenced_table} <= keys.keys():
                keys[key.table].append(key)
                keys[key.referenced_table].append(key)
        return cls(keys)

    def connect(
        self,
        tables: Sequence[str],
        *,
        table_scores: Mapping[str, float],
        column_scores: Mapping[ColumnKey, float],
    ) -> list[ForeignKey]:
        """Return the keys that connect the tables, each to those before it by the cheapest path.

        Scores, 0..1, make a path through what the question is about cheaper. What no key reaches stays alone.
        """
        joined = set(tables[:1])
        chosen: dict[ForeignKey, None] = {}
        for table in tables[1:]:
            path = () if table in joined else self._find_path(joined, table, table_scores, column_scores)
            for key in path:
                chosen[key] = None
                joined |= {key.table, key.referenced_table}
            joined.add(table)
        return list(chosen)

    def _find_path(
        self,
        starts: Collection[str],
        goal: str,
        table_scores: Mapping[str, float],
        column_scores: Mapping[ColumnKey, float],
    ) -> tuple[ForeignKey, ...]:
        """Return the cheapest path from any of the starts; () where there is none. Dijkstra's algorithm."""
        tie = count()
        queue: list[tuple[float, int, str, tuple[ForeignKey, ...]]]
        queue = [(0.0, next(tie), table, ()) for table in sorted(starts)]
        done: set[str] = set()
        while queue:
            cost, _, table, path = heapq.heappop(queue)
            if table == goal:
                return path
            if table in done:
                continue
            done.add(table)
            for key in self.keys_by_table.get(table, ()):
                other = key.referenced_table if key.table == table else key.table
                if other not in done:
                    step = STEP_COST - TABLE_DISCOUNT * table_scores.get(other, 0.0)
                    step -= KEY_DISCOUNT * max(column_scores.get(end, 0.0) for end in list_key_ends(key))
                    heapq.heappush(queue, (cost + step, next(tie), other, (*path, key)))
        return ()


def list_key_ends(key: ForeignKey) -> tuple[ColumnKey, ColumnKey]:
    """Return the two columns that a key makes equal."""
    return (key.table, key.column), (key.referenced_table, key.referenced_column)


def propose_keys(database: Database) -> Iterator[ForeignKey]:
    """Yield the foreign keys that names and types suggest for columns that declare none, with a share of 0.

    A column may refer to the single primary key of another table when their names say so (`publisher_id` and
    `publisher.id`, or two equal names that end like a key) and their types are alike. Whether the values match is for
    the caller to find out: below `MIN_MATCH_SHARE` it is no key.
    """
    declared = {(key.table, key.column) for key in database.foreign_keys}
    for table, column in database.iterate_columns():
        if (table.name, column.name) not in declared:
            yield from _propose_keys_of(table, column, database.tables)


def _propose_keys_of(table: Table, column: Column, others: Iterable[Table]) -> Iterator[ForeignKey]:
    for other in others:
        if other.name == table.name or len(other.primary_key) != 1:
            continue
        key = next((one for one in other.columns if one.name == other.primary_key[0]), None)
        if key and _names_a_key(table, column, other, key) and _are_types_alike(column.type, key.type):
            yield ForeignKey(table.name, column.name, other.name, key.name, 0.0)


def _names_a_key(table: Table, column: Column, other: Table, key: Column) -> bool:
    name, key_name = split_identifier(column.name).split(), split_identifier(key.name).split()
    ends_like_key = bool(name) and name[-1] in ID_WORDS
    if name == key_name:
        # two tables may both have a primary key `id`, which refers to nothing
        return ends_like_key and len(name) > 1 and table.primary_key != (column.name,)
    other_roots = list_roots(split_identifier(other.name))
    return ends_like_key and list_roots(" ".join(name[:-1]))[-len(other_roots) :] == other_roots != []


def _are_types_alike(one: str, other: str) -> bool:
    return _find_type_family(one) == _find_type_family(other)


def _find_type_family(type: str) -> str:
    folded = type.casefold()
    return next((name for name in ("int", "char", "text", "uuid") if name in folded), folded).replace("text", "char")
