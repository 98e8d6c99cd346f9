"""Captions and semantic answers: the sentences of the hits that best match the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

from rag_core.core.model import Caption, Hit, Ranking, SemanticAnswer
from rag_core.core.ports import Reranker
from rag_core.text.sentences import sentences
from rag_core.text.terms import shared, term, terms

SENTENCES = 3  # sentences of each hit that the cross-encoder scores
CAPTION_CHARS = 400  # a table row, or a list without full stops, can be long
LIKELY = 0.5  # a semantic answer is at least as likely as not to be relevant, by the cross-encoder's own score


@dataclass(frozen=True, slots=True)
class _Quote:
    """A sentence of a hit with its cross-encoder score, 0..1."""

    hit: Hit
    text: str
    score: float


def caption(text: str, hits: Ranking) -> list[Hit]:
    """Caption each hit with the sentence that shares most terms with the question, its first sentence if none does.

    A hit that already has a caption, given by a store's own semantic ranker, keeps it.
    """
    query_terms = terms(text)
    return [
        hit if hit.captions else _captioned(hit, query_terms, sentence)
        for hit in hits
        for sentence in _closest(hit, query_terms, 1)
    ]


async def quote(
    text: str, hits: Ranking, reranker: Reranker, *, captions: int, answers: int
) -> tuple[list[Hit], tuple[SemanticAnswer, ...]]:
    """Caption the first `caption_count` hits by cross-encoder, and return the best captions as semantic answers.

    Returns all hits in their order, and at most `answer_count` semantic answers, best first.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    query_terms = terms(text)
    pairs = [(hit, sentence) for hit in hits[:captions] for sentence in _closest(hit, query_terms, SENTENCES)]
    if not pairs:
        return list(hits), ()
    scores = await reranker.scores(text, [sentence for _, sentence in pairs])
    scored = [_Quote(hit, sentence, score) for (hit, sentence), score in zip(pairs, scores, strict=True)]
    scored.sort(key=lambda candidate: -candidate.score)
    best = {candidate.hit.chunk.id: candidate for candidate in reversed(scored)}
    captioned_hits = [_captioned(hit, query_terms, best[hit.chunk.id].text) for hit in hits[:captions]]
    return [*captioned_hits, *hits[captions:]], _answers(list(best.values()), answers)


def highlighted(text: str, wanted: frozenset[str]) -> str:
    """Format a text as HTML with the words of `query_terms` in <em>, and everything else escaped."""
    parts = re.split(r"(\w+)", text)
    matches = {word for word in set(parts[1::2]) if term(word) in wanted}
    runs = [(marked, "".join(run)) for marked, run in groupby(parts, matches.__contains__)]
    return "".join(f"<em>{run}</em>" if marked else escape(run, quote=False) for marked, run in runs)


def _answers(candidates: Sequence[_Quote], count: int) -> tuple[SemanticAnswer, ...]:
    likely = sorted((c for c in candidates if c.score >= LIKELY), key=lambda c: -c.score)
    return tuple(SemanticAnswer(c.text, c.score, c.hit.chunk.id) for c in likely[:count])


def _closest(hit: Hit, query_terms: frozenset[str], count: int) -> list[str]:
    """Return the `count` sentences that share most terms with the question, earlier ones first among equals."""
    content = hit.chunk.content
    texts = [content[start:end][:CAPTION_CHARS] for start, end in sentences(content)] or [content[:CAPTION_CHARS]]
    counts = shared(query_terms, texts)
    return [texts[n] for n in sorted(range(len(texts)), key=lambda n: -counts[n])[:count]]


def _captioned(hit: Hit, query_terms: frozenset[str], sentence: str) -> Hit:
    return replace(hit, captions=(Caption(sentence, highlighted(sentence, query_terms)),))
