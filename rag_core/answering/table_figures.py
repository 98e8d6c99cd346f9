"""Figures of a claim looked up in the cells of a table: whether they stand in the row and the year that it names.

A table of a statement has hundreds of figures, so that one which stands in it may be of another row or another year. A
figure that only such cells have contradicts the claim, and one whose cell agrees needs no word of the text around it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice, permutations

from rag_core.answering.facts.amount_reading import CURRENCIES, Amount, read_amounts
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.facts.computed_amounts import is_change_between, is_rounded
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.words import Words, has_figure, is_content_word, is_same_word
from rag_core.answering.figure_senses import is_said_otherwise
from rag_core.answering.table_cells import Place, TableCell, list_months, list_years, read_cells
from rag_core.core.model import Chunk
from rag_core.text.figures import remove_dates

MAX_FIGURES = 12  # of a claim, each looked for in all cells of a chunk: an enemy's table takes 20 ms
MAX_MEANT_ROWS, MAX_COMPARED_CELLS = 3, 8  # whose changes are computed
MIN_SCALED = 1000  # smaller figures may be per share, and so not be multiplied by the scale of their table
MIN_VALUE = 10  # smaller figures stand in many cells by chance


@dataclass(frozen=True, slots=True)
class FoundFigures:
    """The figures of a claim whose cells agree with it, as the claim has them, and what the others are cells of.

    `places` are the characters of the chunk at which the rows and sentences with each of them stand.
    """

    placed: Set[str]
    conflicts: tuple[FactConflict, ...]
    places: Mapping[Amount, Sequence[Place]] = field(default_factory=dict)


def look_up_figures(claim: Words, chunk: Chunk) -> FoundFigures:
    """Look up the figures of a claim in the tables of a chunk.

    Where a claim has as many years as figures, they are taken as pairs in their order; where it has fewer years than
    figures, one figure of a year is enough. A row is another one if the claim names a row of the same table
    in full that has another figure there, and not the row of its own.
    """
    read = (one for one in read_amounts(claim) if not one.is_spelled_year and abs(one.value) >= MIN_VALUE)
    amounts = list(islice(read, MAX_FIGURES))
    cells = read_cells(chunk) if amounts else ()
    found = {one: matches for one in amounts if (matches := [cell for cell in cells if _is_in_cell(one, cell)])}
    named = {word.form for word in claim if is_content_word(word) and not has_figure(word)}
    years = list_years(claim)
    nearest = {one: _select_nearest(matches, years, named) for one, matches in found.items()}
    conflicts = [
        *_compare_years(found, years),
        *_compare_months(found, list_months(claim)),
        *_compare_rows(found, cells, named),
        *_compare_columns(found, cells, named),
        *_compare_senses(nearest, claim, amounts),
    ]
    wrong = {conflict.word for conflict in conflicts}
    placed = [one for one in found if one.text not in wrong]
    dated = {year for one in placed for cell in found[one] for year in cell.column.years if year in years}
    rows = _list_meant_rows(cells, [cell for one in placed for cell in nearest[one]], named)
    changes = [one for one in amounts if one not in found and _is_change(one, rows, claim)]
    texts = frozenset([*(one.text for one in (*placed, *changes)), *dated])
    places = {one: [cell.place for cell in nearest[one]] for one in placed}
    return FoundFigures(texts, tuple(conflicts), places)


def _list_meant_rows(cells: Sequence[TableCell], placed: Sequence[TableCell], named: Set[str]) -> list[list[TableCell]]:
    """Return the cells of each row in which a figure of the claim stands, or else of those that it names in full."""
    places = {cell.place for cell in placed} or {cell.place for cell in cells if _has_all(named, cell.words)}
    return [[cell for cell in cells if cell.place == place] for place in sorted(places)[:MAX_MEANT_ROWS]]


def _is_change(amount: Amount, rows: Sequence[Sequence[TableCell]], claim: Words) -> bool:
    """Return whether an amount is the change of a row from one period to another, in columns that are alike else."""
    pairs = (pair for row in rows for pair in permutations(row[:MAX_COMPARED_CELLS], 2))
    alike = ((after, before) for after, before in pairs if _is_of_other_period(after, before))
    return any(
        is_change_between(amount, before.value * factor, after.value * factor, claim)
        for after, before in alike
        for factor in (after.scales if amount.unit != "percent" else (1,))
    )


def _is_of_other_period(one: TableCell, other: TableCell) -> bool:
    now, then = one.column, other.column
    is_beside = abs(now.number - then.number) == 1  # the word above both stands in one of their heads
    is_alike = is_beside or len(set(remove_dates(["", now.head, then.head]))) == 2
    return is_alike and now.years != then.years and bool(now.years and then.years) and one.scales == other.scales


def _select_nearest(cells: Sequence[TableCell], years: Sequence[str], named: Set[str]) -> list[TableCell]:
    """Return those of the cells with a figure that stand in a year of the claim, and of these the ones it names."""
    dated = [cell for cell in cells if not cell.column.years.isdisjoint(years)] or cells
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


def _is_in_cell(amount: Amount, cell: TableCell) -> bool:
    is_share = amount.unit in ("percent", "fraction")
    if is_share != (cell.unit == "percent") and cell.unit:
        return False
    is_named = amount.unit in ("", *cell.units) or is_share
    if not is_named and (amount.unit not in CURRENCIES or cell.unit not in ("", amount.unit)):
        return False
    factors: Sequence[int] = (1,) if is_share else cell.scales
    if amount.unit in CURRENCIES and cell.value >= MIN_SCALED and len(factors) > 1:
        factors = [factor for factor in factors if factor > 1]
    value, digits = abs(amount.value), amount.digits
    return any(is_rounded(value, cell.value * factor, digits, is_about=amount.is_about) for factor in factors)


def _compare_years(found: dict[Amount, list[TableCell]], years: Sequence[str]) -> Iterator[FactConflict]:
    """Yield the figures that no cell has in a year of the claim."""
    known = set(years)
    dated = {one: cells for one, cells in found.items() if known and all(cell.column.years for cell in cells)}
    is_paired = len(years) == len(found) > 1
    wanted = {one: {years[n]} if is_paired else known for n, one in enumerate(found)}
    wrong = [one for one, cells in dated.items() if not any(cell.column.years & wanted[one] for cell in cells)]
    if len(known) < len(found) and len(wrong) < len(dated):
        return
    for one in wrong:
        yield FactConflict("date", one.text, dated[one][0].column.head)


def _compare_months(found: Mapping[Amount, Sequence[TableCell]], months: Set[str]) -> Iterator[FactConflict]:
    """Yield the figures of which all cells are of six months where the claim is of three alone."""
    for one, cells in found.items():
        if len(months) == 1 and all(cell.column.months and cell.column.months.isdisjoint(months) for cell in cells):
            yield FactConflict("date", one.text, cells[0].column.head)


def _compare_senses(
    found: Mapping[Amount, Sequence[TableCell]], claim: Words, amounts: Sequence[Amount]
) -> Iterator[FactConflict]:
    """Yield the figures that the claim calls the opposite of what they are by their sign: a loss, and no income."""
    for one, cells in found.items():
        if is_said_otherwise(one, {cell.sense for cell in cells}, claim, amounts):
            yield FactConflict("direction", one.text, cells[0].label)


def _compare_rows(
    found: dict[Amount, list[TableCell]], cells: Sequence[TableCell], named: Set[str]
) -> Iterator[FactConflict]:
    """Yield the figures of a row that the claim does not name, where it names another row of the same column."""
    names = {words for words in {cell.words for cell in cells if found} if _has_all(named, words)}
    other_cells = [cell for cell in cells if cell.words in names and not any(_is_in_cell(one, cell) for one in found)]
    for one, matches in found.items():
        if one.unit == "percent" or any(not cell.words or cell.words in names for cell in matches):
            continue
        columns = {cell.column for cell in matches}
        other = next((cell for cell in other_cells if cell.column in columns), None)
        if other:
            yield FactConflict("number", one.text, f"{other.label}: {other.value}")


def _compare_columns(
    found: Mapping[Amount, Sequence[TableCell]], cells: Sequence[TableCell], named: Set[str]
) -> Iterator[FactConflict]:
    """Yield the figures of a part, such as "Retail", that the claim does not name where it names another beside it.

    Parts are told by their scale, "in millions": columns without one may be of different measures.
    """
    parts = [cell for cell in cells if len(cell.scales) > 1]
    meant = {(cell.place, cell.column.words) for cell in parts if _has_all(named, cell.column.words)}
    for one, matches in found.items():
        is_part = one.unit != "percent" and all(cell.column.words for cell in matches)
        if is_part and not any(_has_all(named, cell.column.words) for cell in matches):
            other = next((words for cell in matches for place, words in meant if place == cell.place), None)
            if other:
                yield FactConflict("number", one.text, matches[0].column.head)


def _has_all(named: Set[str], words: Set[str]) -> bool:
    return bool(words) and all(any(is_same_word(word, form) for form in named) for word in words)
