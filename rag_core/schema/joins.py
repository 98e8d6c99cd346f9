"""Joins: the graph of the foreign keys, paths through it, and keys inferred where a database declares none."""

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, Table
from rag_core.text.identifiers import list_roots, split_identifier, split_table_name

STEP_COST = 1.3  # of a join; less by up to 0.9 for a table and a key that the question itself is about
TABLE_DISCOUNT, KEY_DISCOUNT = 0.6, 0.3
MIN_MATCH_SHARE = 0.8  # of the known values, for two columns to be joined without a declared key
ID_WORDS = frozenset(("id", "key", "code", "no", "number", "uid"))
GENERIC_KEYS = ID_WORDS - {"uid"}  # of which a column alone says nothing of a table
POINTING_WORDS = frozenset(("link", "ref", "reference", "fk"))  # in the name of a column that points to a table
REFERENCE_ROOTS = frozenset(list_roots("references referenced foreign"))  # in the description of one


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

    def close(
        self, tables: Sequence[str], path: Sequence[ForeignKey], *, column_scores: Mapping[ColumnKey, float]
    ) -> list[ForeignKey]:
        """Return the path, then the likeliest key of every two of the tables that it does not join directly.

        A path reaches each table once, but SQL may join a table to two others: results to races and to drivers.
        """
        joined = {frozenset((key.table, key.referenced_table)): key for key in path}
        keys = dict.fromkeys(key for table in tables for key in self.keys_by_table.get(table, ()))
        further = [key for key in keys if {key.table, key.referenced_table} <= set(tables)]
        for key in sorted(further, key=lambda one: -max(column_scores.get(end, 0.0) for end in list_key_ends(one))):
            joined.setdefault(frozenset((key.table, key.referenced_table)), key)
        return list(dict.fromkeys((*path, *joined.values())))

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
    """Yield the foreign keys that names, types and descriptions suggest where none is declared, with a share of 0.

    A column may refer to the key of another table when their names say so (`publisher_id` or `PublisherRef` and
    `publisher.id`, `link_to_event` and `event.event_id`, `MeterSerial` and `Meter.SerialNo`, `billing_address_id` and
    `t_cust_address.address_id`, or two equal names that are not just "id"), or when its description does
    ("references the table users"), and their types are alike. A column refers to one table, the one that it is named
    for before others. Whether the values match is for the caller to find out.
    """
    declared = {(key.table, key.column) for key in database.foreign_keys}
    tables = [table for table in database.tables if not table.is_view]  # a view repeats keys that are others'
    keys = {table.name: key for table in tables if (key := find_key_column(table))}
    joined: set[frozenset[ColumnKey]] = set()
    for table, column in database.iterate_columns():
        if (table.name, column.name) in declared:
            continue
        proposed = [
            (strength, other.name, key.name)
            for other in tables
            if other.name != table.name and (key := keys.get(other.name)) and _are_types_alike(column.type, key.type)
            if (strength := _rate_key(column, other, key))
        ]
        _, other_name, key_name = max(proposed, key=lambda one: one[0], default=(0, "", ""))
        ends = frozenset(((table.name, column.name), (other_name, key_name)))
        if other_name and ends not in joined:
            joined.add(ends)
            yield ForeignKey(table.name, column.name, other_name, key_name, 0.0)


def infer_keys(database: Database) -> Database:
    """Return a database without any foreign key with those that are proposed; another as it is.

    Their share of matching values is 0: where the values were compared, the keys that match are there already.
    """
    return database if database.foreign_keys else replace(database, foreign_keys=tuple(propose_keys(database)))


def find_key_column(table: Table) -> Column | None:
    """Return the column that tells the rows of a table apart: declared, else named for it, else the first of all."""
    if table.primary_key:
        name = table.primary_key[0] if len(table.primary_key) == 1 else ""
        return next((one for one in table.columns if one.name == name), None)
    roots = list_roots(split_table_name(table.name))
    named = (one for one in table.columns if _is_named_as_key(one) and _drop_key_words(one.name) in ([], roots))
    return next(named, next((one for one in table.columns[:1] if _is_named_as_key(one)), None))


def _is_named_as_key(column: Column) -> bool:
    words = split_identifier(column.name).split()
    return bool(words) and words[-1] in ID_WORDS


def _rate_key(column: Column, other: Table, key: Column) -> int:
    """Return 0 where nothing says that a column refers to the key of another table, more the more plainly it does."""
    named_for, roots = list_roots(split_table_name(other.name)), _drop_key_words(column.name)
    key_roots = _drop_key_words(key.name)
    words, said = split_identifier(column.name).split(), list_roots(column.description)
    if not words or not named_for:
        return 0
    if not REFERENCE_ROOTS.isdisjoint(said) and _has_run(said, named_for):
        return 4
    is_pointing = _is_named_as_key(column) or not POINTING_WORDS.isdisjoint(words)
    if (is_pointing and roots[-len(named_for) :] == named_for) or (key_roots and roots == [*named_for, *key_roots]):
        return 3
    if _list_roots(column.name) == _list_roots(key.name):
        return 2 * (roots != [] or words[0] not in GENERIC_KEYS)
    ends_as_key = _is_named_as_key(column) and roots[-len(key_roots) :] == key_roots
    is_same_thing = roots == key_roots or ends_as_key
    return int(bool(key_roots) and is_same_thing and roots != named_for and _is_named_as_key(key))


def _list_roots(name: str) -> list[str]:
    return list_roots(split_identifier(name))


def _drop_key_words(name: str) -> list[str]:
    """Return the roots of the words of a name that do not only say that it is a key or points to one."""
    words = split_identifier(name).split()
    return list_roots(" ".join(word for word in words if word not in ID_WORDS | POINTING_WORDS))


def _has_run(roots: Sequence[str], run: Sequence[str]) -> bool:
    return bool(run) and any(list(roots[at : at + len(run)]) == list(run) for at in range(len(roots)))


def _are_types_alike(one: str, other: str) -> bool:
    return _find_type_family(one) == _find_type_family(other)


def _find_type_family(type: str) -> str:
    folded = type.casefold()
    return next((name for name in ("int", "char", "text", "uuid") if name in folded), folded).replace("text", "char")
