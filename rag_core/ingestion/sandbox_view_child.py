"""The child process of the sandbox that shows an original: a page as a picture, or lines of a text."""

import sys
from base64 import b64encode
from collections.abc import Iterator
from functools import partial

from rag_core.ingestion.sandbox_child import answer, load

SCALE = 2.0  # letters are sharp at the width of a screen


def serve(asked: str, seconds: int) -> None:
    """Reply to a view request: "page:N" for page N, "lines:N" for the lines from line N on; both count from 1."""
    view, _, number = asked.partition(":")
    preload, encode_reply = (_load_drawing, page) if view == "page" else (partial(load, "text"), lines)
    answer(seconds, preload, partial(encode_reply, int(number)))


def page(number: int, data: bytes) -> Iterator[object]:
    """Yield one record: the fields of `model.Picture` with the PNG in base64."""
    from rag_core.ingestion.page_images import render

    picture = render(data, number, scale=SCALE)
    size = {"page": picture.page, "pages": picture.pages, "width": picture.width, "height": picture.height}
    yield {**size, "png": b64encode(picture.png).decode()}


def lines(first: int, data: bytes) -> Iterator[object]:
    """Yield one record: the lines of the text that are shown, and how many lines it has in all."""
    from rag_core.ingestion.extract.text import shown

    yield dict(zip(("lines", "total"), shown(data, first), strict=True))


def _load_drawing() -> None:
    """Import the renderer and the image formats that Pillow would otherwise look for when it first saves a picture."""
    from PIL import Image, PngImagePlugin  # noqa: F401

    import rag_core.ingestion.page_images  # noqa: F401

    Image.preinit()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
