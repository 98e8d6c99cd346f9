"""Tables that go on over the end of a page: without heads of its own, the rest has those of the page before."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from rag_core.ingestion.extract.pdf.figure_columns import MAX_LABEL_ROWS
from rag_core.ingestion.extract.pdf.lines import enclose_boxes
from rag_core.ingestion.extract.pdf.structure import PagePart
from rag_core.ingestion.extract.pdf.tables import PdfTable
from rag_core.text.figures import has_digit

_CONTINUATION = re.compile(r"\b(?:continued|cont[’'.]?d?)\b", re.IGNORECASE)  # what may stand between the two parts
_MAX_CONTINUATION_CHARS = 80
_MAX_NAME_WORDS = 5  # of what ends in a full stop and is no sentence, such as "Example Inc."
EDGE_SHARE = 0.08  # of the page's height, at the top and at the bottom: where only running lines stand
_MAX_ROW_TITLE_CHARS = 60  # of a line
_MAX_ALIGNMENT_ERROR = 3.0  # points: between the edges of a column of words on both pages


def carry_heads(parts: Sequence[PagePart]) -> list[PagePart]:
    """Return the parts of all pages, each table that goes on from the page before with the heads of that one.

    It is the first part of its page, the other the last. A line that says "continued" may stand between them, or a
    running header or footer; and a title of its first rows, such as "Assets:", which becomes a row.
    """
    carried: list[PagePart] = []
    before: PagePart | None = None
    for number, group in groupby(parts, key=lambda part: part.page.number):
        of_page = list(group)
        if before and before.table and before.page.number + 1 == number:
            of_page = _continue_table(before.table, of_page)
        carried += of_page
        before = next((part for part in reversed(of_page) if not may_stand_between(part)), None)
    return carried


def may_stand_between(part: PagePart) -> bool:
    """Return True for a line that says "continued", and for a running header or footer that was not known for one."""
    if part.table or len(part.text) > _MAX_CONTINUATION_CHARS:
        return False
    height = part.page.height
    is_at_edge = all(y1 <= EDGE_SHARE * height or y0 >= (1 - EDGE_SHARE) * height for _, y0, _, y1 in part.boxes)
    is_sentence = part.text.endswith(".") and len(part.text.split()) > _MAX_NAME_WORDS
    is_plain = not (part.style[1] or part.level or is_sentence)
    return bool(_CONTINUATION.search(part.text)) or (is_at_edge and is_plain)


def _is_row_title(part: PagePart) -> bool:
    is_set_off = part.style[1] and not part.text.endswith(":")
    is_short = len(part.lines) <= MAX_LABEL_ROWS and max(map(len, part.lines)) <= _MAX_ROW_TITLE_CHARS
    return part.kind == "paragraph" and is_short and not (is_set_off or part.level or part.text.endswith("."))


def _continue_table(before: PdfTable, parts: list[PagePart]) -> list[PagePart]:
    """Return the parts of a page, the table that they begin with with the heads of the table before.

    They are returned as they are where there is no such table, or one with heads or other columns. The line of the
    heads has the box of the whole table, because they do not stand on this page.
    """
    at = next((n for n, part in enumerate(parts) if not (may_stand_between(part) or _is_row_title(part))), 0)
    table, above = parts[at].table, parts[:at]
    columns = _match_columns(before, table) if table else None
    if table is None or columns is None or _has_own_heads(before, table):
        return parts
    width, label_count = len(before.cells[0]), len(table.cells[0]) - len(table.columns)
    titles = [part for part in above if not may_stand_between(part)] if label_count else []
    rows = [
        *((line, *[""] * (width - 1)) for part in titles for line in part.lines),
        *(_lay_out(row, label_count, columns, width) for row in table.cells),
    ]
    boxes = (*(box for part in titles for box in part.boxes), *table.boxes)
    continued = PdfTable((before.cells[0], *rows), (enclose_boxes(boxes), *boxes), before.columns, has_heads=True)
    part = replace(parts[at], lines=continued.rows, boxes=continued.boxes, table=continued)
    return [*(part for part in above if part not in titles), part, *parts[at + 1 :]]


def _has_own_heads(before: PdfTable, table: PdfTable) -> bool:
    if table.has_heads is not None:
        return table.has_heads
    return table.cells[0] == before.cells[0] or _names_columns(table.cells)


def _names_columns(cells: Sequence[Sequence[str]]) -> bool:
    """Return True where the first row has words over a column whose other cells all have digits."""
    first, *others = cells
    columns = [[row[n] for row in others if row[n]] for n in range(len(first))]
    return any(
        len(column) > 1 and head and not has_digit(head) and all(map(has_digit, column))
        for head, column in zip(first, columns, strict=True)
    )


def _match_columns(before: PdfTable, table: PdfTable) -> list[int] | None:
    """Return for each column of a table the one of the table before it that stands in the same place.

    None where a column stands in none or in several, two stand in one, the labels differ in number, or words would be
    read as figures. A table of figures may lack columns, which are empty on its page; a table of words has all.
    """
    is_of_figures = [len(of.cells[0]) > len(of.columns) for of in (before, table)]
    label_counts = {len(of.cells[0]) - len(of.columns) for of in (before, table)}
    if before.has_heads is False or len(label_counts) > 1 or is_of_figures[0] != is_of_figures[1]:
        return None
    found = [[n for n, (a, b) in enumerate(before.columns) if start < b and a < end] for start, end in table.columns]
    if any(len(numbers) != 1 for numbers in found) or len({n for numbers in found for n in numbers}) < len(found):
        return None
    if not is_of_figures[0] and (len(found) != len(before.columns) or not _are_aligned(before, table)):
        return None
    return [numbers[0] for numbers in found]


def _are_aligned(before: PdfTable, table: PdfTable) -> bool:
    """Return True where each column is aligned with that of the other table at its start, its end or its middle."""
    return all(
        min(abs(start - a), abs(end - b), abs(start + end - a - b) / 2) <= _MAX_ALIGNMENT_ERROR
        for (start, end), (a, b) in zip(table.columns, before.columns, strict=True)
    )


def _lay_out(row: Sequence[str], label_count: int, columns: Sequence[int], width: int) -> tuple[str, ...]:
    """Return the cells of a row in the columns of the table before."""
    cells = [*row[:label_count], *[""] * (width - label_count)]
    for number, text in zip(columns, row[label_count:], strict=True):
        cells[label_count + number] = text
    return tuple(cells)
