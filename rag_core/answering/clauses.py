"""Clauses of a claim and of the passage that is nearest to it: what is said of one thing is compared there alone.

"Illness is covered from day one, accidents are excluded" has every word of "accidents are covered from day one,
illness is excluded", and no fact that the other text lacks. Each part of the claim is compared with the part of the
passage that has most of its words.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from rag_core.answering.alignment import PARTICLES, SIMILAR, Alignment, is_content
from rag_core.answering.facts.comparison import compare_facts
from rag_core.answering.facts.conflicts import FactConflict, FactKind
from rag_core.answering.facts.polarity import may_be_complement
from rag_core.answering.facts.words import Words, has_figure, is_opposite, is_same_word
from rag_core.text.normalization import NormalizedWord, normalize_words, parse_word_forms
from rag_core.text.request_memory import remember_in_request
from rag_core.text.stop_words import parse_word_list

CLAUSE_SIGNS = ".,;:!?()\n—–|"
COORDINATORS = parse_word_list(
    "and or but while whereas although though because if unless when which who whose except yet nor"
)
KEPT_ALIGNMENTS, KEPT_CLAUSES = 16, 64  # of which the last comparisons are kept: each claim needs them several times
MAX_WINDOW_CLAUSES = 4  # of a passage that one clause of a claim may need
CLAUSE_COST = 0.35  # of each clause more, in aligned words
FACT_BONUS = 0.3  # for a fact of the claim that a window has: of two equally near ones the one that agrees is meant
# mean strength of a clause's other words from which a fact of this kind that differs there contradicts the claim
MIN_CLAUSE_STRENGTH: Mapping[FactKind, float] = {
    "number": 0.8,
    "unit": 0.8,
    "date": 0.75,
    "negation": 0.8,
    "direction": 0.75,
    "quantity": 0.75,
    "modality": 0.75,
}
MIN_CONFIRMING_STRENGTH = 0.5  # from which a clause confirms what differs between two whole texts
MIN_CLAUSE_WORDS = 2
MIN_NEGATED_WORDS = 3  # the same for a negation: "it is not in this mode" may stand for a mode that is off
AMOUNT_KINDS: frozenset[FactKind] = frozenset(["number", "unit", "date"])
BOUNDS = parse_word_forms("than morethan lessthan over above under below exceed exceeds exceeding")
RECORD_SIGNS = ",|;:\t"
LIMITS = frozenset(["atmost", "atleast", "upto"])
ANCHOR_WORDS = 3  # from an opposite to a word that both texts have
CONVERSES = parse_word_list(  # words for one event by its two sides
    "buy buys bought sell sells sold purchase purchased lend lent loan loans loaned borrow borrowed give gives given "
    "gave take takes taken took send sends sent receive receives received win won lose lost teach taught learn learned "
    "import imported export exported enter entered leave left come go"
)
# what another clause of the passage may have of its own
CLAUSE_BOUND_KINDS: frozenset[FactKind] = frozenset(["negation", "quantity", "modality"])


@dataclass(frozen=True, slots=True, eq=False)
class MatchedClause:
    """A clause of a claim, and the consecutive clauses of the passage that have most of its words.

    `strength` is the mean of its content words there, without those that the facts compare; `count` is their number,
    and `agreeing` that of its numbers and opposites that stand there. `start` and `end` are the passage's words,
    `places` the claim's.
    """

    claim: Words
    passage: Words
    strength: float
    count: int
    agreeing: int
    start: int
    end: int
    places: range

    def is_certain(self, kind: FactKind) -> bool:
        """Return whether the passage speaks of the same, so that another fact of this kind contradicts the claim."""
        least = MIN_NEGATED_WORDS if kind == "negation" else MIN_CLAUSE_WORDS
        return self.strength >= MIN_CLAUSE_STRENGTH.get(kind, 2.0) and self.count >= least


def select_confirmed(conflicts: Sequence[FactConflict], alignment: Alignment) -> list[FactConflict]:
    """Return what differs between two texts without what only another clause of the passage has.

    "Each member has one vote, and no member may hold more than 10%" does not deny that each member has one vote.
    """
    near = [clause for clause in match_clauses(alignment) if clause.strength >= MIN_CONFIRMING_STRENGTH]
    confirmed = {conflict.kind for clause in near for conflict in compare_clause(clause)}
    return [
        c
        for c in conflicts
        if (c.kind not in CLAUSE_BOUND_KINDS or c.kind in confirmed)
        and (c.kind != "direction" or _is_anchored(c, alignment.claim, alignment.passage))
    ]


def find_clause_conflicts(alignment: Alignment) -> list[FactConflict]:
    """Return the facts of a claim's clauses in whose place the same clauses of the passage have others.

    A number may be a sum of those of the whole passage. One that stands elsewhere in it is in the wrong place only if
    the claim has the other one as well, or no further number.
    """
    missing = {c.word for c in compare_facts(alignment.claim, alignment.passage) if c.stated}
    return [
        conflict
        for clause in match_clauses(alignment)
        for conflict in compare_clause(clause)
        if conflict.stated
        and clause.is_certain(conflict.kind)
        and (conflict.kind not in AMOUNT_KINDS or conflict.word in missing or _is_misplaced(conflict, alignment))
        and (conflict.kind not in AMOUNT_KINDS or not _is_bound(conflict, clause))
        and (conflict.kind != "direction" or _is_anchored(conflict, clause.claim, clause.passage))
        and not (conflict.kind == "negation" and _is_complement(conflict, clause, alignment))
    ]


def _is_complement(conflict: FactConflict, clause: MatchedClause, alignment: Alignment) -> bool:
    """Return whether a negation that only the claim's clause has may be said of what the passage leaves."""
    is_claimed = conflict.word in {word.raw for word in clause.claim}
    return is_claimed and may_be_complement(alignment.claim, alignment.passage)


def _is_misplaced(conflict: FactConflict, alignment: Alignment) -> bool:
    claimed = [word.form for word in alignment.claim if has_figure(word)]
    wanted, stated = ([word.form for word in normalize_words(text)] for text in (conflict.word, conflict.stated))
    known = {word.form for word in alignment.passage}
    return known.issuperset(wanted) and (set(claimed).issuperset(stated[:1]) or len(claimed) == 1)


def _is_bound(conflict: FactConflict, clause: MatchedClause) -> bool:
    """Return whether the passage has only a bound ("more than 21") where the claim has a value: 25 may be meant."""
    claimed, stated = (
        _find_forms_before(words, raw)
        for words, raw in ((clause.claim, conflict.word), (clause.passage, conflict.stated))
    )
    return bool(stated & BOUNDS) and not claimed & BOUNDS


def _find_forms_before(words: Words, raw: str) -> Set[str]:
    place = next((n for n, word in enumerate(words) if word.raw.strip() == raw.split(" ")[0]), 0)
    return {word.form for word in words[max(0, place - 2) : place]}


def _is_anchored(conflict: FactConflict, claim: Words, passage: Words) -> bool:
    """Return whether two opposites stand beside the same word, those that one event may both have before or after it.

    "Sold by A" and "bought from A" are one sale. Ways and limits have been compared with what they lead to.
    """
    if " " in conflict.word or conflict.word in LIMITS:
        return True
    reach = 1 if conflict.word.lower() in PARTICLES else ANCHOR_WORDS
    is_beside = [
        any(
            is_same_word(form, other)
            for form in _list_neighbours(claim, conflict.word, step)[:reach]
            for other in _list_neighbours(passage, conflict.stated, step)[:reach]
        )
        for step in (-1, 1)
    ]
    return any(is_beside) if conflict.word.lower() not in CONVERSES else is_beside[1]


def _list_neighbours(words: Words, raw: str, step: int) -> list[str]:
    """Return the forms of the content words that follow a word, or with a step of -1 precede it, the nearest first."""
    places = [n for n, word in enumerate(words) if word.raw == raw]
    beside = words[places[0] + 1 :] if places and step > 0 else words[: places[0]][::-1] if places else ()
    return [word.form for word in beside if is_content(word)][:ANCHOR_WORDS]


@remember_in_request(KEPT_CLAUSES)
def compare_clause(clause: MatchedClause) -> tuple[FactConflict, ...]:
    """Return the facts of a clause that what the passage says of the same does not have or contradicts."""
    return tuple(compare_facts(clause.claim, clause.passage))


@remember_in_request(KEPT_ALIGNMENTS)
def match_clauses(
    alignment: Alignment, *, max_clauses: int = MAX_WINDOW_CLAUSES, fact_bonus: float = FACT_BONUS
) -> tuple[MatchedClause, ...]:
    """Return each clause of an aligned claim with what the passage says of the same, in at most `max_clauses` clauses.

    They are of one record, where the passage lists several.
    """
    matched = []
    stated, records = split_clauses(alignment.passage), find_record_starts(alignment.passage)
    windows = [
        (stated[first][0], stated[last][1], CLAUSE_COST * (last - first))
        for first in range(len(stated))
        for last in range(first, min(len(stated), first + max_clauses))
        if not any(stated[first][0] < start < stated[last][1] for start in records)
    ]
    compared = {n for n in alignment.strengths if _is_compared_as_fact(alignment, n)}
    for claimed in split_clauses(alignment.claim):
        rated = [(_match_window(alignment, claimed, (start, end), compared), cost) for start, end, cost in windows]
        if rated:
            matched.append(max(rated, key=lambda pair: _rate(pair[0], pair[1], fact_bonus))[0])
    return tuple(matched)


def _rate(match: MatchedClause, cost: float, fact_bonus: float) -> float:
    return match.strength * match.count + fact_bonus * match.agreeing - cost


def find_record_starts(words: Words) -> list[int]:
    """Return where the lines of a list of codes begin ("P0087,GENERIC,… P0088,GENERIC,…"); none of a single line."""
    starts = [
        n
        for n, word in enumerate(words[:-1])
        if _is_code(word) and any(sign in words[n + 1].before for sign in RECORD_SIGNS)
    ]
    return starts if len(starts) > 1 and starts[0] == 0 else []


def _is_code(word: NormalizedWord) -> bool:
    return has_figure(word) and any(map(str.isalpha, word.form))


def split_clauses(words: Words) -> list[tuple[int, int]]:
    """Return the first and last index, this excluded, of each clause; they begin at signs and at conjunctions."""
    starts = [
        n
        for n, word in enumerate(words)
        if n == 0 or any(sign in word.before for sign in CLAUSE_SIGNS) or _is_coordinator(words, n)
    ]
    ranges = pairwise([*starts, len(words)])
    return [(start, end) for start, end in ranges if any(map(is_content, words[start:end]))]


def _is_coordinator(words: Words, n: int) -> bool:
    """Return whether a word joins two clauses, and not two numbers as in "between 2010 and 2020"."""
    joins_numbers = 0 < n < len(words) - 1 and has_figure(words[n - 1]) and has_figure(words[n + 1])
    return words[n].raw.lower() in COORDINATORS and not joins_numbers


def _is_compared_as_fact(alignment: Alignment, n: int) -> bool:
    word = alignment.claim[n]
    return has_figure(word) or any(is_opposite(word, other) for other in alignment.passage)


def _match_window(
    alignment: Alignment, claimed: tuple[int, int], stated: tuple[int, int], facts: Set[int]
) -> MatchedClause:
    content = [n for n in range(*claimed) if n in alignment.strengths]
    strengths = {n: max(alignment.matrix[n][slice(*stated)], default=0.0) for n in content}
    others = [value if (value := strengths[n]) >= SIMILAR else 0.0 for n in content if n not in facts]
    return MatchedClause(
        alignment.claim[slice(*claimed)],
        alignment.passage[slice(*stated)],
        sum(others) / max(1, len(others)),
        len(others),
        sum(strengths[n] == 1 for n in content if n in facts),
        *stated,
        range(*claimed),
    )
