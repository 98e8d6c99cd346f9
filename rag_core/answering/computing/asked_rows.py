"""The row of a report that states a figure, for a question that names the report and, in most of its words, the row.

A report has many tables with the same rows; one of them by the words alone would be ambiguous, and its prose has the
same words. The figure that most of the passages found give is the one that is asked for.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.answering.computing.questions import parse_operation
from rag_core.answering.computing.stored_tables import CitedRow
from rag_core.core.model import Chunk, Ranking
from rag_core.retrieval.asked_documents import find_asked_documents, select_best_documents
from rag_core.text.answer_types import asks_for_figure
from rag_core.text.figures import parse_figure
from rag_core.text.periods import Period, find_periods, remove_periods
from rag_core.text.table_rows import state_row
from rag_core.text.tables import TableRow, TextTable, read_text_tables
from rag_core.text.terms import extract_terms

MIN_ROW_AGREEMENT = 0.75  # of the terms of question and label, those of both counted twice
_ASKED_SCALE = extract_terms("USD millions billions thousands dollars year end amount fiscal annual report statement")
# what is asked of a row with one of these words, which its label lacks, is computed from it
_MEASURES = extract_terms(
    "margin ratio rate growth percentage percent turnover change average per increase decrease share"
)


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A row that states what is asked for, as it is said: with the head of each column and the scale of its table."""

    row: CitedRow
    text: str


def find_asked_row(query_text: str, hits: Ranking) -> AskedRow | None:
    """Return the row with the figure asked for, of the report that the question names; None where none is certain.

    What is to be computed is no row, and of a row without the column of the asked year nothing is known.
    """
    shares = find_asked_documents(query_text, hits)
    operation = parse_operation(query_text)
    if not shares or not asks_for_figure(query_text) or (operation and operation.kind != "sum"):
        return None
    best = select_best_documents(shares)
    found = [hit.chunk for hit in hits if hit.chunk.document_id in best]
    asked = _extract_asked_terms(query_text, found)
    periods = [placed.period for placed in find_periods(query_text)]
    tables = [(chunk, table) for chunk in found for table in read_text_tables(chunk.content)]
    rows = [
        (chunk, table, row, cells)
        for chunk, table in tables
        for row in table.rows
        if (cells := _select_cells(table, row, periods))
    ]
    agreements = [_compare_label(asked, row.cells[0]) for _, _, row, _ in rows]
    if max(agreements, default=0.0) < MIN_ROW_AGREEMENT:
        return None
    alike = [one for one, agreement in zip(rows, agreements, strict=True) if agreement == max(agreements)]
    counts = Counter(cells for *_, cells in alike)
    chunk, table, row, cells = max(alike, key=lambda one: counts[one[-1]])  # of equal ones the first found
    stated = state_row([table.heads[n] for n, _ in cells], [cell for _, cell in cells])
    cited = CitedRow(chunk, row.part.start, row.part.end, row.cells)
    return AskedRow(cited, " ".join(filter(None, (f"{cited.label}: {stated}", table.scale))))


def _extract_asked_terms(query_text: str, found: Sequence[Chunk]) -> frozenset[str]:
    titles = extract_terms(" ".join(chunk.title for chunk in found))
    return extract_terms(remove_periods(query_text)) - titles - _ASKED_SCALE


def _compare_label(asked: frozenset[str], label: str) -> float:
    """Return how far a label has the terms asked for; 0 with any other: free cash flow is no cash flow."""
    terms = extract_terms(label)
    is_other = not terms or not terms <= asked or (asked - terms) & _MEASURES
    return 0.0 if is_other else 2 * len(terms) / (len(asked) + len(terms))


def _select_cells(table: TextTable, row: TableRow, periods: Sequence[Period]) -> tuple[tuple[int, str], ...]:
    """Return the cells below a head with an asked year, each with its column; without a year asked all of them.

    A row without a label, a figure or a head for each cell has none. A fiscal year may be called after the year before
    its last day.
    """
    figures = [(n, cell) for n, cell in enumerate(row.cells) if n and cell]
    if len(row.cells) != len(table.heads) or not row.cells[0] or not any(parse_figure(cell) for _, cell in figures):
        return ()
    if not periods:
        return tuple(figures)
    for later in (0, 1):
        years = {str(period.year + later) for period in periods}
        if chosen := tuple((n, cell) for n, cell in figures if any(year in table.heads[n] for year in years)):
            return chosen
    return ()
