"""Formatting of record fields for readers: dates, vote options with their scores, text without markup."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.extract.html_in_text import without_hidden
from rag_core.text.sentences import readable_numbers

_CHOICE = ("choice", "label", "name", "title", "type", "option")  # the names of an option's label,
_SCORE = ("score", "scores", "votes", "votesCount", "count", "value", "total")  # and of its score
_LINK = re.compile(r"https?://[!#-;=?-Z^-~]{1,240}")  # printable ASCII but for quotes, brackets and backslashes
_MILLISECONDS = 1e11  # as seconds this would be the year 5138
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
    """Convert Markdown or HTML to plain text: no tags, marks or images, of links the text only; paragraphs are kept.

    A table row becomes a line that can be read by itself: "- Loan To Value: wETH 75%; EURe 0%".
    """
    text, _ = without_hidden(clean(str(markup or "")))
    text = _TABLE.sub(_rows, text)
    for pattern, replacement in (
        (_BREAK, "\n"),
        (_TAG, ""),
        (_IMAGE, ""),
        (_ANCHOR, r"\1"),
        (_RULE, ""),
        (_LINE_MARK, ""),
    ):
        text = pattern.sub(replacement, text)
    text = html.unescape(readable_numbers(_EMPHASIS.sub(r"\2", text)))
    return _GAP.sub("\n\n", "\n".join(line.rstrip() for line in clean(text).split("\n"))).strip("\n")


def line(markup: object, longest: int = 200) -> str:
    """Convert Markdown or HTML to plain text on one line, cut with "…" after `max_chars` characters."""
    text = " ".join(plain(markup).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def link(said: object) -> str:
    """Return the value if it is an http(s) URL, else "", as for the "TODO" of a template."""
    text = str(said or "").strip()
    return text if _LINK.fullmatch(text) else ""


def moment(said: object) -> str:
    """Format a date as "2024-01-31", followed by "15:00 UTC" unless the time is midnight; "" for anything else.

    Accepts dates, ISO 8601, and seconds or milliseconds since 1970; a time without a zone is UTC.
    """
    try:
        time = _moment(said)
    except (ValueError, OverflowError, OSError):
        return ""
    if time is None:
        return ""
    utc = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return f"{utc:%Y-%m-%d}" if (utc.hour, utc.minute) == (0, 0) else f"{utc:%Y-%m-%d %H:%M} UTC"


def options(said: object) -> str:
    """Format the options of a vote with their scores: "For: 1,200.5 (60 %); Against: 800 (40 %)".

    Accepts a list of texts or objects, an object of "choices" and "scores", an object of scores by option, or any of
    these as JSON. Shares are given when every option has a score.
    """
    scores_by_option = list(_options(_parsed(said)))
    scores = [score for _, score in scores_by_option if score is not None]
    total = sum(scores) if len(scores) == len(scores_by_option) else 0.0
    return "; ".join(_option(name, score, total) for name, score in scores_by_option if name)


def _rows(table: re.Match[str]) -> str:
    """Format each row of a table as a list item of its cells, each after its column's header.

    In a table of two columns the second needs no header.
    """
    (_, *headers), *rows = (_cells(row) for row in (table[1], *table[2].split("\n")[1:]))
    headers = headers if len(headers) > 1 else [""]
    labelled_rows = ((first, zip(headers, cells, strict=False)) for first, *cells in rows)
    lines = (
        f"- {first}: " + "; ".join(f"{header} {cell}".strip() for header, cell in cells if cell)
        for first, cells in labelled_rows
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
    except (ValueError, OverflowError):  # not a number, or beyond the range of floats
        return None


def _option(name: str, score: float | None, total: float) -> str:
    if score is None:
        return name
    share = f" ({100 * score / total:.3g} %)" if total > 0 else ""
    return f"{name}: {score:,.10g}{share}"
