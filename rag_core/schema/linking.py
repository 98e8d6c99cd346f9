"""Linking of a question to a schema: columns by what speaks for each, tables by their columns, keys by their joins."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rag_core.schema import weights
from rag_core.schema.chances import add_evidence
from rag_core.schema.choices import choose_values, find_choices
from rag_core.schema.evidence import LinkEvidence
from rag_core.schema.features import (
    Features,
    JoinedKeys,
    compute_column_features,
    compute_joined_features,
    compute_table_features,
    rank_end_chances,
    weigh_features,
)
from rag_core.schema.joins import JoinGraph, list_key_ends
from rag_core.schema.model import ColumnKey, Database, ForeignKey, LinkedColumn, LinkedTable, SchemaLinks
from rag_core.schema.schema_words import SchemaWords

K = TypeVar("K")
CHOSEN_CHANCE = 0.95  # of a table that a chat model chose
NAMED_TABLES = 4  # of which a column that names their rows is always given
SAID_LIFT = 0.2  # of a table by past questions, which is then a reason to name it
CUTS = (2, 3, 4)  # tables, from the likeliest, whose joins are looked at


@dataclass(frozen=True, slots=True)
class LinkWeights:
    """The weights of the features, by name: of columns of content and of keys, of tables, of columns among joins.

    `past` is that of what the words of a question lift, for tables and columns alike.
    """

    content: Mapping[str, float]
    key: Mapping[str, float]
    table: Mapping[str, float]
    joined: Mapping[str, float]
    past: float = weights.PAST_WEIGHT


LINK_WEIGHTS = LinkWeights(weights.CONTENT_WEIGHTS, weights.KEY_WEIGHTS, weights.TABLE_WEIGHTS, weights.JOINED_WEIGHTS)


@dataclass(frozen=True, slots=True)
class LinkBudget:
    """How much of a schema may be given: columns, tables, and o200k_base tokens of its DDL.

    Further tables are taken while those there have not as many columns together: small tables leave room.
    """

    columns: int = 20
    tables: int = 4
    tokens: int = 1500

    def widen(self, tables: int, columns: int) -> "LinkBudget":
        """Return the budget with so many tables and columns, for another choice among them."""
        return replace(self, tables=max(tables, self.tables), columns=max(columns, self.columns))


def link_columns(
    evidence: LinkEvidence,
    budget: LinkBudget,
    *,
    weights: LinkWeights = LINK_WEIGHTS,
    chosen: Collection[str] = (),
    chosen_columns: Collection[ColumnKey] = (),
) -> SchemaLinks:
    """Return the tables, columns, joins and values that the question needs, best first, without DDL.

    `chosen` tables and columns are taken for needed, whatever else speaks for them. Tables joined on the
    way come beside, so there may be more than `budget.tables`.
    """
    chances = score_columns(evidence, compute_column_features(evidence), weights)
    table_chances = score_tables(compute_table_features(evidence, chances), weights)
    table_chances = _lift_chances(table_chances, evidence.past.tables, weights.past)
    table_chances |= {table: max(CHOSEN_CHANCE, table_chances[table]) for table in chosen if table in table_chances}
    joined_features = compute_joined_features(
        evidence, chances, table_chances, find_joined_keys(evidence.words, chances, table_chances)
    )
    scores = {column: weigh_features(one, weights.joined) for column, one in joined_features.items()}
    scores = _lift_chances(scores, evidence.past.columns, weights.past)
    scores |= {column: max(CHOSEN_CHANCE, scores[column]) for column in chosen_columns if column in scores}
    return _select(evidence, scores, table_chances, budget, chosen)


def score_columns(
    evidence: LinkEvidence, features: Mapping[ColumnKey, Features], weights: LinkWeights
) -> dict[ColumnKey, float]:
    """Return the chance, 0..1, of each column by itself."""
    words = evidence.words.by_column
    return {
        column: weigh_features(one, weights.key if words[column].is_key else weights.content)
        for column, one in features.items()
    }


def score_tables(features: Mapping[str, Features], weights: LinkWeights) -> dict[str, float]:
    """Return the chance, 0..1, of each table."""
    return {table: weigh_features(one, weights.table) for table, one in features.items()}


def _lift_chances(chances: Mapping[K, float], lifts: Mapping[K, float], weight: float) -> dict[K, float]:
    """Return the chances with the evidence of past questions added to their log odds."""
    return {one: add_evidence(chance, weight * lifts.get(one, 0.0)) for one, chance in chances.items()}


def find_joined_keys(
    words: SchemaWords, chances: Mapping[ColumnKey, float], table_chances: Mapping[str, float]
) -> JoinedKeys:
    """Return how much each column of a key joins the likely tables."""
    graph, order = JoinGraph.from_database(words.database), _sort_by_score(table_chances)
    certain: dict[ColumnKey, float] = {}
    frequent: dict[ColumnKey, float] = {}
    for cut in CUTS:
        chosen = order[:cut]
        for key in graph.connect(chosen, table_scores=table_chances, column_scores=chances):
            for end in list_key_ends(key):
                certain[end] = max(certain.get(end, 0.0), table_chances[chosen[-1]])
                frequent[end] = frequent.get(end, 0.0) + 1 / len(CUTS)
    direct: dict[ColumnKey, float] = {}
    for end, chance in rank_end_chances(words.database.foreign_keys, table_chances):
        direct[end] = max(direct.get(end, 0.0), chance)
    return JoinedKeys(certain, frequent, direct)


def _select(
    evidence: LinkEvidence,
    scores: Mapping[ColumnKey, float],
    table_chances: Mapping[str, float],
    budget: LinkBudget,
    chosen: Collection[str],
) -> SchemaLinks:
    database = evidence.words.database
    table_scores = {table: chance + _best_of(table, scores) for table, chance in table_chances.items()}
    likeliest = sorted(_sort_by_score(table_scores), key=lambda table: table not in chosen)
    wanted = _choose_tables(likeliest, database, budget)
    graph = JoinGraph.from_database(database)
    path = graph.connect(wanted, table_scores=table_chances, column_scores=scores)
    joins = graph.close(wanted, path, column_scores=scores)
    columns = {(table.name, column.name): column for table, column in database.iterate_columns()}
    tables = list(dict.fromkeys((*wanted, *(table for key in joins for table in (key.table, key.referenced_table)))))
    likely = [one for one in _sort_by_score(scores) if one[0] in tables]
    needed = {end for key in joins for end in list_key_ends(key)} | _find_names(likely, tables, evidence.words)
    best = _keep_needed(likely, needed, budget.columns)
    joins = [key for key in joins if key in path or set(list_key_ends(key)) <= set(best)]
    return SchemaLinks(
        database=database.name,
        tables=tuple(LinkedTable(name, table_scores[name], _explain(name, evidence, joins, best)) for name in tables),
        columns=tuple(LinkedColumn(key[0], columns[key], scores[key], _is_primary(key, database)) for key in best),
        joins=tuple(joins),
        values=tuple(choose_values(evidence, {column: scores[column] for column in best})),
        unknown_words=tuple(evidence.find_unknown_words()),
        nearness=evidence.nearness,
        choices=tuple(find_choices(evidence, {column: scores[column] for column in best})),
        parts=evidence.question.parts,
    )


def _choose_tables(order: Sequence[str], database: Database, budget: LinkBudget) -> list[str]:
    chosen: list[str] = []
    room = budget.columns
    for table in order:
        if len(chosen) >= budget.tables and room <= 0:
            break
        chosen.append(table)
        room -= len(database.tables_by_name[table].columns)
    return chosen


def _find_names(order: Sequence[ColumnKey], tables: Sequence[str], words: SchemaWords) -> set[ColumnKey]:
    """Return what names a row of each of the first tables, which is shown or compared: a person's name in all parts."""
    names = [one for one in order if words.by_column[one].is_name and words.by_column[one].is_text]
    firsts = {next((one for one in names if one[0] == table), None) for table in tables[:NAMED_TABLES]}
    people = {one[0] for one in words.person_columns.intersection(firsts)}
    return {one for one in firsts if one} | {one for one in words.person_columns if one[0] in people}


def _keep_needed(order: Sequence[ColumnKey], needed: Collection[ColumnKey], count: int) -> list[ColumnKey]:
    """Return so many of the columns, the best first; those needed for a join or a name before others."""
    first = [one for one in order if one in needed][:count]
    others = [one for one in order if one not in needed][: count - len(first)]
    kept = {*first, *others}
    return [one for one in order if one in kept]


def _is_primary(column: ColumnKey, database: Database) -> bool:
    return column[1] in database.tables_by_name[column[0]].primary_key


def _best_of(table: str, scores: Mapping[ColumnKey, float]) -> float:
    return max((score for (name, _), score in scores.items() if name == table), default=0.0)


def _explain(
    table: str, evidence: LinkEvidence, joins: Sequence[ForeignKey], best: Sequence[ColumnKey]
) -> tuple[str, ...]:
    """Return in words why a table is needed, the surest reason first."""
    matches = [one.match for one in evidence.matches if one.column[0] == table]
    reasons = [f"{'a rule' if one.by_rule else 'the question'} has its value {one.condition}" for one in matches]
    if named := evidence.table_coverage.get(table):
        reasons.append(f"the question or a rule {'names it' if named == 1 else 'has a part of its name'}")
    if evidence.past.tables.get(table, 0.0) >= SAID_LIFT:
        reasons.append("questions asked before with its words read it")
    columns = [name for owner, name in best if owner == table and not evidence.words.by_column[owner, name].is_key]
    if columns:
        reasons.append(f"the question is about its {', '.join(columns[:3])}")
    joined = [key for key in joins if table in (key.table, key.referenced_table)]
    if joined:
        others = dict.fromkeys(name for key in joined for name in (key.table, key.referenced_table) if name != table)
        reasons.append(f"it is joined with {', '.join(others)}")
    return tuple(reasons) or ("its columns are near to the question in meaning",)


def _sort_by_score(scores: Mapping[K, float]) -> list[K]:
    """Return the keys, the highest score first; equal ones in their order in the database."""
    return sorted(scores, key=lambda one: -scores[one])
