"""A check that an aligned claim is a light paraphrase of a passage: what it says more, less or otherwise, as reasons.

A claim whose content words are all aligned says the same as the passage unless something of this differs. An exchange
of two parts ("A rejects B" for "B rejects A") is a contradiction; every other difference may be harmless.
"""

from collections.abc import Iterator

from rag_core.answering.alignment import Alignment, Block, is_content
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.words import Words, has_figure
from rag_core.text.oppositions import MODAL_BY_FORM, NEGATION_FORMS, are_opposites
from rag_core.text.stop_words import parse_word_list

REACH = 3  # words before and after the aligned part of a passage in which a condition is part of the statement
MAX_MOVED_BLOCKS = 1  # "at night the pump runs" for "the pump runs at night" moves one
MAX_EXCHANGED_WORDS = 4  # of a part that changed its place with another
_CONDITIONS = parse_word_list(
    "if unless except excepting only until provided providing assuming according allegedly supposedly reportedly "
    "apparently possibly perhaps probably argue argues believe believes say says said deny denies think thought "
    "suggest suggests otherwise default almost nearly subject before after than without instead"
)
_ABSOLUTES = parse_word_list(
    "all every each both always never only most mostly any entire whole everyone everybody solely exclusively alone"
)
_BE_FORMS = parse_word_list("is are was were be been being")
_COORDINATORS = parse_word_list("and but or while whereas")
_PRONOUNS = parse_word_list("it they he she this these those")
_CLAUSE_SIGNS = ".,;:!?()\n—–"


def find_differences(alignment: Alignment) -> Iterator[str]:
    """Yield, as "kind: word", what keeps an aligned claim from being a light paraphrase of its passage."""
    span = _find_aligned_span(alignment)
    claimed, stated = _lower(alignment.claim), _lower(span)
    yield from (f"condition: {word}" for word in stated if word in _CONDITIONS and word not in claimed)
    yield from (f"quantity: {word}" for word in claimed if word in _ABSOLUTES and word not in stated)
    forms = {word.form for word in alignment.claim}
    inner = _find_aligned_span(alignment, reach=0)
    yield from (f"number: {word.raw}" for word in inner if word.form not in forms and has_figure(word))
    if _list_strengths(alignment.claim) != _list_strengths(span):
        yield "modality: other"
    if _count_negations(alignment.claim) % 2 != _count_negations(span) % 2:
        yield "negation: other"
    yield from (f"direction: {word}" for word in _find_opposites(alignment))
    yield from (f"left out: {word}" for word in _find_omitted_subjects(alignment))
    if _count_moved_blocks(alignment) > MAX_MOVED_BLOCKS:
        yield "order: other"


def find_exchange(alignment: Alignment) -> FactConflict | None:
    """Return the two parts of a claim that have changed places around a third; None for none, or another voice."""
    order = alignment.order
    for n in range(len(order) - 2):
        first, middle, last = alignment.blocks[n : n + 3]
        others = order[:n] + order[n + 3 :]
        is_reversed = order[n] == order[n + 1] + 1 == order[n + 2] + 2
        is_short = max(len(first), len(last)) <= MAX_EXCHANGED_WORDS
        if is_reversed and is_short and others == sorted(others) and _has_same_voice(alignment, middle):
            words = [" ".join(alignment.claim[index].raw for index, _ in block) for block in (first, last)]
            return FactConflict("order", words[0], words[1])
    return None


def _find_aligned_span(alignment: Alignment, *, reach: int = REACH) -> Words:
    """Return the passage's words from the first aligned one to the last, and `reach` more on either side."""
    places = [place for block in alignment.blocks for _, place in block]
    if not places:
        return ()
    return alignment.passage[max(0, min(places) - reach) : max(places) + 1 + reach]


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
        if not is_set_apart and "to" not in _lower(between) and _PRONOUNS.isdisjoint(claimed):
            yield alignment.passage[before].raw


def _find_opposites(alignment: Alignment) -> Iterator[str]:
    """Yield each word of the claim that the passage does not have, but its opposite, which is near in meaning, too."""
    for n, strength in alignment.strengths.items():
        word = alignment.claim[n]
        if strength < 1 and any(are_opposites(word.form, other.form) for other in alignment.passage):
            yield word.raw


def _lower(words: Words) -> list[str]:
    return [word.raw.lower() for word in words]


def _list_strengths(words: Words) -> set[str]:
    return {MODAL_BY_FORM[word.form] for word in words if word.form in MODAL_BY_FORM}


def _count_negations(words: Words) -> int:
    return sum(word.form in NEGATION_FORMS for word in words)


def _count_moved_blocks(alignment: Alignment) -> int:
    """Return how many blocks must be taken away for the others to stand in the passage's order."""
    longest: list[int] = []
    order = alignment.order
    for n, rank in enumerate(order):
        longest.append(1 + max((longest[m] for m in range(n) if order[m] < rank), default=0))
    return len(order) - max(longest, default=0)


def _has_same_voice(alignment: Alignment, block: Block) -> bool:
    """Return whether the words of a block are passive in both texts or in neither."""
    claimed = any(_is_passive(alignment.claim, index) for index, _ in block)
    return claimed == any(_is_passive(alignment.passage, place) for _, place in block)


def _is_passive(words: Words, n: int) -> bool:
    """Return whether a form of "to be" stands right before a word, as before a participle."""
    return not _BE_FORMS.isdisjoint(_lower(words[max(0, n - 2) : n]))
