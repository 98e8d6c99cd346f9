"""The field that a question wants counted: "How many unique DTC codes?" is about the values of `dtc`."""

from collections.abc import Sequence

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import ANY_ENTITY
from rag_core.text.terms import WORD, term, terms

ALWAYS = (ANY_ENTITY, "title", "source")

SYNONYMS = {  # terms that people use for a field whose name they do not know
    "title": "document manual",
    "source": "file path",
    "acronym": "abbreviation",
    "dtc": "trouble fault diagnostic",
    "phrase": "topic keyword term",
    ANY_ENTITY: "entity identifier",
}


def known(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the fields that can be counted: those with values, then those that every document has."""
    return tuple(dict.fromkeys((*fields, *ALWAYS)))


def requested(wanted: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Return the full names of the requested fields, each once; "make" also stands for "metadata.make".

    Raises:
        InvalidRequest: one of them does not exist; the message lists those that do (unknown_facet).
    """
    available = known(fields)
    full = {field.removeprefix("metadata."): field for field in reversed(available)}
    missing = [field for field in wanted if field not in available and field not in full]
    if missing:
        raise InvalidRequest("facets", f"must be among {', '.join(available)}", code="unknown_facet")
    return list(dict.fromkeys(field if field in available else full[field] for field in wanted))


def meant(text: str, fields: Sequence[str]) -> str | None:
    """Return the field whose name shares most terms with the question, the shorter name among equals, or None."""
    query_terms = terms(text)
    scores = {field: _agreement(field, query_terms) for field in known(fields)}
    best = max(scores, key=lambda field: scores[field])
    return best if scores[best] > (0, 0.0) else None


def _agreement(field: str, query_terms: frozenset[str]) -> tuple[int, float]:
    """Count the terms of a field's name in the question, synonyms as one; return also their share of the name."""
    name_terms = {term(word) for word in WORD.findall(field.removeprefix("metadata.").replace("_", " "))}
    shared = len(name_terms & query_terms) or int(bool(query_terms & terms(SYNONYMS.get(field, ""))))
    return shared, shared / len(name_terms)
