"""Formatting of record fields for readers: dates, vote options with their scores, text without markup."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.extract.hidden_html import remove_hidden_html
from rag_core.text.sentences import shorten_character_references

_OPTION_NAME_FIELDS = ("choice", "label", "name", "title", "type", "option")  # the names of an option's label,
_OPTION_SCORE_FIELDS = ("score", "scores", "votes", "votesCount", "count", "value", "total")  # and of its score
_HTTP_URL_PATTERN = re.compile(
    r"https?://[!#-;=?-Z^-~]{1,240}"
)  # printable ASCII but for quotes, brackets and backslashes
_MIN_EPOCH_MILLISECONDS = 1e11  # as seconds this would be the year 5138
_BLOCK_TAG_PATTERN = re.compile(
    r"<(?:br|/?(?:p|div|li|ul|ol|tr|table|h[1-6]|blockquote))\b[^<>]{0,500}>", re.IGNORECASE
)
_HTML_TAG_PATTERN = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_MARKDOWN_IMAGE_PATTERN = re.compile(r"!\[[^\]\n]{0,500}\]\([^()\n]{0,1000}\)")
_MARKDOWN_LINK_PATTERN = re.compile(r"\[([^\[\]\n]{1,500})\]\([^()\n]{0,1000}\)")
_HORIZONTAL_RULE_PATTERN = re.compile(r"^[ \t]*+-{3}[- \t]*+$\n?", re.MULTILINE)
_MARKDOWN_TABLE_PATTERN = re.compile(
    r"^([^\n|]*+\|[^\n]*+)\n[ \t]*+\|?+[ \t]*+:?+-++:?+[ \t]*+\|[-:| \t]*+((?:\n[^\n|]*+\|[^\n]*+)*+)",
    re.MULTILINE,
)
_LINE_PREFIX_PATTERN = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+|>[ \t]?|`{3,}+.*+$|~{3,}+.*+$)", re.MULTILINE)
_MARKDOWN_EMPHASIS_PATTERN = re.compile(r"(\*{1,3}|_{2,3}|`)(?=\S)([^\n]{1,200}?)(?<=\S)\1")
_BLANK_LINES_PATTERN = re.compile(r"\n{3,}")


def strip_markup(markup: object) -> str:
    """Convert Markdown or HTML to plain text: no tags, marks or images, of links the text only; paragraphs are kept.

    A table row becomes a line that can be read by itself: "- Loan To Value: wETH 75%; EURe 0%".
    """
    text, _ = remove_hidden_html(clean_text(str(markup or "")))
    text = _MARKDOWN_TABLE_PATTERN.sub(_format_table_rows, text)
    for pattern, replacement in (
        (_BLOCK_TAG_PATTERN, "\n"),
        (_HTML_TAG_PATTERN, ""),
        (_MARKDOWN_IMAGE_PATTERN, ""),
        (_MARKDOWN_LINK_PATTERN, r"\1"),
        (_HORIZONTAL_RULE_PATTERN, ""),
        (_LINE_PREFIX_PATTERN, ""),
    ):
        text = pattern.sub(replacement, text)
    text = html.unescape(shorten_character_references(_MARKDOWN_EMPHASIS_PATTERN.sub(r"\2", text)))
    return _BLANK_LINES_PATTERN.sub("\n\n", "\n".join(line.rstrip() for line in clean_text(text).split("\n"))).strip(
        "\n"
    )


def strip_to_single_line(markup: object, max_chars: int = 200) -> str:
    """Convert Markdown or HTML to plain text on one line, cut with "…" after `max_chars` characters."""
    text = " ".join(strip_markup(markup).split())
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…"


def parse_http_url(value: object) -> str:
    """Return the value if it is an http(s) URL, else "", as for the "TODO" of a template."""
    text = str(value or "").strip()
    return text if _HTTP_URL_PATTERN.fullmatch(text) else ""


def format_timestamp(value: object) -> str:
    """Format a date as "2024-01-31", followed by "15:00 UTC" unless the time is midnight; "" for anything else.

    Accepts dates, ISO 8601, and seconds or milliseconds since 1970; a time without a zone is UTC.
    """
    try:
        time = _parse_timestamp(value)
    except (ValueError, OverflowError, OSError):
        return ""
    if time is None:
        return ""
    utc = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return f"{utc:%Y-%m-%d}" if (utc.hour, utc.minute) == (0, 0) else f"{utc:%Y-%m-%d %H:%M} UTC"


def format_vote_options(value: object) -> str:
    """Format the options of a vote with their scores: "For: 1,200.5 (60 %); Against: 800 (40 %)".

    Accepts a list of texts or objects, an object of "choices" and "scores", an object of scores by option, or any of
    these as JSON. Shares are given when every option has a score.
    """
    scores_by_option = list(_parse_vote_options(_parse_json_or_text(value)))
    scores = [score for _, score in scores_by_option if score is not None]
    total = sum(scores) if len(scores) == len(scores_by_option) else 0.0
    return "; ".join(_format_vote_option(name, score, total) for name, score in scores_by_option if name)


def _format_table_rows(table: re.Match[str]) -> str:
    """Format each row of a table as a list item of its cells, each after its column's header.

    In a table of two columns the second needs no header.
    """
    (_, *headers), *rows = (_split_table_cells(row) for row in (table[1], *table[2].split("\n")[1:]))
    headers = headers if len(headers) > 1 else [""]
    labelled_rows = ((first, zip(headers, cells, strict=False)) for first, *cells in rows)
    lines = (
        f"- {first}: " + "; ".join(f"{header} {cell}".strip() for header, cell in cells if cell)
        for first, cells in labelled_rows
    )
    return "\n" + "\n".join(lines) + "\n"


def _split_table_cells(row: str) -> list[str]:
    return [" ".join(cell.split()) for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


def _parse_timestamp(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    text = str("" if value is None else value).strip()
    if not text:
        return None
    if re.fullmatch(r"\d{9,13}(?:\.\d+)?", text):
        seconds = float(text)
        return datetime.fromtimestamp(seconds / 1000 if seconds > _MIN_EPOCH_MILLISECONDS else seconds, UTC)
    return datetime.fromisoformat(text)


def _parse_json_or_text(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return [value] if value.strip() else None


def _parse_vote_options(value: object) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list):
        scores = value.get("scores") or []
        for number, choice in enumerate(value["choices"]):
            name, score = _parse_vote_option(choice)
            yield name, score if number >= len(scores) else _parse_vote_score(scores[number])
    elif isinstance(value, Mapping):
        yield from ((strip_to_single_line(name), _parse_vote_score(score)) for name, score in value.items())
    elif isinstance(value, list):
        yield from map(_parse_vote_option, value)


def _parse_vote_option(choice: Any) -> tuple[str, float | None]:
    if not isinstance(choice, Mapping):
        return strip_to_single_line(choice), None
    name = next((choice[key] for key in _OPTION_NAME_FIELDS if choice.get(key)), "")
    return strip_to_single_line(name), next(
        (_parse_vote_score(choice[key]) for key in _OPTION_SCORE_FIELDS if choice.get(key) is not None), None
    )


def _parse_vote_score(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):  # not a number, or beyond the range of floats
        return None


def _format_vote_option(name: str, score: float | None, total: float) -> str:
    if score is None:
        return name
    share = f" ({100 * score / total:.3g} %)" if total > 0 else ""
    return f"{name}: {score:,.10g}{share}"
