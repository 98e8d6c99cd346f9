"""Detection of text that is invisible on the page, as used to inject instructions that only machines read."""

from collections.abc import Iterator, Sequence
from ctypes import c_uint
from typing import Any

import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from rag_core.ingestion.extract.pdf.glyphs import Glyph

SMALLEST = 1.0  # in either direction
CONTRAST = 16  # of 255, in some colour channel: the least difference from the background that can be seen
SCAN = 0.9  # of the page covered by pictures, and of its characters invisible: recognised text under a scan
_PIXELS = 8_000_000  # a larger page (A0 has 8 million square points) is rendered at a smaller scale
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_FILLED = (pdfium.FPDF_TEXTRENDERMODE_FILL, pdfium.FPDF_TEXTRENDERMODE_FILL_CLIP)

Word = Sequence[Glyph]
Area = tuple[int, int, int, int]  # pixels: left, top, right, bottom


def parted(page: Any, text: Any, glyphs: Sequence[Glyph]) -> tuple[list[Glyph], int, bool]:
    """Return the glyphs to be read, how many hidden ones were left out, and whether they are a scan's recognised text.

    A word is hidden when it is drawn invisibly, smaller than `MIN_TYPE_SIZE_PT` or in the colour of its background, and
    when the page looks the same without it: outside of the page, covered, clipped, or in a layer that is switched off.
    """
    if not glyphs:
        return [], 0, False
    rendered = _Look(page, glyphs)
    hidden: list[Glyph] = []
    visible: list[Glyph] = []
    for word in _words(glyphs):
        (visible if rendered.shows(text, word) else hidden).extend(word)
    if hidden and len(hidden) >= SCAN * len(glyphs) and _pictured(page) >= SCAN:
        return list(glyphs), 0, True
    return visible, len(hidden), False


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
    """The page rendered without its text (`background`), and the difference that the text makes (`ink`)."""

    def __init__(self, page: Any, glyphs: Sequence[Glyph]) -> None:
        width, height = page.get_size()
        self.scale = min(1.0, (_PIXELS / max(1.0, width * height)) ** 0.5)
        complete = _drawn(page, self.scale)
        for glyph in glyphs:
            pdfium.FPDFPageObj_SetIsActive(glyph.type.drawn, False)
        self.ground = _drawn(page, self.scale)
        self.ink = ImageChops.difference(complete, self.ground)

    def shows(self, text: Any, word: Word) -> bool:
        style, area = word[0].type, self._area(word)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(style.drawn)
        if mode in _INVISIBLE or min(style.height, style.width) < SMALLEST or area is None:
            return False
        if max(highest for _, highest in _extremes(self.ink, _wider(area))) < CONTRAST:
            return False
        return mode not in _FILLED or not self._same(_colour(text, word[0].number), area)

    def _area(self, word: Word) -> Area | None:
        """Return the pixel area of a word; None when it is outside of the page."""
        x0, y0, x1, y1 = zip(*(glyph.box for glyph in word), strict=True)
        left, top = max(0, int(min(x0) * self.scale)), max(0, int(min(y0) * self.scale))
        right = min(self.ground.width, int(max(x1) * self.scale) + 1)
        bottom = min(self.ground.height, int(max(y1) * self.scale) + 1)
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _same(self, colour: Sequence[int], area: Area) -> bool:
        """Return True when the whole background has this colour; overlapping text could otherwise pass for its ink."""
        bands = zip(_extremes(self.ground, area), colour, strict=True)
        return all(abs(value - shade) < CONTRAST for extremes, shade in bands for value in extremes)


def _drawn(page: Any, scale: float) -> Image.Image:
    image: Image.Image = page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB")
    return image


def _wider(area: Area) -> Area:
    """Return the area wider by a pixel on each side, because a thin dash may be drawn in the next row of pixels."""
    left, top, right, bottom = area
    return left - 1, top - 1, right + 1, bottom + 1


def _extremes(image: Image.Image, area: Area) -> Sequence[tuple[int, int]]:
    """Return the lowest and highest value of each colour channel."""
    return image.crop(area).getextrema()  # type: ignore[return-value] # of one band it would be a pair


def _colour(text: Any, number: int) -> list[int]:
    shades = [c_uint() for _ in range(4)]
    pdfium.FPDFText_GetFillColor(text, number, *shades)
    return [shade.value for shade in shades[:3]]


def _pictured(page: Any) -> float:
    """Return the share of the page that pictures cover."""
    width, height = page.get_size()
    covered = 0.0
    for picture in page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,)):
        left, bottom, right, top = picture.get_bounds()
        covered += (right - left) * (top - bottom)
    return covered / max(1.0, float(width * height))
