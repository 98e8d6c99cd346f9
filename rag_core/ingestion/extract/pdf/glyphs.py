"""The characters of a PDF page, each with its box on the page as it is shown."""

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pypdfium2.raw as pdfium

from rag_core.core.model import Box

Point = tuple[float, float]
PointTransform = Callable[[float, float], Point]  # from PDF user space to the page as it is shown
_HYPHEN_CODES = (0x02, 0xFFFE)  # PDFium's characters for a hyphen at the end of a line
_LIGATURES = str.maketrans(
    {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st", 0xAD: "-"}
)
_BOLD_NAME_PARTS = ("bold", "black", "heavy")
_MIN_BOLD_WEIGHT = 600  # semibold, in the scale of CSS and OpenType
_MAX_EMPTY_INK = 0.002  # of the type size: PDFium's box of a character without an outline is 0.001 high
_MAX_FONT_NAME_BYTES = 256  # read of a font's name


@dataclass(frozen=True, slots=True)
class GlyphStyle:
    """The style shared by the characters of a text object: line angle (degrees, 0 is upright), size in points, font."""

    angle: int
    height: float
    width: float
    bold: bool
    is_embedded: bool
    text_object: Any


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character with the box of its ink, and its place on its text line.

    `start` and `end` (of its advance, white space included) are measured along the line, `baseline` across it.
    `follows_space` says that there is white space before it; `index` is its place among the page's characters. Without
    an outline, which neither the file nor this machine has, PDFium cannot draw it, and its box is that of its advance.
    """

    text: str
    box: Box
    start: float
    end: float
    baseline: float
    style: GlyphStyle
    follows_space: bool
    index: int
    has_outline: bool


def read_glyphs(page: Any, text: Any) -> Iterator[Glyph]:
    """Yield the characters that have ink, in drawing order; `text` is the PDFium text page of `page`."""
    transform = partial(_to_shown_page, page.get_bbox(), page.get_rotation())
    style, address, follows_space = GlyphStyle(0, 0, 0, False, True, None), 0, True
    for number in range(text.count_chars()):
        letter = _decode_character(pdfium.FPDFText_GetUnicode(text, number))
        text_object = pdfium.FPDFText_GetTextObject(text, number)
        if not letter or not text_object:
            follows_space = True
            continue
        if address != (address := ctypes.addressof(text_object.contents)):
            style = _read_glyph_style(text, number, text_object, transform)
        box, advance_box = _read_ink_box(text, number, transform), _read_advance_box(text, number, transform)
        (start, baseline), end = _read_advance(text, number, transform, style.angle, advance_box)
        has_outline = style.is_embedded or min(box[2] - box[0], box[3] - box[1]) > _MAX_EMPTY_INK * style.height
        ink_box = box if has_outline else advance_box
        yield Glyph(letter, ink_box, start, end, baseline, style, follows_space, number, has_outline)
        follows_space = False


def _to_shown_page(crop: Box, rotation: int, x: float, y: float) -> Point:
    """Transform a point of PDF user space (y upwards) to the shown page: cropped, rotated clockwise, y downwards."""
    left, bottom, right, top = crop
    if rotation == 0:
        return x - left, top - y
    if rotation == 90:
        return y - bottom, x - left
    return (right - x, y - bottom) if rotation == 180 else (top - y, right - x)


def _decode_character(code: int) -> str:
    """Return the character of a Unicode code; "" for white space and control characters, which have no ink."""
    if code in _HYPHEN_CODES:
        return "-"
    letter = chr(code).translate(_LIGATURES)
    return "" if letter.isspace() or code < 0x20 else letter


def _read_glyph_style(text: Any, number: int, text_object: Any, transform: PointTransform) -> GlyphStyle:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, number, matrix)
    size = pdfium.FPDFText_GetFontSize(text, number)
    (x0, y0), (x1, y1) = transform(0, 0), transform(matrix.a, matrix.b)
    angle = round(math.degrees(math.atan2(y1 - y0, x1 - x0)))
    height, width = size * math.hypot(matrix.c, matrix.d), size * math.hypot(matrix.a, matrix.b)
    font = pdfium.FPDFTextObj_GetFont(text_object)
    return GlyphStyle(angle, height, width, _is_bold_font(font), pdfium.FPDFFont_GetIsEmbedded(font) != 0, text_object)


def _is_bold_font(font: Any) -> bool:
    name = ctypes.create_string_buffer(_MAX_FONT_NAME_BYTES)
    pdfium.FPDFFont_GetBaseFontName(font, name, _MAX_FONT_NAME_BYTES)
    font_name = name.value.decode("latin-1").lower()
    return any(word in font_name for word in _BOLD_NAME_PARTS) or pdfium.FPDFFont_GetWeight(font) >= _MIN_BOLD_WEIGHT


def _read_ink_box(text: Any, number: int, transform: PointTransform) -> Box:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pdfium.FPDFText_GetCharBox(text, number, left, right, bottom, top)
    return _box_from_corners(transform(left.value, bottom.value), transform(right.value, top.value))


def _read_advance_box(text: Any, number: int, transform: PointTransform) -> Box:
    rect = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text, number, rect)
    return _box_from_corners(transform(rect.left, rect.bottom), transform(rect.right, rect.top))


def _read_advance(
    text: Any, number: int, transform: PointTransform, angle: int, advance_box: Box
) -> tuple[Point, float]:
    """Return where a character begins, along and across its line, and where along the line the next may begin."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text, number, x, y)
    origin, (x0, y0, x1, y1) = transform(x.value, y.value), advance_box
    if angle == 0:
        return origin, x1
    return _rotate_point(origin, angle), max(_rotate_point((x0, y0), angle)[0], _rotate_point((x1, y1), angle)[0])


def _rotate_point(point: Point, angle: int) -> Point:
    """Return the coordinates of a point along and across text lines at this angle (degrees)."""
    (x, y), turn = point, math.radians(angle)
    return x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)


def _box_from_corners(first: Point, second: Point) -> Box:
    (x0, y0), (x1, y1) = first, second
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
