"""Takes what tells of a person out of a text, and says where it stood."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_core.core.errors import Unavailable
from rag_core.core.model import PiiSpan, Redaction
from rag_core.core.ports import Redactor
from rag_core.guard.pii import names, values

ON_REQUEST = frozenset({"DATE", "URL"})  # alone they seldom tell of anyone, and answers live by them
TYPES = frozenset({"PERSON", *(shape.type for shape in values.SHAPES)})
FOLD = str.maketrans(
    "‐‑‒–—―−\u00a0\u2007\u2009\u202f’＠．０１２３４５６７８９",  # what typography makes of - space ' @ . and digits
    "-------" + "    " + "'@.0123456789",
)


@dataclass(frozen=True, slots=True)
class Rules:
    """The redactor that needs nothing but this package (a `Redactor`)."""

    types: frozenset[str] = TYPES - ON_REQUEST
    regions: tuple[str, ...] = values.REGIONS  # whose telephone numbers are known when nothing else tells of one

    @property
    def name(self) -> str:
        """With the choices, for what is remembered of one is not for another."""
        regions = f" of {' '.join(self.regions)}" if "PHONE" in self.types else ""
        return f"rules for {', '.join(sorted(self.types))}{regions}"

    def spans(self, text: str) -> Sequence[PiiSpan]:
        folded = text.translate(FOLD)
        shapes = (shape for shape in (*values.SHAPES, values.national(self.regions)) if shape.type in self.types)
        found = [span for shape in shapes for span in shape.spans(folded)]
        return [*found, *names.spans(folded)] if "PERSON" in self.types else found


async def redact(text: str, redactor: Redactor) -> Redaction:
    """The text with `[TYPE]` for each thing found.

    Raises:
        Unavailable: "redaction_failed": the redactor did not look, or pointed outside of the text.
    """
    try:
        spans = merged(await asyncio.to_thread(redactor.spans, text))
        return Redaction(redacted(text, spans), spans)
    except Unavailable as failure:
        raise Unavailable(failure.message, code="redaction_failed") from failure


def merged(spans: Iterable[PiiSpan]) -> tuple[PiiSpan, ...]:
    """In order, and those that overlap as one, so that all that was found goes: named by the surest, then longest."""
    kept: list[PiiSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if kept and span.start < kept[-1].end:
            kept[-1] = _joined(kept[-1], span)
        else:
            kept.append(span)
    return tuple(kept)


def _joined(one: PiiSpan, other: PiiSpan) -> PiiSpan:
    surest = max(one, other, key=lambda s: (s.score, s.end - s.start))
    return PiiSpan(one.start, max(one.end, other.end), surest.type, surest.score)


def redacted(text: str, spans: Sequence[PiiSpan]) -> str:
    """The text with `[TYPE]` in place of each span; they are in order and do not overlap.

    Raises:
        Unavailable: a span is not a part of the text.
    """
    parts, at = [], 0
    for span in spans:
        if not at <= span.start < span.end <= len(text):
            raise Unavailable("the redactor named a place that is not in the text", code="redaction_failed")
        parts += [text[at : span.start], f"[{span.type}]"]
        at = span.end
    return "".join([*parts, text[at:]])
