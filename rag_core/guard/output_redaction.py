"""An answer, and the passages that it cites, without what tells of a person (S4-29)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rag_core.answering.drafting import moved, text_of
from rag_core.core.model import Answer, Citation, Claim, Evidence, PiiSpan
from rag_core.core.ports import Redactor
from rag_core.guard.redaction import redact


async def withheld(answer: Answer, redactor: Redactor) -> tuple[Answer, tuple[PiiSpan, ...]]:
    """The same answer with `[TYPE]` for what was found, and where that stood in its text.

    Its evidence is cut down to what was used: the rest of a passage, which nobody looked at, goes no further.

    Raises:
        Unavailable: the redactor did not look (redaction_failed).
    """
    looked_at = [await redact(claim.text, redactor) for claim in answer.claims]
    claims = [
        replace(claim, text=found.text, citations=tuple([await _quoted(c, redactor) for c in claim.citations]))
        for claim, found in zip(answer.claims, looked_at, strict=True)
    ]
    spans = tuple(
        replace(span, start=claim.start + span.start, end=claim.start + span.end)
        for claim, found in zip(answer.claims, looked_at, strict=True)
        for span in found.spans
    )
    evidence = await asyncio.gather(*(_cut(passage, redactor) for passage in answer.evidence))
    return replace(answer, text=_text(answer, claims), claims=tuple(moved(claims)), evidence=tuple(evidence)), spans


def _text(answer: Answer, claims: Sequence[Claim]) -> str:
    return text_of(claims) if claims else answer.text


async def _quoted(citation: Citation, redactor: Redactor) -> Citation:
    return replace(citation, quote=(await redact(citation.quote, redactor)).text)


async def _cut(passage: Evidence, redactor: Redactor) -> Evidence:
    """The passage as a chunk of its own, which stands where it stood."""
    chunk, text = passage.hit.chunk, (await redact(passage.text, redactor)).text
    place = chunk.place(passage.start, passage.end)
    spans = (replace(place, start=0, end=len(text)),) if place else ()
    alone = replace(chunk, content=text, spans=spans, summary="", entities=(), parent_id=None)
    return Evidence(passage.id, replace(passage.hit, chunk=alone, captions=()), 0, len(text))
