"""Parsing of a query expansion that a user pastes from any chat model: JSON, or headings with lists (S0-71)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_core.core.errors import InvalidRequest, Unavailable
from rag_core.prompts.replies import read_object
from rag_core.retrieval.expansion import Expansion, understood

WORDINGS = 10  # kept of a pasted reply
EXPECTED = (
    'could not be read: expected JSON such as {"queries": ["…"], "hyde": "…", "intent": "DEFINITION", "entities": '
    '["…"]}, or headings such as "MQE queries:", "HyDE:", "Intent:" and "Entities:" with the text below or beside them'
)
NAMES: Mapping[str, str] = {  # regular expressions for the title of each part
    "queries": r"(?:mqe|multi[- ]?query|expanded|alternative|other|rephrased|search)?[ _-]*(?:expansions?[ _-]*)?"
    r"(?:queries|questions|wordings|variations|mqe)",
    "hyde": r"(?:hyde|hypothetical)(?:[ _-]+(?:answer|document|passage|text|response))*|imagined[ _-]+answer",
    "intent": r"(?:query[ _-]+)?intent(?:ion)?",
    "entities": r"(?:key[ _-]+|extracted[ _-]+|named[ _-]+)?(?:entities|keywords|terms)",
}
_TITLE = "|".join(f"(?P<{part}>{names})" for part, names in NAMES.items())
HEADING = re.compile(  # possessive *+ before the title: with backtracking a line of dashes takes hours
    rf"[\s#>*_\d.)-]*+(?:{_TITLE})(?:\s*\([^()\n]*\))?[*_]*(?:\s*:[*_]*\s*(?P<rest>\S.*)?|\s*)$", re.IGNORECASE
)
ITEM = re.compile(r"\s*(?:[-*•+]|\(?\d{1,2}[.):])\s+(?P<text>\S.*)")
QUOTES = " \t\"'“”‘’`*_"


@dataclass(slots=True)
class _Reading:
    """The lines of a pasted reply by part, and the numbers of the lines that belong to no part."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)


def parse_expansion(llm_response: str, text: str) -> tuple[Expansion, tuple[int, ...]]:
    """Parse a pasted reply and return the expansion of `query_text`, and the numbers of the lines that were ignored.

    Raises:
        InvalidRequest: the reply has neither an expanded query nor a HyDE answer; llm_response is named.
    """
    parts, unread_line_numbers = _said(llm_response)
    expansion = understood(parts, text, count=WORDINGS, imagine=True)
    if not (expansion.wordings or expansion.imagined):
        raise InvalidRequest("llm_response", EXPECTED)
    return expansion, unread_line_numbers


def _said(pasted: str) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    try:
        return dict(_fields(read_object(pasted))), ()
    except Unavailable:
        sorted_lines = _read(pasted)
        return dict(_parts(sorted_lines.lines)), tuple(sorted_lines.unread)


def _fields(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts under our names, whatever spelling a model used."""
    for name, value in said.items():
        title = re.fullmatch(_TITLE, name.replace("_", " "), re.IGNORECASE)
        if title and title.lastgroup:
            yield title.lastgroup, [value] if title.lastgroup == "queries" and isinstance(value, str) else value


def _read(pasted: str) -> _Reading:
    sorted_lines, part = _Reading(), ""
    for number, line in enumerate(pasted.splitlines(), start=1):
        heading = HEADING.match(line)
        if heading:
            part = next(name for name in NAMES if heading[name])
            sorted_lines.lines.setdefault(part, []).extend(filter(None, [heading["rest"]]))
        elif line.strip(" \t`*_#-=") and not _take(line, part, sorted_lines):
            sorted_lines.unread.append(number)
    return sorted_lines


def _take(line: str, part: str, reading: _Reading) -> bool:
    """Add a line to its part and return whether it has one; a list item before any heading is a query."""
    item = ITEM.match(line)
    part_lines = reading.lines.setdefault(part or "queries", [])
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


def _parts(lines: Mapping[str, list[str]]) -> Iterator[tuple[str, Any]]:
    for part, part_lines in lines.items():
        match part:
            case "queries":
                yield part, [line.strip(QUOTES) for line in part_lines]
            case "entities":
                yield part, [name.strip(QUOTES) for line in part_lines for name in re.split(r"[,;]", line)]
            case "intent":
                yield part, part_lines[0].split(" ")[0] if part_lines else ""
            case _:
                yield part, "\n".join(part_lines)
