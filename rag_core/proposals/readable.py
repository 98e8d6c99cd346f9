"""Fields of records as a reader would write them: days, options with their scores, text without markup."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.extract.html_in_text import without_hidden
from rag_core.text.sentences import readable_numbers

_CHOICE = ("choice", "label", "name", "title", "type", "option")  # how sources call an option,
_SCORE = ("score", "scores", "votes", "votesCount", "count", "value", "total")  # and what was cast for it
_LINK = re.compile(r"https?://[!#-;=?-Z^-~]{1,240}")  # printable ASCII but for quotes, brackets and backslashes
_MILLISECONDS = 1e11  # as seconds this is the year 5138
_BREAK = re.compile(r"<(?:br|/?(?:p|div|li|ul|ol|tr|table|h[1-6]|blockquote))\b[^<>]{0,500}>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_IMAGE = re.compile(r"!\[[^\]\n]{0,500}\]\([^()\n]{0,1000}\)")
_ANCHOR = re.compile(r"\[([^\[\]\n]{1,500})\]\([^()\n]{0,1000}\)")
_RULE = re.compile(r"^[ \t]*-{3,}[- \t]*$\n?", re.MULTILINE)
_TABLE = re.compile(
    r"^([^\n|]*\|[^\n]*)\n[ \t]*\|?[ \t]*:?-{1,}:?[ \t]*\|[-:| \t]*((?:\n[^\n]*\|[^\n]*)*)", re.MULTILINE
)
_LINE_MARK = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+|>[ \t]?|`{3,}.*$|~{3,}.*$)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3}|`)(?=\S)([^\n]{1,200}?)(?<=\S)\1")
_GAP = re.compile(r"\n{3,}")


def plain(markup: object) -> str:
    """Markdown or HTML as plain text: the words of links, no images, marks or tags; paragraphs stay apart.

    A row of a table becomes a line that can be read by itself: "- Loan To Value: wETH 75%; EURe 0%".
    """
    text, _ = without_hidden(clean(str(markup or "")))
    text = _TABLE.sub(_rows, text)
    for pattern, words in ((_BREAK, "\n"), (_TAG, ""), (_IMAGE, ""), (_ANCHOR, r"\1"), (_RULE, ""), (_LINE_MARK, "")):
        text = pattern.sub(words, text)
    text = html.unescape(readable_numbers(_EMPHASIS.sub(r"\2", text)))
    return _GAP.sub("\n\n", "\n".join(line.rstrip() for line in clean(text).split("\n"))).strip("\n")


def line(markup: object, longest: int = 200) -> str:
    """The same on one line, no longer than that."""
    text = " ".join(plain(markup).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def link(said: object) -> str:
    """An http(s) address, or "" for anything else, such as the "TODO" of a template."""
    text = str(said or "").strip()
    return text if _LINK.fullmatch(text) else ""


def moment(said: object) -> str:
    """A date as "2024-01-31", with "15:00 UTC" where the time is not midnight; "" for what is no date.

    Takes dates, ISO 8601, and seconds or milliseconds since 1970; what names no zone is UTC.
    """
    try:
        read = _moment(said)
    except (ValueError, OverflowError, OSError):
        return ""
    if read is None:
        return ""
    at = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    return f"{at:%Y-%m-%d}" if (at.hour, at.minute) == (0, 0) else f"{at:%Y-%m-%d %H:%M} UTC"


def options(said: object) -> str:
    """The options of a vote with their scores: "For: 1,200.5 (60 %); Against: 800 (40 %)".

    Takes a list of texts or of objects, an object of choices and scores or of a score an option, or any of it as JSON.
    """
    scored = list(_options(_parsed(said)))
    known = [score for _, score in scored if score is not None]
    total = sum(known) if len(known) == len(scored) else 0.0
    return "; ".join(_option(name, score, total) for name, score in scored if name)


def _rows(table: re.Match[str]) -> str:
    """The rows of a table, each of its cells after its column's head; a second and last cell needs none."""
    (_, *heads), *rows = (_cells(row) for row in (table[1], *table[2].split("\n")[1:]))
    heads = heads if len(heads) > 1 else [""]
    told = ((first, zip(heads, cells, strict=False)) for first, *cells in rows)
    lines = (
        f"- {first}: " + "; ".join(f"{head} {cell}".strip() for head, cell in cells if cell) for first, cells in told
    )
    return "\n" + "\n".join(lines) + "\n"


def _cells(row: str) -> list[str]:
    return [" ".join(cell.split()) for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


def _moment(said: object) -> datetime | None:
    if isinstance(said, datetime):
        return said
    if isinstance(said, date):
        return datetime(said.year, said.month, said.day, tzinfo=UTC)
    text = str("" if said is None else said).strip()
    if not text:
        return None
    if re.fullmatch(r"\d{9,13}(?:\.\d+)?", text):
        seconds = float(text)
        return datetime.fromtimestamp(seconds / 1000 if seconds > _MILLISECONDS else seconds, UTC)
    return datetime.fromisoformat(text)


def _parsed(said: object) -> object:
    if not isinstance(said, str):
        return said
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return [said] if said.strip() else None


def _options(said: object) -> Iterator[tuple[str, float | None]]:
    if isinstance(said, Mapping) and isinstance(said.get("choices"), list):
        scores = said.get("scores") or []
        for number, choice in enumerate(said["choices"]):
            name, score = _named(choice)
            yield name, score if number >= len(scores) else _number(scores[number])
    elif isinstance(said, Mapping):
        yield from ((line(name), _number(score)) for name, score in said.items())
    elif isinstance(said, list):
        yield from map(_named, said)


def _named(choice: Any) -> tuple[str, float | None]:
    if not isinstance(choice, Mapping):
        return line(choice), None
    name = next((choice[key] for key in _CHOICE if choice.get(key)), "")
    return line(name), next((_number(choice[key]) for key in _SCORE if choice.get(key) is not None), None)


def _number(said: object) -> float | None:
    try:
        return float(said) if isinstance(said, str | int | float) and not isinstance(said, bool) else None
    except (ValueError, OverflowError):  # no number, or one beyond all floats
        return None


def _option(name: str, score: float | None, total: float) -> str:
    if score is None:
        return name
    share = f" ({100 * score / total:.3g} %)" if total > 0 else ""
    return f"{name}: {score:,.10g}{share}"
