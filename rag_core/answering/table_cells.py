"""The figures of a passage's tables, each with what its row, its column and its table say of it."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, chain, islice, pairwise

from rag_core.answering.computing.asked_columns import YEAR_PATTERN
from rag_core.answering.facts.amount_reading import CURRENCIES, read_amounts
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.units import get_unit
from rag_core.answering.facts.words import Words, has_figure, is_content_word
from rag_core.answering.figure_senses import Sense, read_sense
from rag_core.core.model import Chunk
from rag_core.ingestion.tables import TABLE_HEAD_FIELD
from rag_core.text.figures import has_digit, names_scale, parse_figure, remove_dates
from rag_core.text.layout import split_into_parts
from rag_core.text.normalization import normalize_words
from rag_core.text.number_notations import has_decimal_commas, read_scale, write_decimal_points
from rag_core.text.request_memory import remember_in_request
from rag_core.text.tables import TextTable, read_text_tables

MAX_CELLS = 600  # of a passage
MAX_READ_CHUNKS = 32  # of a request
_RESPECTIVELY = "respectively"
_NOTES = frozenset(["note", "notes", "anhang", "nota", "toelichting"])  # a column of their numbers
_HUNDREDTH = Decimal("0.01")
_POINTS = {"%": Decimal(1), "pp": Decimal(1), "bps": _HUNDREDTH, "bp": _HUNDREDTH, "pb": _HUNDREDTH}  # in percent
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """What the head of a column says of its figures; `scale` is 1 where it says none."""

    number: int
    head: str = ""
    years: frozenset[str] = frozenset()
    months: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    scale: int = 1
    words: frozenset[str] = frozenset()  # of the name of a part, such as "Retail"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A figure of a table without its sign, with all factors by which the table may have divided it.

    `words` are those of the label, with its group where several rows have this label. `unit` is a currency, "percent"
    or "", and `units` are all that the figure, its label and its head name.
    """

    value: Decimal
    scales: tuple[int, ...]
    unit: str
    column: TableColumn
    label: str
    words: frozenset[str]
    place: Place
    sense: Sense | None = None
    units: frozenset[str] = frozenset()


def read_cells(chunk: Chunk) -> tuple[TableCell, ...]:
    """Return the figures of a chunk's tables, below the heads of the table that it was cut from, at most MAX_CELLS."""
    head = str(chunk.metadata.get(TABLE_HEAD_FIELD, ""))
    return _read_cells_of_text(chunk.content, chunk.heading_path, f"{head}\n" if head else "")


@remember_in_request(MAX_READ_CHUNKS)
def _read_cells_of_text(text: str, headings: tuple[str, ...], head: str) -> tuple[TableCell, ...]:
    """Return the figures of a passage; every claim of a request is compared with the same few passages.

    `head` are the heads of a table that the passage goes on with, "" for none, and a line break.
    """
    tables = read_text_tables(f"{head}{text}")
    in_tables = (cell for table in tables for cell in _list_cells(table, headings, len(head)))
    return tuple(islice(chain(in_tables, _list_respective_cells(text)), MAX_CELLS))


def _list_respective_cells(text: str) -> Iterator[TableCell]:
    """Yield the figures of sentences such as "It was $497 and $460 in 2018 and 2017, respectively" by the year."""
    for part in split_into_parts(text) if _RESPECTIVELY in text else ():
        if part.kind == "row" or _RESPECTIVELY not in part.text:
            continue
        words = read_words(rewrite_amounts(part.text))
        years, amounts = list_years(words), [one for one in read_amounts(words) if not one.is_spelled_year]
        if len(years) == len(amounts):
            for n, (year, one) in enumerate(zip(years, amounts, strict=True)):
                column = TableColumn(n, year, frozenset([year]))
                yield TableCell(abs(one.value), (1,), one.unit, column, "", frozenset(), (part.start, part.end))


def list_years(words: Words) -> list[str]:
    return [word.form for word in words if YEAR_PATTERN.fullmatch(word.form) and "," not in word.raw]


def list_months(words: Words) -> frozenset[str]:
    """Return the numbers of months of which a text has figures: 3 for "three months ended" and for a quarter."""
    counted = (before.form for before, word in pairwise(words) if word.form == "month")
    return frozenset([*filter(str.isdecimal, counted), *("3" for word in words if word.form == "quarter")])


def _list_cells(table: TextTable, headings: Sequence[str], before: int) -> Iterator[TableCell]:
    """Yield the figures of a table, placed without the characters `before` the passage.

    One without a currency has that of its head, or of a figure above it; its scale is that of its label, its head or
    the table.
    """
    scale = read_scale(" ".join((table.scale, *headings)))
    columns = _read_columns(table.heads, scale)
    of_notes = {column.number for column in columns if column.head.casefold().rstrip(".") in _NOTES}
    counts = Counter(row.cells[0] for row in table.rows if any(row.cells[1:]))
    has_commas = has_decimal_commas(
        cell for row in table.rows for n, cell in enumerate(row.cells) if n and n not in of_notes
    )
    currencies = {column.number: _get_currency(column.units) for column in columns}
    for row in table.rows:
        label, place = row.cells[0], (row.part.start - before, row.part.end - before)
        words = _read_label_words(label if counts[label] == 1 else f"{row.title} {label}")
        row_scale, row_units = read_scale(label), _read_units(label)
        for n, text in enumerate(row.cells[1:], 1):
            if n in of_notes or not (figure := parse_figure(write_decimal_points(text) if has_commas else text)):
                continue
            column = columns[n] if n < len(columns) else TableColumn(n, scale=scale)
            units = row_units | column.units | _read_units(f"{figure.unit} 1 {figure.unit}")
            currency = _get_currency(units)
            currencies |= {n: currency} if currency and not _get_currency(row_units) else {}
            points = _POINTS.get(figure.unit.casefold())
            senses = (read_sense(name, is_negative=figure.value < 0) for name in (column.head, label))
            yield TableCell(
                abs(figure.value) * (points or 1),
                tuple({1, row_scale if row_scale > 1 else column.scale}),
                "percent" if points else currency or currencies.get(n, ""),
                column,
                label,
                words,
                place,
                next(filter(None, senses), None),
                units,
            )


def _read_columns(heads: Sequence[str], scale: int) -> list[TableColumn]:
    """Return what heads say; one without a scale has that of a head before it, else of one behind it, else `scale`."""
    scales = [read_scale(head) for head in heads]
    first = next((one for one in scales if one > 1), scale)
    latest = accumulate(scales, lambda before, one: one if one > 1 else before, initial=first)
    return [
        _read_column(n, head, one) for n, (head, one) in enumerate(zip(heads, islice(latest, 1, None), strict=True))
    ]


def _read_column(number: int, head: str, scale: int) -> TableColumn:
    years, months = frozenset(YEAR_PATTERN.findall(head)), list_months(read_words(head))
    name = "" if names_scale(head) or has_digit(remove_dates(["", head])) else head
    return TableColumn(number, head, years, months, _read_units(head), scale, _read_label_words(name) - months)


def _get_currency(units: Set[str]) -> str:
    return min(units & CURRENCIES, default="")


def _read_units(text: str) -> frozenset[str]:
    return frozenset(unit for word in read_words(text) if (unit := get_unit(word.form)))


@remember_in_request(MAX_CELLS)
def _read_label_words(label: str) -> frozenset[str]:
    words = normalize_words(rewrite_amounts(label))
    return frozenset(word.form for word in words if is_content_word(word) and not has_figure(word))
