"""Query-focused excerpts of passages: whole sentences within a number of characters (S4-17, S4-21)."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from rag_core.core.model import Evidence, Ranking
from rag_core.core.ports import Reranker
from rag_core.text.sentences import sentences
from rag_core.text.table_rows import prose
from rag_core.text.terms import terms

Part = tuple[int, int]  # start and end of a part of a text, end excluded


def excerpts(question: str, hits: Ranking, *, chars: int) -> list[Evidence]:
    """Cut each hit to an excerpt of at most `max_chars` characters (0: a whole run of prose) and return the evidence.

    A hit that is all tables is left out.
    """
    ranges = [(hit, part) for hit in hits if (part := excerpt(question, hit.chunk.content, chars=chars))]
    return numbered([Evidence("", hit, *part) for hit, part in ranges])


def numbered(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence with the ids "e1", "e2", … in this order."""
    return [replace(passage, id=f"e{n}") for n, passage in enumerate(evidence, start=1)]


def excerpt(question: str, content: str, *, chars: int) -> Part | None:
    """Find the whole sentences that fit in `max_chars` around the one with most of the question's terms (0: no limit).

    Of two sentences with equally many terms, the one whose terms are rarer in the passage wins; all are of one run of
    prose, table rows left out. A sentence longer than `max_chars` is cut after a word. None: there is no prose.
    """
    runs = [run for start, end in prose(content) if (run := _sentences(content, start, end))]
    scores = _asked(terms(question), content, runs)
    best = max(range(len(runs)), key=lambda n: max(scores[n]), default=None)
    return None if best is None else _around(scores[best], content, runs[best], chars or len(content))


async def relevant(question: str, evidence: Sequence[Evidence], reranker: Reranker) -> list[Evidence]:
    """Sort evidence by the cross-encoder's score of its title and text, kept as the signal "relevance".

    Equal passages keep their order; the ids are given anew.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    scores = await reranker.scores(question, [f"{passage.hit.chunk.title}: {passage.text}" for passage in evidence])
    scored = [_with(passage, score) for passage, score in zip(evidence, scores, strict=True)]
    return numbered(sorted(scored, key=relevance, reverse=True))


def relevance(passage: Evidence) -> float:
    """Return the passage's cross-encoder score, 0..1, or its search score when no cross-encoder scored it."""
    return passage.hit.signals.get("relevance", passage.hit.score)


def around(asked: Sequence[float], sizes: Sequence[int], room: int, *, announcing: Collection[int] = ()) -> Part | None:
    """Grow a window of sentences around the best-scored one within `room`; return its first and last index.

    `sizes` and `room` are in one unit, such as characters or tokens. The window grows by the better-scored of the two
    sentences beside it, by the following one among equals; after one of `lead_ins`, which ends in a colon, it grows by
    the following one. None: not even the best-scored sentence fits.
    """
    first = last = max(range(len(asked)), key=asked.__getitem__)
    left = room - sizes[first]
    if left < 0:
        return None
    while beside := [n for n in (last + 1, first - 1) if 0 <= n < len(asked) and sizes[n] <= left]:
        after_lead_in = last in announcing and last + 1 in beside
        added = last + 1 if after_lead_in else max(beside, key=asked.__getitem__)
        first, last, left = min(first, added), max(last, added), left - sizes[added]
    return first, last


def _sentences(content: str, start: int, end: int) -> list[Part]:
    return [(start + a, start + b) for a, b in sentences(content[start:end]) if terms(content[start + a : start + b])]


def _asked(query_terms: frozenset[str], content: str, runs: Sequence[Sequence[Part]]) -> list[list[float]]:
    """Score each sentence of each run by its query terms: a term counts 1 + 1 / number of sentences that have it."""
    matches = [[query_terms & terms(content[start:end]) for start, end in run] for run in runs]
    sentence_counts = Counter(term for run in matches for matched in run for term in matched)
    return [[sum(1 + 1 / sentence_counts[term] for term in matched) for matched in run] for run in matches]


def _around(scores: Sequence[float], content: str, ranges: Sequence[Part], room: int) -> Part:
    """Return the characters of the sentences that fit in `room` around the best-scored one, or of its beginning."""
    ends = [start for start, _ in ranges[1:]] + [ranges[-1][1]]  # with the break after each
    sizes = [end - start for (start, _), end in zip(ranges, ends, strict=True)]
    lead_ins = {n for n, (start, end) in enumerate(ranges) if content[start:end].rstrip().endswith(":")}
    window = around(scores, sizes, room, announcing=lead_ins)
    if window:
        return ranges[window[0]][0], ranges[window[1]][1]
    start, _ = ranges[max(range(len(ranges)), key=scores.__getitem__)]
    return start, start + len(content[start : start + room].rsplit(maxsplit=1)[0])


def _with(passage: Evidence, score: float) -> Evidence:
    signals = {**passage.hit.signals, "relevance": score}
    return replace(passage, hit=replace(passage.hit, signals=signals))
