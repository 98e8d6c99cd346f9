"""Query-focused excerpts of passages: whole sentences within a number of characters (S4-17, S4-21)."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from rag_core.core.model import Evidence, Ranking
from rag_core.core.ports import Reranker
from rag_core.text.sentences import find_sentences
from rag_core.text.table_rows import find_prose_ranges
from rag_core.text.terms import extract_terms

CharRange = tuple[int, int]  # start and end of a part of a text, end excluded


def excerpt_hits(query_text: str, hits: Ranking, *, max_chars: int) -> list[Evidence]:
    """Cut each hit to an excerpt of at most `max_chars` characters (0: a whole run of prose) and return the evidence.

    A hit that is all tables is left out.
    """
    ranges = [(hit, part) for hit in hits if (part := find_excerpt(query_text, hit.chunk.content, max_chars=max_chars))]
    return number_evidence([Evidence("", hit, *part) for hit, part in ranges])


def number_evidence(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence with the ids "e1", "e2", … in this order."""
    return [replace(passage, id=f"e{n}") for n, passage in enumerate(evidence, start=1)]


def find_excerpt(query_text: str, content: str, *, max_chars: int) -> CharRange | None:
    """Find the whole sentences that fit in `max_chars` around the one with most of the question's terms (0: no limit).

    Of two sentences with equally many terms, the one whose terms are rarer in the passage wins; all are of one run of
    prose, table rows left out. A sentence longer than `max_chars` is cut after a word. None: there is no prose.
    """
    runs = [run for start, end in find_prose_ranges(content) if (run := _split_run_into_sentences(content, start, end))]
    scores = _score_sentences_by_terms(extract_terms(query_text), content, runs)
    best = max(range(len(runs)), key=lambda n: max(scores[n]), default=None)
    return None if best is None else _fit_excerpt(scores[best], content, runs[best], max_chars or len(content))


def cut_passage(query_text: str, content: str, *, max_chars: int) -> str:
    """Return a passage cut to the sentences and table rows around the one with most of the question's terms.

    It is at most `max_chars` long; a passage that fits is returned whole.
    """
    if len(content) <= max_chars:
        return content
    sentences = _split_run_into_sentences(content, 0, len(content))
    if not sentences:
        return content[:max_chars]
    (scores,) = _score_sentences_by_terms(extract_terms(query_text), content, [sentences])
    start, end = _fit_excerpt(scores, content, sentences, max_chars)
    return content[start:end].strip()


async def rank_evidence_by_relevance(
    query_text: str, evidence: Sequence[Evidence], reranker: Reranker
) -> list[Evidence]:
    """Sort evidence by the cross-encoder's score of its title and text, kept as the signal "relevance".

    Equal passages keep their order; the ids are given anew.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    scores = await reranker.score_passages(
        query_text, [f"{passage.hit.chunk.title}: {passage.text}" for passage in evidence]
    )
    scored = [_attach_relevance(passage, score) for passage, score in zip(evidence, scores, strict=True)]
    return number_evidence(sorted(scored, key=get_relevance, reverse=True))


def get_relevance(passage: Evidence) -> float:
    """Return the passage's cross-encoder score, 0..1, or its search score when no cross-encoder scored it."""
    return passage.hit.signals.get("relevance", passage.hit.score)


def fit_sentence_window(
    scores: Sequence[float], sizes: Sequence[int], room: int, *, lead_ins: Collection[int] = ()
) -> CharRange | None:
    """Grow a window of sentences around the best-scored one within `room`; return its first and last index.

    `sizes` and `room` are in one unit, such as characters or tokens. The window grows by the better-scored of the two
    sentences beside it, by the following one among equals; after one of `lead_ins`, which ends in a colon, it grows by
    the following one. None: not even the best-scored sentence fits.
    """
    first = last = max(range(len(scores)), key=scores.__getitem__)
    left = room - sizes[first]
    if left < 0:
        return None
    while beside := [n for n in (last + 1, first - 1) if 0 <= n < len(scores) and sizes[n] <= left]:
        after_lead_in = last in lead_ins and last + 1 in beside
        added = last + 1 if after_lead_in else max(beside, key=scores.__getitem__)
        first, last, left = min(first, added), max(last, added), left - sizes[added]
    return first, last


def _split_run_into_sentences(content: str, start: int, end: int) -> list[CharRange]:
    return [
        (start + a, start + b)
        for a, b in find_sentences(content[start:end])
        if extract_terms(content[start + a : start + b])
    ]


def _score_sentences_by_terms(
    query_terms: frozenset[str], content: str, runs: Sequence[Sequence[CharRange]]
) -> list[list[float]]:
    """Score each sentence of each run by its query terms: a term counts 1 + 1 / number of sentences that have it."""
    matches = [[query_terms & extract_terms(content[start:end]) for start, end in run] for run in runs]
    sentence_counts = Counter(term for run in matches for matched in run for term in matched)
    return [[sum(1 + 1 / sentence_counts[term] for term in matched) for matched in run] for run in matches]


def _fit_excerpt(scores: Sequence[float], content: str, ranges: Sequence[CharRange], room: int) -> CharRange:
    """Return the characters of the sentences that fit in `room` around the best-scored one, or of its beginning."""
    ends = [start for start, _ in ranges[1:]] + [ranges[-1][1]]  # with the break after each
    sizes = [end - start for (start, _), end in zip(ranges, ends, strict=True)]
    lead_ins = {n for n, (start, end) in enumerate(ranges) if content[start:end].rstrip().endswith(":")}
    window = fit_sentence_window(scores, sizes, room, lead_ins=lead_ins)
    if window:
        return ranges[window[0]][0], ranges[window[1]][1]
    start, _ = ranges[max(range(len(ranges)), key=scores.__getitem__)]
    return start, start + len(content[start : start + room].rsplit(maxsplit=1)[0])


def _attach_relevance(passage: Evidence, score: float) -> Evidence:
    signals = {**passage.hit.signals, "relevance": score}
    return replace(passage, hit=replace(passage.hit, signals=signals))
