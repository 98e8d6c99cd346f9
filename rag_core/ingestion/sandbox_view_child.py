"""The child process of the sandbox that shows an original: a page as a picture, or lines of a text."""

import codecs
import json
import pkgutil
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module

from rag_core.core.model import PageImage
from rag_core.ingestion.sandbox_child import preload_extractor, write_reply

PIXELS_PER_POINT = 2.0  # letters are sharp at the width of a screen
RECOGNITION_PIXELS_PER_POINT = 300 / 72  # the resolution that text recognition is made for


def serve_view(request: str, cpu_limit_s: int) -> None:
    """Reply to a view request: "page:N" for page N, "lines:N" for the lines from line N on; both count from 1.

    "frame:N" is for page N of a picture, "upright:0" for the whole of it turned upright, "scan:N" for page N of a PDF
    as text recognition wants it, "highlight:0" for the cited pages of the PDFs that come as JSON, "members:0" for pages
    of files within a zip or mail.
    """
    view, _, number = request.partition(":")
    preload, encode_reply = VIEWS[view]
    write_reply(cpu_limit_s, preload, partial(encode_reply, int(number)))


def encode_page_picture(page_number: int, data: bytes) -> Iterator[object]:
    """Yield one record: the fields of `model.PageImage` with the PNG in base64."""
    from rag_core.ingestion.page_images import render_page

    yield _encode_page_image(render_page(data, page_number, scale=PIXELS_PER_POINT))


def encode_scan_picture(page_number: int, data: bytes) -> Iterator[object]:
    """Yield one record as `encode_page_picture` does, at the resolution of text recognition."""
    from rag_core.ingestion.page_images import render_page

    yield _encode_page_image(render_page(data, page_number, scale=RECOGNITION_PIXELS_PER_POINT))


def encode_frame_picture(page_number: int, data: bytes) -> Iterator[object]:
    """Yield one record as `encode_page_picture` does, of a page of a picture."""
    from rag_core.ingestion.page_images import render_frame

    yield _encode_page_image(render_frame(data, page_number))


def encode_member_pages(_: int, data: bytes) -> Iterator[object]:
    """Yield one record: the files by their paths, each once and in base64, and the pages, null where there is none."""
    from rag_core.ingestion.member_pages import take_member_pages

    wanted_json, container = data.split(b"\n", 1)
    wanted = json.loads(wanted_json)
    pages = take_member_pages(container, wanted["kind"], wanted["places"])
    files = {page.path: page.data for page in pages if page}
    yield {
        "files": {path: b64encode(file).decode() for path, file in files.items()},
        "pages": [
            page and {"kind": page.kind, "page": page.page, "path": page.path, "name": page.name} for page in pages
        ],
    }


def encode_upright_picture(_: int, data: bytes) -> Iterator[object]:
    """Yield one record: the picture in base64 with its pages upright, empty where they are so as they stand."""
    from rag_core.ingestion.extract.image import straighten_picture

    yield {"picture": b64encode(straighten_picture(data) or b"").decode()}


def _encode_page_image(picture: PageImage) -> dict[str, object]:
    size = {"page": picture.page, "pages": picture.pages, "width": picture.width, "height": picture.height}
    return {**size, "png": b64encode(picture.png).decode()}


def encode_text_lines(first_line: int, data: bytes) -> Iterator[object]:
    """Yield one record: the lines of the text that are shown, and how many lines it has in all."""
    from rag_core.ingestion.extract.text import read_line_window

    yield dict(zip(("lines", "total"), read_line_window(data, first_line), strict=True))


def encode_cited_pages(_: int, data: bytes) -> Iterator[object]:
    """Yield one record: the PDF of the cited pages in base64."""
    from rag_core.ingestion.highlighting import CitedPages, extract_cited_pages

    files = [
        CitedPages(given["title"], b64decode(given["pdf"]), {int(page): boxes for page, boxes in given["boxes"]})
        for given in json.loads(data)
    ]
    pdf, _pages = extract_cited_pages(files)
    yield {"pdf": b64encode(pdf).decode()}


def _preload_containers() -> None:
    import rag_core.ingestion.member_pages  # noqa: F401

    preload_extractor("zip")


def _preload_highlighter() -> None:
    """Import all of pypdf, which imports much of itself late, and the codecs of the texts in a PDF."""
    import pypdf

    import rag_core.ingestion.highlighting  # noqa: F401

    for module in pkgutil.walk_packages(pypdf.__path__, "pypdf."):
        with suppress(ImportError):  # what wants a package that is not installed
            import_module(module.name)
    for name in ("pdfdoc", "cp1252", "mac-roman", "utf-16", "utf-16-be", "utf-16-le", "latin-1"):
        with suppress(LookupError):
            codecs.lookup(name)


def _preload_renderer() -> None:
    """Import the renderer and the image formats that Pillow would otherwise look for when it first saves a picture."""
    from PIL import Image, PngImagePlugin  # noqa: F401

    import rag_core.ingestion.page_images  # noqa: F401

    Image.preinit()


VIEWS: Mapping[str, tuple[Callable[[], None], Callable[[int, bytes], Iterator[object]]]] = {
    "page": (_preload_renderer, encode_page_picture),
    "scan": (_preload_renderer, encode_scan_picture),
    "frame": (_preload_renderer, encode_frame_picture),
    "members": (_preload_containers, encode_member_pages),
    "upright": (_preload_renderer, encode_upright_picture),
    "lines": (partial(preload_extractor, "text"), encode_text_lines),
    "highlight": (_preload_highlighter, encode_cited_pages),
}


if __name__ == "__main__":
    serve_view(sys.argv[1], int(sys.argv[2]))
