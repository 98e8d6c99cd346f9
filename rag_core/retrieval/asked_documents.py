"""The document of a series that a question names: of annual reports that is the one with the company and the period.

The pages of such documents have the same words, year after year and company by company, and seldom a name; nor do the
rows of a statement have the words in which a stranger asks for its figures.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from rag_core.core.model import Hit, Ranking
from rag_core.core.rankings import LEG_SIGNALS, NAMED_SIGNAL, normalize_search_scores
from rag_core.retrieval.cross_encoding import STANDING_DEPTH
from rag_core.text.answer_types import asks_for_figure
from rag_core.text.figures import holds_figures
from rag_core.text.periods import compute_period_share, find_periods, remove_periods
from rag_core.text.terms import WORD_PATTERN, extract_terms

# of the distance between the first and the last of a search: docs/decisions/0130-figures-of-statements.md
DOCUMENT_BONUS = 0.8
FIGURES_BONUS = 0.3
OTHER_PERIOD_SHARE = 0.2  # of the bonus, for another period of the same company: a report has the years before as well
# of so many first hits, so many are passages of figures: of those that are judged (decision 137), and of those that an
# answer is made from, where a figure is asked for (decision 143)
JUDGED_HITS, JUDGED_FIGURES = 10, 5
ANSWERING_HITS, ANSWERING_FIGURES = 5, 4
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

SharesByDocument = Mapping[str, float]  # how far a question names a document, 0..1, by its id


def find_asked_documents(query_text: str, ranking: Ranking) -> SharesByDocument:
    """Return how far the question names each document found; empty where it names none of them.

    Only titles with a year or a period count, as reports have it. The share is that of the question's names, as far as
    any title has them, times how far the title is of the question's periods. A question without a period, whose names
    the title of another document has as well, names no report.
    """
    titles = {hit.chunk.document_id: hit.chunk.title for hit in ranking}
    terms = {id: of_title for id, title in titles.items() if (of_title := _extract_title_terms(title))}
    if not terms:
        return {}
    known = _extract_names(query_text) & frozenset().union(*terms.values())
    if not known or _is_of_others(query_text, known, [title for id, title in titles.items() if id not in terms]):
        return {}
    return {
        id: len(known & terms[id]) / len(known) * _weigh_period(query_text, title) if id in terms else 0.0
        for id, title in titles.items()
    }


def lift_asked_documents(query_text: str, ranking: Ranking, shares: SharesByDocument) -> list[Hit]:
    """Return the ranking with the hits moved up that are of documents which the question names.

    Where a figure is asked for, their passages of figures move up further. The bonus is added to the signal
    NAMED_SIGNAL, which counts as a part of what the search says.
    """
    if not shares:
        return list(ranking)
    found = ranking[:STANDING_DEPTH]
    bonuses = _compute_bonuses(query_text, found, shares)
    places = [-standing - bonus for standing, bonus in zip(_list_standings(found), bonuses, strict=True)]
    lifted = [_add_bonus(found[n], bonuses[n]) for n in sorted(range(len(found)), key=places.__getitem__)]
    return [*lifted, *ranking[STANDING_DEPTH:]]


def give_figures_room(
    ranking: Ranking, shares: SharesByDocument, *, within: int = JUDGED_HITS, room: int = JUDGED_FIGURES
) -> list[Hit]:
    """Return the ranking with `room` of its first `within` hits passages of figures, of the documents named most.

    Statements have few words, and prose about their subject hides them. The last of the other hits make room; without
    enough such passages less is moved, and nothing where the question names no document.
    """
    if not shares:
        return list(ranking)
    best = select_best_documents(shares)
    figures = (hit for hit in ranking if hit.chunk.document_id in best and holds_figures(hit.chunk.content))
    roomy = {hit.chunk.id for hit in islice(figures, room)}
    others = [hit.chunk.id for hit in ranking[:within] if hit.chunk.id not in roomy]
    kept = roomy | set(others[: within - len(roomy)])
    first = [hit for hit in ranking if hit.chunk.id in kept]
    return [*first, *(hit for hit in ranking if hit.chunk.id not in kept)]


def give_asked_figures_room(query_text: str, names_text: str, ranking: Ranking) -> list[Hit]:
    """Return the ranking with four of its first five hits passages of figures of the report that a question names.

    A cross-encoder takes rows of figures for worse than prose about them. Only a question for a figure is answered
    from rows; the report's name may stand in `names_text`, which has the question's context.
    """
    shares = find_asked_documents(names_text, ranking) if asks_for_figure(query_text) else {}
    return give_figures_room(ranking, shares, within=ANSWERING_HITS, room=ANSWERING_FIGURES)


def asks_for_reported_figure(query_text: str, names_text: str, ranking: Ranking) -> bool:
    """Return whether a question asks for a figure of a report among the hits that `names_text` names."""
    return asks_for_figure(query_text) and bool(find_asked_documents(names_text, ranking))


def select_best_documents(shares: SharesByDocument) -> Set[str]:
    """Return the ids of the documents that the question names most."""
    best = max(shares.values(), default=0.0)
    return {id for id, share in shares.items() if share == best}


@lru_cache(maxsize=1024)  # a title is that of many passages and of many questions
def _extract_title_terms(title: str) -> frozenset[str]:
    """Return the terms of a title with a year or a period; none of any other."""
    return extract_terms(title) if _YEAR.search(title) or find_periods(title) else frozenset()


def _extract_names(query_text: str) -> frozenset[str]:
    """Return the terms of the question's names: its first word, and words with a capital or a digit, such as "eBay".

    Of a question without a capital every word may be one.
    """
    asked = _YEAR.sub(" ", remove_periods(query_text))
    words: Sequence[str] = WORD_PATTERN.findall(asked)
    names = words if asked.islower() else [*words[:1], *(word for word in words if not word.islower())]
    return extract_terms(" ".join(names))


def _is_of_others(query_text: str, names: Set[str], titles: Sequence[str]) -> bool:
    """Return whether one of the titles without a period has all names of a question without one."""
    is_dated = _YEAR.search(query_text) or find_periods(query_text)
    return not is_dated and any(names <= extract_terms(title) for title in titles)


def _weigh_period(query_text: str, title: str) -> float:
    """Return 1 for a title of the question's periods, or of its year where it says no more, less for another one."""
    years = [] if find_periods(query_text) else _YEAR.findall(query_text)
    if years and not any(year in title for year in years):
        return OTHER_PERIOD_SHARE
    return OTHER_PERIOD_SHARE + (1 - OTHER_PERIOD_SHARE) * compute_period_share(query_text, title)


def _compute_bonuses(query_text: str, found: Ranking, shares: SharesByDocument) -> list[float]:
    figures_bonus = FIGURES_BONUS if asks_for_figure(query_text) else 0.0
    named = [shares[hit.chunk.document_id] for hit in found]
    return [
        DOCUMENT_BONUS * share + (figures_bonus if share and holds_figures(hit.chunk.content) else 0.0)
        for share, hit in zip(named, found, strict=True)
    ]


def _list_standings(found: Ranking) -> list[float]:
    """Return the normalized search scores; a hit of another wording, without one, stands as the hit before it does."""
    standings: list[float] = []
    for hit, score in zip(found, normalize_search_scores(found), strict=True):
        is_scored = not standings or any(leg in hit.signals for leg in LEG_SIGNALS)
        standings.append(score if is_scored else standings[-1])
    return standings


def _add_bonus(hit: Hit, bonus: float) -> Hit:
    return replace(hit, signals={**hit.signals, NAMED_SIGNAL: hit.signals.get(NAMED_SIGNAL, 0.0) + bonus})
