"""`rag eval schema`: how well questions are linked to schemas, beside baselines on the same columns.

Each database is a workflow. The baselines are the whole schema, the question itself, and columns whose names or values
stand in the question (S1-53 to S1-55). The gold SQL of each question is run on a copy of its database that has the
linked columns only.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.restricted_databases import FilledDatabase, fill_database
from rag_core.evaluation.schema_budgets import BudgetRow, ValueScores, measure_budgets, measure_values
from rag_core.evaluation.schema_collection import SchemaCollection, SchemaQuestion, index_databases
from rag_core.evaluation.schema_history import index_histories
from rag_core.rag import RAG
from rag_core.schema.ddl import write_ddl, write_whole_ddl
from rag_core.schema.documents import COLUMN_PART, filter_part, parse_column_key
from rag_core.schema.joins import list_key_ends
from rag_core.schema.linking import LinkBudget
from rag_core.schema.model import ColumnKey, Database, LinkedColumn, SchemaLinks
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.value_matching import match_values
from rag_core.text.identifiers import list_roots, split_identifier
from rag_core.text.tokens import count_tokens

LIMIT, SHORT_LIMIT, TABLE_LIMIT = 20, 10, 4
# of LinkScores, as the table has them
SHARES = {
    "columns_short": f"column recall@{SHORT_LIMIT}",
    "columns": f"@{LIMIT}",
    "tables": f"table recall@{TABLE_LIMIT}",
    "joins": "join recall",
    "runs": "SQL runs",
    "tokens": "tokens, share",
}

Find = Callable[[SchemaQuestion], Awaitable[SchemaLinks]]


@dataclass(frozen=True, slots=True)
class LinkScores:
    """The figures of one question: shares 0..1, and milliseconds of processor time.

    `runs` is 1 where the gold SQL runs on the linked columns, and None where it does not on the whole database either.
    """

    columns_short: float
    columns: float
    tables: float
    joins: float | None
    runs: float | None
    tokens: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """The figures of every question by way, of `link_schema` by number of tokens, and of the values that it matched."""

    title: str
    scores: Mapping[str, Sequence[LinkScores]]
    budgets: Sequence[BudgetRow]
    values: ValueScores

    def format_tables(self) -> str:
        """Return Markdown: a row a way, with half the width of the 95 % intervals; then a row a number of tokens."""
        ways = markdown_tables.format_table(
            ["found by", *SHARES.values(), "CPU ms"], (_format_way(*way) for way in self.scores.items())
        )
        budgets = markdown_tables.format_table(
            ["tokens of `link_schema`", "column recall", "precision", "table recall", "precision"],
            (one.format_cells() for one in self.budgets),
        )
        return "\n\n".join([self.title, ways, budgets, self.values.format_line()])

    def to_json(self) -> dict[str, Any]:
        """Return the means by way, and the rest as it is shown."""
        return {
            "title": self.title,
            "ways": {name: _average(scores) for name, scores in self.scores.items()},
            "budgets": [asdict(one) for one in self.budgets],
            "values": asdict(self.values),
        }


async def evaluate_schema_linking(
    collection: SchemaCollection,
    kit: Kit,
    *,
    max_questions: int | None = None,
    half: str = "",
    by_model: bool = False,
    past_questions: bool = False,
) -> SchemaReport:
    """Index the databases in an empty index and link the questions, all or those of a half, in every way.

    `by_model` adds the linking in which the chat model chooses tables, at the cost of a call a question;
    `past_questions` that with the questions of the other half and their SQL as asked before.

    Raises:
        Misconfigured: there is no chat model, or no half for past questions.
    """
    if by_model and not kit.has_chat_model:
        raise Misconfigured("--by-model needs a chat model: see docs/reference/settings.md")
    asked = collection.questions[HALVES.index(half) :: len(HALVES)] if half else collection.questions
    asked = asked[:max_questions]
    await index_databases(collection, kit)
    filled = {name: fill_database(one, collection.folder) for name, one in collection.databases.items()}
    histories = await index_histories(collection, kit, half=half) if past_questions else {}
    ways = list_link_ways(collection.databases, kit, by_model=by_model, histories=histories)
    scores = {name: await score_links(find, asked, filled) for name, find in ways}
    part = f", {half} half" if half else ""
    return SchemaReport(
        f"{collection.folder.name}{part}: {len(asked)} questions of {len(filled)} databases",
        scores,
        await measure_budgets(asked, RAG(kit)),
        await measure_values(asked, RAG(kit)),
    )


def list_link_ways(
    databases: Mapping[str, Database], kit: Kit, *, by_model: bool = False, histories: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Find]]:
    """Yield the ways to find columns, by name; those of `histories` by the suffix of their workflows."""
    rag = RAG(kit)

    async def find_all(one: SchemaQuestion) -> SchemaLinks:
        return _give_columns(databases[one.database], databases[one.database].columns, limit=10**6)

    async def search(one: SchemaQuestion) -> SchemaLinks:
        filters = filter_part(one.database, COLUMN_PART)
        reply = await rag.search(one.text, scope=one.database, filters=filters, pipeline="standard", top_k=LIMIT)
        found = [key for hit in reply.hits if (key := parse_column_key(hit.chunk))]
        return _give_columns(databases[one.database], found)

    async def match_names(one: SchemaQuestion) -> SchemaLinks:
        database = databases[one.database]
        return _give_columns(database, _rank_by_names(one.text, database))

    async def link(one: SchemaQuestion, *, by_model: bool = False, suffix: str = "") -> SchemaLinks:
        scope = f"{one.database}{suffix}"
        return (await rag.link_schema(one.text, scope=scope, budget=LinkBudget(LIMIT), by_model=by_model)).links

    yield "the whole schema", find_all
    yield "the question, `standard`", search
    yield "names and values in the question", match_names
    yield "`link_schema`", link
    if by_model:
        yield "`link_schema` by model", partial(link, by_model=True)
    for suffix, name in (histories or {}).items():
        yield name, partial(link, suffix=suffix)


def _give_columns(database: Database, found: Sequence[ColumnKey], *, limit: int = LIMIT) -> SchemaLinks:
    """Return the first columns as links, with the keys between them and their DDL."""
    columns = {(table.name, column.name): column for table, column in database.iterate_columns()}
    first = tuple(LinkedColumn(key[0], columns[key], 1.0) for key in found[:limit])
    joins = tuple(key for key in database.foreign_keys if set(list_key_ends(key)) <= set(found[:limit]))
    return write_ddl(SchemaLinks(database.name, (), first, joins, ()), database, 10**6)


def _rank_by_names(text: str, database: Database) -> list[ColumnKey]:
    """Rank columns as the linking of RAT-SQL does: whole names before parts of names, and values (ACL 2020)."""
    roots = set(list_roots(text))
    listed = [((t.name, c.name), v) for t, c in database.iterate_columns() for v in c.values]
    valued = {one.column for one in match_values(QuestionReading(text), listed)}

    def score(key: ColumnKey) -> float:
        table, column = (set(list_roots(split_identifier(name))) for name in key)
        whole = 2 * (column <= roots) + (table <= roots)
        return whole + 0.5 * bool(column & roots) + 0.25 * bool(table & roots) + 2 * (key in valued)

    return sorted(database.columns, key=lambda key: -score(key))


async def score_links(
    find: Find, questions: Sequence[SchemaQuestion], databases: Mapping[str, FilledDatabase]
) -> list[LinkScores]:
    """Return the figures of each question by one way of finding columns."""
    whole = {name: count_tokens(write_whole_ddl(filled.database)) for name, filled in databases.items()}
    return [await _score_one(find, one, databases[one.database], whole[one.database]) for one in questions]


async def _score_one(find: Find, one: SchemaQuestion, filled: FilledDatabase, whole: int) -> LinkScores:
    database = filled.database
    started = time.process_time()
    links = await find(one)
    cpu_ms = (time.process_time() - started) * 1000
    found = [(linked.table, linked.column.name) for linked in links.columns]
    tables = list(dict.fromkeys(table.name for table in links.tables)) or list(dict.fromkeys(t for t, _ in found))
    joined = [key for key in database.foreign_keys if set(list_key_ends(key)) <= one.needed]
    limit = len(found) if len(found) == len(database.columns) else LIMIT  # the whole schema has no order
    return LinkScores(
        columns_short=_share(one.needed, found[: min(SHORT_LIMIT, limit) if limit == LIMIT else limit]),
        columns=_share(one.needed, found[:limit]),
        tables=_share({table for table, _ in one.needed}, tables[: TABLE_LIMIT if limit == LIMIT else None]),
        joins=_share(joined, links.joins) if joined else None,
        runs=filled.runs_on(one.sql, found[:limit]),
        tokens=links.ddl_tokens / whole,
        cpu_ms=cpu_ms,
    )


def _share(needed: Iterable[Any], found: Iterable[Any]) -> float:
    wanted = set(needed)
    return len(wanted & set(found)) / len(wanted)


def _format_way(name: str, scores: Sequence[LinkScores]) -> list[str]:
    shown = [_format_share([getattr(one, field) for one in scores]) for field in SHARES]
    return [name, *shown, f"{np.mean([one.cpu_ms for one in scores]):.0f}"]


def _average(scores: Sequence[LinkScores]) -> dict[str, float | None]:
    """Return the mean of each figure; None where no question has it."""
    columns = {field: [getattr(one, field) for one in scores] for field in (*SHARES, "cpu_ms")}
    counted = {field: [value for value in values if value is not None] for field, values in columns.items()}
    return {field: float(np.mean(values)) if values else None for field, values in counted.items()}


def _format_share(values: Sequence[float | None]) -> str:
    """Format a mean with half the width of its 95 % interval, by the normal approximation."""
    counted = np.array([value for value in values if value is not None], dtype=float)
    if not len(counted):
        return "-"
    half = 1.96 * np.std(counted) / np.sqrt(len(counted))
    return f"{np.mean(counted):.3f} ± {half:.3f}"
