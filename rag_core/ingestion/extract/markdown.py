"""Markdown extraction that keeps the chain of headings above every block, and the line numbers."""

import re
from collections.abc import Iterator, Sequence

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks
from rag_core.ingestion.extract.hidden_html import remove_hidden_html
from rag_core.ingestion.extract.text import decode_text
from rag_core.ingestion.tables import is_table_rule

_ATX_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_SETEXT_UNDERLINE = re.compile(r"^ {0,3}(?:(=++)|-++)[ \t]*+$")
_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT_MATTER_PROPERTY = re.compile(r"([A-Za-z_][\w-]{0,40}):(?:[ \t]++(.*+))?+")
MAX_FRONT_MATTER_LINES = 100  # lines

MarkdownHeading = tuple[int, str]


def extract_markdown(data: bytes) -> Extraction:
    """Extract headings, tables and paragraphs; hidden HTML is left out and counted in a note."""
    text, encoding, notes = decode_text(data)
    visible_text, hidden_count = remove_hidden_html(text)
    if hidden_count:
        notes = (*notes, f"hidden text was left out: {hidden_count} comments or elements that are not shown")
    lines = visible_text.split("\n")
    front = _count_front_matter_lines(lines)
    return Extraction(
        collect_blocks(_build_markdown_blocks(lines, front)),
        None,
        f"markdown ({encoding})",
        notes,
        _parse_front_matter_title(lines[:front]),
    )


def _count_front_matter_lines(lines: Sequence[str]) -> int:
    """Return how many lines the front matter takes, with the `---` around it; 0 when there is none."""
    if lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:MAX_FRONT_MATTER_LINES], start=1):
        if line.rstrip() in ("---", "..."):
            return number + 1
        if not (_FRONT_MATTER_PROPERTY.fullmatch(line) or line.startswith((" ", "\t", "-", "#"))):
            break
    return 0


def _parse_front_matter_title(front: Sequence[str]) -> str:
    matches = (_FRONT_MATTER_PROPERTY.fullmatch(line) for line in front)
    titles = [match[2] or "" for match in matches if match and match[1].lower() == "title"]
    return " ".join(titles[:1]).strip().strip("\"'")


def _build_markdown_blocks(lines: Sequence[str], front: int) -> Iterator[Block]:
    headings: list[MarkdownHeading] = []
    if front > 2:
        yield Block("\n".join(lines[1 : front - 1]), "paragraph", 2, front - 1)
    for start, end in _group_markdown_lines(lines, front):
        part = lines[start:end]
        heading = _parse_markdown_heading(part)
        if heading:
            headings = [above for above in headings if above[0] < heading[0]]
        kind = "heading" if heading else "table" if _is_markdown_table(part) else "paragraph"
        titles = tuple(title for _, title in headings)
        yield Block("\n".join(part), kind, start + 1, end, headings=titles)
        if heading:
            headings.append(heading)


def _group_markdown_lines(lines: Sequence[str], first: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of lines that belong together: a heading, table, fenced code block, or text between blank lines."""
    start, fence, table = first, "", False
    for number in range(first, len(lines)):
        line = lines[number]
        mark = _CODE_FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif _ATX_HEADING.match(line) or not line.strip():
            if start < number:
                yield start, number
            if line.strip():
                yield number, number + 1
            start, table = number + 1, False
        elif mark:
            fence = mark[1]
        elif number == start + 1 and _parse_markdown_heading(lines[start : number + 1]):
            yield start, number + 1
            start = number + 1
        elif table != (("|" in line) if table else _is_markdown_table(lines[number : number + 2])):
            if start < number:
                yield start, number
            start, table = number, not table
    if start < len(lines):
        yield start, len(lines)


def _is_markdown_table(lines: Sequence[str]) -> bool:
    """Return True for lines that begin with a table header and a line of dashes, or that all begin with a bar."""
    if len(lines) > 1 and "|" in lines[0] and "|" in lines[1] and is_table_rule(lines[1]):
        return True
    return all(line.lstrip().startswith("|") for line in lines)


def _parse_markdown_heading(lines: Sequence[str]) -> MarkdownHeading | None:
    """Return level and title of a heading: `## Title`, or a line that is underlined by = or -; None for other lines."""
    match = _ATX_HEADING.fullmatch(lines[0])
    if len(lines) == 1 and match:
        return len(match[1]), _strip_closing_marks(match[2].rstrip())
    underline = _SETEXT_UNDERLINE.fullmatch(lines[1]) if len(lines) == 2 else None
    if (
        underline
        and not _SETEXT_UNDERLINE.fullmatch(lines[0])
        and not lines[0].lstrip().startswith(("|", "-", "*", ">"))
    ):
        return 1 if underline[1] else 2, lines[0].strip()
    return None


def _strip_closing_marks(title: str) -> str:
    """Remove the closing marks of a heading: those of `Title ##`, not those of `C#`."""
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() or not bare else title
