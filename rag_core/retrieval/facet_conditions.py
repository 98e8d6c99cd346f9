"""The condition under which a question counts: "How many products does Acme supply?" is about the rows of Acme.

A condition is a value of the index that the question names. What the question names and no document has is told.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_core.core.model import ANY_ENTITY_FIELD, Facet, Filter, Scalar, Scope
from rag_core.core.ports import ChunkStore
from rag_core.retrieval.facet_fields import FIELD_SYNONYMS
from rag_core.text.conditions import list_conditions
from rag_core.text.stop_words import QUESTION_STOP_WORDS, parse_word_list
from rag_core.text.terms import WORD_PATTERN, extract_terms

ALL_VALUES = 1_000_000  # of a field: one that is not compared would be told to be in no document
MIN_NUMBER_DIGITS = 3  # of a number that is a condition: in "the top 10" it is none
MAX_VALUE_WORDS = 8
MIN_BEGINNING_CHARS = 5  # that a verb and a noun of the same origin share
_LEGAL_FORMS = parse_word_list(
    "inc llc ltd limited plc gmbh ag kg se sa bv nv ab as oy corp corporation co company llp"
)
_SUBJECT = re.compile(r"\b(?:does|do|did)\s(?:(?:the|a|an|all|our|your|my)\s)?([\w'’&-]{1,60})", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)(?<![.!?:]\s)\b[^\W\d_a-z][\w'’&-]{0,60}|\b(?=[\w-]{0,40}\d)[\w-]{2,60}")
_QUOTED = re.compile(r"[\"“]([^\"”]{1,80})[\"”]")
# what a question says of the whole of what it counts
_IDLE_TERMS = extract_terms(
    "document file corpus index workflow collection list table data row value entry record passage text name kind type "
    "unique distinct different many much number code count total all each every there here they it you we"
)


@dataclass(frozen=True, slots=True)
class NamedValue:
    """Values of a field that the same words of a question name; `others` are the fields that have them, too."""

    field: str
    values: tuple[Scalar, ...]
    words: tuple[str, ...]
    others: tuple[str, ...] = ()

    def to_filter(self) -> Filter:
        """Return the condition as a filter."""
        return (
            Filter(self.field, "in", self.values) if len(self.values) > 1 else Filter(self.field, "eq", self.values[0])
        )

    def __str__(self) -> str:
        return f"{self.field} is {' or '.join(map(str, self.values))}"


@dataclass(frozen=True, slots=True)
class FacetConditions:
    """The conditions of a question: those that the index can apply, and in the question's words those it cannot."""

    applied: tuple[NamedValue, ...] = ()
    unknown: tuple[str, ...] = ()


async def find_facet_conditions(
    question: str,
    counted: Sequence[str],
    available: Sequence[str],
    filters: Sequence[Filter],
    scope: Scope,
    store: ChunkStore,
) -> FacetConditions:
    """Return the conditions of a question that counts some fields; filters that were asked for need no condition."""
    fields = [field for field in available if field not in (*counted, ANY_ENTITY_FIELD, "document_id", "page")]
    facets = await store.count_facets(fields, scope, filters=filters, limit=ALL_VALUES) if fields else []
    applied = _choose_named_values(question, facets, counted)
    used = {word for named in applied for word in named.words}
    for condition in filters:
        used.update(_list_words(str(condition.value)))
    return FacetConditions(applied, tuple(_find_unknown(question, used, [*counted, *available])))


def _choose_named_values(question: str, facets: Sequence[Facet], counted: Sequence[str]) -> tuple[NamedValue, ...]:
    """Return the values that the question names: the longest at each place, of the field that it speaks of.

    Words that name what is counted are none: of "How many DTC codes?" the acronym DTC.
    """
    words = _list_words(question)
    of_counted = extract_terms(_write_names(counted)) | _IDLE_TERMS
    by_name = _index_values(facets)
    roots = _list_beginnings(question)
    chosen: list[NamedValue] = []
    at = 0
    while at < len(words):
        for end in range(min(len(words), at + MAX_VALUE_WORDS), at, -1):
            found = by_name.get(tuple(words[at:end]))
            if found and extract_terms(" ".join(words[at:end])) - of_counted:
                chosen.append(_choose_field(found, roots, tuple(words[at:end])))
                at = end - 1
                break
        at += 1
    return tuple(chosen)


def _index_values(facets: Sequence[Facet]) -> dict[tuple[str, ...], dict[str, list[Scalar]]]:
    """Return by the words of a name the fields that have it, with the values that bear it."""
    by_name: dict[tuple[str, ...], dict[str, list[Scalar]]] = {}
    for facet in facets:
        for bucket in facet.buckets:
            for name in _list_names(bucket.value):
                values = by_name.setdefault(name, {}).setdefault(facet.field, [])
                values.append(bucket.value)
    return by_name


def _list_names(value: object) -> Iterator[tuple[str, ...]]:
    """Yield a value in words, and the name of a firm without its legal form; nothing for an idle word or 1 to 99."""
    is_text = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    words = tuple(_list_words(str(value))) if is_text else ()
    if not words or len(words) > MAX_VALUE_WORDS or extract_terms(" ".join(words)) <= _IDLE_TERMS:
        return
    if all(map(str.isdigit, words)) and len("".join(words)) < MIN_NUMBER_DIGITS:
        return
    yield words
    short = words
    while len(short) > 1 and short[-1] in _LEGAL_FORMS:
        short = short[:-1]
    if short != words:
        yield short


def _choose_field(found: dict[str, list[Scalar]], roots: set[str], words: tuple[str, ...]) -> NamedValue:
    """Return the value under the field whose name the question has in any form, else under the most exact one."""

    def rank(field: str) -> tuple[bool, bool, bool]:
        is_spoken_of = not roots.isdisjoint(_list_beginnings(field.removeprefix("metadata.").replace("_", " ")))
        return not is_spoken_of, not field.startswith("metadata."), field in ("title", "source")

    field, *others = sorted(found, key=rank)
    rivals = tuple(other for other in others if other.startswith("metadata.") and rank(other) == rank(field))
    return NamedValue(field, tuple(dict.fromkeys(found[field])), words, rivals)


def _list_beginnings(text: str) -> set[str]:
    """Return how the words of a text begin: "supply" and "supplier" begin alike."""
    return {word[:MIN_BEGINNING_CHARS] for word in _list_words(text) if word not in QUESTION_STOP_WORDS}


def _find_unknown(question: str, used: set[str], fields: Sequence[str]) -> Iterator[str]:
    """Yield what the question names besides the values in use and the names of fields."""
    known = set(used) | QUESTION_STOP_WORDS
    terms = extract_terms(" ".join([*known, _write_names(fields), *FIELD_SYNONYMS.values()])) | _IDLE_TERMS
    patterns = (_QUOTED, _NAME, _SUBJECT)
    named = [match[match.re.groups] for pattern in patterns for match in pattern.finditer(question)]
    told: set[str] = set()
    for words in (*named, *list_conditions(question)):
        own = extract_terms(words) - terms - told
        is_count = words.isdigit() and len(words) < MIN_NUMBER_DIGITS
        if own and not is_count and not known.issuperset(_list_words(words)):
            told |= own
            yield words


def _write_names(fields: Sequence[str]) -> str:
    """Return the names of fields as words, with what people call them."""
    names = (f"{field.removeprefix('metadata.')} {FIELD_SYNONYMS.get(field, '')}" for field in fields)
    return " ".join(names).replace("_", " ")


def _list_words(text: str) -> list[str]:
    return [word.casefold() for word in WORD_PATTERN.findall(text)]
