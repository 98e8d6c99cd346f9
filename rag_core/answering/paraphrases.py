"""A check that an aligned claim is a light paraphrase of a passage: what it says more, less or otherwise, as reasons.

A claim whose content words are all aligned says the same as the passage unless something of this differs in the
clauses that say the same. An exchange of two parts ("A rejects B" for "B rejects A") is a contradiction; every other
difference may be harmless.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations

from rag_core.answering.alignment import Alignment, Block, is_content
from rag_core.answering.clauses import (
    KEPT_ALIGNMENTS,
    MatchedClause,
    compare_clause,
    find_record_starts,
    match_clauses,
    split_clauses,
)
from rag_core.answering.facts.amount_reading import is_amount
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.words import Words, has_figure, is_opposite
from rag_core.text.normalization import NormalizedWord, parse_word_forms
from rag_core.text.oppositions import MODAL_BY_FORM, NEGATION_FORMS
from rag_core.text.request_memory import remember_in_request
from rag_core.text.stop_words import parse_word_list

MAX_MOVED_BLOCKS = 1  # "at night the pump runs" for "the pump runs at night" moves one
MAX_EXCHANGED_WORDS = 4  # of a part that changed its place with another
MIN_CLAUSE_STRENGTH = 0.75  # mean strength of the words of a clause, which the passage may have in another place
REACH = 3  # words beside a block in which a pronoun stands for its subject, or another is said to speak
_CONDITIONS = parse_word_list(
    "if unless except excepting only solely until provided providing assuming according allegedly supposedly "
    "reportedly apparently possibly perhaps probably almost nearly subject than without instead"
)
_REPORTING = parse_word_list(  # what follows these, or stands before them, is somebody's words, or asked for
    "argue argues argued believe believes believed say says said claim claims claimed deny denies denied think thinks "
    "thought suggest suggests suggested reply replies replied answer answers repeat repeats write writes state states "
    "stated tell tells told allege alleges alleged"
)
_CONDITIONAL_STARTS = parse_word_list("if unless except provided until but only")  # of a clause beside the same one
_ABSOLUTES = parse_word_list(
    "all every each both always never only most mostly any entire whole everyone everybody solely exclusively alone"
)
_EVERY = parse_word_list("all every each")
_TIME_UNIT_FORMS = parse_word_forms("second minute hour day week month quarter year decade")  # every year is yearly
_LIMIT_FORMS = parse_word_forms("above over exceed exceeds exceeding morethan under below lessthan")  # higher than
_THAN_FORMS = parse_word_forms("than morethan lessthan")
_COMPARATIVE_FORMS = _LIMIT_FORMS | _THAN_FORMS | parse_word_forms("more less fewer most least upto beyond")
_BE_FORMS = parse_word_list("is are was were be been being")
_COORDINATORS = parse_word_list("and but or while whereas")
_PRONOUNS = parse_word_list("it they he she this these those")
_PREPOSITIONS = parse_word_list(
    "on in at during throughout from by for under before after within until since to of with as between per over "
    "through because if when while although though"
)
_FREE_PREPOSITIONS = parse_word_list("on in at during with within from for as")
_LIGHT_VERBS = parse_word_list(
    "make makes made take takes took taken give gives gave given have has had place places placed put puts provide "
    "provides provided conduct conducts conducted perform performs performed carry carries carried do does did"
)
_CLAUSE_SIGNS = ".,;:!?()\n—–"


def find_differences(alignment: Alignment) -> Iterator[str]:
    """Yield, as "kind: word", what keeps an aligned claim from being a light paraphrase of its passage."""
    clauses = match_clauses(alignment)
    places = sorted({n for clause in clauses for n in _select_places(alignment, clause)})
    stated = [alignment.passage[n] for n in places]
    yield from (f"clause: {clause.claim[0].raw}" for clause in clauses if _is_weak(clause))
    yield from _find_conditions(alignment, places)
    yield from _find_absolutes(alignment.claim, stated)
    if not any(_is_comparative(word) for word in stated):
        yield from (f"comparison: {word.raw}" for word in alignment.claim if word.form in _THAN_FORMS)
    forms = {word.form for word in alignment.claim}
    yield from (f"number: {word.raw}" for word in stated if word.form not in forms and has_figure(word))
    if _list_strengths(alignment.claim) != _list_strengths(stated):
        yield "modality: other"
    if _count_negations(alignment.claim) % 2 != _count_negations(stated) % 2:
        yield "negation: other"
    yield from (f"direction: {word}" for word in _find_opposites(alignment))
    yield from (c.reason for clause in clauses for c in compare_clause(clause) if _is_other(c))
    yield from _find_ambiguities(alignment, clauses)
    yield from (f"left out: {word}" for word in _find_omitted_subjects(alignment))
    if not all(_keeps_order(alignment, clause) for clause in clauses):
        yield "order: other"


def _find_ambiguities(alignment: Alignment, clauses: Sequence[MatchedClause]) -> Iterator[str]:
    """Yield what differs in the one clause with most of the same words, though another clause has it.

    "Illness is covered from day one" has a clause on illness and one on what is covered from day one. Two records of a
    list are two such clauses.
    """
    for clause in _match_single_clauses(alignment):
        if clause.strength >= MIN_CLAUSE_STRENGTH and clause.count:
            yield from (
                f"elsewhere: {conflict.word}"
                for conflict in compare_clause(clause)
                if conflict.stated and conflict.kind in ("direction", "number", "unit", "date")
            )
    records = find_record_starts(alignment.passage)
    if len({bisect_right(records, clause.start) for clause in clauses}) > 1:
        yield "record: other"


def _is_comparative(word: NormalizedWord) -> bool:
    return word.form in _COMPARATIVE_FORMS or word.raw.lower().endswith(("er", "ier"))


def _is_weak(clause: MatchedClause) -> bool:
    return clause.count > 0 and clause.strength < MIN_CLAUSE_STRENGTH


def _is_other(conflict: FactConflict) -> bool:
    """Return whether a fact certainly differs; the order of words is compared by blocks, and modal verbs as a whole."""
    return bool(conflict.stated) and conflict.kind not in ("order", "modality")


def _select_places(alignment: Alignment, clause: MatchedClause) -> Iterator[int]:
    """Yield the words of what a passage says of the same, without parentheses that have no word of the clause."""
    for start, end in split_clauses(alignment.passage):
        if clause.start <= start < clause.end and any(
            max(alignment.matrix[n][start:end], default=0.0) >= MIN_CLAUSE_STRENGTH
            for n in clause.places
            if n in alignment.strengths
        ):
            yield from range(start, end)


def _find_conditions(alignment: Alignment, places: Sequence[int]) -> Iterator[str]:
    """Yield the conditions in the clauses that say the same, and those that begin the clause beside these."""
    claimed = _lower(alignment.claim)
    has_limit = any(word.form in _LIMIT_FORMS for word in alignment.claim)
    for n in places:
        word = alignment.passage[n].raw.lower()
        if word in _CONDITIONS and word not in claimed and not (word == "than" and has_limit):
            yield f"condition: {word}"
    beside = _list_words_beside(alignment.passage, places)
    yield from (f"condition: {word}" for word in beside if word in _REPORTING and word not in claimed)
    for start, end in split_clauses(alignment.passage):
        word = alignment.passage[start].raw.lower()
        follows = start - 1 in places and not any(sign in alignment.passage[start].before for sign in ".;")
        precedes = end in places and "," in alignment.passage[end].before and word != "but"
        if start not in places and word in _CONDITIONAL_STARTS and word not in claimed and (follows or precedes):
            yield f"condition: {word}"


def _list_words_beside(passage: Words, places: Sequence[int]) -> list[str]:
    """Return the words of some places, and the REACH words before and after each of their runs in the same sentence."""
    reached = set(places)
    for step in (-1, 1):
        for place in places:
            for n in range(place, place + (REACH + 1) * step, step):
                if not 0 <= n < len(passage) or (n != place and "." in passage[max(n, n - step)].before):
                    break
                reached.add(n)
    return _lower([passage[n] for n in sorted(reached)])


def _find_absolutes(claim: Words, stated: Words) -> Iterator[str]:
    """Yield the words of a claim for "all" and "only" that the passage has none of; "each year" is yearly."""
    claimed, known = _lower(claim), _lower(stated)
    for n, word in enumerate(claimed):
        after = claim[n + 1] if n + 1 < len(claim) else None
        is_harmless = (
            (word == "any" and _count_negations(claim) > 0)
            or (word == "both" and "and" in claimed[n:])
            or (word == "each" and (after is None or any(sign in after.before for sign in _CLAUSE_SIGNS)))
            or (word in _EVERY and after is not None and after.form in _TIME_UNIT_FORMS)
            or (word in _EVERY and not _EVERY.isdisjoint(known))
        )
        if word in _ABSOLUTES and word not in known and not is_harmless:
            yield f"quantity: {word}"


def _keeps_order(alignment: Alignment, clause: MatchedClause) -> bool:
    """Return whether the parts of a clause stand as in the passage, but for those that a preposition leads.

    In the other voice they all change places.
    """
    blocks = [block for block in alignment.blocks if block[0][0] in clause.places]
    order = [block[0][1] for block in blocks]
    kept = _find_increasing(order)
    if len(order) - len(kept) <= MAX_MOVED_BLOCKS:
        return True
    claimed = any(_is_passive(alignment.claim, n) for n in clause.places if n in alignment.strengths)
    stated = any(_is_passive(alignment.passage, n) for n in range(clause.start, clause.end))
    return claimed != stated or all(
        _is_led_by_preposition(alignment, block) for n, block in enumerate(blocks) if n not in kept
    )


def _is_free_to_move(alignment: Alignment, block: Block) -> bool:
    """Return whether a part may stand anywhere: a number, or one as in "on a cargo bike you wear a helmet"."""
    index, place = block[0]
    before = [*alignment.claim[max(0, index - 1) : index], *alignment.passage[max(0, place - 1) : place]]
    has_number = any(is_amount(alignment.claim[index].form) for index, _ in block)
    return has_number or not _FREE_PREPOSITIONS.isdisjoint(_lower(before))


def _is_led_by_preposition(alignment: Alignment, block: Block) -> bool:
    index, place = block[0]
    claimed, stated = alignment.claim[max(0, index - 1) : index + 1], alignment.passage[max(0, place - 1) : place + 1]
    return not _PREPOSITIONS.isdisjoint(_lower([*claimed, *stated]))


def _find_increasing(order: Sequence[int]) -> Sequence[int]:
    """Return the indices of a longest increasing part of some numbers."""
    chains: list[tuple[int, ...]] = []
    for n, number in enumerate(order):
        before = max((chain for chain in chains if order[chain[-1]] < number), key=len, default=())
        chains.append((*before, n))
    return max(chains, key=len, default=())


@remember_in_request(KEPT_ALIGNMENTS)
def find_exchange(alignment: Alignment) -> FactConflict | None:
    """Return two parts of a claim that have changed places, around a third or between two clauses; None for none.

    In another voice the parts around a third rightly change places. It is open of one that may stand anywhere.
    """
    order = alignment.order
    for n in range(len(order) - 2):
        first, middle, last = alignment.blocks[n : n + 3]
        others = order[:n] + order[n + 3 :]
        is_reversed = order[n] == order[n + 1] + 1 == order[n + 2] + 2
        is_short = max(len(first), len(last)) <= MAX_EXCHANGED_WORDS
        is_same = all(
            alignment.matrix[index][place] == 1 for index, place in (*first, *last) if index in alignment.strengths
        )
        if is_reversed and is_short and is_same and others == sorted(others) and _has_same_voice(alignment, middle):
            words = [" ".join(alignment.claim[index].raw for index, _ in block) for block in (first, last)]
            is_free = any(_is_free_to_move(alignment, block) for block in (first, last))
            return FactConflict("order", words[0], "" if is_free else words[1])
    return next(_find_exchanges_of_clauses(alignment), None)


def _find_exchanges_of_clauses(alignment: Alignment) -> Iterator[FactConflict]:
    """Yield two words of a claim of which each stands in the passage where the clause of the other has its place.

    So are those who do things in "the operator replaces the seal, the technician cleans the filter".
    """
    for one, other in combinations(_match_single_clauses(alignment), 2):
        words = next(_find_words_of(alignment, one, other), None), next(_find_words_of(alignment, other, one), None)
        if words[0] and words[1]:
            yield FactConflict("order", words[0], words[1])


def _match_single_clauses(alignment: Alignment) -> Sequence[MatchedClause]:
    return match_clauses(alignment, max_clauses=1, fact_bonus=0.01)


def _find_words_of(alignment: Alignment, clause: MatchedClause, other: MatchedClause) -> Iterator[str]:
    """Yield the content words of a clause that the passage has not where it says the same, but where the other does."""
    for n in clause.places:
        if n in alignment.strengths and not has_figure(alignment.claim[n]):
            row = alignment.matrix[n]
            if max(row[clause.start : clause.end]) < 1 == max(row[other.start : other.end]):
                yield alignment.claim[n].raw


def _find_omitted_subjects(alignment: Alignment) -> Iterator[str]:
    """Yield each word of the passage right before a block, in its clause, in whose place the claim has another part.

    None is omitted where the claim has a pronoun for it, or where "to" leads on ("managed to win"). Where no block has
    moved, only what begins another clause is: "rolls fell in April" of "rolls rose in March and cakes fell in April".
    """
    has_moved = _count_moved_blocks(alignment) > 0
    aligned = {place for block in alignment.blocks for _, place in block}
    for index, start in (block[0] for block in alignment.blocks):
        before = max((place for place in range(start) if is_content(alignment.passage[place])), default=None)
        if before is None or before in aligned:
            continue
        last = max((place for place in aligned if place < start), default=0)
        if not has_moved and _COORDINATORS.isdisjoint(_lower(alignment.passage[last:start])):
            continue
        between = alignment.passage[before + 1 : start + 1]
        claimed = _lower(alignment.claim[max(0, index - REACH) : index])
        is_set_apart = any(sign in word.before for word in between for sign in _CLAUSE_SIGNS)
        is_light = alignment.passage[before].raw.lower() in _LIGHT_VERBS | _EVERY
        if not is_set_apart and not is_light and "to" not in _lower(between) and _PRONOUNS.isdisjoint(claimed):
            yield alignment.passage[before].raw


def _find_opposites(alignment: Alignment) -> Iterator[str]:
    """Yield each word of the claim that the passage does not have, but its opposite, which is near in meaning, too."""
    for n, strength in alignment.strengths.items():
        word = alignment.claim[n]
        if strength < 1 and any(is_opposite(word, other) for other in alignment.passage):
            yield word.raw


def _lower(words: Words) -> list[str]:
    return [word.raw.lower() for word in words]


def _list_strengths(words: Words) -> set[str]:
    return {MODAL_BY_FORM[word.form] for word in words if word.form in MODAL_BY_FORM}


def _count_negations(words: Words) -> int:
    return sum(word.form in NEGATION_FORMS for word in words)


def _count_moved_blocks(alignment: Alignment) -> int:
    """Return how many blocks must be taken away for the others to stand in the passage's order."""
    return len(alignment.order) - len(_find_increasing(alignment.order))


def _has_same_voice(alignment: Alignment, block: Block) -> bool:
    """Return whether the words of a block are passive in both texts or in neither."""
    claimed = any(_is_passive(alignment.claim, index) for index, _ in block)
    return claimed == any(_is_passive(alignment.passage, place) for _, place in block)


def _is_passive(words: Words, n: int) -> bool:
    """Return whether a form of "to be" stands right before a word, as before a participle."""
    return not _BE_FORMS.isdisjoint(_lower(words[max(0, n - 2) : n]))
