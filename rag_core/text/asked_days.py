"""The day that a question asks about, and records of another day: "on 3 May 2026" asks for no row of 3 June."""

import re
from collections.abc import Iterator, Sequence

from rag_core.text.months import MONTH_PATTERN, number_month

Day = tuple[int | None, int, int]  # year, month and day
_DAY = re.compile(
    rf"(?<![\w.])(?:(?P<iso>\d{{4}})-(?P<iso_m>\d\d)-(?P<iso_d>\d\d)(?!\d)"
    rf"|(?P<a>\d{{1,2}})[./](?P<b>\d{{1,2}})[./](?P<y>\d{{4}})(?!\d)"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?[ -](?:of )?(?P<m1>{MONTH_PATTERN})\b\.?(?:,?[ -](?P<y1>\d{{4}})(?!\d))?"
    rf"|(?P<m2>{MONTH_PATTERN})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (?P<y2>\d{{4}})(?!\d))?)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"\b(?:date|day|datum|tag)(?: ?\([^()\n:]{0,20}\))?: ?(?=[\dA-Za-z])", re.IGNORECASE)
_BOUND_BEFORE = re.compile(  # what names a bound or the limit of a span, not the day of a record
    r"\b(?:after|before|between|by|due|end|expiry|from|issue|last|since|start|starting|till|through|to|until)[ -]?$",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"\b(?:after|as (?:at|of)|before|between|by|earlier|expir\w{0,4}|from|later|since|than|through|till|until|up to|"
    r"valid)\b",
    re.IGNORECASE,
)
MAX_READ_CHARS = 2000


def read_asked_days(query_text: str) -> list[Day]:
    """Return the days that a question names; none for a span of days, which asks for no record of one day."""
    read = query_text[:MAX_READ_CHARS]
    return [] if _SPAN.search(read) else [day for match in _DAY.finditer(read) for day in _parse_day(match)]


def states_other_days(asked: Sequence[Day], record: str) -> bool:
    """Return whether a record is dated, and by none of the days that are asked for, if any are."""
    stated = list(_read_dated_fields(record[:MAX_READ_CHARS])) if asked else []
    return bool(stated) and not any(_agree(day, other) for day in asked for other in stated)


def _read_dated_fields(record: str) -> Iterator[Day]:
    """Yield what the fields of a record that are called a date may mean; those of a start, an end and the like not."""
    for field in _FIELD.finditer(record):
        if not _BOUND_BEFORE.search(record[max(0, field.start() - 12) : field.start()]):
            match = _DAY.match(record, field.end())
            yield from _parse_day(match) if match else ()


def _parse_day(match: re.Match[str]) -> Iterator[Day]:
    """Yield what a written day may mean: 3/4/2026 is in April or in March."""
    if match["iso"]:
        yield int(match["iso"]), int(match["iso_m"]), int(match["iso_d"])
    elif match["y"]:
        yield int(match["y"]), int(match["b"]), int(match["a"])
        yield int(match["y"]), int(match["a"]), int(match["b"])
    else:
        year, month, day = match["y1"] or match["y2"], match["m1"] or match["m2"], match["d1"] or match["d2"]
        yield int(year) if year else None, number_month(month), int(day)


def _agree(day: Day, other: Day) -> bool:
    return day[1:] == other[1:] and (day[0] == other[0] or None in (day[0], other[0]))
