"""The child process of the sandbox that shows an original: a page as a picture, or lines of a text."""

import sys
from base64 import b64encode
from collections.abc import Iterator
from functools import partial

from rag_core.ingestion.sandbox_child import preload_extractor, write_reply

PIXELS_PER_POINT = 2.0  # letters are sharp at the width of a screen


def serve_view(request: str, cpu_limit_s: int) -> None:
    """Reply to a view request: "page:N" for page N, "lines:N" for the lines from line N on; both count from 1."""
    view, _, number = request.partition(":")
    preload, encode_reply = (
        (_preload_renderer, encode_page_picture)
        if view == "page"
        else (partial(preload_extractor, "text"), encode_text_lines)
    )
    write_reply(cpu_limit_s, preload, partial(encode_reply, int(number)))


def encode_page_picture(page_number: int, data: bytes) -> Iterator[object]:
    """Yield one record: the fields of `model.PageImage` with the PNG in base64."""
    from rag_core.ingestion.page_images import render_page

    picture = render_page(data, page_number, scale=PIXELS_PER_POINT)
    size = {"page": picture.page, "pages": picture.pages, "width": picture.width, "height": picture.height}
    yield {**size, "png": b64encode(picture.png).decode()}


def encode_text_lines(first_line: int, data: bytes) -> Iterator[object]:
    """Yield one record: the lines of the text that are shown, and how many lines it has in all."""
    from rag_core.ingestion.extract.text import read_line_window

    yield dict(zip(("lines", "total"), read_line_window(data, first_line), strict=True))


def _preload_renderer() -> None:
    """Import the renderer and the image formats that Pillow would otherwise look for when it first saves a picture."""
    from PIL import Image, PngImagePlugin  # noqa: F401

    import rag_core.ingestion.page_images  # noqa: F401

    Image.preinit()


if __name__ == "__main__":
    serve_view(sys.argv[1], int(sys.argv[2]))
