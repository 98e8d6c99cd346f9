"""Answers computed over the cells of a stored table: the operation is said, and each cell is cited."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from rag_core.answering.citations import ClaimPassage, build_citation
from rag_core.answering.computing.asked_columns import YEAR_PATTERN
from rag_core.answering.computing.degrees import LIMITING, MEASURING_VERBS, is_measured_by
from rag_core.answering.computing.named_cells import fold_words, has_any, has_term
from rag_core.answering.computing.operations import CitedCell, Computation, is_recomputed
from rag_core.answering.computing.questions import AskedOperation, parse_lookup, parse_operation
from rag_core.answering.computing.resolution import Resolved, Unresolved, resolve
from rag_core.answering.computing.stored_tables import StoredTable, read_stored_tables
from rag_core.core.kit import Kit
from rag_core.core.model import Citation, Claim, Judgement, Ranking
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.ingestion.tables import read_row_cells
from rag_core.text.identifiers import UNITS
from rag_core.text.terms import extract_terms

MAX_READ_DOCUMENTS = 6  # of those found, best first, whose tables are read
MAX_READ_CHUNKS = 5_000  # of one document: a table of more rows is not known to be whole
MAX_LISTED_CELLS = 40  # named in the answer; all that are counted are cited up to MAX_CITED_CELLS
MAX_CITED_CELLS = 100
COMPUTED = "computed from the cited cells"  # the judge of a claim whose operation was computed twice
COMPUTED_SUPPORT = 0.98  # as of copied words: the cells are copied, and the rest is arithmetic
_STATED_RESULT = re.compile(
    r"\b(?:changes?|difference|average|mean|more|less|growth|increase|decrease)\b|%", re.IGNORECASE
)
_SCALE = re.compile(r"\bin (thousands|millions|billions)\b|(?<![\w,.])([$€£¥][’']?000s?|[$€£¥]m)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """A claim that states an operation and its result; without one, `reason` says why nothing was computed."""

    claim: Claim | None = None
    reason: str = ""


async def compute_answer(query: Query, hits: Ranking, kit: Kit, run: Run) -> ComputedAnswer | None:
    """Compute what a question asks for from whole tables of the documents found; None where it does not ask."""
    return await _compute_over_tables(parse_operation(query.text), query, hits, kit, run)


async def look_up_answer(query: Query, hits: Ranking, kit: Kit, run: Run) -> ComputedAnswer | None:
    """Return the cell of a table that a question asks for by its row and column; None where there is no such cell."""
    return await _compute_over_tables(parse_lookup(query.text), query, hits, kit, run)


async def look_up_cell(
    query: Query, quoted: Sequence[Citation], hits: Ranking, kit: Kit, run: Run
) -> ComputedAnswer | None:
    """Return the one cell of a quoted row that a question asks for by its head; None where no one cell is certain."""
    asked = parse_lookup(query.text)
    outcome = resolve(asked, await run.step("tables", _load_tables(query, hits, kit))) if asked else None
    if asked is None or not isinstance(outcome, Resolved) or outcome.computation.kind != "lookup":
        return None
    cells = outcome.computation.cells
    is_quoted = any(c.chunk_id == cells[0].row.chunk.id and cells[0].row.quote in c.quote for c in quoted)
    if (
        len(cells) != 1
        or not is_quoted
        or not _has_limits(asked, cells)
        or not _asks_for_column(asked, cells[0].column)
    ):
        return None
    return ComputedAnswer(_make_claim(asked, outcome)) if is_recomputed(outcome.computation) else None


def _asks_for_column(asked: AskedOperation, column: str) -> bool:
    """Return whether a question has the head of a column in full, its unit apart, or asks for what it measures."""
    scales = (*asked.scales, *(MEASURING_VERBS[verb] for verb in asked.measuring_verbs))
    terms = extract_terms(asked.text)
    named = extract_terms(" ".join(word for word in fold_words(column) if word not in UNITS))
    return any(is_measured_by(column, scale) for scale in scales) or all(has_term(term, terms) for term in named)


def _has_limits(asked: AskedOperation, cells: Sequence[CitedCell]) -> bool:
    """Return whether the heads have the limits that are asked for: the minimum stock is not the stock."""
    limits = {word[:3].casefold() for word in LIMITING.findall(asked.text)}
    return all(limits <= {word[:3].casefold() for word in LIMITING.findall(cell.column)} for cell in cells)


def find_uncomputed(question: str, claims: Sequence[Claim]) -> ComputedAnswer | None:
    """Return why what is quoted does not answer a question for an operation that was not computed.

    Rows state what a difference or an average is of, and a quote that does not name what is counted under a condition
    is of something else.
    """
    asked = parse_operation(question)
    citations = [citation for claim in claims for citation in claim.citations]
    if asked and asked.kind == "count" and asked.conditions and citations:
        is_named = any(has_any(asked.counted, extract_terms(citation.quote)) for citation in citations)
        return None if is_named else ComputedAnswer(reason="what was found does not name what is to be counted")
    is_of_rows = len(citations) > 1 and all(map(is_row, citations))
    if asked is None or asked.kind not in ("difference", "ratio", "average") or not is_of_rows:
        return None
    is_stated = any(_STATED_RESULT.search(citation.quote) for citation in citations)
    return None if is_stated else ComputedAnswer(reason=f"the rows found do not state the {asked.kind} asked for")


def is_row(citation: Citation) -> bool:
    """Return whether what is quoted is a row of a table."""
    return " | " in citation.quote or bool(read_row_cells(citation.quote, citation.metadata))


async def _compute_over_tables(
    asked: AskedOperation | None, query: Query, hits: Ranking, kit: Kit, run: Run
) -> ComputedAnswer | None:
    if asked is None or not hits:
        return None
    tables = await run.step("tables", _load_tables(query, hits, kit))
    outcome = await asyncio.to_thread(resolve, asked, tables)
    if outcome is None:
        return None
    if isinstance(outcome, Unresolved):
        return ComputedAnswer(reason=outcome.reason)
    if outcome.computation.kind == "lookup" and not _has_limits(asked, outcome.computation.cells):
        return None
    if not is_recomputed(outcome.computation):
        return ComputedAnswer(reason="the result does not follow from the cells as they are quoted")
    run.techniques["operation"] = f"{outcome.computation.kind} over {len(outcome.computation.cells)} cells"
    return ComputedAnswer(_make_claim(asked, outcome))


async def _load_tables(query: Query, hits: Ranking, kit: Kit) -> list[StoredTable]:
    tables: list[StoredTable] = []
    for document_id in list(dict.fromkeys(hit.chunk.document_id for hit in hits))[:MAX_READ_DOCUMENTS]:
        scope = replace(query.scope, document_ids=(document_id,))
        chunks = await kit.index.store.select(scope, filters=query.filters, limit=MAX_READ_CHUNKS + 1)
        found = await asyncio.to_thread(read_stored_tables, chunks[:MAX_READ_CHUNKS])
        is_whole = len(chunks) <= MAX_READ_CHUNKS
        tables += [replace(table, is_whole=table.is_whole and is_whole) for table in found]
    return tables


def _make_claim(asked: AskedOperation, resolved: Resolved) -> Claim:
    text = _state_result(asked, resolved)
    rows = {(cell.row.chunk.id, cell.row.start): cell for cell in resolved.computation.cells[:MAX_CITED_CELLS]}
    cited = tuple(map(_cite_cell, rows.values()))
    judgement = Judgement("supported", COMPUTED_SUPPORT, None, cited[0].quote, (), COMPUTED)
    return Claim(text, 0, len(text), "verified", cited, judgement=judgement)


def _cite_cell(cell: CitedCell) -> Citation:
    row = cell.row
    return build_citation(ClaimPassage(row.chunk, row.start, row.end, row.quote, 1.0), 1.0)


def _state_result(asked: AskedOperation, resolved: Resolved) -> str:
    """Return the result, the operation and its cells in words."""
    computation, table = resolved.computation, resolved.table
    cells = computation.cells
    scale = _find_scale(table, cells)
    condition = f" with {resolved.condition}" if resolved.condition else ""
    if computation.kind == "count":
        rows = f"different {cells[0].column}" if resolved.is_distinct else "rows"
        what = "items of the list" if table.is_list else f"{rows}{condition}"
        if resolved.is_distinct:
            return f"{len(cells)}. Counted: {what}: {_join_listed([cell.text for cell in cells])}."
        return f"{len(cells)}. Counted: {what}: {_list_labels(cells)}."
    if computation.kind == "lookup":
        values = [f"{cell.column}: {cell.text}{scale}" for cell in cells]
        return f"{cells[0].row.label}, {'; '.join(values)}."
    if computation.kind == "filter":
        return f"{_list_labels(cells)}. Selected: rows{condition}."
    if computation.kind in ("sum", "average"):
        total = _format_figure(computation.result, cells, scale)
        return f"{total}. {computation.kind.capitalize()} of {cells[0].column}{condition}: {_list_cells(cells)}."
    if computation.kind == "extreme":
        return _state_extreme(computation, scale, condition, resolved.without_figure)
    return _state_pair(asked, computation, scale)


def _state_extreme(computation: Computation, scale: str, condition: str, missing: Sequence[str]) -> str:
    best = [cell for cell in computation.cells if cell.value == computation.result]
    names = " and ".join(cell.row.label for cell in best)
    word = "Highest" if computation.is_highest else "Lowest"
    note = f" Without a figure: {', '.join(missing[:5])}." if missing else ""
    figure = f"{best[0].text}{scale}"
    count = len(computation.cells)
    return f"{names}: {figure}. {word} {best[0].column} of {count} rows{condition}.{note}"


def _state_pair(asked: AskedOperation, computation: Computation, scale: str) -> str:
    first, second = computation.cells
    named = [_name_cell(cell, computation.cells) for cell in computation.cells]
    both = f"{named[0]}: {first.text}; {named[1]}: {second.text}{scale}"
    if computation.kind == "ratio":
        change = "more" if computation.result >= 0 else "less"
        return f"{abs(computation.result):.1f}% {change}. Change from {named[0]} to {named[1]} in percent: {both}."
    if computation.kind == "share":
        both = f"{first.column}: {first.text} of {second.text}{scale}"
        return f"{computation.result:.1f}%. Share of {first.row.label} in {second.row.label}, {both}."
    if computation.kind == "difference":
        amount = _format_figure(abs(computation.result), computation.cells, scale)
        way = "no change" if not computation.result else "an increase" if computation.result > 0 else "a decrease"
        if first.column == second.column:
            return f"{amount}. Difference of {first.column}: {both}."
        is_in_time = all(YEAR_PATTERN.search(cell.column) for cell in computation.cells)
        if asked.is_against_plan:
            return f"{amount} {'less' if computation.result < 0 else 'more'}. Difference of {first.row.label}: {both}."
        if " than " in asked.text and not is_in_time:  # of what is compared, neither comes first
            return f"{amount}. Difference of {first.row.label}: {both}."
        return f"{amount}, {way}. Difference of {first.row.label}: {both}."
    larger = second if (computation.result > 0) == computation.is_highest else first
    if not computation.result:
        return f"They are equal. Compared: {both}."
    if word := asked.choose_comparative(is_high=computation.result < 0):
        return f"{word.capitalize()}. Compared: {both}."
    if " or " in asked.text:
        return f"{_name_cell(larger, computation.cells)}. Compared: {both}."
    return f"{'Yes' if larger is first else 'No'}. Compared: {both}."


def _name_cell(cell: CitedCell, cells: Sequence[CitedCell]) -> str:
    """Return the part of a cell's name that tells it from the other: its row, or its column."""
    return cell.row.label if len({other.row.label for other in cells}) > 1 else cell.column


def _list_labels(cells: Sequence[CitedCell]) -> str:
    repeated = len({cell.row.label for cell in cells}) < len(cells)
    if repeated and cells[0].row.name_at:
        return _join_listed([f"{cell.row.label} ({cell.row.cells[0]})" for cell in cells])
    labels = [cell.row.label if cell.row.label == cell.text else f"{cell.row.label} ({cell.text})" for cell in cells]
    return _join_listed(labels)


def _list_cells(cells: Sequence[CitedCell]) -> str:
    return _join_listed([f"{cell.row.label} {cell.text}" for cell in cells])


def _join_listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - MAX_LISTED_CELLS} more" if len(texts) > MAX_LISTED_CELLS else ""
    return ", ".join(texts[:MAX_LISTED_CELLS]) + more


def _format_figure(value: Decimal, cells: Sequence[CitedCell], scale: str) -> str:
    unit = next((cell.figure.unit for cell in cells if cell.figure and cell.figure.unit), "")
    number = f"{abs(value):,}"
    sign = "-" if value < 0 else ""
    placed = f"{number}{unit}" if unit == "%" else f"{number} {unit}" if unit.isalpha() else f"{unit}{number}"
    return f"{sign}{placed}{scale}"


def _find_scale(table: StoredTable, cells: Sequence[CitedCell]) -> str:
    """Return " (in thousands)" or " (in £000)" where the table or the head of a cell says so."""
    found = _SCALE.search(" ".join((table.about, table.columns[0], *(cell.column for cell in cells))))
    return f" (in {found[1].lower() if found[1] else found[2]})" if found else ""
