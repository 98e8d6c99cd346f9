"""Lexical entailment: a check, by words alone, that a passage states what a claim states.

A passage entails a claim when the claim results from it by omitting optional parts (a parenthesis, a part set off by
commas, a part that begins with a preposition) and by moving whole parts. Every number, unit, date, code, name,
negation, quantifier and modal verb of the claim is then in the passage, in the same context. Nothing else is entailed,
however many words are shared.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rag_core.text.normalization import MONTH_NAMES, NormalizedWord, normalize_words, parse_word_forms

# share of the claim's words that a passage must have for another number to be a contradiction
MIN_CONTRADICTION_OVERLAP = 0.75
MAX_ASIDE_WORDS = 6  # words of a part inside a sentence that may be omitted without a comma
# words of the claim times words of the passage: alignment of adversarial text takes the square of it
MAX_WORD_PAIRS = 40_000
CRITICAL_KINDS = frozenset(["number", "unit", "date", "code", "name", "negation", "quantity", "modality"])


_PREPOSITIONS = parse_word_forms(
    """in on at by of for from to with without during since after before until under over between among across through
    about against into onto within near along toward towards via including"""
) | {"forexampl", "thatis"}
_CONJUNCTIONS = parse_word_forms("and but while whereas which who whom whose where when because although though")
_CLAUSE_WORDS = _CONJUNCTIONS | parse_word_forms(
    "or is are was were be been has have had can may must will should would do does did"
)
_QUALIFIERS = parse_word_forms(  # when a part with one of these is omitted, the claim says more than the passage
    """if unless except only until assuming according allegedly supposedly reportedly apparently possibly perhaps
    probably argue argues believe believes say says said deny denies denied think thought suggest suggests"""
)
_NEGATIONS = parse_word_forms("not no never none nor neither without hardly")
_QUANTIFIERS = parse_word_forms(
    """all every each some any most many few several both either only minimum maximum about almost nearly exactly half
    at least, at most, less than, more than, up to"""
)
_MODAL_VERBS = parse_word_forms("may might can could must shall should will would")
_UNITS = parse_word_forms(
    """percent usd gbp eur jpy second minute hour day week month year decade century mm cm m km mile foot inch yard acre
    hectare g kg pound ton byte kb mb gb tb volt amp watt bar degree celsius fahrenheit token word page point"""
)
_RANGE_WORDS = parse_word_forms("to or")
_SENTENCE_ENDS = ".!?;"


@dataclass(frozen=True, slots=True)
class Entailment:
    """The result of comparing a claim with a passage.

    `reasons` against entailment are "kind: word"; none means that the claim is entailed. `overlap` is the share of the
    claim's words, 0..1, that the passage has in the same order or as moved parts. `contradicts` is set when it has
    nearly all of them and another number, name, negation or the like in place of the rest.
    """

    reasons: tuple[str, ...]
    overlap: float
    contradicts: bool

    @property
    def is_entailed(self) -> bool:
        return not self.reasons


def check_entailment(claim: str, passage: str) -> Entailment:
    """Compare a claim of one sentence with a passage of one or a few.

    A pair of more than MAX_WORD_PAIRS is not compared and entails nothing, unless the two texts are equal.
    """
    claim_words, passage_words = normalize_words(claim), normalize_words(passage)
    if not claim_words:
        return Entailment(("word: none",), 0.0, contradicts=False)
    too_long = len(claim_words) * len(passage_words) > MAX_WORD_PAIRS
    if too_long and [w.form for w in claim_words] != [w.form for w in passage_words]:
        return Entailment((f"length: {len(claim_words)} words",), 0.0, contradicts=False)
    aligned, missing = _align_words(claim_words, passage_words)
    unaligned = [word for n, word in enumerate(passage_words) if n not in aligned]
    faults = [(_classify_missing_word(claim_words, n, unaligned), claim_words[n].raw) for n in missing]
    gaps = list(_find_gaps(passage_words, aligned))
    faults = faults or [fault for gap in gaps if (fault := _explain_omission(passage_words, gap))]
    share = 1 - len(missing) / len(claim_words)
    reasons = tuple(dict.fromkeys(f"{kind}: {word}" for kind, word in faults))
    replacements = [passage_words[n] for gap in gaps if len(gap) <= MAX_ASIDE_WORDS for n in gap]
    return Entailment(
        reasons,
        share,
        share >= MIN_CONTRADICTION_OVERLAP and _is_contradiction({kind for kind, _ in faults}, replacements),
    )


def _is_contradiction(kinds: set[str], replacements: Sequence[NormalizedWord]) -> bool:
    """Return whether only critical words are missing, and the passage has another figure or name in place of those."""
    has_other_figure = any(_has_digit(word) for word in replacements) or not kinds & {"number", "code"}
    has_other_name = any(_is_capitalized(word) for word in replacements) or "name" not in kinds
    return bool(kinds) and kinds <= CRITICAL_KINDS and has_other_figure and has_other_name


def _align_words(
    claim_words: Sequence[NormalizedWord], passage_words: Sequence[NormalizedWord]
) -> tuple[frozenset[int], list[int]]:
    """Align a claim with a passage; return the indices of the aligned passage words and of the missing claim words."""
    claim_forms, passage_forms = [word.form for word in claim_words], [word.form for word in passage_words]
    blocks = SequenceMatcher(None, claim_forms, passage_forms, autojunk=False).get_matching_blocks()
    places = {block.a + n: block.b + n for block in blocks for n in range(block.size)}
    runs = _group_consecutive([n for n in range(len(claim_words)) if n not in places])
    for run in runs:
        # a preposition moves with its part
        with_preposition = run[0] - (run[0] > 0 and claim_words[run[0] - 1].form in _PREPOSITIONS)
        for part in (range(start, run[-1] + 1) for start in (run[0], with_preposition)):
            # of several other parts, two may have changed places, which changes the meaning
            if claim_words[part[0]].form in _PREPOSITIONS | _CONJUNCTIONS or len(runs) == 1:
                places.update(_locate_moved_part(claim_words, part, passage_words, frozenset(places.values())))
    return frozenset(places.values()), [n for n in range(len(claim_words)) if n not in places]


def _locate_moved_part(
    claim_words: Sequence[NormalizedWord], part: range, passage_words: Sequence[NormalizedWord], aligned: frozenset[int]
) -> Iterable[tuple[int, int]]:
    """Pair the words of a part of the claim with an unaligned equal part of the passage; none if it is too short."""
    forms = [claim_words[n].form for n in part]
    if len(part) > 2 or (forms[0] in _PREPOSITIONS and len(part) > 1):
        for start in range(len(passage_words) - len(part) + 1):
            place = range(start, start + len(part))
            if [passage_words[n].form for n in place] == forms and not aligned & set(place):
                return zip(part, place, strict=True)
    return ()


def _group_consecutive(numbers: Sequence[int]) -> list[list[int]]:
    """Group ascending numbers into runs of consecutive ones."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return runs


def _find_gaps(passage_words: Sequence[NormalizedWord], aligned: frozenset[int]) -> Iterator[range]:
    for run in _group_consecutive([n for n in range(len(passage_words)) if n not in aligned]):
        yield range(run[0], run[-1] + 1)


def _explain_omission(passage_words: Sequence[NormalizedWord], gap: range) -> tuple[str, str] | None:
    """Return the kind and word for which this part of the passage cannot be omitted from a claim; None when it can."""
    omitted = [passage_words[n] for n in gap]
    forms = {word.form for word in omitted}
    if forms & _QUALIFIERS:
        return "condition", next(word.raw for word in omitted if word.form in _QUALIFIERS)
    if _is_set_apart(passage_words, gap):
        return None
    for kind, kind_forms in (("negation", _NEGATIONS), ("modality", _MODAL_VERBS), ("quantity", _QUANTIFIERS)):
        if forms & kind_forms and len(gap) <= MAX_ASIDE_WORDS:
            return kind, next(word.raw for word in omitted if word.form in kind_forms)
    return "left out", omitted[0].raw


def _is_set_apart(passage_words: Sequence[NormalizedWord], gap: range) -> bool:
    """Return whether the omitted words are set apart: before or after the claim's part of the passage, or an aside."""
    omitted = [passage_words[n] for n in gap]
    forms = {word.form for word in omitted}
    after = passage_words[gap.stop].before if gap.stop < len(passage_words) else "."
    if "(" in omitted[0].before and (")" in after or gap.stop == len(passage_words)):
        return True
    if "or" in (omitted[0].form, omitted[-1].form) or (
        gap.start and _has_digit(passage_words[gap.start - 1]) and omitted[0].form in _RANGE_WORDS
    ):
        return False
    if gap.start == 0:
        return omitted[-1].form in _CONJUNCTIONS or (
            not forms & _NEGATIONS and _has_punctuation(after.replace(":", ""))
        )
    if gap.stop == len(passage_words):
        return not forms & _NEGATIONS and (
            _has_punctuation(omitted[0].before) or omitted[0].form in _PREPOSITIONS | _CONJUNCTIONS
        )
    return _is_aside(omitted, passage_words[gap.stop])


def _is_aside(omitted: Sequence[NormalizedWord], after: NormalizedWord) -> bool:
    """Return whether words between two parts of a clause are set off by commas, or short and with a preposition."""
    separators = "".join([*(word.before for word in omitted), after.before])
    has_conjunction = any("," in word.before and word.form in _CONJUNCTIONS for word in omitted[1:])
    if has_conjunction or any(sign in separators for sign in _SENTENCE_ENDS):
        return False
    if _has_punctuation(omitted[0].before) and _has_punctuation(after.before):
        return True
    is_short = len(omitted) <= MAX_ASIDE_WORDS and not {word.form for word in omitted} & (_CLAUSE_WORDS | _NEGATIONS)
    return is_short and omitted[0].form in _PREPOSITIONS and not _has_digit(after) and not _is_capitalized(after)


def _has_punctuation(separator: str) -> bool:
    return any(sign in separator for sign in ",;:.!?()[]—–") or " - " in separator or "\n\n" in separator


def _classify_missing_word(claim_words: Sequence[NormalizedWord], n: int, unaligned: Sequence[NormalizedWord]) -> str:
    """Return the kind of a claim word that the passage lacks; "order" when the passage has it elsewhere."""
    word = claim_words[n]
    for kind, kind_forms in (("negation", _NEGATIONS), ("modality", _MODAL_VERBS), ("quantity", _QUANTIFIERS)):
        if word.form in kind_forms:
            return kind
    if _has_digit(word):
        return "number" if word.form.lstrip("-").replace(".", "").isdigit() else "code"
    if word.form in MONTH_NAMES:
        return "date"
    if word.form in _UNITS:
        return "unit"
    if n and _is_capitalized(word):
        return "name"
    return "order" if any(word.form == other.form for other in unaligned) else "word"


def _has_digit(word: NormalizedWord) -> bool:
    return any(sign.isdigit() for sign in word.form)


def _is_capitalized(word: NormalizedWord) -> bool:
    return word.raw[:1].isupper()
