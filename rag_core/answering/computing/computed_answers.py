"""Answers computed over the cells of a stored table: the operation is said, and each cell is cited."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from rag_core.answering.citations import ClaimPassage, build_citation
from rag_core.answering.computing.asked_rows import find_asked_row
from rag_core.answering.computing.degrees import LIMITING, MEASURING_VERBS, is_measured_by
from rag_core.answering.computing.execution import run_program
from rag_core.answering.computing.named_cells import fold_words, has_any, has_term
from rag_core.answering.computing.operations import CitedCell, Resolved, Unresolved, are_quoted, is_recomputed
from rag_core.answering.computing.planning import choose_tables, needs_plan, plan_program
from rag_core.answering.computing.questions import AskedOperation, parse_lookup, parse_operation
from rag_core.answering.computing.resolution import resolve
from rag_core.answering.computing.stated_programs import state_program
from rag_core.answering.computing.stated_results import state_result
from rag_core.answering.computing.stored_tables import StoredTable, read_stored_tables
from rag_core.core.kit import Kit
from rag_core.core.model import Citation, Claim, Evidence, Judgement, Ranking, Scalar
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.ingestion.tables import read_row_cells
from rag_core.text.figures import parse_figure
from rag_core.text.identifiers import UNITS
from rag_core.text.layout import split_cells
from rag_core.text.terms import extract_terms

MAX_READ_DOCUMENTS = 6  # of those found, best first, whose tables are read
MAX_READ_CHUNKS = 5_000  # of one document: a table of more rows is not known to be whole
MAX_CITED_CELLS = 100
COMPUTED = "computed from the cited cells"  # the judge of a claim whose operation was computed twice
COPIED = "copied from the cited row"
COMPUTED_SUPPORT = 0.98  # as of copied words: the cells are copied, and the rest is arithmetic
DOUBTED_SUPPORT = 0.5  # where the question and the program do not have the same numbers
PLANNING_TIMEOUT_S = 30.0
_STATED_RESULT = re.compile(
    r"\b(?:changes?|difference|average|mean|more|less|growth|increase|decrease)\b|%", re.IGNORECASE
)
_TOTAL = re.compile(r"\b(?:total|sum|all)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """A claim that states an operation and its result; without one, `reason` says why nothing was computed.

    `absent_from` is a table that was read as asked, and has no such row or an empty cell there.
    """

    claim: Claim | None = None
    reason: str = ""
    absent_from: StoredTable | None = None


class FoundTables:
    """The whole tables of the documents that were found for a question, read from the store when first needed."""

    def __init__(self, query: Query, hits: Ranking, kit: Kit) -> None:
        self.hits = hits
        self._query, self._kit = query, kit
        self._tables: list[StoredTable] | None = None

    async def load(self, run: Run) -> list[StoredTable]:
        """Return the tables. Raises Unavailable when the store does not answer; the next call asks it again."""
        if self._tables is None:
            self._tables = await run.step("tables", _load_tables(self._query, self.hits, self._kit))
        return self._tables


async def read_or_compute_answer(query_text: str, tables: FoundTables, run: Run) -> ComputedAnswer | None:
    """Return the row of a named report that states the figure asked for, copied, or what `compute_answer` gives."""
    found = await asyncio.to_thread(find_asked_row, query_text, tables.hits)
    if found is None:
        return await compute_answer(query_text, tables, run)
    citation = build_citation(ClaimPassage(found.row.chunk, found.row.start, found.row.end, found.row.quote, 1.0), 1.0)
    judgement = Judgement("supported", COMPUTED_SUPPORT, None, citation.quote, (), COPIED)
    return ComputedAnswer(Claim(found.text, 0, len(found.text), "verified", (citation,), judgement=judgement))


async def compute_answer(query_text: str, tables: FoundTables, run: Run) -> ComputedAnswer | None:
    """Compute what a question asks for from whole tables of the documents found; None where it does not ask."""
    return await _resolve_over_tables(parse_operation(query_text), tables, run)


async def plan_answer(
    query: Query, tables: FoundTables, evidence: Sequence[Evidence], kit: Kit, run: Run
) -> ComputedAnswer | None:
    """Let the chat model plan a program over tables of the documents found, and carry it out; None where none answers.

    It is asked where a computation may be wanted and a table was found (`needs_plan`). Elsewhere the words of the
    question say what is computed; so they do where it fails, which is a degradation, and where a local technique in its
    place has no program.
    """
    if not needs_plan(query.text, evidence):
        return await compute_answer(query.text, tables, run)
    chosen = await asyncio.to_thread(choose_tables, query.text, await tables.load(run), tables.hits)
    if not chosen:
        return await compute_answer(query.text, tables, run)
    planning = plan_program(query.text, chosen, kit.llm, max_tokens=query.preset.evidence.context_tokens)
    planned = await run.attempt(
        "plan", planning, otherwise=None, fallback="the words of the question", within_s=PLANNING_TIMEOUT_S
    )
    if planned is None or (planned.is_local and planned.program is None):
        return await compute_answer(query.text, tables, run)
    if planned.program is None:
        return None
    program = planned.program
    outcome = await asyncio.to_thread(run_program, program, query.text)
    return _build_answer(outcome, lambda resolved: state_program(resolved, program.operation), run)


async def look_up_answer(query_text: str, tables: FoundTables, run: Run) -> ComputedAnswer | None:
    """Return the cell of a table that a question asks for by its row and column; None where there is no such cell."""
    return await _resolve_over_tables(parse_lookup(query_text), tables, run)


async def look_up_quoted_cell(
    query_text: str, quoted: Sequence[Citation], tables: FoundTables, run: Run
) -> ComputedAnswer | None:
    """Return the one cell of a quoted row that a question asks for by its head; None where no one cell is certain."""
    asked = parse_lookup(query_text)
    if asked is None:
        return None
    outcome = await asyncio.to_thread(resolve, asked, await tables.load(run))
    if not _is_lookup(outcome):
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
    return _build_answer(outcome, lambda resolved: state_result(resolved, asked), run)


def _asks_for_column(asked: AskedOperation, column: str) -> bool:
    """Return whether a question has the head of a column in full, its unit apart, or asks for what it measures."""
    scales = (*asked.scales, *(MEASURING_VERBS[verb] for verb in asked.measuring_verbs))
    terms = extract_terms(asked.text)
    named = extract_terms(" ".join(word for word in fold_words(column) if word not in UNITS))
    return any(is_measured_by(column, scale) for scale in scales) or all(has_term(term, terms) for term in named)


def _is_lookup(outcome: Resolved | Unresolved | None) -> TypeGuard[Resolved]:
    return isinstance(outcome, Resolved) and outcome.computation.kind == "lookup"


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


def asks_to_compute_rows(question: str, claims: Sequence[Claim], evidence: Sequence[Evidence]) -> bool:
    """Return whether a question is for an operation over rows, and all that is quoted are rows that do not state it.

    One row of several is then no count, and the row of the greatest value may be another one.
    """
    asked = parse_operation(question)
    citations = [citation for claim in claims for citation in claim.citations]
    if asked is None or asked.kind == "filter" or not citations or not all(map(is_row, citations)):
        return False
    if asked.kind == "count":
        lines = [line for passage in evidence for line in passage.text.split("\n")]
        return not any(_has_counted_figure(asked.counted, citation, lines) for citation in citations)
    is_stated = any(_STATED_RESULT.search(citation.quote) or _TOTAL.search(citation.quote) for citation in citations)
    return not is_stated and (asked.kind == "extreme" or len(citations) > 1)


def _has_counted_figure(counted: frozenset[str], citation: Citation, lines: Sequence[str]) -> bool:
    """Return whether a row has a figure under a head that names what is to be counted: "Stores | 12"."""
    row = split_cells(citation.quote.split("\n")[-1])
    headed = [pair for line in lines if " | " in line for pair in zip(split_cells(line), row, strict=False)]
    headed += read_row_cells(citation.quote, citation.metadata).items()
    return any(parse_figure(cell) and has_any(counted, extract_terms(head)) for head, cell in headed)


def is_row(citation: Citation) -> bool:
    """Return whether what is quoted is a row of a table."""
    return has_row(citation.quote, citation.metadata)


def has_row(text: str, fields: Mapping[str, Scalar]) -> bool:
    """Return whether a text is a row of a table with these fields, or has a row of cells with borders."""
    return len(split_cells(text)) > 1 or bool(read_row_cells(text, fields))


def is_row_of(citation: Citation, table: StoredTable) -> bool:
    """Return whether what is quoted is a row, or the heads, of a passage that holds rows of this table."""
    return is_row(citation) and any(row.chunk.id == citation.chunk_id for row in table.rows)


async def _resolve_over_tables(asked: AskedOperation | None, tables: FoundTables, run: Run) -> ComputedAnswer | None:
    if asked is None or not tables.hits:
        return None
    outcome = await asyncio.to_thread(resolve, asked, await tables.load(run))
    if outcome is None or (_is_lookup(outcome) and not _has_limits(asked, outcome.computation.cells)):
        return None
    return _build_answer(outcome, lambda resolved: state_result(resolved, asked), run)


def _build_answer(outcome: Resolved | Unresolved, state: Callable[[Resolved], str], run: Run) -> ComputedAnswer:
    """Return the claim of what was computed, once the cells have given the same result again."""
    if isinstance(outcome, Unresolved):
        return ComputedAnswer(reason=outcome.reason, absent_from=outcome.absent_from)
    if not is_recomputed(outcome.computation) or not are_quoted((*outcome.given, *outcome.conditions)):
        return ComputedAnswer(reason="the result does not follow from the cells as they are quoted")
    run.techniques["operation"] = f"{outcome.computation.kind} over {len(outcome.computation.cells)} cells"
    return ComputedAnswer(_make_claim(state(outcome), outcome))


async def _load_tables(query: Query, hits: Ranking, kit: Kit) -> list[StoredTable]:
    tables: list[StoredTable] = []
    for document_id in list(dict.fromkeys(hit.chunk.document_id for hit in hits))[:MAX_READ_DOCUMENTS]:
        scope = replace(query.scope, document_ids=(document_id,))
        chunks = await kit.index.store.select(scope, filters=query.filters, limit=MAX_READ_CHUNKS + 1)
        found = await asyncio.to_thread(read_stored_tables, chunks[:MAX_READ_CHUNKS])
        is_whole = len(chunks) <= MAX_READ_CHUNKS
        tables += [replace(table, is_whole=table.is_whole and is_whole) for table in found]
    return tables


def _make_claim(text: str, resolved: Resolved) -> Claim:
    """Return the claim that states a result; it cites first the rows that an extreme is of."""
    cells = [*resolved.given, *resolved.computation.cells, *resolved.conditions]
    rows = {(cell.row.chunk.id, cell.row.start): cell for cell in cells}
    cited = tuple(map(_cite_cell, list(rows.values())[:MAX_CITED_CELLS]))
    if resolved.doubt:
        reasons = (f"unclear: {resolved.doubt}",)
        judgement = Judgement("unclear", DOUBTED_SUPPORT, None, cited[0].quote, reasons, COMPUTED)
        return Claim(text, 0, len(text), "partial", cited, reasons, judgement)
    judgement = Judgement("supported", COMPUTED_SUPPORT, None, cited[0].quote, (), COMPUTED)
    return Claim(text, 0, len(text), "verified", cited, judgement=judgement)


def _cite_cell(cell: CitedCell) -> Citation:
    row = cell.row
    return build_citation(ClaimPassage(row.chunk, row.start, row.end, row.quote, 1.0), 1.0)
