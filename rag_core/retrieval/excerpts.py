"""Query-focused excerpts of passages: whole sentences or table rows within a number of characters (S4-17, S4-21)."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rag_core.core.model import Evidence, Ranking
from rag_core.core.ports import Reranker
from rag_core.retrieval.extractive_answers import ANAPHORIC_START
from rag_core.text.abbreviations import NO_GLOSSARY, Glossary, abbreviate
from rag_core.text.sentences import find_sentences
from rag_core.text.table_rows import StatedRow, find_prose_ranges, find_stated_rows
from rag_core.text.terms import extract_terms

LINES_BETWEEN_PARAGRAPHS = 2
READ_CLOSELY = 3  # hits, best first, of which more than one excerpt is scored: each pair costs 12 ms
CharRange = tuple[int, int]  # start and end of a part of a text, end excluded


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a passage that speaks to a question: characters `start` to `end`, said as `text`.

    That of prose is said as it stands. Rows of a table are said as sentences with their heads, and `start` is that of
    the heads, although rows may stand between these and the ones that are said.
    """

    start: int
    end: int
    text: str


def excerpt_hits(
    query_text: str, hits: Ranking, *, max_chars: int, glossary: Glossary = NO_GLOSSARY, alternatives: int = 1
) -> list[Evidence]:
    """Cut each hit to an excerpt of at most `max_chars` characters (0: a whole run) and return the evidence.

    A hit without prose and without rows that can be said is left out. The first READ_CLOSELY of them have up to
    `alternatives` excerpts one after another, of which a cross-encoder can choose: see `find_excerpts`.
    """
    evidence: list[Evidence] = []
    for rank, hit in enumerate(hits):
        parts = find_excerpts(
            query_text,
            hit.chunk.content,
            title=hit.chunk.title,
            max_chars=max_chars,
            count=alternatives if rank < READ_CLOSELY else 1,
            glossary=glossary,
        )
        evidence += [Evidence("", hit, part.start, part.end, part.text) for part in parts]
    return number_evidence(evidence)


def number_evidence(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence with the ids "e1", "e2", … in this order."""
    return [replace(passage, id=f"e{n}") for n, passage in enumerate(evidence, start=1)]


def find_excerpts(
    query_text: str, content: str, *, title: str = "", max_chars: int, count: int = 1, glossary: Glossary = NO_GLOSSARY
) -> list[Excerpt]:
    """Find what fits in `max_chars` around the sentence or table row with most of the question's terms.

    Of two with equally many terms, the one whose terms are rarer in the passage wins; all are of one run of prose or of
    one table, a row counting as it is said, and a sentence such as "It is …" with the one before it; none is of another
    paragraph while that one's has more. One longer than `max_chars` (0: no limit) is cut after a word. Terms of the
    `title` do not count where there are others, and an abbreviation counts as much as its meaning. Up to `count` - 1
    further excerpts are around the next best that none has; where there are any, the best row of a table stands alone
    besides. None: there is no prose, and no table with heads but those of GRADE evidence.
    """
    ranges = find_prose_ranges(content)
    prose = [run for start, end in ranges if (run := _split_run_into_sentences(content, start, end))]
    prose = [_join_sentences_that_refer_back(run, content, max_chars) for run in prose]
    tables = find_stated_rows(content)
    texts = [[content[start:end] for start, end in run] for run in prose]
    texts += [[row.text for row in rows] for rows in tables]
    asked = extract_terms(abbreviate(query_text, glossary))
    wanted = asked - extract_terms(abbreviate(title, glossary)) or asked
    scores = _score_by_terms(wanted, [[abbreviate(text, glossary) for text in run] for run in texts])
    ranked = sorted(
        ((n, m) for n, run in enumerate(scores) for m in range(len(run))), key=lambda place: -scores[place[0]][place[1]]
    )
    found: list[Excerpt] = []
    for n, m in ranked:
        if len(found) >= count or (found and not scores[n][m]):
            break
        if any(texts[n][m] in excerpt.text for excerpt in found):
            continue
        around = [*scores[n][:m], math.inf, *scores[n][m + 1 :]]
        if n < len(prose):
            start, end = _fit_excerpt(around, content, prose[n], max_chars or len(content))
            found.append(Excerpt(start, end, content[start:end]))
            continue
        rows = tables[n - len(prose)]
        found.append(_fit_rows(around, rows, max_chars))
        if count > 1 and len(rows[m].text) < len(found[-1].text):
            found.append(Excerpt(rows[m].head_start, rows[m].end, rows[m].text))
    return found


def cut_passage(query_text: str, content: str, *, max_chars: int) -> str:
    """Return a passage cut to the sentences and table rows around the one with most of the question's terms.

    It is at most `max_chars` long; a passage that fits is returned whole.
    """
    if len(content) <= max_chars:
        return content
    sentences = _split_run_into_sentences(content, 0, len(content))
    if not sentences:
        return content[:max_chars]
    texts = [content[start:end] for start, end in sentences]
    (scores,) = _score_by_terms(extract_terms(query_text), [texts])
    start, end = _fit_excerpt(scores, content, sentences, max_chars)
    return content[start:end].strip()


async def rank_evidence_by_relevance(
    query_text: str, evidence: Sequence[Evidence], reranker: Reranker
) -> list[Evidence]:
    """Sort evidence by the cross-encoder's score of its title and text as it is said, kept as the signal "relevance".

    Of the excerpts of one chunk the best is kept that is not said already. Equal passages keep their order; the ids are
    given anew.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    scores = await reranker.score_passages(
        query_text, [f"{passage.hit.chunk.title}: {passage.prompt_text}" for passage in evidence]
    )
    scored = [_attach_relevance(passage, score) for passage, score in zip(evidence, scores, strict=True)]
    return keep_first_excerpts(sorted(scored, key=get_relevance, reverse=True))


def keep_first_excerpts(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return one excerpt of each chunk, the first that says something new, with the ids given anew.

    Chunks overlap: an excerpt all of whose terms one before it has says nothing new. Chunks without another come last.
    """
    kept: dict[str, Evidence] = {}
    known: list[frozenset[str]] = []
    for passage in evidence:
        terms = extract_terms(passage.prompt_text)
        if passage.hit.chunk.id not in kept and not any(terms <= others for others in known):
            kept[passage.hit.chunk.id] = passage
            known.append(terms)
    for passage in evidence:
        kept.setdefault(passage.hit.chunk.id, passage)
    return number_evidence(list(kept.values()))


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


def _join_sentences_that_refer_back(ranges: Sequence[CharRange], content: str, max_chars: int) -> list[CharRange]:
    """Join a sentence such as "It is …" to the one before it in its paragraph, where both fit in `max_chars`."""
    joined = list(ranges[:1])
    for start, end in ranges[1:]:
        first, before_end = joined[-1]
        refers_back = ANAPHORIC_START.match(content[start:end]) and _stands_in_paragraph(content, before_end, start)
        if refers_back and end - first <= max_chars:
            joined[-1] = (first, end)
        else:
            joined.append((start, end))
    return joined


def _stands_in_paragraph(content: str, end: int, start: int) -> bool:
    """Return whether between two sentences there is white space alone, and no empty line."""
    between = content[end:start]
    return not between.strip() and between.count("\n") < LINES_BETWEEN_PARAGRAPHS


def _find_paragraph(best: int, content: str, ranges: Sequence[CharRange]) -> CharRange:
    """Return the indices of the first and last sentence of the best one's paragraph."""
    first = last = best
    while first and _stands_in_paragraph(content, ranges[first - 1][1], ranges[first][0]):
        first -= 1
    while last + 1 < len(ranges) and _stands_in_paragraph(content, ranges[last][1], ranges[last + 1][0]):
        last += 1
    return first, last


def _score_by_terms(query_terms: frozenset[str], runs: Sequence[Sequence[str]]) -> list[list[float]]:
    """Score each sentence or row of each run by its query terms: a term counts log(1 + all / those that have it)."""
    matches = [[query_terms & extract_terms(text) for text in run] for run in runs]
    counts = Counter(term for run in matches for matched in run for term in matched)
    total = sum(map(len, runs))
    return [[sum(math.log1p(total / counts[term]) for term in matched) for matched in run] for run in matches]


def _fit_rows(scores: Sequence[float], rows: Sequence[StatedRow], max_chars: int) -> Excerpt:
    """Return the rows that fit in `max_chars` around the best-scored one, or the beginning of that one (0: all)."""
    sizes = [len(row.text) + 1 for row in rows]  # with the break after each
    window = fit_sentence_window(scores, sizes, max_chars + 1 if max_chars else sum(sizes))
    first, last = window or (best := max(range(len(rows)), key=scores.__getitem__), best)
    text = "\n".join(row.text for row in rows[first : last + 1])
    return Excerpt(rows[first].head_start, rows[last].end, text if window else _cut_after_word(text, max_chars))


def _fit_excerpt(scores: Sequence[float], content: str, ranges: Sequence[CharRange], room: int) -> CharRange:
    """Return the characters of the sentences that fit in `room` around the best-scored one, or of its beginning."""
    ends = [start for start, _ in ranges[1:]] + [ranges[-1][1]]  # with the break after each
    sizes = [end - start for (start, _), end in zip(ranges, ends, strict=True)]
    lead_ins = {n for n, (start, end) in enumerate(ranges) if content[start:end].rstrip().endswith(":")}
    window = fit_sentence_window(scores, sizes, room, lead_ins=lead_ins)
    best = max(range(len(scores)), key=scores.__getitem__)
    first, last = _find_paragraph(best, content, ranges)
    if window and not window[0] <= first <= last <= window[1]:  # it leaves a paragraph only with the whole of it
        before = {n - first for n in lead_ins if first <= n < last}
        inside = fit_sentence_window(scores[first : last + 1], sizes[first : last + 1], room, lead_ins=before)
        ends_in_lead_in = inside is not None and first + inside[1] in lead_ins
        window = (first + inside[0], first + inside[1]) if inside and not ends_in_lead_in else window
    if window:
        return ranges[window[0]][0], ranges[window[1]][1]
    start, _ = ranges[best]
    return start, start + len(_cut_after_word(content[start:], room))


def _cut_after_word(text: str, room: int) -> str:
    return text[:room].rsplit(maxsplit=1)[0]


def _attach_relevance(passage: Evidence, score: float) -> Evidence:
    signals = {**passage.hit.signals, "relevance": score}
    return replace(passage, hit=replace(passage.hit, signals=signals))
