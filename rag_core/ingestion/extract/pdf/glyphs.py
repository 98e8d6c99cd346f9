"""The characters of a PDF page, each with its box on the page as it is shown."""

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

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
_REMEMBERED_CHARACTERS = 4096  # of Unicode's: more than most documents have


def _get_address(pointer: Any) -> int:
    """Return the address that a pointer holds; 0 for a null pointer."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def _take_addresses(function: Any, result: Any, count: int) -> Callable[..., Any]:
    """Return a function of PDFium of a text page, a character's number and `count` addresses, all given as integers.

    By pypdfium2's own declarations each pointer is checked and converted, which takes as long as the call itself.
    """
    prototype = ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * count)
    return prototype(_get_address(function))


_get_unicode = _take_addresses(pdfium.FPDFText_GetUnicode, ctypes.c_uint, 0)
_get_text_object = _take_addresses(pdfium.FPDFText_GetTextObject, ctypes.c_void_p, 0)
_get_char_box = _take_addresses(pdfium.FPDFText_GetCharBox, ctypes.c_int, 4)
_get_loose_char_box = _take_addresses(pdfium.FPDFText_GetLooseCharBox, ctypes.c_int, 1)
_get_char_origin = _take_addresses(pdfium.FPDFText_GetCharOrigin, ctypes.c_int, 2)


@dataclass(frozen=True, slots=True)
class GlyphStyle:
    """The style shared by the characters of a text object: line angle (degrees, 0 is upright), size in points, font."""

    angle: int
    height: float
    width: float
    bold: bool
    is_embedded: bool
    text_object: Any


class Glyph(NamedTuple):  # a page has thousands, and a frozen dataclass takes longer to make
    """A character with the box of its ink, and its place on its text line.

    `start` and `end` (of its advance, white space included) are measured along the line, `baseline` across it.
    `follows_space` says that there is white space before it; `position` is its place among the page's characters.
    Without an outline, which neither the file nor this machine has, PDFium cannot draw it, and its box is that of its
    advance.
    """

    text: str
    box: Box
    start: float
    end: float
    baseline: float
    style: GlyphStyle
    follows_space: bool
    position: int
    has_outline: bool


def read_glyphs(page: Any, text: Any) -> Iterator[Glyph]:
    """Yield the characters that have ink, in drawing order; `text` is the PDFium text page of `page`."""
    transform = _choose_transform(page.get_bbox(), page.get_rotation())
    handle = _get_address(text.raw)
    read_places = _PlaceReader(handle, transform).read_places
    style, address, follows_space = GlyphStyle(0, 0, 0, False, True, None), 0, True
    for number in range(text.count_chars()):
        letter = _decode_character(_get_unicode(handle, number))
        found = _get_text_object(handle, number) if letter else None
        if not found:
            follows_space = True
            continue
        if address != (address := found):
            style = _read_glyph_style(text, number, ctypes.cast(address, pdfium.FPDF_PAGEOBJECT), transform)
        box, advance_box, origin = read_places(number)
        (start, baseline), end = _measure_advance(origin, style.angle, advance_box)
        has_outline = style.is_embedded or min(box[2] - box[0], box[3] - box[1]) > _MAX_EMPTY_INK * style.height
        ink_box = box if has_outline else advance_box
        yield Glyph(letter, ink_box, start, end, baseline, style, follows_space, number, has_outline)
        follows_space = False


class _PlaceReader:
    """Reads where the characters of a page stand, on the page as it is shown.

    PDFium writes each place into the same memory, as a page has thousands. It fails only for a number that the page
    does not have, and would then leave what was there before.
    """

    def __init__(self, handle: int, transform: PointTransform) -> None:
        self._handle, self._transform = handle, transform
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._addresses = [ctypes.addressof(edge) for edge in self._edges]
        self._loose_box = pdfium.FS_RECTF()
        self._loose_box_address = ctypes.addressof(self._loose_box)

    def read_places(self, number: int) -> tuple[Box, Box, Point]:
        """Return the box of a character's ink, the box of its advance, and its origin."""
        handle, transform, rect = self._handle, self._transform, self._loose_box
        edges, addresses = self._edges, self._addresses
        _get_char_box(handle, number, *addresses)
        left, right, bottom, top = edges
        box = _box_from_corners(transform(left.value, bottom.value), transform(right.value, top.value))
        _get_loose_char_box(handle, number, self._loose_box_address)
        advance_box = _box_from_corners(transform(rect.left, rect.bottom), transform(rect.right, rect.top))
        _get_char_origin(handle, number, addresses[0], addresses[1])
        return box, advance_box, transform(left.value, right.value)


def _choose_transform(crop: Box, rotation: int) -> PointTransform:
    """Return the way from PDF user space (y upwards) to the shown page: cropped, rotated clockwise, y downwards."""
    left, bottom, right, top = crop
    if rotation == 0:
        return lambda x, y: (x - left, top - y)
    if rotation == 90:
        return lambda x, y: (y - bottom, x - left)
    return (lambda x, y: (right - x, y - bottom)) if rotation == 180 else (lambda x, y: (top - y, right - x))


@lru_cache(maxsize=_REMEMBERED_CHARACTERS)
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


def _measure_advance(origin: Point, angle: int, advance_box: Box) -> tuple[Point, float]:
    """Return where a character begins, along and across its line, and where along the line the next may begin."""
    x0, y0, x1, y1 = advance_box
    if angle == 0:
        return origin, x1
    return _rotate_point(origin, angle), max(_rotate_point((x0, y0), angle)[0], _rotate_point((x1, y1), angle)[0])


def _rotate_point(point: Point, angle: int) -> Point:
    """Return the coordinates of a point along and across text lines at this angle (degrees)."""
    (x, y), turn = point, math.radians(angle)
    return x * math.cos(turn) + y * math.sin(turn), y * math.cos(turn) - x * math.sin(turn)


def _box_from_corners(first: Point, second: Point) -> Box:
    (x0, y0), (x1, y1) = first, second
    if x0 > x1:
        x0, x1 = x1, x0
    return (x0, y0, x1, y1) if y0 <= y1 else (x0, y1, x1, y0)
