"""The child of the sandbox that shows a document as it came: a page as a picture, or the lines of a text."""

import sys
from base64 import b64encode
from collections.abc import Iterator
from functools import partial

from rag_core.ingestion.sandbox_child import answer, load

SCALE = 2.0  # pixels a point: letters are sharp at the width of a screen


def serve(asked: str, seconds: int) -> None:
    """`asked` is "page:N", or "lines:N" for those from the Nth; both count from 1."""
    what, _, number = asked.partition(":")
    ready, made_of = (_load_drawing, page) if what == "page" else (partial(load, "text"), lines)
    answer(seconds, ready, partial(made_of, int(number)))


def page(number: int, data: bytes) -> Iterator[object]:
    """One line: a `model.Picture`, its PNG in base64."""
    from rag_core.ingestion.page_images import render

    drawn = render(data, number, scale=SCALE)
    facts = {"page": drawn.page, "pages": drawn.pages, "width": drawn.width, "height": drawn.height}
    yield {**facts, "png": b64encode(drawn.png).decode()}


def lines(first: int, data: bytes) -> Iterator[object]:
    """One line: what is shown of the text's lines, and how many there are."""
    from rag_core.ingestion.extract.text import shown

    yield dict(zip(("lines", "total"), shown(data, first), strict=True))


def _load_drawing() -> None:
    """Pillow would look for its formats when it first saves a picture."""
    from PIL import Image, PngImagePlugin  # noqa: F401

    import rag_core.ingestion.page_images  # noqa: F401

    Image.preinit()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
