"""What linking gives within a number of tokens, and how often the values that it matches are those of the SQL."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag_core.evaluation.schema_collection import SchemaQuestion
from rag_core.rag import RAG
from rag_core.schema.linking import LinkBudget
from rag_core.schema.model import ColumnKey, SchemaLinks

TOKENS = (150, 300, 600, 1200)
MAX_COLUMNS = 60  # more than any of these budgets holds
_LITERAL = re.compile(r"'((?:[^']|'')+)'")


@dataclass(frozen=True, slots=True)
class GivenParts:
    """Of one question: the columns and tables that stand in its DDL, and those that its SQL reads."""

    columns: frozenset[ColumnKey]
    needed: frozenset[ColumnKey]

    def compare(self) -> tuple[float, float, float, float]:
        """Return recall and precision of the columns, then of the tables."""
        tables, needed_tables = ({table for table, _ in keys} for keys in (self.columns, self.needed))
        return *_compare(self.columns, self.needed), *_compare(tables, needed_tables)


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """Means of what stands in a DDL of so many tokens, 0..1."""

    tokens: int
    column_recall: float
    column_precision: float
    table_recall: float
    table_precision: float

    def format_cells(self) -> list[str]:
        shares = (self.column_recall, self.column_precision, self.table_recall, self.table_precision)
        return [str(self.tokens), *(f"{share:.3f}" for share in shares)]


@dataclass(frozen=True, slots=True)
class ValueScores:
    """How many values were matched, with the share that is right; and how many the SQL has, with the share matched.

    A match is right where the SQL reads its column. Counted of the SQL are the texts that stand in the question.
    """

    matched: int
    right: float | None
    asked: int
    found: float | None

    def format_line(self) -> str:
        right, found = (f"{share:.3f}" if share is not None else "-" for share in (self.right, self.found))
        return (
            f"values: {right} of {self.matched} matches are of a column that the SQL reads; "
            f"{found} of {self.asked} texts of the SQL that stand in the question are matched there"
        )


def _compare(given: Collection[object], needed: Collection[object]) -> tuple[float, float]:
    found = len(set(given) & set(needed))
    return found / len(needed), found / len(given) if given else 0.0


async def measure_budgets(questions: Sequence[SchemaQuestion], rag: RAG) -> list[BudgetRow]:
    """Return recall and precision for each number of tokens."""
    rows = []
    for tokens in TOKENS:
        linked = await _link_all(questions, LinkBudget(MAX_COLUMNS, tokens=tokens), rag)
        given = [GivenParts(list_given(links), one.needed) for one, links in zip(questions, linked, strict=True)]
        rows.append(BudgetRow(tokens, *map(float, np.mean([one.compare() for one in given], axis=0))))
    return rows


async def measure_values(questions: Sequence[SchemaQuestion], rag: RAG) -> ValueScores:
    """Return how often the values matched within the usual budget are those of the SQL."""
    linked = await _link_all(questions, LinkBudget(), rag)
    pairs = list(zip(questions, linked, strict=True))
    judged = [right for one, links in pairs for right in judge_values(one, links)]
    asked = [found for one, links in pairs for found in find_literals(one, links)]
    return ValueScores(len(judged), _average(judged), len(asked), _average(asked))


async def _link_all(questions: Sequence[SchemaQuestion], budget: LinkBudget, rag: RAG) -> list[SchemaLinks]:
    return [(await rag.link_schema(one.text, scope=one.database, budget=budget)).links for one in questions]


def _average(judged: Sequence[bool]) -> float | None:
    return float(np.mean(judged)) if judged else None


def list_given(links: SchemaLinks) -> frozenset[ColumnKey]:
    """Return the linked columns for which the DDL had room."""
    dropped = set(links.dropped)
    keys = ((one.table, one.column.name) for one in links.columns)
    return frozenset(key for key in keys if ".".join(key) not in dropped)


def judge_values(one: SchemaQuestion, links: SchemaLinks) -> list[bool]:
    """Return of each matched value whether the SQL reads its column."""
    return [(match.table, match.column) in one.needed for match in links.values]


def find_literals(one: SchemaQuestion, links: SchemaLinks) -> Iterator[bool]:
    """Yield of each text in quotes of the SQL that stands in the question whether it was matched to a needed column."""
    matched = {match.value.casefold() for match in links.values if (match.table, match.column) in one.needed}
    for literal in dict.fromkeys(found.replace("''", "'").casefold() for found in _LITERAL.findall(one.sql)):
        if re.search(rf"(?<!\w){re.escape(literal)}(?!\w)", one.text.casefold()):
            yield literal in matched
