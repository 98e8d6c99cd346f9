"""Captions and semantic answers: the sentences of the hits that best match the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

from rag_core.core.model import Caption, Hit, Ranking, SemanticAnswer
from rag_core.core.ports import Reranker
from rag_core.text.sentences import find_sentences
from rag_core.text.terms import count_shared_terms, extract_terms

CAPTION_CANDIDATE_SENTENCES = 3  # sentences of each hit that the cross-encoder scores, at most
MAX_MISSING_TERMS = 1  # of those, against the sentence with most: one that lacks two more is hardly ever the caption
MAX_CAPTION_CHARS = 400  # a table row, or a list without full stops, can be long
# a semantic answer is at least as likely as not to be relevant, by the cross-encoder's own score
MIN_SEMANTIC_ANSWER_SCORE = 0.5


@dataclass(frozen=True, slots=True)
class _ScoredSentence:
    """A sentence of a hit with its cross-encoder score, 0..1."""

    hit: Hit
    text: str
    score: float


def add_lexical_captions(query_text: str, hits: Ranking) -> list[Hit]:
    """Caption each hit with the sentence that shares most terms with the question, its first sentence if none does.

    A hit that already has a caption, given by a store's own semantic ranker, keeps it.
    """
    query_terms = extract_terms(query_text)
    return [
        hit if hit.captions else _attach_caption(hit, query_terms, sentence)
        for hit in hits
        for sentence in _rank_sentences_by_shared_terms(hit, query_terms, 1)
    ]


async def extract_captions_and_answers(
    query_text: str, hits: Ranking, reranker: Reranker, *, caption_count: int, answer_count: int
) -> tuple[list[Hit], tuple[SemanticAnswer, ...]]:
    """Caption the first `caption_count` hits by cross-encoder, and return the best captions as semantic answers.

    Returns all hits in their order, and at most `answer_count` semantic answers, best first.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    query_terms = extract_terms(query_text)
    pairs = [
        (hit, sentence)
        for hit in hits[:caption_count]
        for sentence in _rank_sentences_by_shared_terms(hit, query_terms, CAPTION_CANDIDATE_SENTENCES)
    ]
    if not pairs:
        return list(hits), ()
    scores = await reranker.score_passages(query_text, [sentence for _, sentence in pairs])
    scored = [_ScoredSentence(hit, sentence, score) for (hit, sentence), score in zip(pairs, scores, strict=True)]
    scored.sort(key=lambda candidate: -candidate.score)
    best = {candidate.hit.chunk.id: candidate for candidate in reversed(scored)}
    captioned_hits = [_attach_caption(hit, query_terms, best[hit.chunk.id].text) for hit in hits[:caption_count]]
    return [*captioned_hits, *hits[caption_count:]], _select_semantic_answers(list(best.values()), answer_count)


def highlight_terms(text: str, query_terms: frozenset[str]) -> str:
    """Format a text as HTML with the words of `query_terms` in <em>, and everything else escaped."""
    parts = re.split(r"(\w+)", text)
    words = list(set(parts[1::2]))
    matches = {word for word, count in zip(words, count_shared_terms(query_terms, words), strict=True) if count}
    runs = [(marked, "".join(run)) for marked, run in groupby(parts, matches.__contains__)]
    return "".join(f"<em>{run}</em>" if marked else escape(run, quote=False) for marked, run in runs)


def _select_semantic_answers(candidates: Sequence[_ScoredSentence], count: int) -> tuple[SemanticAnswer, ...]:
    likely = sorted((c for c in candidates if c.score >= MIN_SEMANTIC_ANSWER_SCORE), key=lambda c: -c.score)
    return tuple(SemanticAnswer(c.text, c.score, c.hit.chunk.id) for c in likely[:count])


def _rank_sentences_by_shared_terms(hit: Hit, query_terms: frozenset[str], count: int) -> list[str]:
    """Return at most `count` sentences that share most terms with the question, earlier ones first among equals."""
    content = hit.chunk.content
    texts = [content[start:end][:MAX_CAPTION_CHARS] for start, end in find_sentences(content)] or [
        content[:MAX_CAPTION_CHARS]
    ]
    counts = count_shared_terms(query_terms, texts)
    least = max(counts) - MAX_MISSING_TERMS
    return [texts[n] for n in sorted(range(len(texts)), key=lambda n: -counts[n])[:count] if counts[n] >= least]


def _attach_caption(hit: Hit, query_terms: frozenset[str], sentence: str) -> Hit:
    return replace(hit, captions=(Caption(sentence, highlight_terms(sentence, query_terms)),))
