"""What speaks for a column, a table, and a column among the tables that are joined: named numbers for the weights."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_core.schema.chances import compute_chance, compute_logit
from rag_core.schema.evidence import LinkEvidence
from rag_core.schema.joins import list_key_ends
from rag_core.schema.model import Column, ColumnKey, ForeignKey, Table
from rag_core.schema.schema_words import ColumnWords

Features = dict[str, float]
SMALL_TABLE_COLUMNS = 3  # of a table that only gives names to ids
NEAR_PHRASE = 1.5  # standard deviations above which a similarity begins to tell something


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


def weigh_features(features: Features, weights: Mapping[str, float]) -> float:
    """Return the chance, 0..1, that weighted features give."""
    return compute_chance(sum(value * weights[name] for name, value in features.items()))


def rank_end_chances(
    keys: Sequence[ForeignKey], table_chances: Mapping[str, float]
) -> Iterator[tuple[ColumnKey, float]]:
    """Yield the columns of keys with the chance of the less likely of the two tables."""
    for key in keys:
        if key.table != key.referenced_table and {key.table, key.referenced_table} <= table_chances.keys():
            chance = min(table_chances[key.table], table_chances[key.referenced_table])
            yield from ((end, chance) for end in list_key_ends(key))
