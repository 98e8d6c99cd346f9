"""Detection of text that is invisible on the page, as used to inject instructions that only machines read."""

from collections.abc import Iterator, Sequence
from ctypes import c_uint
from typing import Any

import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from rag_core.ingestion.extract.pdf.glyphs import Glyph, GlyphStyle

MIN_TYPE_SIZE_PT = 1.0  # in either direction
MIN_CONTRAST = 16  # of 255, in some colour channel: the least difference from the background that can be seen
MIN_SCAN_SHARE = 0.9  # of the page covered by pictures, and of its characters invisible: recognised text under a scan
_MAX_RENDERED_PIXELS = 8_000_000  # a larger page (A0 has 8 million square points) is rendered at a smaller scale
_INVISIBLE_RENDER_MODES = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_FILL_RENDER_MODES = (pdfium.FPDF_TEXTRENDERMODE_FILL, pdfium.FPDF_TEXTRENDERMODE_FILL_CLIP)

GlyphWord = Sequence[Glyph]
PixelArea = tuple[int, int, int, int]  # pixels: left, top, right, bottom


def separate_hidden_text(page: Any, text: Any, glyphs: Sequence[Glyph]) -> tuple[list[Glyph], int, bool]:
    """Return the glyphs to be read, how many hidden ones were left out, and whether they are a scan's recognised text.

    A word is hidden when it is drawn invisibly, smaller than `MIN_TYPE_SIZE_PT` or in the colour of its background, and
    when the page looks the same without it: outside of the page, covered, clipped, or in a layer that is switched off.
    The last three cannot be told of a word without outlines, which is not drawn here but by machines with its font.
    """
    if not glyphs:
        return [], 0, False
    rendered = _RenderedPage(page, glyphs)
    hidden: list[Glyph] = []
    visible: list[Glyph] = []
    for word in _split_glyph_words(glyphs):
        (visible if rendered.is_visible(text, word) else hidden).extend(word)
    if hidden and len(hidden) >= MIN_SCAN_SHARE * len(glyphs) and measure_picture_share(page) >= MIN_SCAN_SHARE:
        return list(glyphs), 0, True
    return visible, len(hidden), False


def _split_glyph_words(glyphs: Sequence[Glyph]) -> Iterator[GlyphWord]:
    word: list[Glyph] = []
    for glyph in glyphs:
        if word and (glyph.follows_space or glyph.style is not word[-1].style):
            yield word
            word = []
        word.append(glyph)
    if word:
        yield word


class _RenderedPage:
    """The page rendered without its text (`background`), and how much the text changes each pixel of it (`ink`)."""

    def __init__(self, page: Any, glyphs: Sequence[Glyph]) -> None:
        width, height = page.get_size()
        self.scale = min(1.0, (_MAX_RENDERED_PIXELS / max(1.0, width * height)) ** 0.5)
        complete = _render_page_image(page, self.scale)
        for style in {id(glyph.style): glyph.style for glyph in glyphs}.values():
            pdfium.FPDFPageObj_SetIsActive(style.text_object, False)
        self.background = _render_page_image(page, self.scale)
        self.ink = _find_greatest_channel(ImageChops.difference(complete, self.background))
        self._ink_pixels: Any = self.ink.load()
        self._page_extremes = _read_colour_extremes(self.background)
        self._style: GlyphStyle | None = None  # of the word before: most words are of the same text object
        self._mode, self._colour = 0, [0, 0, 0]

    def is_visible(self, text: Any, word: GlyphWord) -> bool:
        style, area = word[0].style, self._locate_pixels(word)
        if style is not self._style:
            self._style, self._mode = style, pdfium.FPDFTextObj_GetTextRenderMode(style.text_object)
            self._colour = _read_fill_colour(text, word[0].position)
        mode = self._mode
        if mode in _INVISIBLE_RENDER_MODES or min(style.height, style.width) < MIN_TYPE_SIZE_PT or area is None:
            return False
        is_drawn = any(glyph.has_outline for glyph in word)
        if is_drawn and not self._has_ink(area):
            return False
        return mode not in _FILL_RENDER_MODES or not self._is_background_colour(self._colour, area)

    def _locate_pixels(self, word: GlyphWord) -> PixelArea | None:
        """Return the pixel area of a word; None when it is outside of the page."""
        x0, y0, x1, y1 = zip(*[glyph.box for glyph in word], strict=True)
        left, top = max(0, int(min(x0) * self.scale)), max(0, int(min(y0) * self.scale))
        right = min(self.background.width, int(max(x1) * self.scale) + 1)
        bottom = min(self.background.height, int(max(y1) * self.scale) + 1)
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _has_ink(self, area: PixelArea) -> bool:
        """Return whether the text changes an area visibly; a thin dash may be drawn in the next row of pixels."""
        left, top, right, bottom = area
        pixels, middle = self._ink_pixels, (top + bottom) // 2
        if any(pixels[x, middle] >= MIN_CONTRAST for x in range(left, right)):
            return True  # as of most words after a few pixels
        band: tuple[int, int] = self.ink.crop((left - 1, top - 1, right + 1, bottom + 1)).getextrema()  # type: ignore[assignment] # of several bands it would be pairs
        return band[1] >= MIN_CONTRAST

    def _is_background_colour(self, colour: Sequence[int], area: PixelArea) -> bool:
        """Return True when the whole background has this colour; overlapping text could otherwise pass for its ink."""
        for (lowest, highest), shade in zip(self._page_extremes, colour, strict=True):
            if not lowest - MIN_CONTRAST < shade < highest + MIN_CONTRAST:
                return False  # no pixel of the page is near, so none of the area
        bands = zip(_read_colour_extremes(self.background.crop(area)), colour, strict=True)
        return all(abs(value - shade) < MIN_CONTRAST for extremes, shade in bands for value in extremes)


def _render_page_image(page: Any, scale: float) -> Image.Image:
    """Return the page as it is drawn, with four bytes a pixel, the last one unused: so nothing has to be copied."""
    image: Image.Image = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=True).to_pil()
    return image


def _find_greatest_channel(image: Image.Image) -> Image.Image:
    """Return an image of one channel, the greatest of red, green and blue at each pixel."""
    red, green, blue, _ = image.split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def _read_colour_extremes(image: Image.Image) -> Sequence[tuple[int, int]]:
    """Return the lowest and highest value of each colour channel."""
    return image.getextrema()[:3]  # type: ignore[return-value] # of one band it would be a pair


def _read_fill_colour(text: Any, number: int) -> list[int]:
    shades = [c_uint() for _ in range(4)]
    pdfium.FPDFText_GetFillColor(text, number, *shades)
    return [shade.value for shade in shades[:3]]


def measure_picture_share(page: Any) -> float:
    """Return the share of the page that pictures cover."""
    width, height = page.get_size()
    covered = 0.0
    for picture in page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,)):
        left, bottom, right, top = picture.get_bounds()
        covered += (right - left) * (top - bottom)
    return covered / max(1.0, float(width * height))
