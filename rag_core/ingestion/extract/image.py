"""Pictures: what of one can be checked and shown without its text being recognised, which is done elsewhere.

Pictures are untrusted files: run this in the sandbox.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

from PIL import BmpImagePlugin, ExifTags, Image, ImageOps, JpegImagePlugin, MpoImagePlugin, TiffImagePlugin  # noqa: F401

from rag_core.core.errors import NotFound, UnreadableDocument
from rag_core.core.model import Extraction
from rag_core.ingestion.extract.extraction import make_no_text_found_error, make_no_text_layer_error
from rag_core.ingestion.extract.reading_time import report_pages

MAX_FRAMES = 1_000  # of a TIFF, each a page
MIN_SIDE_PIXELS = 50  # a picture with both sides below it is an icon or counts openings of a mail
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "MPO")  # MPO: what some cameras write as .jpg
_DAMAGED_PICTURE_ERRORS = (
    OSError,
    ValueError,
    SyntaxError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    EOFError,
)  # fmt: skip - what Pillow raises for a picture that is damaged
Image.preinit()  # it would otherwise look for its formats when the first picture is opened


def extract_image(data: bytes) -> Extraction:
    """Check that a picture can be read, and refuse it: its text has to be recognised.

    Raises:
        UnreadableDocument: always; the code is "no_text_layer" where nothing is wrong with the picture,
            "no_text_found" where it is too small to hold text.
    """
    with open_picture(data) as picture:
        pages, largest = count_frames(picture), 0
        report_pages(pages)
        for number in range(pages):
            picture.seek(number)
            picture.load()
            largest = max(largest, *picture.size)
    if largest < MIN_SIDE_PIXELS:
        raise make_no_text_found_error(f"it has {largest} pixels at most on a side")
    raise make_no_text_layer_error(pages)


def load_frame(data: bytes, page: int) -> tuple[Image.Image, int]:
    """Return a page of a picture, counted from 1, upright and in colours or grey, and how many pages it has.

    Raises:
        NotFound: the picture has no such page (page_not_found).
        UnreadableDocument: the picture is damaged or too large.
    """
    with open_picture(data) as picture:
        pages = count_frames(picture)
        if not 1 <= page <= pages:
            raise NotFound(f"the picture has {pages} pages, counted from 1", code="page_not_found", field="page")
        picture.seek(page - 1)
        upright = ImageOps.exif_transpose(picture)
        return upright.convert("L" if upright.mode in ("1", "L", "I;16") else "RGB"), pages


def straighten_picture(data: bytes) -> bytes | None:
    """Return a picture with its pages upright and nothing that turns them; None where they are upright as they stand.

    Places in it are then those of the page that is drawn, whatever a reader makes of such marks.

    Raises:
        UnreadableDocument: the picture is damaged or too large.
    """
    with open_picture(data) as picture:
        pages, kind = count_frames(picture), "JPEG" if picture.format in ("JPEG", "MPO") else "PNG"
        if not any(_is_turned(picture, number) for number in range(pages)):
            return None
    held, (first, _) = BytesIO(), load_frame(data, 1)
    if pages == 1:
        first.save(held, kind, quality=95)
    else:  # one page after the other is in memory
        others = (load_frame(data, number)[0] for number in range(2, pages + 1))
        first.save(held, "TIFF", save_all=True, append_images=others, compression="tiff_adobe_deflate")
    return held.getvalue()


def _is_turned(picture: Image.Image, number: int) -> bool:
    picture.seek(number)
    return bool(picture.getexif().get(ExifTags.Base.Orientation, 1) != 1)


def count_frames(picture: Image.Image) -> int:
    """Return how many pages a picture has: those of a TIFF, else one. Raises UnreadableDocument for too many."""
    frames = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
    if frames > MAX_FRAMES:
        message = f"the picture has more than {MAX_FRAMES:,} pages: split it"
        raise UnreadableDocument(message, code="document_too_complex", details={"pages": MAX_FRAMES})
    return int(frames)


@contextmanager
def open_picture(data: bytes) -> Iterator[Image.Image]:
    """Open a picture for the block; whatever Pillow raises in it for a damaged one becomes a refusal.

    Raises:
        UnreadableDocument: it is damaged, or has more pixels than Pillow takes for safe.
    """
    try:
        with warnings.catch_warnings(), Image.open(BytesIO(data), formats=_FORMATS) as picture:
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            yield picture
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        pixels = Image.MAX_IMAGE_PIXELS or 0
        message = f"the picture has more than {pixels:,} pixels: scan it at a lower resolution, or cut it"
        raise UnreadableDocument(message, code="document_too_complex", details={"pixels": pixels}) from error
    except _DAMAGED_PICTURE_ERRORS as error:
        message = "the picture is damaged: open it in a viewer and save it again"
        raise UnreadableDocument(message, code="document_damaged") from error
