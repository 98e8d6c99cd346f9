"""Captions and semantic answers: the sentences of the hits that speak to the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

from rag_core.core.model import Caption, Hit, Ranking, SemanticAnswer
from rag_core.core.ports import Reranker
from rag_core.text.sentences import sentences
from rag_core.text.terms import shared, term, terms

SENTENCES = 3  # of each hit are read by the ranker
CAPTION_CHARS = 400  # a table's row or a list without full stops can be long
LIKELY = 0.5  # a semantic answer is more likely than not to be one, by the ranker's own measure


@dataclass(frozen=True, slots=True)
class _Quote:
    hit: Hit
    text: str
    score: float


def caption(text: str, hits: Ranking) -> list[Hit]:
    """The hits, each with the sentence that shares most terms with the question; the first sentence when none does.

    A hit that has a caption, which a store's own ranker gave it, keeps it.
    """
    wanted = terms(text)
    return [hit if hit.captions else _captioned(hit, wanted, best) for hit in hits for best in _closest(hit, wanted, 1)]


async def quote(
    text: str, hits: Ranking, reranker: Reranker, *, captions: int, answers: int
) -> tuple[list[Hit], tuple[SemanticAnswer, ...]]:
    """The hits, the first `captions` with the sentence the ranker likes best, and the likeliest `answers` of those.

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    wanted = terms(text)
    asked = [(hit, sentence) for hit in hits[:captions] for sentence in _closest(hit, wanted, SENTENCES)]
    if not asked:
        return list(hits), ()
    scores = await reranker.scores(text, [sentence for _, sentence in asked])
    quotes = [_Quote(hit, sentence, score) for (hit, sentence), score in zip(asked, scores, strict=True)]
    quotes.sort(key=lambda quote: -quote.score)
    best = {quote.hit.chunk.id: quote for quote in reversed(quotes)}
    chosen = [_captioned(hit, wanted, best[hit.chunk.id].text) for hit in hits[:captions]]
    return [*chosen, *hits[captions:]], _answers(list(best.values()), answers)


def highlighted(text: str, wanted: frozenset[str]) -> str:
    """The text as HTML with the wanted terms in <em>: everything else is escaped."""
    parts = re.split(r"(\w+)", text)
    found = {word for word in set(parts[1::2]) if term(word) in wanted}
    runs = [(marked, "".join(run)) for marked, run in groupby(parts, found.__contains__)]
    return "".join(f"<em>{run}</em>" if marked else escape(run, quote=False) for marked, run in runs)


def _answers(quotes: Sequence[_Quote], count: int) -> tuple[SemanticAnswer, ...]:
    likely = sorted((q for q in quotes if q.score >= LIKELY), key=lambda q: -q.score)
    return tuple(SemanticAnswer(q.text, q.score, q.hit.chunk.id) for q in likely[:count])


def _closest(hit: Hit, wanted: frozenset[str], count: int) -> list[str]:
    """The `count` sentences that share most terms with the question, earlier ones first among equals."""
    content = hit.chunk.content
    found = [content[start:end][:CAPTION_CHARS] for start, end in sentences(content)] or [content[:CAPTION_CHARS]]
    counts = shared(wanted, found)
    return [found[n] for n in sorted(range(len(found)), key=lambda n: -counts[n])[:count]]


def _captioned(hit: Hit, wanted: frozenset[str], sentence: str) -> Hit:
    return replace(hit, captions=(Caption(sentence, highlighted(sentence, wanted)),))
