"""The part of a passage that speaks to the question: whole sentences within a number of characters (S4-17, S4-21)."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from rag_core.core.model import Evidence, Ranking
from rag_core.core.ports import Reranker
from rag_core.text.sentences import sentences
from rag_core.text.table_rows import prose
from rag_core.text.terms import terms

Part = tuple[int, int]  # characters of a passage


def excerpts(question: str, hits: Ranking, *, chars: int) -> list[Evidence]:
    """The hits as evidence of at most `chars` characters each (0: whole runs); one that is all tables is left out."""
    parts = [(hit, part) for hit in hits if (part := excerpt(question, hit.chunk.content, chars=chars))]
    return numbered([Evidence("", hit, *part) for hit, part in parts])


def numbered(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same with the ids "e1", "e2", … in this order."""
    return [replace(passage, id=f"e{n}") for n, passage in enumerate(evidence, start=1)]


def excerpt(question: str, content: str, *, chars: int) -> Part | None:
    """Of the runs of prose, the whole sentences that fit around the one with most of the question's terms.

    Of two with as many it is the one with the rarer of the passage. A sentence that is longer is cut after a word.
    None: there is no prose.
    """
    runs = [run for start, end in prose(content) if (run := _sentences(content, start, end))]
    asked = _asked(terms(question), content, runs)
    best = max(range(len(runs)), key=lambda n: max(asked[n]), default=None)
    return None if best is None else _around(asked[best], content, runs[best], chars or len(content))


async def relevant(question: str, evidence: Sequence[Evidence], reranker: Reranker) -> list[Evidence]:
    """The evidence by what the ranker says of it with its title, as the signal "relevance"; equals as they stood.

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    scores = await reranker.scores(question, [f"{passage.hit.chunk.title}: {passage.text}" for passage in evidence])
    judged = [_with(passage, score) for passage, score in zip(evidence, scores, strict=True)]
    return numbered(sorted(judged, key=relevance, reverse=True))


def relevance(passage: Evidence) -> float:
    """What the ranker says of a passage, 0..1; without a ranker, what the search does."""
    return passage.hit.signals.get("relevance", passage.hit.score)


def around(asked: Sequence[float], sizes: Sequence[int], room: int, *, announcing: Collection[int] = ()) -> Part | None:
    """The first and last of the sentences that fit around the one with most of what is asked; None: it does not fit.

    After one that is `announcing` what follows comes that; else, of the two beside, that with more of what is asked,
    and of equals the one after, which goes on with what was begun.
    """
    first = last = max(range(len(asked)), key=asked.__getitem__)
    left = room - sizes[first]
    if left < 0:
        return None
    while beside := [n for n in (last + 1, first - 1) if 0 <= n < len(asked) and sizes[n] <= left]:
        announced = last in announcing and last + 1 in beside
        taken = last + 1 if announced else max(beside, key=asked.__getitem__)
        first, last, left = min(first, taken), max(last, taken), left - sizes[taken]
    return first, last


def _sentences(content: str, start: int, end: int) -> list[Part]:
    return [(start + a, start + b) for a, b in sentences(content[start:end]) if terms(content[start + a : start + b])]


def _asked(wanted: frozenset[str], content: str, runs: Sequence[Sequence[Part]]) -> list[list[float]]:
    """How much each sentence has of what is wanted: a term counts 1, and its share of the sentences that have it."""
    had = [[wanted & terms(content[start:end]) for start, end in run] for run in runs]
    sentences_with = Counter(term for run in had for found in run for term in found)
    return [[sum(1 + 1 / sentences_with[term] for term in found) for found in run] for run in had]


def _around(asked: Sequence[float], content: str, ranges: Sequence[Part], room: int) -> Part:
    ends = [start for start, _ in ranges[1:]] + [ranges[-1][1]]  # with the break after each
    sizes = [end - start for (start, _), end in zip(ranges, ends, strict=True)]
    announcing = {n for n, (start, end) in enumerate(ranges) if content[start:end].rstrip().endswith(":")}
    fitting = around(asked, sizes, room, announcing=announcing)
    if fitting:
        return ranges[fitting[0]][0], ranges[fitting[1]][1]
    start, _ = ranges[max(range(len(ranges)), key=asked.__getitem__)]
    return start, start + len(content[start : start + room].rsplit(maxsplit=1)[0])


def _with(passage: Evidence, score: float) -> Evidence:
    signals = {**passage.hit.signals, "relevance": score}
    return replace(passage, hit=replace(passage.hit, signals=signals))
