"""Whether a passage says what a claim says, by its words alone.

It does when the claim can be had from the passage by leaving out what can be left out (a parenthesis, a part set off by
commas, a part that begins with a preposition) and by moving whole parts: then every number, unit, date, code, name,
negation, quantifier and modal verb of the claim stands in the passage and in the same company. Nothing else agrees,
however many words are shared: sharing words is not saying so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rag_core.text.normalization import MONTHS, Word, words

CLOSE = 0.75  # share of the claim's words a passage must have for a wrong number in it to be a contradiction
ASIDE = 6  # words of a part inside a sentence that may be left out without a comma
MOST = 40_000  # words of the claim times words of the passage: text made for it takes the square of that and more
CRITICAL = frozenset(["number", "unit", "date", "code", "name", "negation", "quantity", "modality"])


def _set(text: str) -> frozenset[str]:
    """Words as the forms they are compared by."""
    return frozenset(word.form for word in words(text))


_PREPOSITIONS = _set(
    """in on at by of for from to with without during since after before until under over between among across through
    about against into onto within near along toward towards via including"""
) | {"forexampl", "thatis"}
_JOINING = _set("and but while whereas which who whom whose where when because although though")
_CLAUSE = _JOINING | _set("or is are was were be been has have had can may must will should would do does did")
_CONDITION = _set(  # left out with one of these, a claim says more than the passage
    """if unless except only until assuming according allegedly supposedly reportedly apparently possibly perhaps
    probably argue argues believe believes say says said deny denies denied think thought suggest suggests"""
)
_NEGATION = _set("not no never none nor neither without hardly")
_QUANTITY = _set(
    """all every each some any most many few several both either only minimum maximum about almost nearly exactly half
    at least, at most, less than, more than, up to"""
)
_MODALITY = _set("may might can could must shall should will would")
_UNITS = _set(
    """percent usd gbp eur jpy second minute hour day week month year decade century mm cm m km mile foot inch yard acre
    hectare g kg pound ton byte kb mb gb tb volt amp watt bar degree celsius fahrenheit token word page point"""
)
_RANGE = _set("to or")
_ENDS = ".!?;"


@dataclass(frozen=True, slots=True)
class Agreement:
    """`reasons` are "kind: word", one a part of the claim that is not so in the passage; none means it agrees.

    `shared` is the share of the claim's words, 0..1, that stand in the passage in the same order or as moved parts.
    `contradicts` when nearly all do, and what does not is another number, name, negation or the like.
    """

    reasons: tuple[str, ...]
    shared: float
    contradicts: bool

    @property
    def agrees(self) -> bool:
        return not self.reasons


def agreement(claim: str, passage: str) -> Agreement:
    """How far a passage of one or a few sentences bears out a claim of one."""
    said, given = words(claim), words(passage)
    if not said:
        return Agreement(("word: none",), 0.0, contradicts=False)
    if len(said) * len(given) > MOST and [w.form for w in said] != [w.form for w in given]:
        return Agreement((f"length: {len(said)} words",), 0.0, contradicts=False)
    taken, missing = _aligned(said, given)
    free = [word for n, word in enumerate(given) if n not in taken]
    wrong = [(_kind(said, n, free), said[n].raw) for n in missing]
    gaps = list(_gaps(given, taken))
    wrong = wrong or [reason for gap in gaps if (reason := _left_out(given, gap))]
    shared = 1 - len(missing) / len(said)
    reasons = tuple(dict.fromkeys(f"{kind}: {word}" for kind, word in wrong))
    instead = [given[n] for gap in gaps if len(gap) <= ASIDE for n in gap]
    return Agreement(reasons, shared, shared >= CLOSE and _opposed({kind for kind, _ in wrong}, instead))


def _opposed(kinds: set[str], instead: Sequence[Word]) -> bool:
    """Whether the passage has another number or name where the claim's is missing, or the like."""
    figures = any(_figure(word) for word in instead) or not kinds & {"number", "code"}
    names = any(_named(word) for word in instead) or "name" not in kinds
    return bool(kinds) and kinds <= CRITICAL and figures and names


def _aligned(said: Sequence[Word], given: Sequence[Word]) -> tuple[frozenset[int], list[int]]:
    """Which words of the passage are the claim's, and which of the claim's are left without."""
    ours, theirs = [word.form for word in said], [word.form for word in given]
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    places = {block.a + n: block.b + n for block in blocks for n in range(block.size)}
    runs = _runs([n for n in range(len(said)) if n not in places])
    for run in runs:
        began = run[0] - (run[0] > 0 and said[run[0] - 1].form in _PREPOSITIONS)  # it moves with its part
        for part in (range(start, run[-1] + 1) for start in (run[0], began)):
            if said[part[0]].form in _PREPOSITIONS | _JOINING or len(runs) == 1:  # two others may have changed places
                places.update(_moved(said, part, given, frozenset(places.values())))
    return frozenset(places.values()), [n for n in range(len(said)) if n not in places]


def _moved(
    said: Sequence[Word], part: range, given: Sequence[Word], taken: frozenset[int]
) -> Iterable[tuple[int, int]]:
    """Where the words of a part of the claim stand in the passage as a whole; none for a part that is too short."""
    forms = [said[n].form for n in part]
    if len(part) > 2 or (forms[0] in _PREPOSITIONS and len(part) > 1):
        for start in range(len(given) - len(part) + 1):
            place = range(start, start + len(part))
            if [given[n].form for n in place] == forms and not taken & set(place):
                return zip(part, place, strict=True)
    return ()


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers in order, as runs of consecutive ones."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return runs


def _gaps(given: Sequence[Word], taken: frozenset[int]) -> Iterator[range]:
    for run in _runs([n for n in range(len(given)) if n not in taken]):
        yield range(run[0], run[-1] + 1)


def _left_out(given: Sequence[Word], gap: range) -> tuple[str, str] | None:
    """Why these words of the passage cannot be left out of the claim; None when they can."""
    inside = [given[n] for n in gap]
    forms = {word.form for word in inside}
    if forms & _CONDITION:
        return "condition", next(word.raw for word in inside if word.form in _CONDITION)
    if _apart(given, gap):
        return None
    for kind, known in (("negation", _NEGATION), ("modality", _MODALITY), ("quantity", _QUANTITY)):
        if forms & known and len(gap) <= ASIDE:
            return kind, next(word.raw for word in inside if word.form in known)
    return "left out", inside[0].raw


def _apart(given: Sequence[Word], gap: range) -> bool:
    """Whether the words stand apart: before the claim's part of the passage, after it, or as an aside in it."""
    inside = [given[n] for n in gap]
    forms = {word.form for word in inside}
    after = given[gap.stop].before if gap.stop < len(given) else "."
    if "(" in inside[0].before and (")" in after or gap.stop == len(given)):
        return True
    if "or" in (inside[0].form, inside[-1].form) or (
        gap.start and _figure(given[gap.start - 1]) and inside[0].form in _RANGE
    ):
        return False
    if gap.start == 0:
        return inside[-1].form in _JOINING or (not forms & _NEGATION and _marked(after.replace(":", "")))
    if gap.stop == len(given):
        return not forms & _NEGATION and (_marked(inside[0].before) or inside[0].form in _PREPOSITIONS | _JOINING)
    return _aside(inside, given[gap.stop])


def _aside(inside: Sequence[Word], after: Word) -> bool:
    """Whether words between two parts of one clause are set off by commas, or a short part with a preposition."""
    signs = "".join([*(word.before for word in inside), after.before])
    joined = any("," in word.before and word.form in _JOINING for word in inside[1:])
    if joined or any(sign in signs for sign in _ENDS):
        return False
    if _marked(inside[0].before) and _marked(after.before):
        return True
    short = len(inside) <= ASIDE and not {word.form for word in inside} & (_CLAUSE | _NEGATION)
    return short and inside[0].form in _PREPOSITIONS and not _figure(after) and not _named(after)


def _marked(signs: str) -> bool:
    return any(sign in signs for sign in ",;:.!?()[]—–") or " - " in signs or "\n\n" in signs


def _kind(said: Sequence[Word], n: int, free: Sequence[Word]) -> str:
    word = said[n]
    for kind, known in (("negation", _NEGATION), ("modality", _MODALITY), ("quantity", _QUANTITY)):
        if word.form in known:
            return kind
    if _figure(word):
        return "number" if word.form.lstrip("-").replace(".", "").isdigit() else "code"
    if word.form in MONTHS:
        return "date"
    if word.form in _UNITS:
        return "unit"
    if n and _named(word):
        return "name"
    return "order" if any(word.form == other.form for other in free) else "word"


def _figure(word: Word) -> bool:
    return any(sign.isdigit() for sign in word.form)


def _named(word: Word) -> bool:
    return word.raw[:1].isupper()
