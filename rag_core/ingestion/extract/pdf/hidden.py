"""Text that nobody can see on the page: tricks to be read by machines only (RELIABILITY F11, C33)."""

from collections.abc import Iterator, Sequence
from ctypes import c_uint
from typing import Any

import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from rag_core.ingestion.extract.pdf.glyphs import Glyph

SMALLEST = 1.0  # points of type, in either direction
CONTRAST = 16  # of 255: the least difference from its ground, in some colour, that an eye can be expected to see
SCAN = 0.9  # of the page is picture, and of its letters invisible: text recognised under a scan
_PIXELS = 8_000_000  # a page beyond that (A0 is 8 million points) is drawn smaller
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_FILLED = (pdfium.FPDF_TEXTRENDERMODE_FILL, pdfium.FPDF_TEXTRENDERMODE_FILL_CLIP)

Word = Sequence[Glyph]
Area = tuple[int, int, int, int]  # pixels: left, top, right, bottom


def parted(page: Any, text: Any, glyphs: Sequence[Glyph]) -> tuple[list[Glyph], int, bool]:
    """The glyphs to be read, how many hidden ones were left out, and whether they are a scan's recognised text.

    A word is hidden when it is drawn invisibly, smaller than `SMALLEST` or in the colour of what it lies on, and when
    the page looks the same without it: outside of the page, covered, clipped, or in a layer that is switched off.
    """
    if not glyphs:
        return [], 0, False
    look = _Look(page, glyphs)
    unseen: list[Glyph] = []
    seen: list[Glyph] = []
    for word in _words(glyphs):
        (seen if look.shows(text, word) else unseen).extend(word)
    if unseen and len(unseen) >= SCAN * len(glyphs) and _pictured(page) >= SCAN:
        return list(glyphs), 0, True
    return seen, len(unseen), False


def _words(glyphs: Sequence[Glyph]) -> Iterator[Word]:
    word: list[Glyph] = []
    for glyph in glyphs:
        if word and (glyph.spaced or glyph.type is not word[-1].type):
            yield word
            word = []
        word.append(glyph)
    if word:
        yield word


class _Look:
    """A page as it is drawn, without its text, and the difference."""

    def __init__(self, page: Any, glyphs: Sequence[Glyph]) -> None:
        width, height = page.get_size()
        self.scale = min(1.0, (_PIXELS / max(1.0, width * height)) ** 0.5)
        drawn = _drawn(page, self.scale)
        for glyph in glyphs:
            pdfium.FPDFPageObj_SetIsActive(glyph.type.drawn, False)
        self.ground = _drawn(page, self.scale)
        self.ink = ImageChops.difference(drawn, self.ground)

    def shows(self, text: Any, word: Word) -> bool:
        type_, area = word[0].type, self._area(word)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(type_.drawn)
        if mode in _INVISIBLE or min(type_.height, type_.width) < SMALLEST or area is None:
            return False
        if max(most for _, most in _extremes(self.ink, _wider(area))) < CONTRAST:
            return False
        return mode not in _FILLED or not self._same(_colour(text, word[0].number), area)

    def _area(self, word: Word) -> Area | None:
        """The word's pixels; None when none is on the page."""
        x0, y0, x1, y1 = zip(*(glyph.box for glyph in word), strict=True)
        left, top = max(0, int(min(x0) * self.scale)), max(0, int(min(y0) * self.scale))
        right = min(self.ground.width, int(max(x1) * self.scale) + 1)
        bottom = min(self.ground.height, int(max(y1) * self.scale) + 1)
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _same(self, colour: Sequence[int], area: Area) -> bool:
        """Whether the ground is of that colour all over; text on top of it would else lend it its ink."""
        bands = zip(_extremes(self.ground, area), colour, strict=True)
        return all(abs(value - shade) < CONTRAST for extremes, shade in bands for value in extremes)


def _drawn(page: Any, scale: float) -> Image.Image:
    image: Image.Image = page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB")
    return image


def _wider(area: Area) -> Area:
    """A thin dash may be drawn in the next row of pixels."""
    left, top, right, bottom = area
    return left - 1, top - 1, right + 1, bottom + 1


def _extremes(image: Image.Image, area: Area) -> Sequence[tuple[int, int]]:
    """The least and the most of each colour."""
    return image.crop(area).getextrema()  # type: ignore[return-value] # of one band it would be a pair


def _colour(text: Any, number: int) -> list[int]:
    shades = [c_uint() for _ in range(4)]
    pdfium.FPDFText_GetFillColor(text, number, *shades)
    return [shade.value for shade in shades[:3]]


def _pictured(page: Any) -> float:
    """The part of the page that pictures cover."""
    width, height = page.get_size()
    covered = 0.0
    for picture in page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,)):
        left, bottom, right, top = picture.get_bounds()
        covered += (right - left) * (top - bottom)
    return covered / max(1.0, float(width * height))
