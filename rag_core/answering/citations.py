"""Citations: what the index says to each sentence of a text, and whether that is enough to rely on it.

A sentence is verified only when a passage says it in its own words (`agree`) *and* the ranker finds that passage
relevant; a sentence of two statements may have a passage for each. One that a passage contradicts is unsupported, with
the reason and the passage. Anything else that is near is partial: the reader is shown the quote. See docs/citations.md.
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

HITS = 5  # chunks looked at for a claim
PASSAGES = 8  # of one or two sentences, judged for a claim
CITATIONS = 3
UNSURE = ("relevance: low",)  # the words agree, and the ranker does not
PAGE_LABEL = "page_label"  # where chunking keeps it
RELEVANT = 0.5  # the ranker's even odds
SAID = 0.6  # share of the claim's terms from which a passage is partial evidence by its words alone
TOUCHED = 0.3  # and from which, when the ranker finds it relevant

# between two statements of one sentence, of which the second names what it speaks of
JOINT = re.compile(r"(?:;|,\s+(?:and|but|while|whereas))\s+(?=(?:the|an?|each|every|all|no|some)\s|[A-Z])")
STATEMENT = 4  # words, at least, of a half that stands by itself


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters of a chunk that may bear on a claim; `said` is the share of the claim's terms in them."""

    chunk: Chunk
    start: int
    end: int
    said: float

    @property
    def text(self) -> str:
        return self.chunk.content[self.start : self.end]


def claims(text: str) -> list[Claim]:
    """The sentences of a text, nothing known of them yet."""
    return [Claim(text[start:end], start, end, "unsupported") for start, end in sentences(text)]


def labelled(made: Sequence[Claim]) -> list[Asked]:
    """The claims as wordings to embed, labelled by their number."""
    return [Asked(str(number), claim.text) for number, claim in enumerate(made)]


async def look_up(
    asked: Sequence[Asked], vectors: Vectors, scope: Scope, index: Index, *, how: SearchType
) -> list[Ranking]:
    """The chunks nearest to each claim by these legs. Raises Unavailable when the store does not answer."""
    given: Vectors = {} if how == "keyword" else vectors
    probes = [Probe(c.label, "" if how == "vector" else c.text, given.get(c.label)) for c in asked]
    return await index.find(probes, scope, limit=HITS)


def as_evidence(hits: Ranking) -> tuple[Evidence, ...]:
    """Whole chunks as evidence, in order."""
    return tuple(Evidence(f"e{n}", hit, 0, len(hit.chunk.content)) for n, hit in enumerate(hits, 1))


async def judge(claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], reranker: Reranker) -> list[Claim]:
    """The claims with verdicts and citations, each from its own evidence. Raises Unavailable without a ranker."""
    return [await _judged(claim, own, reranker) for claim, own in zip(claims, evidence, strict=True)]


def judge_by_rule(claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]]) -> list[Claim]:
    """The same without a ranker: words alone never verify, so at most partial."""
    return [_ruled(claim, own) for claim, own in zip(claims, evidence, strict=True)]


async def _judged(claim: Claim, evidence: Sequence[Evidence], reranker: Reranker) -> Claim:
    passages = await asyncio.to_thread(_closest, claim.text, evidence)
    whole = await _verified(claim.text, passages, reranker)
    if whole:
        return _concluded(claim, "verified", whole)
    if parts := await _each_verified(_parts(claim.text), evidence, reranker):
        return replace(claim, verdict="verified", citations=parts)
    return await _doubted(claim, passages, reranker)


async def _each_verified(
    parts: Sequence[str], evidence: Sequence[Evidence], reranker: Reranker
) -> tuple[Citation, ...]:
    """A citation for each part, also two of one chunk, each passage once; none unless every part has one."""
    found = [await _verified(part, await asyncio.to_thread(_closest, part, evidence), reranker) for part in parts]
    cited = [citations[0] for citations in found if citations]
    return tuple({(c.chunk_id, c.quote): c for c in cited}.values()) if len(cited) == len(parts) else ()


async def _verified(said: str, passages: Sequence[Passage], reranker: Reranker) -> list[Citation]:
    """Citations of the passages that say it word by word, and that the ranker finds relevant: the shortest that do."""
    compared = await asyncio.to_thread(_compared, said, passages)
    cited = await _cited(said, [passage for found, passage in compared if found.agrees], reranker)
    return [one for one in cited if not any(_within(other, one) for other in cited)]


def _within(inner: Citation, outer: Citation) -> bool:
    """Whether one quote is a part of the other, in the same chunk."""
    return inner.chunk_id == outer.chunk_id and inner.quote != outer.quote and inner.quote in outer.quote


async def _cited(said: str, passages: Sequence[Passage], reranker: Reranker) -> list[Citation]:
    scores = await reranker.scores(said, [passage.text for passage in passages]) if passages else []
    return [_citation(p, score) for p, score in zip(passages, scores, strict=True) if score >= RELEVANT]


async def _doubted(claim: Claim, passages: Sequence[Passage], reranker: Reranker) -> Claim:
    """Partial where a passage is near, unless the nearest says the same with another number, name or negation."""
    near = [passage for passage in passages if passage.said >= TOUCHED]
    if not near:
        return claim
    compared = await asyncio.to_thread(_compared, claim.text, near)
    found, closest = max(compared, key=lambda one: (one[0].shared, one[1].start - one[1].end))
    if found.contradicts:
        return _concluded(claim, "unsupported", [_citation(closest, closest.said)], found.reasons)
    cited = await _cited(claim.text, near, reranker)
    cited = cited or [_citation(passage, passage.said) for passage in near if passage.said >= SAID]
    return _concluded(claim, "partial", cited, found.reasons or UNSURE) if cited else claim


def _compared(said: str, passages: Sequence[Passage]) -> list[tuple[Agreement, Passage]]:
    return [(agreement(said, passage.text), passage) for passage in passages]


def _ruled(claim: Claim, evidence: Sequence[Evidence]) -> Claim:
    cited = [_citation(passage, passage.said) for passage in _closest(claim.text, evidence) if passage.said >= SAID]
    return _concluded(claim, "partial", cited) if cited else claim


def _parts(said: str) -> list[str]:
    """The halves of a sentence of two statements; none of one that is whole or too short to be two."""
    for joint in JOINT.finditer(said):
        halves = [said[: joint.start()], said[joint.end() :]]
        if all(len(half.split()) >= STATEMENT for half in halves):
            return halves
    return []


def _concluded(claim: Claim, verdict: Verdict, citations: Sequence[Citation], reasons: tuple[str, ...] = ()) -> Claim:
    """With the citations that bear it out, one a chunk, best first."""
    best = sorted(citations, key=lambda citation: -citation.score)
    first = {citation.chunk_id: citation for citation in reversed(best)}
    cited = tuple(citation for citation in best if first[citation.chunk_id] is citation)[:CITATIONS]
    return replace(claim, verdict=verdict, citations=cited, reasons=reasons)


def _closest(said: str, evidence: Sequence[Evidence]) -> list[Passage]:
    """The passages that share most terms with what is said, shorter ones first among equals."""
    found = [passage for one in evidence for passage in _passages(one, terms(said))]
    return sorted(found, key=lambda passage: (-passage.said, passage.end - passage.start))[:PASSAGES]


def _passages(evidence: Evidence, wanted: frozenset[str]) -> Iterator[Passage]:
    """Each sentence, and each with the one after it."""
    chunk = evidence.hit.chunk
    ranges = [(evidence.start + start, evidence.start + end) for start, end in sentences(evidence.text)]
    pairs = [(start, end) for (start, _), (_, end) in pairwise(ranges)]
    for start, end in (*ranges, *pairs):
        shared = terms(chunk.content[start:end]) & wanted
        yield Passage(chunk, start, end, len(shared) / max(1, len(wanted)))


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
