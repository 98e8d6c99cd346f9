"""What speaks for a column, a table, and a column among the tables that are joined: named numbers for the weights."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag_core.schema.joins import list_key_ends
from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, Table
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.similarity import ColumnSimilarity
from rag_core.schema.value_matching import ScoredMatch
from rag_core.text.identifiers import find_root, list_roots, split_identifier
from rag_core.text.question_cues import (
    COMPUTING_ROOTS,
    DATE_ROOTS,
    NAME_ROOTS,
    PERSON_NAME_ROOTS,
    PLACE_ROOTS,
    find_cued_roots,
)
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

Features = dict[str, float]
LABEL_ROOTS = 8  # of a description: its beginning says what the column is, the rest explains
SMALL_TABLE_COLUMNS = 3  # of a table that only gives names to ids
KEY_WORDS = frozenset(("id",))
NUMBER_TYPES = ("int", "real", "num", "dec", "float", "double")
NEAR_PHRASE = 1.5  # standard deviations above which a similarity begins to tell something
MIN_CHANCE = 0.005  # so that a logit stays finite


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
    """The words of a database, read once for all questions."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.by_column = {
            (table.name, column.name): _read_words(table, column, database.key_columns)
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


def _read_words(table: Table, column: Column, keys: Collection[ColumnKey]) -> ColumnWords:
    name, of_table = list_roots(split_identifier(column.name)), list_roots(split_identifier(table.name))
    description = list_roots(column.description)
    is_key = (table.name, column.name) in keys
    own = frozenset(root for root in name if len(root) > 1 and root not in KEY_PHRASE_STOP_WORDS)
    own = own - set(of_table) - KEY_WORDS or (frozenset() if is_key else frozenset(name))
    type = column.type.casefold()
    return ColumnWords(
        name=frozenset(name),
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


@dataclass(frozen=True)
class LinkEvidence:
    """What is known of a question and a database before anything is weighed."""

    question: QuestionReading
    words: SchemaWords
    similarities: Mapping[ColumnKey, ColumnSimilarity]
    matches: Sequence[ScoredMatch]
    near_columns: Mapping[str, Sequence[ColumnKey]] = field(default_factory=dict)  # by phrase of the question itself
    answerable: float | None = None
    alike: Mapping[ColumnKey, float] = field(default_factory=dict)  # columns that may have a name as a value, 0..1

    def find_unknown_words(self) -> list[str]:
        """Return the words of the question, as it spells them, that nothing accounts for.

        They are no name or description in the schema, ask for none by another word, are part of no value that was
        found, are explained by no rule, and do not ask for something to be computed.
        """
        explained = self.words.known_roots | COMPUTING_ROOTS | set(list_roots("\n".join(self.question.hints)))
        return [
            word
            for word in dict.fromkeys(self.question.list_content_words())
            if word.casefold() not in self.matched_words
            and not self._is_explained(find_root(word.casefold()), explained)
        ]

    def _is_explained(self, root: str, explained: Collection[str]) -> bool:
        return root in explained or not find_cued_roots((root,)).isdisjoint(self.words.known_roots)

    @cached_property
    def value_strengths(self) -> Mapping[ColumnKey, float]:
        strengths = dict(self.alike)
        for match in self.matches:
            strengths[match.column] = max(strengths.get(match.column, 0.0), match.strength)
        return strengths

    @cached_property
    def matched_words(self) -> frozenset[str]:
        return frozenset(word for one in self.matches for word in one.match.words.split())

    @cached_property
    def has_names(self) -> bool:
        return bool(self.question.find_names(self.words.known_roots, self.matched_words))

    @cached_property
    def instance_tables(self) -> frozenset[str]:
        """The tables of which the question names one row, as "the event 'Open Day'" does."""
        beside = self.question.find_words_beside_names(self.words.known_roots)
        return frozenset(
            table for (table, _), words in self.words.by_column.items() if words.table and words.table <= beside
        )

    @cached_property
    def has_places(self) -> bool:
        return bool(self.question.find_places(self.words.known_roots, self.matched_words))

    @cached_property
    def has_quotations(self) -> bool:
        return bool(self.question.find_quotations(self.matched_words))

    @cached_property
    def table_similarities(self) -> Mapping[str, Sequence[float]]:
        by_table: dict[str, list[float]] = {}
        for (table, _), similarity in self.similarities.items():
            by_table.setdefault(table, []).append(similarity.question)
        return by_table

    @cached_property
    def table_coverage(self) -> Mapping[str, float]:
        """The share of the words of each table's name that the question has."""
        return {
            table: len(words.table & self.question.roots) / max(1, len(words.table))
            for (table, _), words in self.words.by_column.items()
        }

    @cached_property
    def named_by_keys(self) -> Mapping[str, float]:
        """The greatest share of the words of a key into each table that the question has: "hair" of hair_colour_id."""
        return {table: max(map(self._cover_key, keys), default=0.0) for table, keys in self.words.keys_into.items()}

    @cached_property
    def meant_by_keys(self) -> Mapping[str, float]:
        """The greatest similarity of a key into each table to the question."""
        return {
            table: max((self.similarities[key.table, key.column].question for key in keys), default=0.0)
            for table, keys in self.words.keys_into.items()
        }

    def _cover_key(self, key: ForeignKey) -> float:
        words = self.words.by_column[key.table, key.column]
        own = words.name - KEY_WORDS - words.table
        return len(own & self.question.roots) / len(own) if own else 0.0


def compute_column_features(evidence: LinkEvidence) -> dict[ColumnKey, Features]:
    """Return what speaks for each column by itself."""
    return {
        (table.name, column.name): _compute_column(table, column, evidence)
        for table, column in evidence.words.database.iterate_columns()
    }


def _compute_column(table: Table, column: Column, evidence: LinkEvidence) -> Features:
    words = evidence.words.by_column[table.name, column.name]
    features = {**_compute_common(table, column, words, evidence), "columns": math.log(len(table.columns))}
    further = _compute_key if words.is_key else _compute_content
    return {**features, **dict(further(table, column, words, evidence))}


def _compute_common(table: Table, column: Column, words: ColumnWords, evidence: LinkEvidence) -> Features:
    asked, similarity = evidence.question.roots, evidence.similarities[table.name, column.name]
    weigh, of_table = evidence.words.weigh, evidence.table_similarities[table.name]
    own_weight = sum(map(weigh, words.own)) or 1.0
    hits = [weigh(root) for root in words.own & asked]
    return {
        "bias": 1.0,
        "meaning": similarity.question,
        "near meaning": max(0.0, similarity.question) ** 2,
        "phrase": similarity.phrase,
        "near phrase": max(0.0, similarity.phrase - NEAR_PHRASE) ** 2,
        "place for a phrase": similarity.phrase_place,
        "best of the table": max(of_table),
        "mean of the table": sum(of_table) / len(of_table),
        "name covered": sum(hits) / own_weight,
        "rarest word of the name": max(hits, default=0.0),
        "words of the description": sum(weigh(root) for root in words.description & asked),
        "label covered": len(words.label & asked) / max(1, len(words.label)),
        "table named": evidence.table_coverage[table.name],
    }


def _compute_content(
    table: Table, column: Column, words: ColumnWords, evidence: LinkEvidence
) -> Iterator[tuple[str, float]]:
    """Yield what speaks for a column whose values are asked for."""
    strength = evidence.value_strengths.get((table.name, column.name), 0.0)
    of_person, named = table.name in evidence.words.person_tables, evidence.table_coverage[table.name]
    yield "cued", float(bool((words.own | words.label) & evidence.question.cued_roots))
    yield "value", min(strength, 1.0)
    yield "longer value", max(0.0, strength - 1)
    yield "is a name", float(words.is_name)
    yield "is a name of a named table", words.is_name * named
    names_text = words.is_name and words.is_text
    yield "is a person's name and one is asked", float(names_text and of_person and evidence.has_names)
    yield "is a name and one is asked", float(names_text and not of_person and evidence.has_names)
    yield "is a name of a table of which one is named", float(names_text and table.name in evidence.instance_tables)
    yield "is a name and something is quoted", float(names_text and evidence.has_quotations)
    yield "is a date", float(words.is_date)
    yield "is a date and one is asked", float(words.is_date and evidence.question.has_date)
    yield (
        "is a person's name and a person is asked",
        float(names_text and of_person and evidence.question.asks_for_person),
    )
    yield "is text", float(words.is_text)
    yield "is a number", float(words.is_number)
    yield "is a number and some are compared", float(words.is_number and evidence.question.compares_numbers)
    yield "is a date and some are ordered", float(words.is_date and evidence.question.orders_dates)
    yield "is a place", float(words.is_place)
    yield "is a place and one is asked", float(words.is_place and words.is_text and evidence.has_places)
    yield "has one value", float(column.distinct is not None and column.distinct <= 1)
    yield "null share", column.null_share or 0.0
    yield "named by a key", evidence.named_by_keys[table.name]
    is_small = len(table.columns) <= SMALL_TABLE_COLUMNS
    yield "meant by a key", evidence.meant_by_keys[table.name] * is_small


def _compute_key(
    table: Table, column: Column, words: ColumnWords, evidence: LinkEvidence
) -> Iterator[tuple[str, float]]:
    """Yield what speaks for a column of a key by itself, without the joins that it makes."""
    is_primary = column.name in table.primary_key
    refers = any(key.table == table.name and key.column == column.name for key in evidence.words.database.foreign_keys)
    counted = is_primary and not refers and evidence.question.asks_for_count
    yield "is primary", float(is_primary)
    yield "is primary of a counted table", counted * evidence.table_coverage[table.name]


def compute_table_features(evidence: LinkEvidence, chances: Mapping[ColumnKey, float]) -> dict[str, Features]:
    """Return what speaks for each table, from the chances, 0..1, of its columns and of the keys into it."""
    return {
        table.name: _compute_table(table, evidence, chances)
        for table in evidence.words.database.tables
        if table.columns
    }


def _compute_table(table: Table, evidence: LinkEvidence, chances: Mapping[ColumnKey, float]) -> Features:
    columns = [(table.name, column.name) for column in table.columns]
    of_keys = [chances[column] for column in columns if evidence.words.by_column[column].is_key]
    of_content = [chances[column] for column in columns if not evidence.words.by_column[column].is_key]
    best = [*sorted(of_content, reverse=True)[:3], 0.0, 0.0, 0.0]
    keys = evidence.words.keys_into[table.name]
    from_key = compute_logit(max((chances[key.table, key.column] for key in keys), default=0.0))
    is_small = len(table.columns) <= SMALL_TABLE_COLUMNS
    joined = {name for key in keys for name in (key.table,)} | {
        key.referenced_table for key in evidence.words.database.foreign_keys if key.table == table.name
    }
    return {
        "bias": 1.0,
        "key into it": from_key,
        "key into a small one": from_key * is_small,
        "columns": math.log(len(columns)),
        "best column": compute_logit(best[0]),
        "second column": compute_logit(best[1]),
        "three columns": sum(best[:3]),
        "best key": compute_logit(max(of_keys, default=0.0)),
        "named": evidence.table_coverage[table.name],
        "fully named": float(evidence.table_coverage[table.name] == 1),
        "only keys": float(not of_content),
        "value": min(1.0, max(evidence.value_strengths.get(column, 0.0) for column in columns)),
        "is small": float(is_small),
        "joins": math.log(1 + len(joined)),
    }


@dataclass(frozen=True, slots=True)
class JoinedKeys:
    """How much each column of a key joins the likely tables, 0..1 each.

    `certain` is the chance of the least likely of the tables that are joined through the column, `frequent` the share
    of the cuts (the best two, three and four tables) in which it joins, `direct` that of its own two tables.
    """

    certain: Mapping[ColumnKey, float]
    frequent: Mapping[ColumnKey, float]
    direct: Mapping[ColumnKey, float]


def compute_joined_features(
    evidence: LinkEvidence,
    chances: Mapping[ColumnKey, float],
    table_chances: Mapping[str, float],
    joined: JoinedKeys,
) -> dict[ColumnKey, Features]:
    """Return what speaks for each column, now that it is known which tables are likely and what joins them."""
    first = max(table_chances, key=lambda table: table_chances[table], default="")
    return {
        column: _compute_joined(column, evidence, chances[column], table_chances[column[0]], joined, column[0] == first)
        for column in chances
    }


def _compute_joined(
    column: ColumnKey, evidence: LinkEvidence, chance: float, of_table: float, joined: JoinedKeys, is_first: bool
) -> Features:
    words = evidence.words.by_column[column]
    logit, table_logit = compute_logit(chance), compute_logit(of_table)
    asks_name = evidence.has_names or evidence.question.asks_for_person
    names_person = words.is_name and words.is_text and column[0] in evidence.words.person_tables
    names_row = words.uniqueness * (words.is_text and (evidence.has_names or evidence.has_quotations))
    return {
        "bias": 1.0,
        "column": logit,
        "table": table_logit,
        "table's chance": of_table,
        "is key": float(words.is_key),
        "key": words.is_key * logit,
        "key's table": words.is_key * table_logit,
        "direct join": joined.direct.get(column, 0.0),
        "certain join": joined.certain.get(column, 0.0),
        "frequent join": joined.frequent.get(column, 0.0),
        "first table": float(is_first),
        "date of the table": of_table * (words.is_date and evidence.question.has_date),
        "name of the table": of_table * (words.is_name and evidence.has_names),
        "person's name of the table": of_table * (names_person and asks_name),
        "unique text of the table": of_table * names_row,
        "place of the table": of_table * (words.is_place and evidence.has_places),
    }


def compute_logit(chance: float) -> float:
    """Return log(p / (1 - p)) of a chance, kept off 0 and 1."""
    kept = min(max(chance, MIN_CHANCE), 1 - MIN_CHANCE)
    return math.log(kept / (1 - kept))


def weigh_features(features: Features, weights: Mapping[str, float]) -> float:
    """Return the chance, 0..1, that weighted features give."""
    total = sum(value * weights[name] for name, value in features.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def rank_end_chances(
    keys: Sequence[ForeignKey], table_chances: Mapping[str, float]
) -> Iterator[tuple[ColumnKey, float]]:
    """Yield the columns of keys with the chance of the less likely of the two tables."""
    for key in keys:
        if key.table != key.referenced_table and {key.table, key.referenced_table} <= table_chances.keys():
            chance = min(table_chances[key.table], table_chances[key.referenced_table])
            yield from ((end, chance) for end in list_key_ends(key))
