"""Markdown with its structure kept: the chain of headings above every block, and the lines as they stood."""

import re
from collections.abc import Iterator, Sequence

from rag_core.core.model import Block
from rag_core.ingestion.extract.extraction import Extraction, bounded
from rag_core.ingestion.extract.html_in_text import without_hidden
from rag_core.ingestion.extract.text import decode
from rag_core.ingestion.tables import is_rule

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PROPERTY = re.compile(r"([A-Za-z_][\w-]{0,40}):(?:[ \t]+(.*))?")
MAX_FRONT_MATTER = 100  # lines

Heading = tuple[int, str]


def read(data: bytes) -> Extraction:
    text, encoding, notes = decode(data)
    seen, hidden = without_hidden(text)
    if hidden:
        notes = (*notes, f"hidden text was left out: {hidden} comments or elements that are not shown")
    lines = seen.split("\n")
    front = _front_matter(lines)
    return Extraction(bounded(_blocks(lines, front)), None, f"markdown ({encoding})", notes, _title(lines[:front]))


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines the properties at the top take, `---` around them; 0 when there are none."""
    if lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:MAX_FRONT_MATTER], start=1):
        if line.rstrip() in ("---", "..."):
            return number + 1
        if not (_PROPERTY.fullmatch(line) or line.startswith((" ", "\t", "-", "#"))):
            break
    return 0


def _title(front: Sequence[str]) -> str:
    found = (_PROPERTY.fullmatch(line) for line in front)
    titles = [mark[2] or "" for mark in found if mark and mark[1].lower() == "title"]
    return " ".join(titles[:1]).strip().strip("\"'")


def _blocks(lines: Sequence[str], front: int) -> Iterator[Block]:
    chain: list[Heading] = []
    if front > 2:
        yield Block("\n".join(lines[1 : front - 1]), "paragraph", 2, front - 1)
    for start, end in _groups(lines, front):
        part = lines[start:end]
        heading = _heading(part)
        if heading:
            chain = [above for above in chain if above[0] < heading[0]]
        kind = "heading" if heading else "table" if _is_table(part) else "paragraph"
        headings = tuple(title for _, title in chain)
        yield Block("\n".join(part), kind, start + 1, end, headings=headings)
        if heading:
            chain.append(heading)


def _groups(lines: Sequence[str], first: int) -> Iterator[tuple[int, int]]:
    """Lines that belong together: a heading, a table, a fenced code block, or what stands between blank lines."""
    start, fence, table = first, "", False
    for number in range(first, len(lines)):
        line = lines[number]
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif _HEADING.match(line) or not line.strip():
            if start < number:
                yield start, number
            if line.strip():
                yield number, number + 1
            start, table = number + 1, False
        elif mark:
            fence = mark[1]
        elif number == start + 1 and _heading(lines[start : number + 1]):
            yield start, number + 1
            start = number + 1
        elif table != (("|" in line) if table else _is_table(lines[number : number + 2])):
            if start < number:
                yield start, number
            start, table = number, not table
    if start < len(lines):
        yield start, len(lines)


def _is_table(lines: Sequence[str]) -> bool:
    """Whether they begin with a header and the line of dashes below it, or every line begins with a bar."""
    if len(lines) > 1 and "|" in lines[0] and "|" in lines[1] and is_rule(lines[1]):
        return True
    return all(line.lstrip().startswith("|") for line in lines)


def _heading(lines: Sequence[str]) -> Heading | None:
    """Level and title of a heading: `## Title`, or a line that is underlined by = or -."""
    marked = _HEADING.fullmatch(lines[0])
    if len(lines) == 1 and marked:
        return len(marked[1]), _unclosed(marked[2].rstrip())
    underline = _UNDERLINE.fullmatch(lines[1]) if len(lines) == 2 else None
    if underline and not _UNDERLINE.fullmatch(lines[0]) and not lines[0].lstrip().startswith(("|", "-", "*", ">")):
        return 1 if underline[1] else 2, lines[0].strip()
    return None


def _unclosed(title: str) -> str:
    """Without the marks that may close a heading: those of `Title ##`, not those of `C#`."""
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() or not bare else title
