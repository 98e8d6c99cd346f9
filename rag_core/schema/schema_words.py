"""The words of a database: the roots of its names and descriptions, read once for all questions."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, Table
from rag_core.schema.name_glossary import NO_MEANINGS, Meanings
from rag_core.text.identifiers import list_roots, split_identifier
from rag_core.text.question_cues import DATE_ROOTS, NAME_ROOTS, PERSON_NAME_ROOTS, PLACE_ROOTS
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

LABEL_ROOTS = 8  # of a description: its beginning says what the column is, the rest explains
KEY_WORDS = frozenset(("id",))
NUMBER_TYPES = ("int", "real", "num", "dec", "float", "double")


@dataclass(frozen=True)
class ColumnWords:
    """The roots of a column's name, of its name alone (without the table's and "id"), and of its description."""

    name: frozenset[str]
    own: frozenset[str]
    label: frozenset[str]
    description: frozenset[str]
    table: frozenset[str]
    is_key: bool
    is_date: bool
    is_text: bool
    is_name: bool
    is_number: bool
    is_place: bool
    uniqueness: float  # of its values, 0..1; 0 where nobody counted


class SchemaWords:
    """The words of a database, read once for all questions; `meanings` are what documents say of names of tables."""

    def __init__(self, database: Database, meanings: Meanings = NO_MEANINGS) -> None:
        self.database = database
        self.by_column = {
            (table.name, column.name): _read_words(table, column, database.key_columns, meanings)
            for table, column in database.iterate_columns()
        }
        self._counts = Counter(
            root for words in self.by_column.values() for root in words.name | words.description | words.table
        )

    @cached_property
    def known_roots(self) -> frozenset[str]:
        return frozenset(self._counts)

    @cached_property
    def person_tables(self) -> frozenset[str]:
        """The tables whose columns name people by parts of a name."""
        return frozenset(table for table, _ in self.person_columns)

    @cached_property
    def person_columns(self) -> frozenset[ColumnKey]:
        """The columns of text with parts of people's names."""
        return frozenset(
            key
            for key, words in self.by_column.items()
            if words.is_text and words.name & PERSON_NAME_ROOTS and words.own <= PERSON_NAME_ROOTS | NAME_ROOTS
        )

    @cached_property
    def name_roots(self) -> frozenset[str]:
        """The roots of the names of tables and columns."""
        return frozenset(root for words in self.by_column.values() for root in words.name | words.table)

    @cached_property
    def keys_into(self) -> Mapping[str, Sequence[ForeignKey]]:
        """The keys of other tables by the table that they refer to."""
        keys: dict[str, list[ForeignKey]] = {table.name: [] for table in self.database.tables}
        for key in self.database.foreign_keys:
            if key.table != key.referenced_table and key.referenced_table in keys:
                keys[key.referenced_table].append(key)
        return keys

    def weigh(self, root: str) -> float:
        """Return how much a word tells: more, the fewer columns have it."""
        return math.log(1 + len(self.by_column) / (0.5 + self._counts[root]))


def _read_words(table: Table, column: Column, keys: Collection[ColumnKey], meanings: Meanings) -> ColumnWords:
    name = list_roots(column.words)
    of_table = list_roots(meanings.get(table.name.casefold(), table.words))
    description = list_roots(column.description or column.meaning)
    is_key = (table.name, column.name) in keys
    own = frozenset(root for root in name if len(root) > 1 and root not in KEY_PHRASE_STOP_WORDS)
    own = own - set(of_table) - KEY_WORDS or (frozenset() if is_key else frozenset(name))
    type = column.type.casefold()
    return ColumnWords(
        name=frozenset((*name, *list_roots(split_identifier(column.name)))),
        own=own,
        label=frozenset(description[:LABEL_ROOTS]) - set(of_table),
        description=frozenset(description) - set(of_table) - KEY_WORDS,
        table=frozenset(of_table),
        is_key=is_key,
        is_date="date" in type or "time" in type or bool(own & DATE_ROOTS),
        is_text="text" in type or "char" in type,
        is_name=not NAME_ROOTS.isdisjoint((*name, *description[:3])),
        is_number=any(kind in type for kind in NUMBER_TYPES),
        is_place=not PLACE_ROOTS.isdisjoint((*name, *description[:3])),
        uniqueness=min(1.0, (column.distinct or 0) / table.row_count) if table.row_count else 0.0,
    )
