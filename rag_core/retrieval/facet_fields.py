"""Which field a question counts: "How many unique DTC codes?" asks for the values of `dtc`."""

from collections.abc import Sequence

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import ANY_ENTITY
from rag_core.text.terms import WORD, term, terms

ALWAYS = (ANY_ENTITY, "title", "source")

SYNONYMS = {  # terms by which people mean a field whose name they do not know
    "title": "document manual",
    "source": "file path",
    "acronym": "abbreviation",
    "dtc": "trouble fault diagnostic",
    "phrase": "topic keyword term",
    ANY_ENTITY: "entity identifier",
}


def known(fields: Sequence[str]) -> tuple[str, ...]:
    """The fields that can be counted, those with values and those that every document has."""
    return tuple(dict.fromkeys((*fields, *ALWAYS)))


def requested(wanted: Sequence[str], fields: Sequence[str]) -> list[str]:
    """The fields asked for, each once; "make" also means "metadata.make".

    Raises:
        InvalidRequest: one of them is not there; the message lists those that are.
    """
    available = known(fields)
    full = {field.removeprefix("metadata."): field for field in reversed(available)}
    missing = [field for field in wanted if field not in available and field not in full]
    if missing:
        raise InvalidRequest("facets", f"must be among {', '.join(available)}", code="unknown_facet")
    return list(dict.fromkeys(field if field in available else full[field] for field in wanted))


def meant(text: str, fields: Sequence[str]) -> str | None:
    """The field whose name shares most terms with the question, the shorter name among equals; None when none does."""
    asked = terms(text)
    scores = {field: _agreement(field, asked) for field in known(fields)}
    best = max(scores, key=lambda field: scores[field])
    return best if scores[best] > (0, 0.0) else None


def _agreement(field: str, asked: frozenset[str]) -> tuple[int, float]:
    """How many terms of the field's name are asked for, a synonym counting as one; then, which share of the name."""
    name = {term(word) for word in WORD.findall(field.removeprefix("metadata.").replace("_", " "))}
    shared = len(name & asked) or int(bool(asked & terms(SYNONYMS.get(field, ""))))
    return shared, shared / len(name)
