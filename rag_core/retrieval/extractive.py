"""Answers made of the documents' own sentences: chosen by a ranker, or by the words they share with the question."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_core.core.ports import Reranker
from rag_core.text.sentences import sentences
from rag_core.text.terms import WORD, terms

ITEM = re.compile(r"(?:[-*•▪◦●|]|\d{1,2}[.)]|\(?[a-z]\)|[^\n|]{1,80}[ \t]\|)\s")  # of a list, or a row of a table
ENDED = re.compile(r"[.!?:;][\"'”’)\]]*$")
VALUE = re.compile(r"(?:[^\W\d_]\S*+\s++){2}.*\d", re.DOTALL)  # a title has its number before it, or is shorter
LEANING = re.compile(  # on the sentence before it
    r"(?:This|These|Those|That|It|They|Its|Their|Such|He|She|Both|Either|However|Therefore|Thus|Otherwise|Instead|"
    r"For (?:example|instance))\b"
)
REDACTED = re.compile(r"\[[A-Z_]+\]")  # no passage has the name that was taken out of a question
TITLE_CHARS = 70

SENTENCES = 4  # of the best; those they are read with come besides
ITEMS = 8  # of a list whose lead-in is chosen
LATER = 3.0  # log odds that a sentence loses for each passage before its own: the passages come best first
NEAR = 4.0  # log odds behind the best sentence from which another is left out
KNOWN = 0.3  # a passage's best score times what it has of the question: below, it is "don't know" (docs/answers.md)

Passage = Mapping[str, object]  # as a prompt for an answer gives it: "id", "title", "section", "text"


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence or list item of the passage of this number, as it stands but for line breaks."""

    passage: int
    text: str


async def answer(question: str, passages: Sequence[Passage], reranker: Reranker) -> list[tuple[str, str]]:
    """The sentences that answer the question, each with the id of its passage, in reading order; none: it is not there.

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    quotes = _quotes(passages)
    titles = [" > ".join(filter(None, (str(p["title"]), str(p["section"])))) for p in passages]
    scores = await reranker.scores(question, [f"{titles[quote.passage]}: {quote.text}" for quote in quotes])
    return _answer(question, passages, quotes, scores)


def answer_by_words(question: str, passages: Sequence[Passage]) -> list[tuple[str, str]]:
    """The same without a ranker: a sentence scores the share of the question's terms that it has."""
    wanted, quotes = terms(question), _quotes(passages)
    scores = [len(wanted & terms(quote.text)) / max(1, len(wanted)) for quote in quotes]
    return _answer(question, passages, quotes, scores)


def _answer(
    question: str, passages: Sequence[Passage], quotes: Sequence[Quote], scores: Sequence[float]
) -> list[tuple[str, str]]:
    if _known(question, passages, quotes, scores) < KNOWN:
        return []
    odds = [log_odds(score) - LATER * quote.passage for score, quote in zip(scores, quotes, strict=True)]
    ranked = sorted((n for n, own in enumerate(odds) if own >= max(odds) - NEAR), key=lambda n: -odds[n])
    chosen = _distinct(ranked, quotes)[:SENTENCES]
    order = list(dict.fromkeys(quotes[n].passage for n in chosen))
    read = {part for n in chosen for part in _whole(n, quotes)}
    found = [quotes[n] for n in sorted(read, key=lambda n: (order.index(quotes[n].passage), n))]
    return [(quote.text, str(passages[quote.passage]["id"])) for quote in found]


def _known(question: str, passages: Sequence[Passage], quotes: Sequence[Quote], scores: Sequence[float]) -> float:
    """The most that a passage says to the question: its best score times what it has of the question's terms."""
    asked = REDACTED.sub(" ", question)
    held = [_held(asked, passage) for passage in passages]
    return max((score * held[quote.passage] for quote, score in zip(quotes, scores, strict=True)), default=0.0)


def _held(question: str, passage: Passage) -> float:
    """The share of the question's terms that a passage has, times that of its names and numbers."""
    text = terms(f"{passage['title']} {passage['section']} {passage['text']}")
    return _share(terms(question), text) * _share(_names(question), text)


def _names(question: str) -> frozenset[str]:
    """The terms of words with a figure, or with a capital that does not begin the question."""
    words = WORD.findall(question)
    marked = [word for n, word in enumerate(words) if (n and word[0].isupper()) or any(map(str.isdigit, word))]
    return terms(" ".join(marked))


def _share(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 1.0


def log_odds(score: float) -> float:
    """Of a score of 0..1: what a ranker's score was before it was squeezed, so that two near 1 can be told apart."""
    certain = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(certain / (1 - certain))


def _distinct(ranked: Sequence[int], quotes: Sequence[Quote]) -> list[int]:
    """Without those that say no more, or no less, than a better one."""
    kept: list[tuple[frozenset[str], int]] = []
    for n in ranked:
        mine = terms(quotes[n].text)
        if not any(mine <= better or mine >= better for better, _ in kept):
            kept.append((mine, n))
    return [n for _, n in kept]


def _whole(n: int, quotes: Sequence[Quote]) -> list[int]:
    """A quote with those that it is read with: an item's lead-in, a lead-in's items, the sentence that one leans on."""
    if ITEM.match(quotes[n].text):
        return [*_lead_in(n, quotes), n]
    if quotes[n].text.endswith(":"):
        return [n, *_items(n, quotes)]
    if LEANING.match(quotes[n].text) and _follows(n, quotes):
        return [n - 1, n]
    return [n]


def _follows(n: int, quotes: Sequence[Quote]) -> bool:
    return n > 0 and quotes[n - 1].passage == quotes[n].passage


def _lead_in(n: int, quotes: Sequence[Quote]) -> list[int]:
    while ITEM.match(quotes[n].text) and _follows(n, quotes):
        n -= 1
    said = quotes[n].text.endswith(":") and " " in quotes[n].text  # "Tips:" says nothing
    return [n] if said else []


def _items(n: int, quotes: Sequence[Quote]) -> list[int]:
    end = n + 1
    while end < len(quotes) and end - n <= ITEMS and ITEM.match(quotes[end].text) and _follows(end, quotes):
        end += 1
    return list(range(n + 1, end))


def _quotes(passages: Sequence[Passage]) -> list[Quote]:
    parts = [(n, part) for n, passage in enumerate(passages) for part in _parts(str(passage["text"]))]
    return [Quote(n, " ".join(part.split())) for n, part in parts]


def _parts(text: str) -> list[str]:
    """The sentences and list items of a text; all of one that has none, as a row of a table."""
    found = [part for start, end in sentences(text) if _is_said(part := _untitled(text[start:end]))]
    return found or [text]


def _untitled(sentence: str) -> str:
    """Without the titles on lines of their own above it: short ones after which the next word would have fitted."""
    lines = sentence.split("\n")
    width = max(map(len, lines))
    for line, below in pairwise(sentence.split("\n")):
        wrapped = len(line) + len(below.split(" ")[0]) >= width
        if wrapped or len(line) > TITLE_CHARS or ENDED.search(line) or not below[:1].isupper():
            break
        lines.pop(0)
    return "\n".join(lines)


def _is_said(part: str) -> bool:
    """A sentence, an item, or a value with what it is of, rather than a title or the rest of a cut sentence."""
    return bool(ITEM.match(part) or ((ENDED.search(part) or VALUE.match(part)) and not part[:1].islower()))
