"""Alignment of a claim with a passage: which word of the passage stands for each of the claim's, and what moved.

Words are the same by their forms; other words stand for each other where a `WordComparer` finds them near in meaning.
A number stands only for itself, and so does a unit after it; models find "days" near "weeks".
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from rag_core.answering.facts.words import Words, has_figure, is_same_word
from rag_core.core.ports import LocatedWords
from rag_core.text.normalization import NormalizedWord
from rag_core.text.oppositions import NEGATION_FORMS
from rag_core.text.stop_words import FEEDBACK_STOP_WORDS, parse_word_list
from rag_core.text.word_relations import find_base_forms, find_synonyms

SYNONYM = 0.9  # strength of another word that means the same by the table of word relations
SIMILAR = 0.7  # similarity from which another word stands for one of the claim: below it, bge-small finds any two
MAX_GAP = 2  # words from one aligned word to the next of its block
MAX_PLACES = 8  # of a word in a passage: more are a list of the same word, and alignment takes their square
_BREAK, _REPEATED_PLACE = 1.0, 0.5  # costs of a new block, and of a second word at one place

# words without a meaning of their own, besides those of FEEDBACK_STOP_WORDS
_FUNCTION_WORDS = FEEDBACK_STOP_WORDS | parse_word_list(
    "although though because since while until whether however onto during within much many even well yet still among "
    "around roughly approximately basis every each whereas against "
)
# words that say how two others are related: they hold their place in an alignment
RELATION_WORDS = parse_word_list(
    "than before after from to over under above below without except unless only into by nor not never no"
)
PARTICLES = parse_word_list(
    "about across along apart away back by down for in into of off on out over through to up with"
)
Similarities = Sequence[Sequence[float]]  # of each word of one text to each of another
Block = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """A claim's words and the passage's, with the `strengths` of its content words: 1 is the same word, 0 none.

    It is equal to itself alone, so that what follows from it can be kept.

    `matrix` has the strength of each word of the claim with each of the passage: none for a word without meaning.
    `blocks` are the parts of the claim that stand together in the passage, in the claim's order, as pairs of indices.
    """

    claim: Words
    passage: Words
    strengths: Mapping[int, float]
    matrix: Sequence[Sequence[float]]
    blocks: tuple[Block, ...]

    @property
    def weakest(self) -> float:
        """The least strength of a content word; 0 for a claim without any."""
        return min(self.strengths.values(), default=0.0)

    @property
    def mean(self) -> float:
        """The mean strength of the content words; 0 for a claim without any."""
        return sum(self.strengths.values()) / max(1, len(self.strengths))

    @property
    def order(self) -> list[int]:
        """The rank of each block by its place in the passage."""
        starts = [block[0][1] for block in self.blocks]
        return [sum(other < start for other in starts) for start in starts]


def locate_words(text: str, words: Words) -> LocatedWords:
    """Return the places of normalized words in their text; an empty one for a word that normalization has made."""
    ranges, at = [], 0
    for word in words:
        start = text.find(word.raw, at)
        start = text.find(word.raw) if start < 0 else start
        ranges.append((start, start + len(word.raw)) if start >= 0 else (0, 0))
        at = start + len(word.raw) if start >= 0 else at
    return LocatedWords(text, tuple(ranges))


def align_words(claim: Words, passage: Words, similarities: Similarities) -> Alignment:
    """Align a claim with a passage, by the forms of the words alone where `similarities` is empty."""
    strengths, places, matrix = {}, {}, []
    readings = [_read_with_particle(passage, m) for m in range(len(passage))]
    for n, word in enumerate(claim):
        is_unit = n > 0 and has_figure(claim[n - 1])
        near = similarities[n] if similarities and not is_unit else [0.0] * len(passage)
        if not is_unit and is_content(word) and not has_figure(word):
            near = _raise_synonyms(claim, n, readings, near)
        matrix.append(
            [_compute_strength(word, other, near[m]) for m, other in enumerate(passage)] if is_content(word) else []
        )
        if is_content(word):
            strengths[n] = max(matrix[n], default=0.0)
        if _holds_place(word) and (found := _find_places(word, passage, near)):
            places[n] = found
    return Alignment(claim, passage, strengths, matrix, _build_blocks(places, _number_places(passage)))


def _read_with_particle(words: Words, n: int) -> Set[str]:
    """Return the base forms of a word, alone and with the word after it, which may be the particle of a verb."""
    word = words[n].raw.lower()
    after = words[n + 1].raw.lower() if n + 1 < len(words) else ""
    return find_base_forms(word) | (find_base_forms(f"{word} {after}") if after in PARTICLES else frozenset())


def _raise_synonyms(claim: Words, n: int, readings: Sequence[Set[str]], near: Sequence[float]) -> list[float]:
    """Return the similarities of a claim's word to a passage's, at least SYNONYM for those that mean the same.

    Forms of one word do, which its stem may not show: "taken" of "takes".
    """
    bases = _read_with_particle(claim, n)
    same = bases | frozenset().union(*map(find_synonyms, bases))
    pairs = zip(near, readings, strict=True)
    return [value if same.isdisjoint(reading) else max(SYNONYM, value) for value, reading in pairs]


def is_content(word: NormalizedWord) -> bool:
    """Return whether a word has a meaning of its own that another word may stand for; a negation has none."""
    return word.raw.lower() not in _FUNCTION_WORDS and word.form not in NEGATION_FORMS


def _holds_place(word: NormalizedWord) -> bool:
    return is_content(word) or word.form in NEGATION_FORMS or word.raw.lower() in RELATION_WORDS


def _compute_strength(word: NormalizedWord, other: NormalizedWord, similarity: float) -> float:
    if has_figure(word) or has_figure(other):
        return float(word.form == other.form)
    if not is_content(other):
        return 0.0
    return 1.0 if is_same_word(word.form, other.form) else max(0.0, similarity)


def _find_places(word: NormalizedWord, passage: Words, near: Sequence[float]) -> list[int]:
    """Return where a passage has a word, or else the word that is nearest in meaning; none if none is near."""
    if has_figure(word) or not is_content(word):
        same = [m for m, other in enumerate(passage) if word.form == other.form]
    else:
        same = [m for m, other in enumerate(passage) if is_content(other) and is_same_word(word.form, other.form)]
    if same or has_figure(word) or not is_content(word):
        return same[:MAX_PLACES]
    others = [m for m, other in enumerate(passage) if is_content(other) and not has_figure(other)]
    nearest = max(others, key=near.__getitem__, default=None)
    return [] if nearest is None or near[nearest] < SIMILAR else [nearest]


def _number_places(passage: Words) -> list[int]:
    """Return for each word of a passage how many before it hold a place, so that a gap has no function words."""
    numbers, count = [], 0
    for word in passage:
        numbers.append(count)
        count += _holds_place(word)
    return numbers


def _build_blocks(places: Mapping[int, Sequence[int]], numbers: Sequence[int]) -> tuple[Block, ...]:
    """Choose a place for each word so that fewest blocks come out, and group the words into these."""
    paths: dict[int, tuple[float, list[tuple[int, int]]]] = {}
    for n, found in places.items():
        if not paths:
            paths = {place: (0.0, [(n, place)]) for place in found}
            continue
        chosen = {}
        for place in found:
            cost, path = min(
                ((cost + _cost_step(last, place, numbers), path) for last, (cost, path) in paths.items()),
                key=lambda step: step[0],
            )
            chosen[place] = (cost, [*path, (n, place)])
        paths = chosen
    if not paths:
        return ()
    best = min(paths.values(), key=lambda path: path[0])[1]
    blocks: list[list[tuple[int, int]]] = []
    for n, place in best:
        if blocks and _cost_step(blocks[-1][-1][1], place, numbers) == 0:
            blocks[-1].append((n, place))
        else:
            blocks.append([(n, place)])
    return tuple(map(tuple, blocks))


def _cost_step(last: int, place: int, numbers: Sequence[int]) -> float:
    if 0 < numbers[place] - numbers[last] <= MAX_GAP:
        return 0.0
    return _BREAK + _REPEATED_PLACE * (place == last)
