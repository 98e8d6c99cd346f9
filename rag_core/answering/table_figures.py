"""Figures of a claim looked up in the cells of a table: whether they stand in the row and the year that it names.

A table of a statement has hundreds of figures, so that one which stands in it may be of another row or another year. A
figure that only such cells have contradicts the claim, and one whose cell agrees needs no word of the text around it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, islice, pairwise

from rag_core.answering.computing.asked_columns import YEAR_PATTERN
from rag_core.answering.facts.amount_reading import CURRENCIES, Amount, read_amounts
from rag_core.answering.facts.amounts import is_computed_from, is_rounded
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.units import get_unit
from rag_core.answering.facts.words import Words, has_figure, is_content_word, is_same_word
from rag_core.answering.figure_senses import Sense, is_said_otherwise, read_sense
from rag_core.core.model import Chunk
from rag_core.ingestion.tables import TABLE_HEAD_FIELD
from rag_core.text.figures import parse_figure, read_scale
from rag_core.text.layout import split_into_parts
from rag_core.text.normalization import normalize_words
from rag_core.text.request_memory import remember_in_request
from rag_core.text.tables import TextTable, read_text_tables

# figures of a claim, each looked for in so many cells of a chunk: an enemy's table takes 20 ms
MAX_FIGURES, MAX_CELLS = 12, 600
MAX_READ_CHUNKS = 32  # of a request
MIN_VALUE = 10  # smaller figures stand in many cells by chance
_RESPECTIVELY = "respectively"
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
        *_compare_senses(nearest, claim, amounts),
    ]
    wrong = {conflict.word for conflict in conflicts}
    placed = [one for one in found if one.text not in wrong]
    dated = {year for one in placed for cell in found[one] for year in cell.years if year in years}
    computed = [one for one in amounts if one not in found and is_computed_from(one, placed, claim)]
    texts = frozenset([*(one.text for one in (*placed, *computed)), *dated])
    places = {one: [cell.place for cell in nearest[one]] for one in placed}
    return FoundFigures(texts, tuple(conflicts), places)


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
    if amount.unit and not is_share and (amount.unit not in CURRENCIES or cell.unit not in ("", amount.unit)):
        return False
    factors = (1,) if is_share else cell.scales
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

    One without a currency has that of its head, or of a figure above it.
    """
    scales = tuple({1, read_scale(" ".join((table.scale, *headings)))})
    counts = Counter(row.cells[0] for row in table.rows if any(row.cells[1:]))
    heads = dict(enumerate(table.heads))
    years = {n: frozenset(YEAR_PATTERN.findall(head)) for n, head in heads.items()}
    months = {n: _list_months(read_words(head)) for n, head in heads.items()}
    units = {n: unit for n, head in heads.items() if (unit := _read_currency(head))}
    for row in table.rows:
        label, place = row.cells[0], (row.part.start - before, row.part.end - before)
        words = _read_label_words(label if counts[label] == 1 else f"{row.title} {label}")
        for n, cell in enumerate(row.cells[1:], 1):
            if figure := parse_figure(cell):
                unit = "percent" if figure.unit == "%" else _read_currency(f"{figure.unit} 1")
                units |= {n: unit} if unit in CURRENCIES else {}
                dated = years.get(n, frozenset())
                unit, head = unit or units.get(n, ""), heads.get(n, "")
                is_negative = figure.value < 0
                sense = read_sense(head, is_negative=is_negative) or read_sense(label, is_negative=is_negative)
                spanned = months.get(n, frozenset())
                yield _Cell(abs(figure.value), scales, unit, n, head, dated, label, words, place, spanned, sense)


def _read_currency(text: str) -> str:
    return next((unit for word in read_words(text) if (unit := get_unit(word.form)) in CURRENCIES), "")


@remember_in_request(MAX_CELLS)
def _read_label_words(label: str) -> frozenset[str]:
    words = normalize_words(rewrite_amounts(label))
    return frozenset(word.form for word in words if is_content_word(word) and not has_figure(word))
