"""Claims that say what a field of a record says: "The HX-204 costs 1840 EUR" of the row HX-204 and its head Price EUR.

A claim is read as the name of a record, the head of one of its fields, a value, and words without a meaning of their
own; one that has any other word is not judged here. The value is that of the field, and the claim is supported; or it
is another one of the same kind, and the claim is contradicted. Name, head and value are always of one record.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from rag_core.answering.alignment import RELATION_WORDS
from rag_core.answering.citations import ClaimPassage
from rag_core.answering.computing.degrees import MEASURING_VERBS, is_measured_by
from rag_core.answering.facts.amount_reading import parse_amount
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.facts.computed_amounts import is_rounded
from rag_core.answering.facts.conflicts import FactConflict, FactKind
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.units import get_unit
from rag_core.answering.facts.words import is_same_word
from rag_core.answering.records import Record, RecordField
from rag_core.core.model import Claim
from rag_core.text.months import MONTH_NAMES
from rag_core.text.normalization import NormalizedWord, parse_word_forms
from rag_core.text.number_notations import SCALES, split_column_scale
from rag_core.text.oppositions import NEGATION_FORMS
from rag_core.text.request_memory import remember_in_request

MAX_CLAIM_WORDS = 40
REMEMBERED_TEXTS = 2_000  # heads and cells, each read for every claim of a request
# words by which a sentence joins a name, a head and a value, and which change nothing of what is said
_JOINING = parse_word_forms(
    "is are was were be been has have had having does do did of at for on in its with to by as and this that there it"
)
# verbs of which the head says the rest: "measured a temperature of", "comes with a warranty of", "runs firmware"
_BEARING = parse_word_forms(
    "come comes came show shows showed shown give gives gave given list lists listed state states stated report reports"
    " reported measure measures measured read reads record records recorded run runs ran work works worked"
    " serve serves served set amount amounts stand stands stood call called located"
)
# nouns that say of what kind a value is, and may be in a head alone or in a sentence alone
_KINDS = parse_word_forms("number value amount figure date time name id code")
_MONTHS = parse_word_forms(" ".join(MONTH_NAMES))
# words that change what is said of a value: "departs before 09:40"
_LIMITING = parse_word_forms(" ".join(RELATION_WORDS)) | parse_word_forms("more less until since") | NEGATION_FORMS
_CURRENCY_SIGNS = {"€": " EUR ", "$": " USD ", "£": " GBP ", "¥": " JPY "}
_BARE_SIGN = re.compile(r"[€$£¥](?!\s?\d)")
_SCALE_FORMS = parse_word_forms("thousand million billion")  # words of a claim that are not a part of its number
_IN_BRACKETS = re.compile(r"^\(([\d.,]{1,20})\)$")  # a cell that is negative
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

FieldFinding = Literal["supported", "contradicted", "unclear"]


@dataclass(frozen=True, slots=True)
class FieldJudgement:
    """What a field of a record says to a claim, and what differs.

    "unclear" is a claim that has the value of another head, or that says more of the value: "before 09:40".
    """

    finding: FieldFinding
    record: Record
    field: RecordField
    conflict: FactConflict | None = None

    @property
    def passage(self) -> ClaimPassage:
        return ClaimPassage(
            self.record.chunk,
            self.record.start,
            self.record.end,
            self.record.chunk.content[self.record.start : self.record.end],
            1.0,
        )


@dataclass(frozen=True, slots=True)
class _Value:
    """The words of a value without those of its head: numbers and codes in order, units, and the rest."""

    figures: tuple[str, ...]
    units: tuple[str, ...]
    others: tuple[str, ...]


def judge_by_records(claim: Claim, records: Sequence[Record]) -> FieldJudgement | None:
    """Return what the records say of a claim; None where none has a field that the claim is about.

    One record that supports the claim is enough, if no other of its document has this name and another value: what the
    claim leaves out may be what tells them apart. What contradicts it has to be the only value of all records.
    """
    words = _read_claim(claim)
    if not words:
        return None
    forms = [*map(_name_unit, words)]
    found = [judgement for record in records for judgement in _judge_by_record(words, forms, record)]
    if not found:
        return None
    supported = (one for one in found if one.finding == "supported")
    supporting = next((one for one in supported if not _has_rival(words, forms, one, records)), None)
    if supporting:
        return supporting
    is_one = len({one.field.value for one in found}) == 1 and len({_read_form(one.field.head) for one in found}) == 1
    against = next((one for one in found if one.finding == "contradicted"), None)
    if against and is_one and not against.record.is_log:
        return against
    return FieldJudgement("unclear", found[0].record, found[0].field, found[0].conflict)


def _has_rival(
    words: Sequence[NormalizedWord], forms: Sequence[str], found: FieldJudgement, records: Sequence[Record]
) -> bool:
    """Return whether another record of the document has this name and head, another value, and as much of the claim."""
    for other in records:
        if (other.chunk.document_id, other.name) != (found.record.chunk.document_id, found.record.name):
            continue
        own = next((field for field in other.fields if field.head == found.field.head), found.field)
        alike = replace(other, fields=(found.field,), peers=())
        if own.value != found.field.value and any(_judge_by_record(words, forms, alike)):
            return True
    return False


def _read_claim(claim: Claim) -> Sequence[NormalizedWord]:
    """Return the words of a claim that is one sentence and needs no other; none of any other."""
    if claim.context or claim.text.rstrip().endswith("?"):
        return ()
    words = _read(claim.statement)
    return words if len(words) <= MAX_CLAIM_WORDS else ()


@remember_in_request(REMEMBERED_TEXTS)
def _read(text: str) -> Sequence[NormalizedWord]:
    text = _IN_BRACKETS.sub(r"-\1", _BARE_SIGN.sub(lambda match: _CURRENCY_SIGNS[match[0]], _CAMEL.sub(" ", text)))
    return read_words(rewrite_amounts(f" {text}"))  # a sign is one after a space alone


@remember_in_request(REMEMBERED_TEXTS)
def _read_form(text: str) -> tuple[str, ...]:
    return tuple(map(_name_unit, _read(text)))


def _name_unit(word: NormalizedWord) -> str:
    return get_unit(word.form) or word.form


def _judge_by_record(words: Sequence[NormalizedWord], forms: Sequence[str], record: Record) -> Iterator[FieldJudgement]:
    """Yield what each field says that the claim names with the record; of heads within others only the longest."""
    named = _find_run(forms, _read_form(record.name)) if record.name else frozenset()
    if record.name and not named:
        return
    headed = {n: places for n, field in enumerate(record.fields) if (places := _find_head(forms, field, named))}
    measured = _select_stated([n for n, field in enumerate(record.fields) if _is_measured(words, field)], record, forms)
    if len(measured) == 1 and measured[0] not in headed:
        headed[measured[0]] = frozenset(n for n, word in enumerate(words) if word.form in MEASURING_VERBS)
    longest = [n for n, places in headed.items() if not any(places < other for other in headed.values())]
    for n in longest:
        judgement = _judge_by_field(words, named | headed[n], record, n)
        if judgement:
            yield judgement


def _find_run(forms: Sequence[str], wanted: Sequence[str]) -> frozenset[int]:
    """Return the places of words that stand one after another in a claim."""
    width = len(wanted)
    starts = range(len(forms) - width + 1) if width else ()
    at = next((n for n in starts if tuple(forms[n : n + width]) == tuple(wanted)), None)
    return frozenset() if at is None else frozenset(range(at, at + width))


def _find_head(forms: Sequence[str], field: RecordField, taken: Set[int]) -> frozenset[int]:
    """Return the places of a head in a claim; none where a word of it is missing, its unit and kind apart."""
    core, _ = _split_head(field.head)
    places: set[int] = set()
    for form in core:
        at = next((n for n, f in enumerate(forms) if n not in taken | places and _is_same_name(f, form)), None)
        if at is None:
            return frozenset()
        places.add(at)
    return frozenset(places)


def _is_same_name(form: str, other: str) -> bool:
    return form == other or (not (any(map(str.isdigit, form + other))) and is_same_word(form, other))


@remember_in_request(REMEMBERED_TEXTS)
def _split_head(head: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the words that tell what a field is, and the units that its head gives to the value, without a scale."""
    forms = _read_form(split_column_scale(head)[0])
    last = forms[-1:] if len(forms) > 1 else ()
    units = frozenset(form for form in last if get_unit(form))
    rest = [form for form in forms if form not in units]
    core = [form for form in rest if form not in _KINDS and form not in _JOINING]
    return tuple(core or rest), units


def _is_measured(words: Sequence[NormalizedWord], field: RecordField) -> bool:
    """Return whether a verb of the claim asks for what the head measures: "costs" for a price."""
    verbs = [word.form for word in words if word.form in MEASURING_VERBS]
    return any(is_measured_by(field.head, MEASURING_VERBS[verb]) for verb in verbs)


def _select_stated(measured: Sequence[int], record: Record, forms: Sequence[str]) -> Sequence[int]:
    """Return of several fields that a verb asks for those of which the claim has all other words: year and currency."""
    if len(measured) < 2:
        return measured
    return [n for n in measured if sum(form not in forms for form in _read_form(record.fields[n].head)) == 1]


def _judge_by_field(words: Sequence[NormalizedWord], named: Set[int], record: Record, n: int) -> FieldJudgement | None:
    field = record.fields[n]
    core, units = _split_head(field.head)
    dropped = _JOINING | _BEARING | _KINDS | frozenset(_read_form(field.head)) | frozenset(core) | units
    own = _read_form(field.value)
    about = frozenset(_read_form(f"{record.about} {record.name_head}")) - frozenset(own) - _LIMITING
    left = [word for at, word in enumerate(words) if at not in named and _name_unit(word) not in dropped | about]
    said, stated = _read_value([*map(_name_unit, left)]), _read_value(own, dropped)
    if not left or not (stated.figures or stated.others):
        return None
    _, scale = split_column_scale(field.head)
    if scale > 1 and len(own) == len(stated.figures) == 1 and not any(word.form in _SCALE_FORMS for word in words):
        return _judge_by_scaled_field(words, said, scale, record, n)
    if said == stated:
        return FieldJudgement("supported", record, field)
    claimed, instead = " ".join(dict.fromkeys(word.raw.strip() for word in left)), f"{field.head}: {field.value}"
    if _is_multiple(said, stated):
        return None
    kind = _find_conflict_kind(said, stated, record, n, dropped)
    if kind:
        return FieldJudgement("contradicted", record, field, FactConflict(kind, claimed, instead))
    others = (_read_value(_read_form(other.value), dropped) for other in record.fields)
    if said in others or _read_value([*map(_name_unit, left)], _LIMITING) == stated:
        return FieldJudgement("unclear", record, field, FactConflict("name", claimed, instead))
    return None


def _judge_by_scaled_field(
    words: Sequence[NormalizedWord], said: _Value, scale: int, record: Record, n: int
) -> FieldJudgement | None:
    """Judge a claim that does not repeat the scale of its head: "290 EUR" or "0.29 thousand EUR" of "Cost (k€)" 0.29.

    The cell's own figure is then a thousandth of what it means: with a unit it is wrong, and alone it is unclear.
    """
    field = record.fields[n]
    written, claimed = parse_amount(" ".join(_read_form(field.value))), parse_amount(" ".join(said.figures))
    if written is None or claimed is None or said.units or said.others:
        return None
    if is_rounded(claimed, written * scale, len(claimed.normalize().as_tuple().digits)):
        return FieldJudgement("supported", record, field)
    _, units = _split_head(field.head)
    is_bare = claimed == written and units.isdisjoint(map(_name_unit, words))
    amount = [word.raw.strip() for word in words if word.form in said.figures or _name_unit(word) in units]
    conflict = FactConflict("number", " ".join(dict.fromkeys(amount)), f"{field.head}: {field.value}")
    return FieldJudgement("unclear" if is_bare else "contradicted", record, field, conflict)


def _read_value(forms: Sequence[str], dropped: Set[str] = frozenset()) -> _Value:
    forms = [form for form in forms if form not in dropped]
    figures = tuple(form for form in forms if any(map(str.isdigit, form)))
    units = sorted(get_unit(form) for form in forms if get_unit(form))
    others = sorted(form for form in forms if form not in figures and not get_unit(form))
    return _Value(figures, tuple(units), tuple(others))


def _is_multiple(said: _Value, stated: _Value) -> bool:
    """Return whether a claim writes out a figure that its table has in thousands, millions or billions."""
    if len(said.figures) != 1 or len(stated.figures) != 1:
        return False
    figures = [parse_amount(value.figures[0]) for value in (said, stated)]
    return any(figures[1] and figures[0] == figures[1] * scale for scale in SCALES) if all(figures) else False


def _find_conflict_kind(
    said: _Value, stated: _Value, record: Record, n: int, dropped: Set[str]
) -> FactKind | Literal[""]:
    """Return by what two values of one kind differ: numbers of one unit, dates, or words that one column has."""
    if said.figures and stated.figures:
        is_alike = len(said.figures) == len(stated.figures) and said.units == stated.units
        if is_alike and len(said.others) == len(stated.others) == 1 and {*said.others, *stated.others} <= _MONTHS:
            return "date"
        are_numbers = all(form.isdecimal() or not any(map(str.isalpha, form)) for form in said.figures + stated.figures)
        return ("number" if are_numbers else "name") if is_alike and said.others == stated.others else ""
    if said.figures or stated.figures or said.units or stated.units:
        return ""
    peers = record.peers[n] if record.peers else ()
    known = {_read_value(_read_form(peer), dropped) for peer in peers}
    return "name" if said in known else ""
