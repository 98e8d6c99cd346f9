"""Parsing of a query expansion that a user pastes from any chat model: JSON, or headings with lists (S0-71)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_core.core.errors import InvalidRequest, Unavailable
from rag_core.prompts.completions import parse_completion_object, screen_fields
from rag_core.retrieval.expansion import MAX_HYDE_ANSWER_CHARS, QueryExpansion, expansion_from_fields

MAX_PASTED_QUERIES = 10  # kept of a pasted reply
UNREADABLE_MESSAGE = (
    'could not be read: expected JSON such as {"queries": ["…"], "hyde": "…", "intent": "DEFINITION", "entities": '
    '["…"]}, or headings such as "MQE queries:", "HyDE:", "Intent:" and "Entities:" with the text below or beside them'
)
PART_TITLE_PATTERNS: Mapping[str, str] = {  # regular expressions for the title of each part
    "queries": r"(?:mqe|multi[- ]?query|expanded|alternative|other|rephrased|search)?[ _-]*(?:expansions?[ _-]*)?"
    r"(?:queries|questions|wordings|variations|mqe)",
    "hyde": r"(?:hyde|hypothetical)(?:[ _-]+(?:answer|document|passage|text|response))*|imagined[ _-]+answer",
    "intent": r"(?:query[ _-]+)?intent(?:ion)?",
    "entities": r"(?:key[ _-]+|extracted[ _-]+|named[ _-]+)?(?:entities|keywords|terms)",
}
_PART_TITLE_PATTERN = "|".join(f"(?P<{part}>{names})" for part, names in PART_TITLE_PATTERNS.items())
HEADING_PATTERN = re.compile(  # possessive *+ before the title: with backtracking a line of dashes takes hours
    rf"^[\s#>*_\d.)-]*+(?:{_PART_TITLE_PATTERN})(?:\s*+\([^()\n]*+\))?+[*_]*+(?:\s*+:[*_]*+\s*+(?P<rest>\S.*+)?+|\s*+)$",
    re.IGNORECASE,
)
LIST_ITEM_PATTERN = re.compile(r"^\s*+(?:[-*•+]|\(?\d{1,2}[.):])\s++(?P<text>\S.*+)")
QUOTE_CHARS = " \t\"'“”‘’`*_"


@dataclass(slots=True)
class _SortedLines:
    """The lines of a pasted reply by part, and the numbers of the lines that belong to no part."""

    lines_by_part: dict[str, list[str]] = field(default_factory=dict)
    unread_line_numbers: list[int] = field(default_factory=list)


def parse_pasted_expansion(llm_response: str, query_text: str) -> tuple[QueryExpansion, tuple[int, ...]]:
    """Parse a pasted reply and return the expansion of `query_text`, and the numbers of the lines that were ignored.

    Raises:
        InvalidRequest: the reply has neither an expanded query nor a HyDE answer; llm_response is named.
    """
    parts, unread_line_numbers = _parse_pasted_parts(llm_response)
    fields, _ = screen_fields(parts, [query_text], max_chars=MAX_HYDE_ANSWER_CHARS)
    expansion = expansion_from_fields(fields, query_text, count=MAX_PASTED_QUERIES, with_hyde=True)
    if not (expansion.expanded_queries or expansion.hyde_answer):
        raise InvalidRequest("llm_response", UNREADABLE_MESSAGE)
    return expansion, unread_line_numbers


def _parse_pasted_parts(pasted: str) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    try:
        return dict(_normalize_part_names(parse_completion_object(pasted))), ()
    except Unavailable:
        sorted_lines = _sort_lines_by_part(pasted)
        return dict(_collect_parts(sorted_lines.lines_by_part)), tuple(sorted_lines.unread_line_numbers)


def _normalize_part_names(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts under our names, whatever spelling a model used."""
    for name, value in fields.items():
        title = re.fullmatch(_PART_TITLE_PATTERN, name.replace("_", " "), re.IGNORECASE)
        if title and title.lastgroup:
            yield title.lastgroup, [value] if title.lastgroup == "queries" and isinstance(value, str) else value


def _sort_lines_by_part(pasted: str) -> _SortedLines:
    sorted_lines, part = _SortedLines(), ""
    for number, line in enumerate(pasted.splitlines(), start=1):
        heading = HEADING_PATTERN.match(line)
        if heading:
            part = next(name for name in PART_TITLE_PATTERNS if heading[name])
            sorted_lines.lines_by_part.setdefault(part, []).extend(filter(None, [heading["rest"]]))
        elif line.strip(" \t`*_#-=") and not _assign_line_to_part(line, part, sorted_lines):
            sorted_lines.unread_line_numbers.append(number)
    return sorted_lines


def _assign_line_to_part(line: str, part: str, sorted_lines: _SortedLines) -> bool:
    """Add a line to its part and return whether it has one; a list item before any heading is a query."""
    item = LIST_ITEM_PATTERN.match(line)
    part_lines = sorted_lines.lines_by_part.setdefault(part or "queries", [])
    if part == "hyde" or (part == "intent" and not part_lines) or (part == "entities"):
        part_lines.append(line.strip() if part == "hyde" else (item["text"] if item else line))
        return True
    if item and part != "intent":
        part_lines.append(item["text"])
        return True
    if part == "queries" and line.rstrip().endswith(("?", '?"')):  # a question without a list marker
        part_lines.append(line)
        return True
    return False


def _collect_parts(lines_by_part: Mapping[str, list[str]]) -> Iterator[tuple[str, Any]]:
    for part, part_lines in lines_by_part.items():
        match part:
            case "queries":
                yield part, [line.strip(QUOTE_CHARS) for line in part_lines]
            case "entities":
                yield part, [name.strip(QUOTE_CHARS) for line in part_lines for name in re.split(r"[,;]", line)]
            case "intent":
                yield part, part_lines[0].split(" ")[0] if part_lines else ""
            case _:
                yield part, "\n".join(part_lines)
