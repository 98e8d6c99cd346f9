"""What linking gives within a number of tokens, and how often the values that it matches are those of the SQL."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evals.schema_weights import LabelledQuestion
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


def _compare(given: Collection[object], needed: Collection[object]) -> tuple[float, float]:
    found = len(set(given) & set(needed))
    return found / len(needed), found / len(given) if given else 0.0


async def report_budgets(questions: Sequence[LabelledQuestion], rag: RAG) -> str:
    """Return a table of recall and precision for each number of tokens, and a line about the matched values."""
    lines = [
        "| tokens | column recall | precision | table recall | precision |",
        "| --- | --- | --- | --- | --- |",
    ]
    for tokens in TOKENS:
        budget = LinkBudget(MAX_COLUMNS, tokens=tokens)
        linked = [(await rag.link_schema(one.text, scope=one.database, budget=budget)).links for one in questions]
        given = [GivenParts(list_given(links), one.needed) for one, links in zip(questions, linked, strict=True)]
        shown = " | ".join(f"{mean:.3f}" for mean in np.mean([one.compare() for one in given], axis=0))
        lines.append(f"| {tokens} | {shown} |")
    judged = [right for one, links in zip(questions, linked, strict=True) for right in judge_values(one, links)]
    asked = [found for one, links in zip(questions, linked, strict=True) for found in find_literals(one, links)]
    return "\n".join(
        [
            *lines,
            "",
            f"values: {np.mean(judged):.3f} of {len(judged)} matches are of a column that the SQL reads; "
            f"{np.mean(asked):.3f} of {len(asked)} texts of the SQL that stand in the question are matched there",
        ]
    )


def list_given(links: SchemaLinks) -> frozenset[ColumnKey]:
    """Return the linked columns for which the DDL had room."""
    dropped = set(links.dropped)
    keys = ((one.table, one.column.name) for one in links.columns)
    return frozenset(key for key in keys if ".".join(key) not in dropped)


def judge_values(one: LabelledQuestion, links: SchemaLinks) -> list[bool]:
    """Return of each matched value whether the SQL reads its column."""
    return [(match.table, match.column) in one.needed for match in links.values]


def find_literals(one: LabelledQuestion, links: SchemaLinks) -> Iterator[bool]:
    """Yield of each text in quotes of the SQL that stands in the question whether it was matched to a needed column."""
    matched = {match.value.casefold() for match in links.values if (match.table, match.column) in one.needed}
    for literal in dict.fromkeys(found.replace("''", "'").casefold() for found in _LITERAL.findall(one.sql)):
        if re.search(rf"(?<!\w){re.escape(literal)}(?!\w)", one.text.casefold()):
            yield literal in matched
