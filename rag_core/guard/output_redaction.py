"""Output redaction: personal data is removed from an answer and from the passages that it cites (S4-29)."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.answering.drafting import join_claims, realign_claims
from rag_core.core.concurrency import run_together
from rag_core.core.model import Answer, Citation, Claim, Evidence, Judgement, PiiSpan, Reading, Redaction
from rag_core.core.ports import Redactor
from rag_core.guard.redaction import redact_text, replace_spans
from rag_core.prompts.screening import screen_stored_text


async def redact_answer(answer: Answer, redactor: Redactor) -> tuple[Answer, tuple[PiiSpan, ...]]:
    """Return the answer with `[TYPE]` in place of personal data, and the PII spans in its original text.

    Its evidence is reduced to the passages that were shown to the answerer: the rest of a chunk is not redacted, and so
    not returned.

    Raises:
        Unavailable: the redactor failed (redaction_failed).
    """
    redactions = [await _redact_claim_text(claim, redactor) for claim in answer.claims]
    claims = [
        replace(
            claim,
            text=screen_stored_text(redaction.text),  # "[TYPE]" may have become the label of an image
            citations=tuple([await _redact_citation(c, redactor) for c in claim.citations]),
            reasons=await _redact_reasons(claim.reasons, redactor),
            reading=claim.reading and await _redact_reading(claim.reading, redactor),
            judgement=claim.judgement and await _redact_judgement(claim.judgement, redactor),
        )
        for claim, redaction in zip(answer.claims, redactions, strict=True)
    ]
    spans = tuple(
        replace(span, start=claim.start + span.start, end=claim.start + span.end)
        for claim, redaction in zip(answer.claims, redactions, strict=True)
        for span in redaction.spans
    )
    spans += await _find_pii_between_claims(answer, redactor)
    evidence = await run_together(_redact_evidence(passage, redactor) for passage in answer.evidence)
    return replace(
        answer,
        text=_compose_answer_text(answer, claims),
        claims=tuple(realign_claims(claims)),
        evidence=tuple(evidence),
    ), spans


def _compose_answer_text(answer: Answer, claims: Sequence[Claim]) -> str:
    return join_claims(claims) if claims else answer.text


async def _redact_claim_text(claim: Claim, redactor: Redactor) -> Redaction:
    """Redact the text of a claim, read below its lead-in or table header: "X1234567" is only a number without them."""
    above = "".join(f"{frame}\n" for frame in claim.reading.frames) if claim.reading else ""
    found = (await redact_text(above + claim.text, redactor)).spans
    spans = [
        replace(span, start=max(0, span.start - len(above)), end=span.end - len(above))
        for span in found
        if span.end > len(above)
    ]
    return Redaction(replace_spans(claim.text, spans), tuple(spans))


async def _find_pii_between_claims(answer: Answer, redactor: Redactor) -> tuple[PiiSpan, ...]:
    """Return the PII spans in the headings and lead-ins of an answer's text."""
    found: list[PiiSpan] = []
    at = 0
    for claim in answer.claims:
        lead = await redact_text(answer.text[at : claim.start], redactor)
        found += [replace(span, start=at + span.start, end=at + span.end) for span in lead.spans]
        at = claim.end
    return tuple(found)


async def _redact_reading(reading: Reading, redactor: Redactor) -> Reading:
    """Return what is shown above a claim, redacted; what it was judged by is not needed any more."""
    frames = [screen_stored_text((await redact_text(frame, redactor)).text) for frame in reading.frames]
    return Reading("", "", tuple(frames), reading.indent)


async def _redact_citation(citation: Citation, redactor: Redactor) -> Citation:
    return replace(citation, quote=(await redact_text(citation.quote, redactor)).text)


async def _redact_judgement(judgement: Judgement, redactor: Redactor) -> Judgement:
    words = (await redact_text(judgement.words, redactor)).text
    return replace(judgement, words=words, reasons=await _redact_reasons(judgement.reasons, redactor))


async def _redact_reasons(reasons: Sequence[str], redactor: Redactor) -> tuple[str, ...]:
    """Return the reasons, which repeat words of the claim and of the passage, redacted."""
    return tuple([(await redact_text(reason, redactor)).text for reason in reasons])


async def _redact_evidence(passage: Evidence, redactor: Redactor) -> Evidence:
    """Return the passage, redacted, as a chunk of its own at the same place of the document."""
    chunk, text = passage.hit.chunk, (await redact_text(passage.text, redactor)).text
    place = passage.place
    spans = (replace(place, start=0, end=len(text)),) if place else ()
    excerpt = replace(chunk, content=text, spans=spans, summary="", entities=(), parent_id=None)
    return Evidence(passage.id, replace(passage.hit, chunk=excerpt, captions=()), 0, len(text))
