"""An expansion as any chat model writes it and a person pastes it: JSON, or headings with lists below (S0-71)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_core.core.errors import InvalidRequest, Unavailable
from rag_core.prompts.replies import read_object
from rag_core.retrieval.expansion import Expansion, understood

WORDINGS = 10  # of a pasted reply are kept
EXPECTED = (
    'could not be read: expected JSON such as {"queries": ["…"], "hyde": "…", "intent": "DEFINITION", "entities": '
    '["…"]}, or headings such as "MQE queries:", "HyDE:", "Intent:" and "Entities:" with the text below or beside them'
)
NAMES: Mapping[str, str] = {  # how each part is headed, as an expression
    "queries": r"(?:mqe|multi[- ]?query|expanded|alternative|other|rephrased|search)?[ _-]*(?:expansions?[ _-]*)?"
    r"(?:queries|questions|wordings|variations|mqe)",
    "hyde": r"(?:hyde|hypothetical)(?:[ _-]+(?:answer|document|passage|text|response))*|imagined[ _-]+answer",
    "intent": r"(?:query[ _-]+)?intent(?:ion)?",
    "entities": r"(?:key[ _-]+|extracted[ _-]+|named[ _-]+)?(?:entities|keywords|terms)",
}
_TITLE = "|".join(f"(?P<{part}>{names})" for part, names in NAMES.items())
HEADING = re.compile(  # what stands before a title is given back to nothing (*+): else a line of strokes takes hours
    rf"[\s#>*_\d.)-]*+(?:{_TITLE})(?:\s*\([^()\n]*\))?[*_]*(?:\s*:[*_]*\s*(?P<rest>\S.*)?|\s*)$", re.IGNORECASE
)
ITEM = re.compile(r"\s*(?:[-*•+]|\(?\d{1,2}[.):])\s+(?P<text>\S.*)")
QUOTES = " \t\"'“”‘’`*_"


@dataclass(slots=True)
class _Reading:
    """What was read so far: lines by part, and the numbers of those that belong to none."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)


def parse_expansion(llm_response: str, text: str) -> tuple[Expansion, tuple[int, ...]]:
    """What a pasted reply says to the question `text`, and the numbers of the lines that were not read.

    Raises:
        InvalidRequest: there is neither a wording nor an imagined answer in it; llm_response is named.
    """
    said, unread = _said(llm_response)
    found = understood(said, text, count=WORDINGS, imagine=True)
    if not (found.wordings or found.imagined):
        raise InvalidRequest("llm_response", EXPECTED)
    return found, unread


def _said(pasted: str) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    try:
        return dict(_fields(read_object(pasted))), ()
    except Unavailable:
        reading = _read(pasted)
        return dict(_parts(reading.lines)), tuple(reading.unread)


def _fields(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parts by our names, where a model spelled them otherwise."""
    for name, value in said.items():
        spelled = re.fullmatch(_TITLE, name.replace("_", " "), re.IGNORECASE)
        if spelled and spelled.lastgroup:
            yield spelled.lastgroup, [value] if spelled.lastgroup == "queries" and isinstance(value, str) else value


def _read(pasted: str) -> _Reading:
    reading, part = _Reading(), ""
    for number, line in enumerate(pasted.splitlines(), start=1):
        heading = HEADING.match(line)
        if heading:
            part = next(name for name in NAMES if heading[name])
            reading.lines.setdefault(part, []).extend(filter(None, [heading["rest"]]))
        elif line.strip(" \t`*_#-=") and not _take(line, part, reading):
            reading.unread.append(number)
    return reading


def _take(line: str, part: str, reading: _Reading) -> bool:
    """Put a line where it belongs: an item without a heading is a wording, and a part's own lines are items."""
    item = ITEM.match(line)
    known = reading.lines.setdefault(part or "queries", [])
    if part == "hyde" or (part == "intent" and not known) or (part == "entities"):
        known.append(line.strip() if part == "hyde" else (item["text"] if item else line))
        return True
    if item and part != "intent":
        known.append(item["text"])
        return True
    if part == "queries" and line.rstrip().endswith(("?", '?"')):  # without a mark, a question all the same
        known.append(line)
        return True
    return False


def _parts(lines: Mapping[str, list[str]]) -> Iterator[tuple[str, Any]]:
    for part, found in lines.items():
        match part:
            case "queries":
                yield part, [line.strip(QUOTES) for line in found]
            case "entities":
                yield part, [name.strip(QUOTES) for line in found for name in re.split(r"[,;]", line)]
            case "intent":
                yield part, found[0].split(" ")[0] if found else ""
            case _:
                yield part, "\n".join(found)
