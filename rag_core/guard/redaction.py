"""Redaction of personal data in a text, and the rule-based redactor that needs no service."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_core.core.errors import Unavailable
from rag_core.core.model import PiiSpan, Redaction
from rag_core.core.ports import Redactor
from rag_core.guard.pii import names, values

ON_REQUEST = frozenset({"DATE", "URL"})  # alone they seldom identify a person, and answers need them
TYPES = frozenset({"PERSON", *(shape.type for shape in values.SHAPES)})
FOLD = str.maketrans(
    "‐‑‒–—―−\u00a0\u2007\u2009\u202f’＠．０１２３４５６７８９",  # typographic forms of - space ' @ . and digits
    "-------" + "    " + "'@.0123456789",
)


@dataclass(frozen=True, slots=True)
class Rules:
    """A `Redactor` by rules: patterns with checksums, and dictionaries of names."""

    types: frozenset[str] = TYPES - ON_REQUEST
    regions: tuple[str, ...] = values.REGIONS  # whose national telephone numbers are recognised without a cue

    @property
    def name(self) -> str:
        """The redactor with its options, since cached answers of one configuration are not valid for another."""
        regions = f" of {' '.join(self.regions)}" if "PHONE" in self.types else ""
        return f"rules for {', '.join(sorted(self.types))}{regions}"

    def spans(self, text: str) -> Sequence[PiiSpan]:
        folded = text.translate(FOLD)
        patterns = (p for p in (*values.SHAPES, values.national(self.regions)) if p.type in self.types)
        spans = [span for pattern in patterns for span in pattern.spans(folded)]
        return [*spans, *names.spans(folded)] if "PERSON" in self.types else spans


async def redact(text: str, redactor: Redactor) -> Redaction:
    """Replace personal data in a text by `[TYPE]`.

    Raises:
        Unavailable: the redactor failed, or returned a span outside the text (redaction_failed).
    """
    try:
        spans = merged(await asyncio.to_thread(redactor.spans, text))
        return Redaction(redacted(text, spans), spans)
    except Unavailable as failure:
        raise Unavailable(failure.message, code="redaction_failed") from failure


def merged(spans: Iterable[PiiSpan]) -> tuple[PiiSpan, ...]:
    """Sort spans and join overlapping ones; a joined span has the type of the best-scored, then longest of them."""
    merged_spans: list[PiiSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if merged_spans and span.start < merged_spans[-1].end:
            merged_spans[-1] = _joined(merged_spans[-1], span)
        else:
            merged_spans.append(span)
    return tuple(merged_spans)


def _joined(first: PiiSpan, second: PiiSpan) -> PiiSpan:
    dominant = max(first, second, key=lambda s: (s.score, s.end - s.start))
    return PiiSpan(first.start, max(first.end, second.end), dominant.type, dominant.score)


def redacted(text: str, spans: Sequence[PiiSpan]) -> str:
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
