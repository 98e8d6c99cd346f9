"""The lines of a file within a zip or mail, which the locator of its blocks ends with: `notes.txt, lines 3-9`."""

import re

from rag_core.core.model import Block

_LINES_AT_END = re.compile(r", lines? (\d{1,9})(?:-(\d{1,9}))?\Z")


def format_lines(first: int, last: int) -> str:
    """Format the lines of a member as its locator ends with them."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def find_member_lines(block: Block) -> tuple[str, int] | None:
    """Return what stands before the lines in a block's locator, and the first line.

    None where the block has not the lines of its member.
    """
    found = _LINES_AT_END.search(block.locator) if block.kind != "row" else None
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return (block.locator[: found.start()], first) if last - first == block.text.count("\n") else None
