"""`python -m evals.table_cells [FOLDER]`: cells of PDF tables that are read with their row and column.

Drawn pages come from `evals.filing_pages`. FOLDER has filings; their cells are compared with those of the pages that
were read by eye (`evals/data/table_cells`: lists of [page, row, column, value] by the file's name). Of every PDF there
the share of rows with two values in one cell is counted too.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.filing_pages import draw_filing, make_filings
from rag_core.core.model import Extraction
from rag_core.evaluation import markdown_tables
from rag_core.ingestion.extract import extract_in_process
from rag_core.text.layout import split_cells

READ_BY_EYE = Path(__file__).parent / "data" / "table_cells"
DRAWN_TABLES, DRAWN_SEED = 160, 7
_NUMBER = re.compile(r"(?<![\w.,])\(?\d[\d,]*(?:\.\d+)?\)?%?(?![\w])")
_LOST_VALUES = re.compile(r"[^\d\s]\s\(?\d{1,3}(?:,\d{3})+\)?(?:\s\$?\s?\(?[\d,.]{3,}\)?)+$")
_VALUE_CELL = re.compile(r"[\s$€£()\d,.%—–-]+")

Cell = tuple[int, str, str, str]  # page, row, column, value


@dataclass(frozen=True, slots=True)
class CellCounts:
    """How many known cells there are, how many were read in their row, and how many in their row and column."""

    known: int
    in_row: int
    in_column: int

    @property
    def share(self) -> float:
        return self.in_column / max(1, self.known)


def read_table_cells(extraction: Extraction) -> Iterator[Cell]:
    """Yield the cells of all tables by the names in their first row; row titles go before the rows below them."""
    for block in extraction.blocks:
        if block.kind != "table":
            continue
        header, *rows = map(split_cells, block.text.split("\n"))
        for row in rows:
            for name, value in zip(header[1:], row[1:], strict=False):
                if value:
                    yield block.page or 0, row[0], name, value


def count_right_cells(known: Sequence[Cell], read: Iterable[Cell]) -> CellCounts:
    """Compare known cells with those that were read; white space, and footnote marks after a label, do not matter.

    A column is right by the words of its name that tell it from the others of its row.
    """
    found: dict[tuple[int, str, str], list[frozenset[str]]] = {}
    for page, row, column, value in read:
        found.setdefault((page, _fold(row), _fold(value)), []).append(_split_name(column))
    names: dict[tuple[int, str], list[frozenset[str]]] = {}
    for page, row, column, _ in known:
        names.setdefault((page, row), []).append(_split_name(column))
    in_row = in_column = 0
    for page, row, column, value in known:
        places = found.get((page, _fold(row), _fold(value)), [])
        in_row += bool(places)
        in_column += any(_is_column(_split_name(column), place, names[page, row]) for place in places)
    return CellCounts(len(known), in_row, in_column)


def _is_column(wanted: frozenset[str], read: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    if len(set(others)) == 1:
        return wanted <= read
    shared = frozenset.intersection(*others)
    telling = frozenset.union(*others) - shared
    return wanted & telling == read & telling


def _split_name(column: str) -> frozenset[str]:
    return frozenset(column.lower().split())


def measure_drawn_cells(count: int = DRAWN_TABLES, seed: int = DRAWN_SEED) -> tuple[CellCounts, list[Cell]]:
    """Draw tables, two a page, read them, and return the counts and the cells that were not read right."""
    tables = make_filings(seed, count)
    pages = [tables[n : n + 2] for n in range(0, count, 2)]
    prose = "The following tables set forth balances and results for the periods that are shown in them."
    read = list(read_table_cells(extract_in_process(draw_filing(pages, prose=prose), "drawn.pdf")))
    known = [(n + 1, *cell) for n, page in enumerate(pages) for table in page for cell in table.list_cells()]
    missed = [cell for cell in known if not count_right_cells([cell], read).in_column]
    return count_right_cells(known, read), missed


def count_double_cells(extraction: Extraction) -> tuple[int, int]:
    """Return how many rows with numbers there are, in tables or outside, and how many have two values in one cell."""
    numeric = double = 0
    for block in extraction.blocks:
        for line in block.text.split("\n"):
            cells = split_cells(line) if block.kind == "table" else [line]
            values = [cell for cell in cells if _VALUE_CELL.fullmatch(cell) and _NUMBER.search(cell)]
            if block.kind == "table" and values:
                numeric += 1
                double += any(len(_NUMBER.findall(cell)) > 1 for cell in values)
            elif block.kind != "table" and _LOST_VALUES.search(line):
                numeric, double = numeric + 1, double + 1
    return numeric, double


def _fold(text: str) -> str:
    return re.sub(r"\s*(?:\(\w\)|\*)$", "", re.sub(r"\s+", "", text)).lower()


def format_report(folder: Path | None) -> str:
    """Return the counts of the drawn pages and of the filings in a folder as a table."""
    drawn, _ = measure_drawn_cells()
    rows = [["drawn pages", *_format_counts(drawn), ""]]
    for path in sorted(folder.glob("*.pdf")) if folder else ():
        extraction = extract_in_process(path.read_bytes(), path.name)
        truth = READ_BY_EYE / f"{path.stem}.json"
        known = [(int(p), r, c, v) for p, r, c, v in json.loads(truth.read_text())] if truth.exists() else []
        counts = _format_counts(count_right_cells(known, read_table_cells(extraction))) if known else ["", "", ""]
        numeric, double = count_double_cells(extraction)
        rows.append([path.stem, *counts, f"{double} of {numeric} ({double / max(1, numeric):.1%})"])
    return markdown_tables.format_table(
        ["file", "known cells", "in their row", "in their row and column", "rows with two values in a cell"], rows
    )


def _format_counts(counts: CellCounts) -> list[str]:
    return [str(counts.known), str(counts.in_row), f"{counts.in_column} ({counts.share:.1%})"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    print(format_report(parser.parse_args().folder))
