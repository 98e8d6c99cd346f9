"""Rows of a page as tables of figures have them: the segments of a label, and the figures that end it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_core.core.model import Box
from rag_core.ingestion.extract.pdf.lines import Strip, StripWord, enclose_boxes
from rag_core.text.figures import FIGURE, is_period

MIN_CELL_GAP = 0.45  # of the type size: between two figures; a space is 0.28
MIN_LABEL_GAP = 0.9  # of the type size: between a label and its first figure, and between two columns of labels
_CURRENCY = re.compile(r"(?:US|C|A|HK)?[$€£¥]")
_LEADING_SIGN = re.compile(r"(?:US|C|A|HK)?[$£¥(]")  # unlike "€", never behind its figure
_CLOSING = re.compile(r"[)%]+|\(\w\)|\*+")  # what belongs to the figure before it


@dataclass(frozen=True, slots=True)
class Segment:
    """Words of a row that belong together, with the place of each along the line."""

    words: tuple[StripWord, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def start(self) -> float:
        return self.words[0].start

    @property
    def end(self) -> float:
        return self.words[-1].end

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2

    @property
    def is_figure(self) -> bool:
        return FIGURE.fullmatch(self.text) is not None


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of a page: the segments of its label, and the figures that end it."""

    index: int
    baseline: float
    size: float
    label: tuple[Segment, ...]
    figures: tuple[Segment, ...]

    @property
    def segments(self) -> tuple[Segment, ...]:
        return (*self.label, *self.figures)

    @property
    def box(self) -> Box:
        return enclose_boxes(word.box for segment in self.segments for word in segment.words)


def read_figure_row(index: int, strips: Sequence[Strip]) -> FigureRow:
    size = max(strip.size for strip in strips)
    segments = list(_split_segments([word for strip in strips for word in strip.words], size))
    at = len(segments)
    while at and segments[at - 1].is_figure:
        at -= 1
    label, figures = segments[:at], segments[at:]
    while label and figures and figures[0].start - label[-1].end < MIN_LABEL_GAP * size:
        label.append(figures.pop(0))
    return FigureRow(index, strips[0].baseline, size, tuple(label), tuple(figures))


def _split_segments(words: Sequence[StripWord], size: float) -> Iterator[Segment]:
    """Split the words of a row at gaps, and between two figures; a currency sign belongs to the figure after it."""
    segment: list[StripWord] = []
    for word in sorted(words, key=lambda word: word.start):
        if segment and not _is_joined(segment, word, size):
            yield Segment(tuple(segment))
            segment = []
        segment.append(word)
    if segment:
        yield Segment(tuple(segment))


def _is_joined(segment: Sequence[StripWord], word: StripWord, size: float) -> bool:
    gap, last = word.start - segment[-1].end, segment[-1].text
    if _CURRENCY.fullmatch(last) or last in ("(", "$(", "($"):
        return bool(FIGURE.match(word.text)) or gap <= MIN_CELL_GAP * size
    if _LEADING_SIGN.match(word.text) and _ends_figure(segment):
        return False
    if _CLOSING.fullmatch(word.text):
        return gap <= MIN_LABEL_GAP * size
    both_figures = FIGURE.fullmatch(word.text) and _ends_figure(segment)
    return gap <= MIN_CELL_GAP * size and not (both_figures and gap > MIN_CELL_GAP * size / 2)


def _ends_figure(segment: Sequence[StripWord]) -> bool:
    return FIGURE.fullmatch(" ".join(word.text for word in segment)) is not None


def is_head_row(row: FigureRow) -> bool:
    """Return whether the figures of a row are years, beside no label but a remark such as "(in millions)"."""
    label = " ".join(segment.text for segment in row.label)
    return bool(row.figures) and all(is_period(s.text) for s in row.figures) and (not label or label.startswith("("))


def is_label_row(row: FigureRow, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a row without figures stands left of the columns: a title, or the first line of a label."""
    return row.segments[-1].end <= columns[0][0] + row.size or (
        len(row.segments) == 1 and row.segments[0].text.isupper() and len(row.segments[0].text) <= 40
    )


def place_label(row: FigureRow, edges: Sequence[float]) -> list[str]:
    places = [""] * (len(edges) + 1)
    for segment in row.label:
        number = sum(segment.middle >= edge for edge in edges)
        places[number] = f"{places[number]} {segment.text}".strip()
    return places
