"""Citations: what the index says to each sentence of a text, and whether that is enough to rely on it.

A sentence is verified only when the ranker finds a passage relevant *and* the passage has all its words, every number,
code and date as it stands, *and* is negated as it is. Anything said in other words is partial: the reader is shown
the quote. What this does not catch is two names that changed places.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag_core.index import Index
from rag_core.ingestion.text import sentences
from rag_core.model import Asked, Chunk, Citation, Claim, Ranking, Scope, Verdict
from rag_core.ports import Probe, Reranker
from rag_core.stages.retrieve import Vectors
from rag_core.stages.terms import terms

HITS = 5  # chunks looked at for a claim
PASSAGES = 8  # of one or two sentences, judged for a claim
CITATIONS = 3
RELEVANT = 0.5  # the ranker's even odds
SAID = 0.6  # share of the claim's terms from which a passage is partial evidence by its words alone
TOUCHED = 0.3  # and from which, when the ranker finds it relevant

TOKEN = re.compile(r"\w+(?:[.,:/-]\w+)*")
JOINT = re.compile(r"[:/-]")  # of a range or a date, each part of which may be cited
NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|without|cannot)\b|n['’]t\b", re.IGNORECASE)


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


async def look_up(asked: Sequence[Asked], vectors: Vectors, scope: Scope, index: Index) -> list[Ranking]:
    """The chunks nearest to each claim. Raises Unavailable when the store does not answer."""
    probes = [Probe(claim.label, claim.text, vectors.get(claim.label)) for claim in asked]
    return await index.find(probes, scope, limit=HITS)


async def judge(made: Sequence[Claim], rankings: Sequence[Ranking], reranker: Reranker) -> list[Claim]:
    """The claims with verdicts and citations. Raises Unavailable when there is no ranker."""
    return [await _judged(claim, hits, reranker) for claim, hits in zip(made, rankings, strict=True)]


def judge_by_rule(made: Sequence[Claim], rankings: Sequence[Ranking]) -> list[Claim]:
    """The same without a ranker: words alone never verify, so at most partial."""
    return [_ruled(claim, hits) for claim, hits in zip(made, rankings, strict=True)]


def figures(text: str) -> frozenset[str]:
    """The numbers, codes and dates of a text as they stand, but for case and the commas of thousands."""
    tokens = [token.casefold().replace(",", "") for token in TOKEN.findall(text)]
    return frozenset(token for token in tokens if any(character.isdigit() for character in token))


async def _judged(claim: Claim, hits: Ranking, reranker: Reranker) -> Claim:
    passages = _closest(claim, hits)
    scores = await reranker.scores(claim.text, [passage.text for passage in passages]) if passages else []
    found = [(_verdict(claim, p, s), _citation(p, s)) for p, s in zip(passages, scores, strict=True)]
    return _concluded(claim, found)


def _ruled(claim: Claim, hits: Ranking) -> Claim:
    passages = [passage for passage in _closest(claim, hits) if passage.said >= SAID]
    return _concluded(claim, [("partial", _citation(passage, passage.said)) for passage in passages])


def _verdict(claim: Claim, passage: Passage, score: float) -> Verdict:
    if score >= RELEVANT and passage.said == 1 and _agrees(claim.text, passage.text):
        return "verified"
    return "partial" if passage.said >= (TOUCHED if score >= RELEVANT else SAID) else "unsupported"


def _agrees(claim: str, quote: str) -> bool:
    """Whether the quote has every figure of the claim, and each of its sentences is negated as the claim is."""
    stated = figures(quote) | {part for figure in figures(quote) for part in JOINT.split(figure)}
    negations = {_negated(quote[start:end]) for start, end in sentences(quote)}
    return figures(claim) <= stated and negations == {_negated(claim)}


def _negated(sentence: str) -> bool:
    return bool(NEGATION.search(sentence))


def _concluded(claim: Claim, found: Sequence[tuple[Verdict, Citation]]) -> Claim:
    """The best verdict with the citations that bear it out, one a chunk, best first."""
    for verdict in ("verified", "partial"):
        bearing = sorted((c for v, c in found if v == verdict), key=lambda citation: -citation.score)
        if bearing:
            first = {citation.chunk_id: citation for citation in reversed(bearing)}
            cited = tuple(citation for citation in bearing if first[citation.chunk_id] is citation)
            return replace(claim, verdict=verdict, citations=cited[:CITATIONS])
    return claim


def _closest(claim: Claim, hits: Ranking) -> list[Passage]:
    """The passages that share most terms with the claim, shorter ones first among equals."""
    found = [passage for hit in hits for passage in _passages(hit.chunk, terms(claim.text))]
    return sorted(found, key=lambda passage: (-passage.said, passage.end - passage.start))[:PASSAGES]


def _passages(chunk: Chunk, wanted: frozenset[str]) -> Iterator[Passage]:
    """Each sentence, and each with the one after it."""
    ranges = sentences(chunk.content)
    pairs = [(start, end) for (start, _), (_, end) in pairwise(ranges)]
    for start, end in (*ranges, *pairs):
        shared = terms(chunk.content[start:end]) & wanted
        yield Passage(chunk, start, end, len(shared) / max(1, len(wanted)))


def _citation(passage: Passage, score: float) -> Citation:
    chunk = passage.chunk
    return Citation(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        title=chunk.title,
        source=chunk.source,
        quote=passage.text,
        score=score,
        section=chunk.heading_path,
        place=chunk.place(passage.start, passage.end),
    )
