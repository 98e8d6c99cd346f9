"""Raised and lowered characters of a line, such as footnote marks, found by size and place, and written as such."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rag_core.ingestion.extract.pdf.glyphs import Glyph
from rag_core.text.raised_marks import write_lowered, write_raised

MAX_MARK_SIZE = 0.85  # of a mark, to the type that it stands in
MAX_LEVEL_MARK_SIZE = 0.65  # of a number that is small and stands on the line, behind another number
MAX_MARK_RISE = 0.75  # of the type size: between the baseline of a raised mark and that of its line
MIN_MARK_RISE = 0.12
MIN_LARGE_MARK_RISE = 0.25  # of a mark in the type of its line
MIN_INK_RISE = 0.2  # of the type size: no digit that stands on the line has its lowest ink so high
MIN_SUBSCRIPT_DROP, MAX_SUBSCRIPT_DROP = 0.05, 0.4
MAX_MARK_GAP = 0.25  # of the type size: between a word and its mark
MAX_KERNING = 0.12  # of the type size: where a mark begins or ends, PDFium takes a narrower gap for a space
MAX_LEADING_MARK_CHARS = 3

GlyphRun = Sequence[Glyph]


def write_marks(run: GlyphRun) -> GlyphRun:
    """Return the characters of a line with raised and lowered ones as the characters of Unicode that look so."""
    parts = list(_split_at_levels(run))
    if len(parts) == 1:
        return run
    written: list[Glyph] = []
    base: GlyphRun = ()
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else ()
        level = (base and _find_level(part, base)) or _find_leading_level(part, following, is_first=not base)
        before = written[-3:]
        if level:
            text, joined = "".join(g.text for g in part), "".join(g.text for g in before)
            mark = write_raised(text, joined) if level > 0 else write_lowered(text, joined)
            part = list(_spread_text(part, mark))
        if written and (level or not _is_on_line(parts[number - 1], part)):
            part = [_join_closely(written[-1], part[0]), *part[1:]]
        written += part
        base = base if level else part
    return written


def _split_at_levels(run: GlyphRun) -> Iterator[list[Glyph]]:
    """Split where the size or the height above the line changes."""
    part = [run[0]]
    heights = pairwise(map(_is_high, run))
    for (before, glyph), (was_high, is_high) in zip(pairwise(run), heights, strict=True):
        if was_high != is_high or (before.style is not glyph.style and not _is_level(before, glyph)):
            yield part
            part = []
        part.append(glyph)
    yield part


def _is_level(one: Glyph, other: Glyph) -> bool:
    size = max(one.style.height, other.style.height)
    return (
        abs(one.baseline - other.baseline) <= MIN_SUBSCRIPT_DROP * size
        and abs(one.style.height - other.style.height) <= (1 - MAX_MARK_SIZE) * size
    )


def _is_on_line(before: GlyphRun, part: GlyphRun) -> bool:
    return _is_level(before[-1], part[0]) and not _is_high(before[-1])


def _is_high(glyph: Glyph) -> bool:
    """Return whether a letter or digit is drawn high above its own baseline, as the superior ones of a font are."""
    return (
        glyph.baseline - glyph.box[3] > MIN_INK_RISE * glyph.style.height
        and glyph.style.angle == 0
        and glyph.text.isascii()
        and glyph.text.isalnum()
    )


def _find_level(part: GlyphRun, base: GlyphRun) -> int:
    """Return 1 for a raised mark behind `base`, -1 for a lowered one, 0 for neither."""
    anchor = base[-1]
    return _compare_levels(part, anchor) if part[0].start - anchor.end <= MAX_MARK_GAP * anchor.style.height else 0


def _find_leading_level(part: GlyphRun, following: GlyphRun, *, is_first: bool) -> int:
    """Return 1 for a raised mark before its word: that of a note is the first of its line, that of ¹⁴C stands close."""
    if not following or len(part) > MAX_LEADING_MARK_CHARS:
        return 0
    is_close = following[0].start - part[-1].end <= MAX_KERNING * following[0].style.height
    return max(0, _compare_levels(part, following[0])) if is_first or is_close else 0


def _compare_levels(part: GlyphRun, anchor: Glyph) -> int:
    glyph, size = part[0], anchor.style.height
    if not size or glyph.style.angle != anchor.style.angle:
        return 0
    ratio, rise = glyph.style.height / size, (anchor.baseline - glyph.baseline) / size
    if all(map(_is_high, part)) and not _is_high(anchor):
        return 1
    if ratio <= MAX_MARK_SIZE and MIN_MARK_RISE <= rise <= MAX_MARK_RISE:
        return 1
    if MAX_MARK_SIZE < ratio <= 1 / MAX_MARK_SIZE and MIN_LARGE_MARK_RISE <= rise <= MAX_MARK_RISE:
        return 1
    if ratio <= MAX_MARK_SIZE and MIN_SUBSCRIPT_DROP <= -rise <= MAX_SUBSCRIPT_DROP:
        return -1
    is_small = ratio <= MAX_LEVEL_MARK_SIZE and anchor.text.isdecimal() and not glyph.follows_space
    return int(is_small and glyph.text.isdecimal() and all(g.text.isdecimal() or g.text == "," for g in part))


def _spread_text(part: GlyphRun, text: str) -> Iterator[Glyph]:
    """Give each character its own; where their number has changed, as in "™", the first has them all."""
    own = "".join(glyph.text for glyph in part)
    at = 0
    for number, glyph in enumerate(part):
        length = len(glyph.text)
        share = text[at : at + length] if len(text) == len(own) else "" if number else text
        yield glyph._replace(text=share)
        at += length


def _join_closely(before: Glyph, glyph: Glyph) -> Glyph:
    size = max(before.style.height, glyph.style.height)
    is_close = glyph.follows_space and glyph.start - before.end <= MAX_KERNING * size
    return glyph._replace(follows_space=False) if is_close else glyph
