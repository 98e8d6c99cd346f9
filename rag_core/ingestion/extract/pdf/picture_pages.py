"""Pages of a PDF whose text stands in a picture: scans, among them those with a stamp or a page number in letters."""

from collections.abc import Sequence
from typing import Any

from rag_core.ingestion.extract.pdf.glyphs import Glyph
from rag_core.ingestion.extract.pdf.hidden_text import measure_picture_share

MIN_BARE_SHARE = 0.2  # of a page without letters: less is a logo, and to have it recognised costs as much as a page
MIN_STAMPED_SHARE = 0.6  # of a page with letters in its margins only, that a picture covers
MARGIN_SHARE = 0.15  # of the page's height, at the top and at the bottom, where stamps and page numbers stand


def is_picture_page(page: Any, visible: Sequence[Glyph], *, is_recognised: bool) -> bool:
    """Return True for a page whose text has to be recognised; `is_recognised` says that it was, by another program."""
    if is_recognised or not all(_is_in_margin(glyph, page.get_height()) for glyph in visible):
        return False
    return measure_picture_share(page) >= (MIN_STAMPED_SHARE if visible else MIN_BARE_SHARE)


def _is_in_margin(glyph: Glyph, height: float) -> bool:
    _, top, _, bottom = glyph.box
    return bottom <= MARGIN_SHARE * height or top >= (1 - MARGIN_SHARE) * height
