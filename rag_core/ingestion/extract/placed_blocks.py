"""Blocks of formats that have neither pages nor lines of their own: lines are counted as the text is made."""

from collections.abc import Sequence

from rag_core.core.model import Block
from rag_core.ingestion.tables import MAX_COLUMNS, format_table


class BlockMaker:
    """Makes the blocks of a document in order; each begins on the line after the one before.

    Headings stay in force until one of the same or a higher level, and until the next page, where they begin with
    `base`.
    """

    def __init__(self, page: int | None = None, line: int = 1, base: Sequence[str] = ()) -> None:
        self.line = line
        self._page, self._base = page, tuple(base)
        self._chain: list[tuple[int, str]] = []

    def begin_page(self, page: int, base: Sequence[str] = ()) -> None:
        self._page, self._base, self._chain = page, tuple(base), []

    def end_headings(self, level: int) -> None:
        """End the headings of this and of deeper levels."""
        self._chain = [above for above in self._chain if above[0] < level]

    def make(self, text: str, locator: str, kind: str = "paragraph") -> Block:
        """Return the next block."""
        first, self.line = self.line, self.line + text.count("\n") + 1
        headings = (*self._base, *(title for _, title in self._chain))
        return Block(text, kind, first, self.line - 1, self._page, headings=headings, locator=locator)

    def make_heading(self, text: str, locator: str, level: int) -> Block:
        """Return the next block, which stands above those that follow."""
        self.end_headings(level)
        block = self.make(text, locator, "heading")
        self._chain.append((level, text))
        return block

    def make_table(self, rows: Sequence[Sequence[str]], locator: str) -> Block | None:
        """Return the next block with the rows that hold something; None for a table of which none does."""
        filled = [row[:MAX_COLUMNS] for row in rows if any(cell.strip() for cell in row)]
        return self.make(format_table(filled), locator, "table") if filled else None
