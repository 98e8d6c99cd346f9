"""Assembly of characters into strips (text on one line without a wide gap), and of strips into rows."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from rag_core.core.model import Box
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.extract.pdf.glyphs import Glyph
from rag_core.ingestion.extract.pdf.raised_glyphs import MAX_MARK_GAP, write_marks
from rag_core.text.raised_marks import write_raised

MIN_COLUMN_GAP = 1.0  # of the type size: a wider gap may lie between two columns
MIN_SPACE_WIDTH = 0.1  # of the type size: a narrower gap is no space
MAX_APART_SIZE = 0.8  # of a raised mark drawn apart, to the type that it stands in
MAX_APART_RISE = 0.7  # of the type size: between the baseline of a mark drawn apart and that of its line
MAX_BASELINE_DRIFT = 0.5  # of the type size: as far as a subscript is off its line
_FIGURE_START = re.compile(r"[\d($€£¥—–-]")  # what follows a bracketed figure in a table, and no list mark
_LIST_MARK = re.compile(r"[•●○◦▪■□–—*·‣⁃-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]")  # belongs to the text that follows


@dataclass(frozen=True, slots=True)
class StripWord:
    """A word of a strip: the box of its ink, and where it begins and ends along the line."""

    text: str
    box: Box
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Strip:
    """Text on one line at `angle`, with the box of its ink; `baseline` is across the line, `size` is the type size."""

    text: str
    box: Box
    angle: int
    start: float
    end: float
    baseline: float
    size: float
    bold: bool
    words: tuple[StripWord, ...] = ()


def build_strips(glyphs: Sequence[Glyph]) -> list[Strip]:
    """Return the strips of a page in drawing order."""
    return [_strip_from_glyphs(write_marks(run)) for run in _split_glyph_runs(glyphs)]


def enclose_boxes(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that encloses all of these, rounded to a hundredth of a point."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return round(min(x0), 2), round(min(y0), 2), round(max(x1), 2), round(max(y1), 2)


def group_strips_into_rows(strips: Iterable[Strip]) -> list[list[Strip]]:
    """Return the rows of strips on one line, each from left to right, the rows from top to bottom."""
    grouped: list[list[Strip]] = []
    for strip in sorted(strips, key=lambda strip: strip.baseline):
        if grouped and strip.baseline - grouped[-1][0].baseline <= MAX_BASELINE_DRIFT * min(
            strip.size, grouped[-1][0].size
        ):
            grouped[-1].append(strip)
        else:
            grouped.append([strip])
    return [_attach_marks(sorted(row, key=lambda strip: strip.start)) for row in _join_raised_marks(grouped)]


def _join_raised_marks(rows: Sequence[list[Strip]]) -> list[list[Strip]]:
    """Join a row of raised marks, as of footnotes, to the row that they stand in."""
    joined: list[list[Strip]] = []
    for row in rows:
        if joined and all(_is_raised_mark(mark, row) for mark in joined[-1]):
            row = [*joined.pop(), *row]
        joined.append(row)
    return joined


def _is_raised_mark(mark: Strip, row: Sequence[Strip]) -> bool:
    return mark.size <= MAX_APART_SIZE * row[0].size and any(
        0 < strip.baseline - mark.baseline <= MAX_APART_RISE * strip.size
        and (0 <= mark.start - strip.end + strip.size / 4 <= strip.size or _find_marked_word(mark, strip) is not None)
        for strip in row
    )


def _attach_marks(row: Sequence[Strip]) -> list[Strip]:
    """Write each raised mark of a row that was drawn apart into the word that it stands behind."""
    kept: list[Strip] = []
    marks: list[tuple[int, Strip]] = []
    for strip in row:
        number = _find_marked_word(strip, kept[-1]) if kept else None
        if number is not None:
            marks.append((number, strip))
            continue
        if marks:
            kept[-1], marks = _add_marks(kept[-1], marks), []
        kept.append(strip)
    return [*kept[:-1], _add_marks(kept[-1], marks)] if marks else kept


def _find_marked_word(mark: Strip, strip: Strip) -> int | None:
    """Return the number of the word of a strip behind which a small raised strip stands; None where it does not."""
    rise, reach = strip.baseline - mark.baseline, MAX_MARK_GAP * strip.size
    if mark.size > MAX_APART_SIZE * strip.size or not 0 < rise <= MAX_APART_RISE * strip.size:
        return None
    number = bisect_left(strip.words, mark.start - reach, key=lambda word: word.end)
    is_behind = number < len(strip.words) and abs(strip.words[number].end - mark.start) <= reach
    return number if is_behind and mark.angle == strip.angle else None


def _add_marks(strip: Strip, marks: Sequence[tuple[int, Strip]]) -> Strip:
    words = list(strip.words)
    for number, mark in marks:
        word = words[number]
        text = word.text + write_raised(mark.text, word.text)
        words[number] = StripWord(text, enclose_boxes((word.box, mark.box)), word.start, max(word.end, mark.end))
    box = enclose_boxes((strip.box, *(mark.box for _, mark in marks)))
    end = max(strip.end, *(mark.end for _, mark in marks))
    return replace(strip, text=" ".join(word.text for word in words), box=box, end=end, words=tuple(words))


def join_strips(row: Sequence[Strip]) -> Strip:
    """Join the strips of a row into one, with a space where there is a gap."""
    text = row[0].text
    for before, after in pairwise(row):
        text += (" " if after.start - before.end > MIN_SPACE_WIDTH * after.size else "") + after.text
    longest, bold = max(row, key=lambda strip: len(strip.text)), all(strip.bold for strip in row)
    box = enclose_boxes(strip.box for strip in row)
    words = tuple(word for strip in row for word in strip.words)
    return replace(longest, text=text, box=box, start=row[0].start, end=row[-1].end, bold=bold, words=words)


def is_list_mark(text: str) -> bool:
    """Return True for the bullet or number of a list item."""
    return _LIST_MARK.fullmatch(text) is not None


def _split_glyph_runs(glyphs: Sequence[Glyph]) -> Iterator[list[Glyph]]:
    run: list[Glyph] = []
    for glyph in glyphs:
        if run and _starts_new_strip(run, glyph):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _starts_new_strip(run: Sequence[Glyph], glyph: Glyph) -> bool:
    """Return True when a glyph begins a new strip after the glyphs of `run`."""
    last, size = run[-1], max(run[-1].style.height, glyph.style.height)
    if (
        glyph.style.angle != last.style.angle
        or abs(glyph.baseline - last.baseline) > MAX_BASELINE_DRIFT * size
        or glyph.start < last.start
    ):
        return True
    return glyph.start - last.end > MIN_COLUMN_GAP * size and not (
        len(run) < 6 and is_list_mark("".join(g.text for g in run)) and not _FIGURE_START.match(glyph.text)
    )


def _strip_from_glyphs(run: Sequence[Glyph]) -> Strip:
    sizes = [round(glyph.style.height, 1) for glyph in run]
    size = max(sizes, key=Counter(sizes).__getitem__)
    baseline = run[sizes.index(size)].baseline
    words = tuple(word for part in _split_words(run, size) if (word := _word_from_glyphs(part)).text)
    bold, box = all(glyph.style.bold for glyph in run), enclose_boxes([glyph.box for glyph in run])
    text = " ".join(word.text for word in words)
    return Strip(text, box, run[0].style.angle, run[0].start, run[-1].end, baseline, size, bold, words)


def _split_words(run: Sequence[Glyph], size: float) -> Iterator[list[Glyph]]:
    """Split glyphs where PDFium sees white space, and where the gap is wider than is usual in this strip."""
    gaps = [after.start - before.end for before, after in pairwise(run)]
    wide = MIN_SPACE_WIDTH * size + median(gaps) if gaps else 0
    word = [run[0]]
    for glyph, gap in zip(run[1:], gaps, strict=True):
        if glyph.follows_space or gap > wide:
            yield word
            word = []
        word.append(glyph)
    yield word


def _word_from_glyphs(glyphs: Sequence[Glyph]) -> StripWord:
    # PDFium gives characters beyond the BMP as two surrogates
    letters = "".join([glyph.text for glyph in glyphs])
    if not letters.isascii():
        letters = letters.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    box = enclose_boxes([glyph.box for glyph in glyphs])
    return StripWord(clean_text(letters), box, glyphs[0].start, glyphs[-1].end)
