"""The second document of a question that needs two: the best passages name it, and the question cannot.

"What treats the disease in which the substantia nigra degenerates?" finds the passage that names Parkinson's disease; a
passage of the document on that disease shares little else with the question.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rag_core.core.model import Hit, Ranking
from rag_core.core.rankings import NAMED_SIGNAL
from rag_core.retrieval.cross_encoding import STANDING_DEPTH, compute_standings
from rag_core.text.terms import WORD_PATTERN

NAMING_PASSAGES = 2  # the best ones, in whose text titles are looked for
# of the distance between the first and the last of a search: docs/decisions/0077-documents-named-in-passages.md
MAX_BONUS = 0.15
MIN_TITLE_CHARS = 4  # of a title or a part of it: shorter ones stand in texts by chance
# what joins a title's parts, each of which may name the document: "Chapter - Section", "Name: an overview"
_PARTS = re.compile(r"\s[-–—|]\s|:\s")
_AFTERTHOUGHT = re.compile(r"\([^()]*\)")  # as in "Victoria (Australia)"
_ARTICLES = ("the ", "a ", "an ")


def lift_named_documents(query_text: str, ranking: Ranking) -> list[Hit]:
    """Return the ranking with those hits moved up whose document's title is named in the best passages of others.

    The signal NAMED_SIGNAL is added to what the search says of such a hit. It is MAX_BONUS for a name that one of the
    passages found has and one title; less the more of either have it, as it then tells less; and nothing for a name
    that stands in the question. It takes no hit past the passage that names it.
    """
    found = ranking[:STANDING_DEPTH]
    standings = compute_standings(found)
    bonuses = _compute_bonuses(query_text, found, standings)
    if not bonuses:
        return list(ranking)
    places = [_find_place(n, found, standings, bonuses.get(hit.chunk.id, 0.0)) for n, hit in enumerate(found)]
    marked = [_add_bonus(hit, bonuses.get(hit.chunk.id, 0.0)) for hit in found]
    return [*(marked[n] for n in sorted(range(len(marked)), key=places.__getitem__)), *ranking[len(found) :]]


def _find_place(number: int, found: Ranking, standings: Mapping[str, float], bonus: float) -> tuple[int, int]:
    """Return where a hit stands after the bonus: before the hits above it that it now is ahead of."""
    own = standings[found[number].chunk.id]
    passed = sum(own <= standings[hit.chunk.id] < own + bonus for hit in found[:number]) if bonus else 0
    return number - passed, 0 if passed else 1


def _add_bonus(hit: Hit, bonus: float) -> Hit:
    return replace(hit, signals={**hit.signals, NAMED_SIGNAL: bonus}) if bonus else hit


def _compute_bonuses(query_text: str, found: Ranking, standings: Mapping[str, float]) -> dict[str, float]:
    """Return the bonus of each hit that has one, by chunk id."""
    weights = _weigh_names(query_text, found)
    bonuses: dict[str, float] = {}
    for naming in found[:NAMING_PASSAGES] if weights else ():
        text, own_names = _join_words(naming.chunk.content), _list_names(naming.chunk.title)
        for hit in found:
            names = [n for n in _list_names(hit.chunk.title) if n in weights and n in text and n not in own_names]
            room = standings[naming.chunk.id] - standings[hit.chunk.id]
            bonus = min(MAX_BONUS * max((weights[name] for name in names), default=0.0), room)
            if bonus > bonuses.get(hit.chunk.id, 0.0):
                bonuses[hit.chunk.id] = bonus
    return bonuses


def _weigh_names(query_text: str, found: Ranking) -> dict[str, float]:
    """Return the weight, 0..1, of each name that is not in the question and that the best passages have."""
    if len({hit.chunk.document_id for hit in found}) == 1:
        return {}
    titles = {hit.chunk.document_id: _list_names(hit.chunk.title) for hit in found}
    best_contents = [hit.chunk.content.casefold() for hit in found[:NAMING_PASSAGES]]
    possible = {n for of in titles.values() for n in of if any(_has_words(n, content) for content in best_contents)}
    if not possible:
        return {}
    asked, best = _join_words(query_text), list(map(_join_words, best_contents))
    names = {n for n in possible if n not in asked and any(n in text for text in best)}
    if not names:
        return {}
    texts = [_join_words(hit.chunk.content) for hit in found]
    in_texts, in_titles = _compute_rarities(names, texts), _compute_rarities(names, list(map("".join, titles.values())))
    return {name: in_texts[name] * in_titles[name] for name in names}


def _has_words(name: str, content: str) -> bool:
    """Return whether each word of a name stands in the case-folded content, as it must where the name does."""
    return all(word in content for word in name.split())


def _compute_rarities(names: set[str], texts: Sequence[str]) -> dict[str, float]:
    """Return for each name from 1, in one text only, to 0, in all of them: inverse document frequency."""
    return {name: 1 - math.log(sum(name in text for text in texts)) / math.log(len(texts)) for name in names}


@lru_cache(maxsize=1024)  # a title is that of many passages and of many questions
def _list_names(title: str) -> tuple[str, ...]:
    """Return the whole title and its parts, without articles and what stands in brackets."""
    names = []
    for part in dict.fromkeys([title, *_PARTS.split(title)]):
        name = _join_words(_AFTERTHOUGHT.sub("", part))
        article = next((article for article in _ARTICLES if name[1:].startswith(article)), "")
        if len(name) - len(article) - 2 >= MIN_TITLE_CHARS:
            names.append(name[len(article) :])
    return tuple(names)


def _join_words(text: str) -> str:
    """Return the case-folded words with a space before and after each, so that whole words are found in it."""
    return f" {' '.join(WORD_PATTERN.findall(text.casefold()))} "
