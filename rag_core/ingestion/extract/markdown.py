"""Markdown with its structure kept: the chain of headings above every block, and the lines as they stood."""

import re
from collections.abc import Iterator

from rag_core.ingestion.extract.extraction import Extraction, bounded
from rag_core.ingestion.extract.text import decode
from rag_core.model import Block

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

Heading = tuple[int, str]


def read(data: bytes) -> Extraction:
    text, encoding = decode(data)
    return Extraction(bounded(_blocks(text.split("\n"))), None, f"markdown ({encoding})")


def _blocks(lines: list[str]) -> Iterator[Block]:
    chain: list[Heading] = []
    for start, end in _groups(lines):
        part = lines[start:end]
        heading = _heading(part)
        if heading:
            chain = [above for above in chain if above[0] < heading[0]]
        kind = "heading" if heading else "table" if all(line.lstrip().startswith("|") for line in part) else "paragraph"
        headings = tuple(title for _, title in chain)
        yield Block("\n".join(part), kind, start + 1, end, headings=headings)
        if heading:
            chain.append(heading)


def _groups(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Lines that belong together: a heading, a fenced code block, or what stands between blank lines."""
    start, fence = 0, ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif _HEADING.match(line) or not line.strip():
            if start < number:
                yield start, number
            if line.strip():
                yield number, number + 1
            start = number + 1
        elif mark:
            fence = mark[1]
        elif number == start + 1 and _heading(lines[start : number + 1]):
            yield start, number + 1
            start = number + 1
    if start < len(lines):
        yield start, len(lines)


def _heading(lines: list[str]) -> Heading | None:
    """Level and title of a heading: `## Title`, or a line that is underlined by = or -."""
    marked = _HEADING.fullmatch(lines[0])
    if len(lines) == 1 and marked:
        return len(marked[1]), marked[2].rstrip().rstrip("#").rstrip()
    underline = _UNDERLINE.fullmatch(lines[1]) if len(lines) == 2 else None
    if underline and not _UNDERLINE.fullmatch(lines[0]) and not lines[0].lstrip().startswith(("|", "-", "*", ">")):
        return 1 if underline[1] else 2, lines[0].strip()
    return None
