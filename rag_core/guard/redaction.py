"""Redaction of personal data in a text, and the rule-based redactor that needs no service."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_core.core.errors import Unavailable
from rag_core.core.model import PiiSpan, Redaction
from rag_core.core.ports import Redactor
from rag_core.guard.pii import patterns, person_names

OPT_IN_PII_TYPES = frozenset({"DATE", "URL"})  # alone they seldom identify a person, and answers need them
PII_TYPES = frozenset({"PERSON", *(shape.type for shape in patterns.PII_PATTERNS)})
TYPOGRAPHY_TO_ASCII = str.maketrans(
    "‐‑‒–—―−\u00a0\u2007\u2009\u202f’＠．０１２３４５６７８９",  # typographic forms of - space ' @ . and digits
    "-------" + "    " + "'@.0123456789",
)


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
        known = (*patterns.PII_PATTERNS, patterns.build_national_phone_pattern(self.regions))
        spans = [span for pattern in known if pattern.type in self.types for span in pattern.find_spans(folded)]
        return [*spans, *person_names.find_person_names(folded)] if "PERSON" in self.types else spans


async def redact_text(text: str, redactor: Redactor) -> Redaction:
    """Replace personal data in a text by `[TYPE]`.

    Raises:
        Unavailable: the redactor failed, or returned a span outside the text (redaction_failed).
    """
    try:
        spans = merge_spans(await asyncio.to_thread(redactor.find_pii_spans, text))
        return Redaction(replace_spans(text, spans), spans)
    except Unavailable as failure:
        raise Unavailable(failure.message, code="redaction_failed") from failure


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
