"""The generated blocks of the pages: `make docs` fills each between its marks, a test finds those that fell behind.

A page holds a block between `<!-- make docs, NAME: begin -->` and `<!-- make docs, NAME: end -->`. Each module of this
package has `BLOCKS`: by the name of a block, the page below `docs/` that holds it and the function that writes it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from evals.page_sections import fill_section

DOCS = Path(__file__).parents[2] / "docs"

Blocks = Mapping[str, tuple[str, Callable[[], str]]]


def fill_pages(blocks: Blocks, *, folder: Path = DOCS) -> dict[Path, str]:
    """Return the text of each page that holds one of `blocks`, with today's content between its marks.

    Raises:
        ValueError: a page has no place for one of its blocks.
    """
    pages: dict[Path, str] = {}
    for name, (page, write) in blocks.items():
        path = folder / page
        pages[path] = fill_section(pages.get(path) or path.read_text("utf-8"), f"make docs, {name}", write())
    return pages
