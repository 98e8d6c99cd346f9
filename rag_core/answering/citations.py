"""Verification of claims: each sentence of a text is compared with passages of the index and gets a verdict.

A claim is verified only when a passage entails it word by word (`check_entailment`) and the cross-encoder finds that
passage relevant; a claim of two statements may have a passage for each. A claim that the nearest passage contradicts is
unsupported, with the reason and the passage. Any other claim with a related passage is partial, and the reader is shown
the quote. See docs/citations.md.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag_core.answering.verification import Agreement, agreement
from rag_core.core.index import Index
from rag_core.core.model import Asked, Chunk, Citation, Claim, Evidence, Ranking, Scope, SearchType, Verdict
from rag_core.core.ports import Probe, Reranker
from rag_core.retrieval.search import Vectors
from rag_core.text.sentences import sentences
from rag_core.text.terms import terms

HITS = 5
PASSAGES = 8  # of one or two sentences each
CITATIONS = 3
UNSURE = ("relevance: low",)  # the passage entails the claim, and the cross-encoder finds it not relevant
PAGE_LABEL = "page_label"  # of a chunk's metadata, set by chunking
RELEVANT = 0.5  # even odds by the cross-encoder
SAID = 0.6  # share of the claim's terms from which a passage is partial evidence whatever its relevance
TOUCHED = 0.3  # share from which it is when the cross-encoder finds it relevant

# the boundary between two statements of one sentence, of which the second has a subject of its own
JOINT = re.compile(r"(?:;|,\s+(?:and|but|while|whereas))\s+(?=(?:the|an?|each|every|all|no|some)\s|[A-Z])")
STATEMENT = 4


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a chunk, compared with a claim; `term_share` is the share of the claim's terms that it has."""

    chunk: Chunk
    start: int
    end: int
    said: float

    @property
    def text(self) -> str:
        return self.chunk.content[self.start : self.end]


def claims(text: str) -> list[Claim]:
    """Split a text into claims, one per sentence, all "unsupported" yet."""
    return [Claim(text[start:end], start, end, "unsupported") for start, end in sentences(text)]


def labelled(made: Sequence[Claim]) -> list[Asked]:
    """Return the claims as query variants, labelled by their index from 0."""
    return [Asked(str(number), claim.text) for number, claim in enumerate(made)]


async def look_up(
    asked: Sequence[Asked], vectors: Vectors, scope: Scope, index: Index, *, how: SearchType
) -> list[Ranking]:
    """Search for each claim by the legs of the search type, and return a ranking per claim, in order.

    Raises:
        Unavailable: the store did not answer.
    """
    used_vectors: Vectors = {} if how == "keyword" else vectors
    probes = [Probe(v.label, "" if how == "vector" else v.text, used_vectors.get(v.label)) for v in asked]
    return await index.find(probes, scope, limit=HITS)


def as_evidence(hits: Ranking) -> tuple[Evidence, ...]:
    """Return the hits' whole chunks as evidence, in order, with the ids "e1", "e2", …"""
    return tuple(Evidence(f"e{n}", hit, 0, len(hit.chunk.content)) for n, hit in enumerate(hits, 1))


async def judge(claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], reranker: Reranker) -> list[Claim]:
    """Return the claims with verdicts and citations, each compared with its own evidence (as many as claims).

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    return [await _judged(claim, passages, reranker) for claim, passages in zip(claims, evidence, strict=True)]


def judge_by_rule(claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]]) -> list[Claim]:
    """Return the claims with verdicts and citations by shared terms alone, at most "partial".

    Sharing terms is no entailment, so no claim is verified without a cross-encoder.
    """
    return [_ruled(claim, passages) for claim, passages in zip(claims, evidence, strict=True)]


async def _judged(claim: Claim, evidence: Sequence[Evidence], reranker: Reranker) -> Claim:
    passages = await asyncio.to_thread(_closest, claim.text, evidence)
    citations = await _verified(claim.text, passages, reranker)
    if citations:
        return _concluded(claim, "verified", citations)
    if part_citations := await _each_verified(_parts(claim.text), evidence, reranker):
        return replace(claim, verdict="verified", citations=part_citations)
    return await _doubted(claim, passages, reranker)


async def _each_verified(
    statements: Sequence[str], evidence: Sequence[Evidence], reranker: Reranker
) -> tuple[Citation, ...]:
    """Return a citation for each statement, each passage once; none unless every statement has one."""
    found = [await _verified(s, await asyncio.to_thread(_closest, s, evidence), reranker) for s in statements]
    best = [citations[0] for citations in found if citations]
    return tuple({(c.chunk_id, c.quote): c for c in best}.values()) if len(best) == len(statements) else ()


async def _verified(statement: str, passages: Sequence[Passage], reranker: Reranker) -> list[Citation]:
    """Cite the passages that entail the statement and are relevant to it, without those that contain another."""
    compared = await asyncio.to_thread(_compared, statement, passages)
    entailing = [passage for result, passage in compared if result.agrees]
    citations = await _cited(statement, entailing, reranker)
    return [outer for outer in citations if not any(_within(inner, outer) for inner in citations)]


def _within(inner: Citation, outer: Citation) -> bool:
    """Return whether one quote is a proper part of the other, in the same chunk."""
    return inner.chunk_id == outer.chunk_id and inner.quote != outer.quote and inner.quote in outer.quote


async def _cited(statement: str, passages: Sequence[Passage], reranker: Reranker) -> list[Citation]:
    scores = await reranker.scores(statement, [passage.text for passage in passages]) if passages else []
    return [_citation(p, score) for p, score in zip(passages, scores, strict=True) if score >= RELEVANT]


async def _doubted(claim: Claim, passages: Sequence[Passage], reranker: Reranker) -> Claim:
    """Return the claim as "unsupported" if the nearest passage contradicts it, "partial" if a related one can be cited.

    A claim without related passage stays as it is.
    """
    related = [passage for passage in passages if passage.said >= TOUCHED]
    if not related:
        return claim
    compared = await asyncio.to_thread(_compared, claim.text, related)
    result, closest = max(compared, key=lambda pair: (pair[0].shared, pair[1].start - pair[1].end))
    if result.contradicts:
        return _concluded(claim, "unsupported", [_citation(closest, closest.said)], result.reasons)
    citations = await _cited(claim.text, related, reranker)
    citations = citations or [_citation(passage, passage.said) for passage in related if passage.said >= SAID]
    return _concluded(claim, "partial", citations, result.reasons or UNSURE) if citations else claim


def _compared(statement: str, passages: Sequence[Passage]) -> list[tuple[Agreement, Passage]]:
    return [(agreement(statement, passage.text), passage) for passage in passages]


def _ruled(claim: Claim, evidence: Sequence[Evidence]) -> Claim:
    citations = [_citation(passage, passage.said) for passage in _closest(claim.text, evidence) if passage.said >= SAID]
    return _concluded(claim, "partial", citations) if citations else claim


def _parts(sentence: str) -> list[str]:
    """Split a sentence of two statements into its halves; return none when either half is too short for a statement."""
    for boundary in JOINT.finditer(sentence):
        halves = [sentence[: boundary.start()], sentence[boundary.end() :]]
        if all(len(half.split()) >= STATEMENT for half in halves):
            return halves
    return []


def _concluded(claim: Claim, verdict: Verdict, citations: Sequence[Citation], reasons: tuple[str, ...] = ()) -> Claim:
    """Return the claim with a verdict and its best citations, one per chunk, best first."""
    best = sorted(citations, key=lambda citation: -citation.score)
    first = {citation.chunk_id: citation for citation in reversed(best)}
    one_per_chunk = tuple(citation for citation in best if first[citation.chunk_id] is citation)
    return replace(claim, verdict=verdict, citations=one_per_chunk[:CITATIONS], reasons=reasons)


def _closest(statement: str, evidence: Sequence[Evidence]) -> list[Passage]:
    """Return the passages that share most terms with the statement, shorter ones first among equals."""
    passages = [passage for item in evidence for passage in _passages(item, terms(statement))]
    return sorted(passages, key=lambda passage: (-passage.said, passage.end - passage.start))[:PASSAGES]


def _passages(evidence: Evidence, claim_terms: frozenset[str]) -> Iterator[Passage]:
    """Yield each sentence of the evidence, then each two consecutive ones."""
    chunk = evidence.hit.chunk
    ranges = [(evidence.start + start, evidence.start + end) for start, end in sentences(evidence.text)]
    pairs = [(start, end) for (start, _), (_, end) in pairwise(ranges)]
    for start, end in (*ranges, *pairs):
        common = terms(chunk.content[start:end]) & claim_terms
        yield Passage(chunk, start, end, len(common) / max(1, len(claim_terms)))


def _citation(passage: Passage, score: float) -> Citation:
    chunk = passage.chunk
    label, place = chunk.metadata.get(PAGE_LABEL), chunk.place(passage.start, passage.end)
    return Citation(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        title=chunk.title,
        source=chunk.source,
        quote=passage.text,
        score=score,
        section=place.section if place else chunk.heading_path,
        place=place,
        boxes=chunk.boxes(passage.start, passage.end),
        page_label=None if label is None else str(label),
        metadata={name: value for name, value in chunk.metadata.items() if name != PAGE_LABEL},
    )
