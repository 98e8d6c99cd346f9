"""Redaction of personal data in a text, and the rule-based redactor that needs no service."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag_core.core.errors import Unavailable
from rag_core.core.model import PiiSpan, Redaction
from rag_core.core.ports import Redactor
from rag_core.guard.pii import (
    announcements,
    dates,
    locale_hints,
    obfuscated_emails,
    patterns,
    postal_addresses,
    tables,
    validators,
)
from rag_core.text import person_names

OPT_IN_PII_TYPES = frozenset({"DATE", "URL"})  # alone they seldom identify a person, and answers need them
PII_TYPES = frozenset(
    {
        "ADDRESS",
        "PERSON",
        *(pattern.type for pattern in patterns.PII_PATTERNS),
        *(announcement.type for announcement in announcements.ANNOUNCEMENTS),
    }
)
SURE_SCORE = 0.7  # below it, digits that fill a cell of a table are believed to be what the header says
TYPOGRAPHY_TO_ASCII = str.maketrans(
    "‐‑‒–—―−\u00a0\u2007\u2009\u202f’＠．０１２３４５６７８９",  # typographic forms of - space ' @ . and digits
    "-------" + "    " + "'@.0123456789",
)
BEFORE_PHONE = re.compile(patterns.STANDALONE_START)
BIRTH_DATE = re.compile(rf"[,;(\s]{{1,3}}(?:b\.|\*)?\s?(?P<date>{dates.DATE_FORMS})(?![\w/-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RuleBasedRedactor:
    """A `Redactor` by rules: patterns with checksums, and dictionaries of names."""

    types: frozenset[str] = PII_TYPES - OPT_IN_PII_TYPES
    regions: tuple[str, ...] = patterns.PHONE_REGIONS  # whose national telephone numbers are recognised without a cue

    @property
    def name(self) -> str:
        """The redactor with its options, since cached answers of one configuration are not valid for another."""
        regions = f" of {' '.join(self.regions)}" if "PHONE" in self.types else ""
        return f"rules for {', '.join(sorted(self.types))}{regions}"

    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        folded = text.translate(TYPOGRAPHY_TO_ASCII)
        cells = tuple(tables.find_cells(folded)) if "\n" in folded else ()
        # Japanese has no spaces: for the patterns its signs are no letters
        spaced = announcements.CJK_SIGN.sub("。", folded)
        spans = [span for span in self._find_all(folded, spaced, cells) if span.type in self.types]
        if "PHONE" in self.types and patterns.LONG_NUMBER.search(spaced):
            spans += self._find_national_phones(folded, spaced, merge_spans(spans))
        figures = {(cell.start, cell.end) for cell in cells}
        return [span for span in spans if span.score >= SURE_SCORE or (span.start, span.end) not in figures]

    def _find_all(self, text: str, spaced: str, cells: Sequence[tables.Cell]) -> Iterator[PiiSpan]:
        for pattern in patterns.list_possible_patterns(spaced, self.types):
            yield from pattern.find_spans(spaced)
        yield from announcements.find_announced_values(text)
        yield from tables.find_table_values(text, cells)
        if "EMAIL" in self.types:
            yield from obfuscated_emails.find_obfuscated_emails(text)
        if "ADDRESS" in self.types:
            yield from postal_addresses.find_postal_addresses(text)
        if "PERSON" in self.types:
            names = person_names.find_person_names(text)
            yield from (PiiSpan(start, end, "PERSON", score) for start, end, score in names)

    def _find_national_phones(self, text: str, spaced: str, found: Sequence[PiiSpan]) -> Iterator[PiiSpan]:
        """Yield the numbers that a country gives out; its tables are asked only about digits that are not found yet."""
        hidden = [(span.start, span.end) for span in found]
        yield from patterns.build_national_phone_pattern(self.regions).find_spans(spaced, hidden)
        if candidates := list(patterns.TRUNK_PHONE.find_spans(spaced, hidden)):
            regions = locale_hints.guess_regions(text)
            for span in candidates:
                if validators.is_phone_number_of(text[span.start : span.end], regions):
                    yield span


@dataclass(frozen=True, slots=True)
class JoinedRedactor:
    """A `Redactor` that finds what rules find, and the telephone numbers of a second that the rules leave possible."""

    first: Redactor
    second: Redactor

    @property
    def name(self) -> str:
        return f"{self.first.name}, and {self.second.name}"

    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        return [*self.first.find_pii_spans(text), *self._find_added(text)]

    def _find_added(self, text: str) -> Iterator[PiiSpan]:
        folded = text.translate(TYPOGRAPHY_TO_ASCII)
        figures = {(cell.start, cell.end) for cell in tables.find_cells(folded)}
        for span in self.second.find_pii_spans(text):
            sure = span.type != "PHONE" or span.score >= SURE_SCORE
            if sure or ((span.start, span.end) not in figures and is_plausible_phone(folded, span.start, span.end)):
                yield span


def is_plausible_phone(text: str, start: int, end: int) -> bool:
    """Return whether what stands around digits leaves them a telephone number, not an article's, a sum or a part."""
    return bool(
        BEFORE_PHONE.match(text, start)
        and not patterns.COUNT_CUE.search(text, max(0, start - patterns.CUE_CHARS_BEFORE), start)
        and patterns.NO_STREET_OR_SUM.match(text, end)
        and validators.is_phone_number(text[start:end])
    )


async def redact_text(text: str, redactor: Redactor, *, is_question: bool = False) -> Redaction:
    """Replace personal data in a text by `[TYPE]`.

    In a question a date right after a person's name is one of birth; in other texts it may be that of a letter.

    Raises:
        Unavailable: the redactor failed, or returned a span outside the text (redaction_failed).
    """
    try:
        found = await asyncio.to_thread(redactor.find_pii_spans, text)
        spans = merge_spans([*found, *(find_birth_dates(text, found) if is_question else ())])
        return Redaction(replace_spans(text, spans), spans)
    except Unavailable as failure:
        raise Unavailable(failure.message, code="redaction_failed") from failure


def find_birth_dates(text: str, spans: Iterable[PiiSpan]) -> Iterator[PiiSpan]:
    """Yield each date that stands right after a person's name: "Ann Lee, 1938-02-17", "Ann Lee (b. 19.01.1944"."""
    folded = text.translate(TYPOGRAPHY_TO_ASCII)
    for span in spans:
        found = BIRTH_DATE.match(folded, span.end) if span.type == "PERSON" else None
        if found and dates.is_date(found["date"]):
            yield PiiSpan(*found.span("date"), "DOB", SURE_SCORE)


def merge_spans(spans: Iterable[PiiSpan]) -> tuple[PiiSpan, ...]:
    """Sort spans and join overlapping ones; a joined span has the type of the best-scored, then longest of them."""
    merged_spans: list[PiiSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if merged_spans and span.start < merged_spans[-1].end:
            merged_spans[-1] = _join_spans(merged_spans[-1], span)
        else:
            merged_spans.append(span)
    return tuple(merged_spans)


def _join_spans(first: PiiSpan, second: PiiSpan) -> PiiSpan:
    dominant = max(first, second, key=lambda s: (s.score, s.end - s.start))
    return PiiSpan(first.start, max(first.end, second.end), dominant.type, dominant.score)


def replace_spans(text: str, spans: Sequence[PiiSpan]) -> str:
    """Replace each span of a text by `[TYPE]`. The spans are in order and do not overlap.

    Raises:
        Unavailable: a span is not a part of the text.
    """
    parts, at = [], 0
    for span in spans:
        if not at <= span.start < span.end <= len(text):
            raise Unavailable("the redactor returned a span outside the text", code="redaction_failed")
        parts += [text[at : span.start], f"[{span.type}]"]
        at = span.end
    return "".join([*parts, text[at:]])
