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
Place = Callable[[float, float], Point]  # from PDF user space to the page as it is shown
_HYPHENS = (0x02, 0xFFFE)  # PDFium's characters for a hyphen at the end of a line
_LIGATURES = str.maketrans(
    {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st", 0xAD: "-"}
)
_BOLD = ("bold", "black", "heavy")
_BOLD_WEIGHT = 600  # semibold, in the scale of CSS and OpenType
_NAME = 256  # read of a font's name


@dataclass(frozen=True, slots=True)
class Type:
    """The style shared by the characters of a text object: line angle (degrees, 0 is upright) and size in points."""

    angle: int
    height: float
    width: float
    bold: bool
    drawn: Any


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character with the box of its ink, and its place on its text line.

    `start` and `end` (of its advance, white space included) are measured along the line, `baseline` across it.
    `follows_space` says that there is white space before it; `index` is its place among the page's characters.
    """

    text: str
    box: Box
    start: float
    end: float
    base: float
    type: Type
    spaced: bool
    number: int


def glyphs(page: Any, text: Any) -> Iterator[Glyph]:
    """Yield the characters that have ink, in drawing order; `text` is the PDFium text page of `page`."""
    transform = partial(_shown, page.get_bbox(), page.get_rotation())
    style, address, follows_space = Type(0, 0, 0, False, None), 0, True
    for number in range(text.count_chars()):
        letter = _letter(pdfium.FPDFText_GetUnicode(text, number))
        text_object = pdfium.FPDFText_GetTextObject(text, number)
        if not letter or not text_object:
            follows_space = True
            continue
        if address != (address := ctypes.addressof(text_object.contents)):
            style = _type(text, number, text_object, transform)
        box, (start, baseline), end = _ink(text, number, transform), *_reach(text, number, transform, style.angle)
        yield Glyph(letter, box, start, end, baseline, style, follows_space, number)
        follows_space = False


def _shown(crop: Box, rotation: int, x: float, y: float) -> Point:
    """Transform a point of PDF user space (y upwards) to the shown page: cropped, rotated clockwise, y downwards."""
    left, bottom, right, top = crop
    if rotation == 0:
        return x - left, top - y
    if rotation == 90:
        return y - bottom, x - left
    return (right - x, y - bottom) if rotation == 180 else (top - y, right - x)


def _letter(code: int) -> str:
    """Return the character of a Unicode code; "" for white space and control characters, which have no ink."""
    if code in _HYPHENS:
        return "-"
    letter = chr(code).translate(_LIGATURES)
    return "" if letter.isspace() or code < 0x20 else letter


def _type(text: Any, number: int, drawn: Any, place: Place) -> Type:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, number, matrix)
    size = pdfium.FPDFText_GetFontSize(text, number)
    (x0, y0), (x1, y1) = place(0, 0), place(matrix.a, matrix.b)
    angle = round(math.degrees(math.atan2(y1 - y0, x1 - x0)))
    height, width = size * math.hypot(matrix.c, matrix.d), size * math.hypot(matrix.a, matrix.b)
    return Type(angle, height, width, _is_bold(pdfium.FPDFTextObj_GetFont(drawn)), drawn)


def _is_bold(font: Any) -> bool:
    name = ctypes.create_string_buffer(_NAME)
    pdfium.FPDFFont_GetBaseFontName(font, name, _NAME)
    font_name = name.value.decode("latin-1").lower()
    return any(word in font_name for word in _BOLD) or pdfium.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT


def _ink(text: Any, number: int, place: Place) -> Box:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pdfium.FPDFText_GetCharBox(text, number, left, right, bottom, top)
    return _box(place(left.value, bottom.value), place(right.value, top.value))


def _reach(text: Any, number: int, place: Place, angle: int) -> tuple[Point, float]:
    """Return where a character begins, along and across its line, and where along the line the next may begin."""
    x, y, rect = ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF()
    pdfium.FPDFText_GetCharOrigin(text, number, x, y)
    pdfium.FPDFText_GetLooseCharBox(text, number, rect)
    origin, (x0, y0, x1, y1) = place(x.value, y.value), _box(place(rect.left, rect.bottom), place(rect.right, rect.top))
    if angle == 0:
        return origin, x1
    return _turned(origin, angle), max(_turned((x0, y0), angle)[0], _turned((x1, y1), angle)[0])


def _turned(point: Point, angle: int) -> Point:
    """Return the coordinates of a point along and across text lines at this angle (degrees)."""
    (x, y), turn = point, math.radians(angle)
    return x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)


def _box(one: Point, other: Point) -> Box:
    (x0, y0), (x1, y1) = one, other
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
