"""Figures of a claim looked up in the cells of a table: whether they stand in the row and the year that it names.

A table of a statement has hundreds of figures, so that one which stands in it may be of another row or another year. A
figure that only such cells have contradicts the claim, and one whose cell agrees needs no word of the text around it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate, chain, islice, pairwise, permutations

from rag_core.answering.computing.asked_columns import YEAR_PATTERN
from rag_core.answering.facts.amount_reading import CURRENCIES, Amount, read_amounts
from rag_core.answering.facts.amounts import is_change_between, is_computed_from, is_rounded
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.units import get_unit
from rag_core.answering.facts.words import Words, has_figure, is_content_word, is_same_word
from rag_core.answering.figure_senses import Sense, is_said_otherwise, read_sense
from rag_core.core.model import Chunk
from rag_core.ingestion.tables import TABLE_HEAD_FIELD
from rag_core.text.figures import has_digit, names_scale, parse_figure, remove_dates
from rag_core.text.layout import split_into_parts
from rag_core.text.normalization import normalize_words
from rag_core.text.number_notations import has_decimal_commas, read_scale, write_decimal_points
from rag_core.text.request_memory import remember_in_request
from rag_core.text.tables import TextTable, read_text_tables

# figures of a claim, each looked for in so many cells of a chunk: an enemy's table takes 20 ms
MAX_FIGURES, MAX_CELLS = 12, 600
MAX_READ_CHUNKS = 32  # of a request
MAX_MEANT_ROWS, MAX_COMPARED_CELLS = 3, 8  # whose changes are computed
MIN_SCALED = 1000  # smaller figures may be per share, and so not be multiplied by the scale of their table
MIN_VALUE = 10  # smaller figures stand in many cells by chance
_RESPECTIVELY = "respectively"
_NOTES = frozenset(["note", "notes", "anhang", "nota", "toelichting"])  # a column of their numbers
_HUNDREDTH = Decimal("0.01")
_POINTS = {"%": Decimal(1), "pp": Decimal(1), "bps": _HUNDREDTH, "bp": _HUNDREDTH, "pb": _HUNDREDTH}  # in percent
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FoundFigures:
    """The figures of a claim whose cells agree with it, as the claim has them, and what the others are cells of.

    `places` are the characters of the chunk at which the rows and sentences with each of them stand.
    """

    placed: Set[str]
    conflicts: tuple[FactConflict, ...]
    places: Mapping[Amount, Sequence[Place]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A figure of a table without its sign, with all factors by which the table may have divided it."""

    value: Decimal
    scales: tuple[int, ...]
    unit: str
    column: int
    head: str
    years: frozenset[str]
    label: str
    words: frozenset[str]  # of the label, with its group where several rows have this label
    place: Place
    months: frozenset[str] = frozenset()
    sense: Sense | None = None
    units: frozenset[str] = frozenset()  # that it, its label or its head names
    head_words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Column:
    """What the head of a column says of its figures; `scale` is 1 where it says none."""

    head: str = ""
    years: frozenset[str] = frozenset()
    months: frozenset[str] = frozenset()
    unit: str = ""
    units: frozenset[str] = frozenset()
    scale: int = 1
    words: frozenset[str] = frozenset()
    is_of_notes: bool = False


def look_up_figures(claim: Words, chunk: Chunk) -> FoundFigures:
    """Look up the figures of a claim in the tables of a chunk.

    Where a claim has as many years as figures, they are taken as pairs in their order; where it has fewer years than
    figures, one figure of a year is enough. A row is another one if the claim names a row of the same table
    in full that has another figure there, and not the row of its own.
    """
    read = (one for one in read_amounts(claim) if not one.is_spelled_year and abs(one.value) >= MIN_VALUE)
    amounts = list(islice(read, MAX_FIGURES))
    cells = _read_cells(chunk.content, chunk.heading_path, _read_head(chunk)) if amounts else ()
    found = {one: matches for one in amounts if (matches := [cell for cell in cells if _is_in_cell(one, cell)])}
    named = {word.form for word in claim if is_content_word(word) and not has_figure(word)}
    years = _list_years(claim)
    nearest = {one: _select_nearest(matches, years, named) for one, matches in found.items()}
    conflicts = [
        *_compare_years(found, years),
        *_compare_months(found, _list_months(claim)),
        *_compare_rows(found, cells, named),
        *_compare_columns(found, cells, named),
        *_compare_senses(nearest, claim, amounts),
    ]
    wrong = {conflict.word for conflict in conflicts}
    placed = [one for one in found if one.text not in wrong]
    dated = {year for one in placed for cell in found[one] for year in cell.years if year in years}
    rows = _list_meant_rows(cells, [cell for one in placed for cell in nearest[one]], named)
    computed = [
        one
        for one in amounts
        if one not in found and (is_computed_from(one, placed, claim) or _is_change(one, rows, claim))
    ]
    texts = frozenset([*(one.text for one in (*placed, *computed)), *dated])
    places = {one: [cell.place for cell in nearest[one]] for one in placed}
    return FoundFigures(texts, tuple(conflicts), places)


def _list_meant_rows(cells: Sequence[_Cell], placed: Sequence[_Cell], named: Set[str]) -> list[list[_Cell]]:
    """Return the cells of each row in which a figure of the claim stands, or else of those that it names in full."""
    places = {cell.place for cell in placed} or {cell.place for cell in cells if _has_all(named, cell.words)}
    return [[cell for cell in cells if cell.place == place] for place in sorted(places)[:MAX_MEANT_ROWS]]


def _is_change(amount: Amount, rows: Sequence[Sequence[_Cell]], claim: Words) -> bool:
    """Return whether an amount is the change of a row from one period to another, in columns that are alike else."""
    pairs = (pair for row in rows for pair in permutations(row[:MAX_COMPARED_CELLS], 2))
    alike = ((after, before) for after, before in pairs if _is_of_other_period(after, before))
    return any(
        is_change_between(amount, before.value * factor, after.value * factor, claim)
        for after, before in alike
        for factor in (after.scales if amount.unit != "percent" else (1,))
    )


def _is_of_other_period(one: _Cell, other: _Cell) -> bool:
    is_beside = abs(one.column - other.column) == 1  # the word above both stands in one of their heads
    is_alike = is_beside or len(set(remove_dates(["", one.head, other.head]))) == 2
    return is_alike and one.years != other.years and bool(one.years and other.years) and one.scales == other.scales


def _select_nearest(cells: Sequence[_Cell], years: Sequence[str], named: Set[str]) -> list[_Cell]:
    """Return those of the cells with a figure that stand in a year of the claim, and of these the ones it names."""
    dated = [cell for cell in cells if not cell.years.isdisjoint(years)] or cells
    return [cell for cell in dated if _has_all(named, cell.words)] or list(dated)


def find_places_beyond(claim: Words, chunk: Chunk, quoted: Place, text: str) -> list[Place]:
    """Return where the figures of a claim stand that agree with cells beyond the quoted characters of a chunk.

    A figure that the text of the quote has itself needs no other place.
    """
    found = look_up_figures(claim, chunk).places
    outer = {one: places for one, places in found.items() if not any(_overlap(quoted, place) for place in places)}
    stated = {abs(other.value) for other in read_amounts(read_words(rewrite_amounts(text)))} if outer else set()
    return sorted({places[0] for one, places in outer.items() if abs(one.value) not in stated})


def _overlap(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _is_in_cell(amount: Amount, cell: _Cell) -> bool:
    is_share = amount.unit in ("percent", "fraction")
    if is_share != (cell.unit == "percent") and cell.unit:
        return False
    is_named = amount.unit in ("", *cell.units) or is_share
    if not is_named and (amount.unit not in CURRENCIES or cell.unit not in ("", amount.unit)):
        return False
    factors: Sequence[int] = (1,) if is_share else cell.scales
    if amount.unit in CURRENCIES and cell.value >= MIN_SCALED and len(factors) > 1:
        factors = [factor for factor in factors if factor > 1]
    return any(is_rounded(abs(amount.value), cell.value * factor, amount.digits) for factor in factors)


def _compare_years(found: dict[Amount, list[_Cell]], years: Sequence[str]) -> Iterator[FactConflict]:
    """Yield the figures that no cell has in a year of the claim."""
    known = set(years)
    dated = {one: cells for one, cells in found.items() if known and all(cell.years for cell in cells)}
    is_paired = len(years) == len(found) > 1
    wanted = {one: {years[n]} if is_paired else known for n, one in enumerate(found)}
    wrong = [one for one, cells in dated.items() if not any(cell.years & wanted[one] for cell in cells)]
    if len(known) < len(found) and len(wrong) < len(dated):
        return
    for one in wrong:
        yield FactConflict("date", one.text, dated[one][0].head)


def _compare_months(found: Mapping[Amount, Sequence[_Cell]], months: Set[str]) -> Iterator[FactConflict]:
    """Yield the figures of which all cells are of six months where the claim is of three alone."""
    for one, cells in found.items():
        if len(months) == 1 and all(cell.months and cell.months.isdisjoint(months) for cell in cells):
            yield FactConflict("date", one.text, cells[0].head)


def _compare_senses(
    found: Mapping[Amount, Sequence[_Cell]], claim: Words, amounts: Sequence[Amount]
) -> Iterator[FactConflict]:
    """Yield the figures that the claim calls the opposite of what they are by their sign: a loss, and no income."""
    for one, cells in found.items():
        if is_said_otherwise(one, {cell.sense for cell in cells}, claim, amounts):
            yield FactConflict("direction", one.text, cells[0].label)


def _compare_rows(found: dict[Amount, list[_Cell]], cells: Sequence[_Cell], named: Set[str]) -> Iterator[FactConflict]:
    """Yield the figures of a row that the claim does not name, where it names another row of the same column."""
    names = {words for words in {cell.words for cell in cells if found} if _has_all(named, words)}
    other_cells = [cell for cell in cells if cell.words in names and not any(_is_in_cell(one, cell) for one in found)]
    for one, matches in found.items():
        if one.unit == "percent" or any(not cell.words or cell.words in names for cell in matches):
            continue
        columns = {(cell.column, cell.head) for cell in matches}
        other = next((cell for cell in other_cells if (cell.column, cell.head) in columns), None)
        if other:
            yield FactConflict("number", one.text, f"{other.label}: {other.value}")


def _compare_columns(
    found: Mapping[Amount, Sequence[_Cell]], cells: Sequence[_Cell], named: Set[str]
) -> Iterator[FactConflict]:
    """Yield the figures of a part, such as "Retail", that the claim does not name where it names another beside it.

    Parts are told by their scale, "in millions": columns without one may be of different measures.
    """
    parts = [cell for cell in cells if len(cell.scales) > 1]
    meant = {(cell.place, cell.head_words) for cell in parts if _has_all(named, cell.head_words)}
    for one, matches in found.items():
        is_part = one.unit != "percent" and all(cell.head_words for cell in matches)
        if is_part and not any(_has_all(named, cell.head_words) for cell in matches):
            other = next((words for cell in matches for place, words in meant if place == cell.place), None)
            if other:
                yield FactConflict("number", one.text, matches[0].head)


def _has_all(named: Set[str], words: Set[str]) -> bool:
    return bool(words) and all(any(is_same_word(word, form) for form in named) for word in words)


@remember_in_request(MAX_READ_CHUNKS)
def _read_cells(text: str, headings: tuple[str, ...], head: str) -> tuple[_Cell, ...]:
    """Return the figures of a passage; every claim of a request is compared with the same few passages.

    `head` are the heads of a table that the passage goes on with, "" for none, and a line break.
    """
    tables = read_text_tables(f"{head}{text}")
    in_tables = (cell for table in tables for cell in _list_cells(table, headings, len(head)))
    return tuple(islice(chain(in_tables, _list_respective_cells(text)), MAX_CELLS))


def _list_respective_cells(text: str) -> Iterator[_Cell]:
    """Yield the figures of sentences such as "It was $497 and $460 in 2018 and 2017, respectively" by the year."""
    for part in split_into_parts(text) if _RESPECTIVELY in text else ():
        if part.kind == "row" or _RESPECTIVELY not in part.text:
            continue
        words = read_words(rewrite_amounts(part.text))
        years, amounts = _list_years(words), [one for one in read_amounts(words) if not one.is_spelled_year]
        if len(years) == len(amounts):
            for n, (year, one) in enumerate(zip(years, amounts, strict=True)):
                place = (part.start, part.end)
                yield _Cell(abs(one.value), (1,), one.unit, n, year, frozenset([year]), "", frozenset(), place)


def _list_years(words: Words) -> list[str]:
    return [word.form for word in words if YEAR_PATTERN.fullmatch(word.form) and "," not in word.raw]


def _list_months(words: Words) -> frozenset[str]:
    """Return the numbers of months of which a text has figures: 3 for "three months ended" and for a quarter."""
    counted = (before.form for before, word in pairwise(words) if word.form == "month")
    return frozenset([*filter(str.isdecimal, counted), *("3" for word in words if word.form == "quarter")])


def _read_head(chunk: Chunk) -> str:
    head = str(chunk.metadata.get(TABLE_HEAD_FIELD, ""))
    return f"{head}\n" if head else ""


def _list_cells(table: TextTable, headings: Sequence[str], before: int) -> Iterator[_Cell]:
    """Yield the figures of a table, placed without the characters `before` the passage.

    One without a currency has that of its head, or of a figure above it; its scale is that of its label, its head or
    the table.
    """
    scale = read_scale(" ".join((table.scale, *headings)))
    columns, no_column = _read_columns(table.heads, scale), _Column(scale=scale)
    counts = Counter(row.cells[0] for row in table.rows if any(row.cells[1:]))
    has_commas = has_decimal_commas(cell for row in table.rows for cell in row.cells[1:])
    units = {n: column.unit for n, column in enumerate(columns)}
    for row in table.rows:
        label, place = row.cells[0], (row.part.start - before, row.part.end - before)
        words = _read_label_words(label if counts[label] == 1 else f"{row.title} {label}")
        row_scale, row_units = read_scale(label), _read_units(label)
        for n, text in enumerate(row.cells[1:], 1):
            if not (figure := parse_figure(write_decimal_points(text) if has_commas else text)):
                continue
            column = columns[n] if n < len(columns) else no_column
            if column.is_of_notes:
                continue
            named = {*row_units, *column.units, *_read_units(f"{figure.unit} 1 {figure.unit}")}
            currency = next(iter(named & CURRENCIES), "")
            units |= {n: currency} if currency and not row_units & CURRENCIES else {}
            points = _POINTS.get(figure.unit.casefold(), 0)
            is_negative = figure.value < 0
            yield _Cell(
                abs(figure.value) * (points or 1),
                tuple({1, row_scale if row_scale > 1 else column.scale}),
                "percent" if points else currency or units.get(n, ""),
                n,
                column.head,
                column.years,
                label,
                words,
                place,
                column.months,
                read_sense(column.head, is_negative=is_negative) or read_sense(label, is_negative=is_negative),
                frozenset(named),
                column.words,
            )


def _read_columns(heads: Sequence[str], scale: int) -> list[_Column]:
    """Return what heads say; one without a scale has that of a head before it, else of one behind it, else `scale`."""
    scales = [read_scale(head) for head in heads]
    first = next((one for one in scales if one > 1), scale)
    latest = accumulate(scales, lambda before, one: one if one > 1 else before, initial=first)
    return [_read_column(head, one) for head, one in zip(heads, islice(latest, 1, None), strict=True)]


def _read_column(head: str, scale: int) -> _Column:
    units = _read_units(head)
    years, months = frozenset(YEAR_PATTERN.findall(head)), _list_months(read_words(head))
    name = "" if names_scale(head) or has_digit(remove_dates(["", head])) else head
    words = _read_label_words(name) - months
    is_of_notes = head.casefold().rstrip(".") in _NOTES
    return _Column(head, years, months, next(iter(units & CURRENCIES), ""), units, scale, words, is_of_notes)


def _read_units(text: str) -> frozenset[str]:
    return frozenset(unit for word in read_words(text) if (unit := get_unit(word.form)))


@remember_in_request(MAX_CELLS)
def _read_label_words(label: str) -> frozenset[str]:
    words = normalize_words(rewrite_amounts(label))
    return frozenset(word.form for word in words if is_content_word(word) and not has_figure(word))
