"""Extractive answers: sentences of the documents, chosen by a cross-encoder or by terms shared with the question."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_core.core.ports import Reranker
from rag_core.text.sentences import sentences
from rag_core.text.terms import WORD, terms

ITEM = re.compile(r"(?:[-*•▪◦●|]|\d{1,2}[.)]|\(?[a-z]\)|[^\n|]{1,80}[ \t]\|)\s")
ENDED = re.compile(r"[.!?:;][\"'”’)\]]*$")
VALUE = re.compile(r"(?:[^\W\d_]\S*+\s++){2}.*\d", re.DOTALL)  # a title starts with its number, or is shorter
LEANING = re.compile(  # words that refer to the sentence before
    r"(?:This|These|Those|That|It|They|Its|Their|Such|He|She|Both|Either|However|Therefore|Thus|Otherwise|Instead|"
    r"For (?:example|instance))\b"
)
REDACTED = re.compile(r"\[[A-Z_]+\]")  # of a redacted question: it stands in no passage
TITLE_CHARS = 70

SENTENCES = 4  # the sentences that these depend on come besides
ITEMS = 8  # of a list whose lead-in is chosen
LATER = 3.0  # log odds that a sentence loses for each passage before its own: passages are given best first
NEAR = 4.0  # a sentence with lower log odds than the best one's minus this is left out
KNOWN = 0.3  # the least score times coverage of the question for an answer; below, a refusal (docs/answers.md)

Passage = Mapping[str, object]  # with "id", "title", "section" and "text", as in the prompt of an answer


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence or list item of a passage (`passage_index` counts from 0), with its line breaks as spaces."""

    passage: int
    text: str


async def answer(question: str, passages: Sequence[Passage], reranker: Reranker) -> list[tuple[str, str]]:
    """Choose the sentences that answer the question, by cross-encoder, each with the id of its passage.

    They are in reading order; none when the passages do not answer the question.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    candidates = _quotes(passages)
    titles = [" > ".join(filter(None, (str(p["title"]), str(p["section"])))) for p in passages]
    scores = await reranker.scores(question, [f"{titles[c.passage]}: {c.text}" for c in candidates])
    return _answer(question, passages, candidates, scores)


def answer_by_words(question: str, passages: Sequence[Passage]) -> list[tuple[str, str]]:
    """Choose the sentences that share most terms with the question, each with the id of its passage, in reading order.

    A sentence's score is the share of the question's terms that it has; none when the passages do not answer.
    """
    query_terms, candidates = terms(question), _quotes(passages)
    scores = [len(query_terms & terms(candidate.text)) / max(1, len(query_terms)) for candidate in candidates]
    return _answer(question, passages, candidates, scores)


def _answer(
    query_text: str, passages: Sequence[Passage], candidates: Sequence[Quote], scores: Sequence[float]
) -> list[tuple[str, str]]:
    if _known(query_text, passages, candidates, scores) < KNOWN:
        return []
    odds = [log_odds(score) - LATER * candidate.passage for score, candidate in zip(scores, candidates, strict=True)]
    near_best = [n for n, value in enumerate(odds) if value >= max(odds) - NEAR]
    chosen = _distinct(sorted(near_best, key=lambda n: -odds[n]), candidates)[:SENTENCES]
    passage_order = list(dict.fromkeys(candidates[n].passage for n in chosen))
    included = {part for n in chosen for part in _whole(n, candidates)}
    ordered = sorted(included, key=lambda n: (passage_order.index(candidates[n].passage), n))
    return [(candidates[n].text, str(passages[candidates[n].passage]["id"])) for n in ordered]


def _known(query_text: str, passages: Sequence[Passage], candidates: Sequence[Quote], scores: Sequence[float]) -> float:
    """Return the highest product, over the candidates, of a score and its passage's coverage of the question, 0..1."""
    text = REDACTED.sub(" ", query_text)
    coverages = [_held(text, passage) for passage in passages]
    products = (score * coverages[candidate.passage] for candidate, score in zip(candidates, scores, strict=True))
    return max(products, default=0.0)


def _held(query_text: str, passage: Passage) -> float:
    """Return the share of the question's terms that a passage has, times the share of its names and numbers."""
    passage_terms = terms(f"{passage['title']} {passage['section']} {passage['text']}")
    return _share(terms(query_text), passage_terms) * _share(_names(query_text), passage_terms)


def _names(query_text: str) -> frozenset[str]:
    """Return the terms of the words with a digit, or with a capital that does not begin the question."""
    words = WORD.findall(query_text)
    names = [word for n, word in enumerate(words) if (n and word[0].isupper()) or any(map(str.isdigit, word))]
    return terms(" ".join(names))


def _share(query_terms: frozenset[str], text_terms: frozenset[str]) -> float:
    return len(query_terms & text_terms) / len(query_terms) if query_terms else 1.0


def log_odds(score: float) -> float:
    """Convert a score of 0..1 to log odds, the logit of the model, in which two scores near 1 stay apart."""
    clipped = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(clipped / (1 - clipped))


def _distinct(ranked: Sequence[int], candidates: Sequence[Quote]) -> list[int]:
    """Drop the sentences whose terms are a subset or superset of a better one's."""
    kept: list[tuple[frozenset[str], int]] = []
    for n in ranked:
        sentence_terms = terms(candidates[n].text)
        if not any(sentence_terms <= better or sentence_terms >= better for better, _ in kept):
            kept.append((sentence_terms, n))
    return [n for _, n in kept]


def _whole(n: int, candidates: Sequence[Quote]) -> list[int]:
    """Return the index of a sentence with those it is read with.

    An item is read with its lead-in, a lead-in with its items, a sentence such as "It is …" with the one before it.
    """
    if ITEM.match(candidates[n].text):
        return [*_lead_in(n, candidates), n]
    if candidates[n].text.endswith(":"):
        return [n, *_items(n, candidates)]
    if LEANING.match(candidates[n].text) and _follows(n, candidates):
        return [n - 1, n]
    return [n]


def _follows(n: int, candidates: Sequence[Quote]) -> bool:
    return n > 0 and candidates[n - 1].passage == candidates[n].passage


def _lead_in(n: int, candidates: Sequence[Quote]) -> list[int]:
    while ITEM.match(candidates[n].text) and _follows(n, candidates):
        n -= 1
    is_lead_in = candidates[n].text.endswith(":") and " " in candidates[n].text  # "Tips:" adds nothing
    return [n] if is_lead_in else []


def _items(n: int, candidates: Sequence[Quote]) -> list[int]:
    end = n + 1
    while end < len(candidates) and end - n <= ITEMS and ITEM.match(candidates[end].text) and _follows(end, candidates):
        end += 1
    return list(range(n + 1, end))


def _quotes(passages: Sequence[Passage]) -> list[Quote]:
    parts = [(n, part) for n, passage in enumerate(passages) for part in _parts(str(passage["text"]))]
    return [Quote(n, " ".join(part.split())) for n, part in parts]


def _parts(text: str) -> list[str]:
    """Split a text into its sentences and list items; one that has none, such as a table row, stays whole."""
    parts = [part for start, end in sentences(text) if _is_said(part := _untitled(text[start:end]))]
    return parts or [text]


def _untitled(sentence: str) -> str:
    """Remove the titles on lines of their own above a sentence.

    A title is a short line without an end mark that leaves room for the next word, which starts with a capital.
    """
    lines = sentence.split("\n")
    width = max(map(len, lines))
    for line, below in pairwise(sentence.split("\n")):
        wrapped = len(line) + len(below.split(" ")[0]) >= width
        if wrapped or len(line) > TITLE_CHARS or ENDED.search(line) or not below[:1].isupper():
            break
        lines.pop(0)
    return "\n".join(lines)


def _is_said(part: str) -> bool:
    """Return whether a part is a sentence, an item or a value with its subject, not a title or a cut-off rest."""
    return bool(ITEM.match(part) or ((ENDED.search(part) or VALUE.match(part)) and not part[:1].islower()))
