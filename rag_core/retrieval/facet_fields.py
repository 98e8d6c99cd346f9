"""The field that a question wants counted: "How many unique DTC codes?" is about the values of `dtc`."""

from collections.abc import Sequence

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import ANY_ENTITY_FIELD
from rag_core.text.terms import WORD_PATTERN, extract_terms, stem_word

COMMON_FACET_FIELDS = (ANY_ENTITY_FIELD, "title", "source")

FIELD_SYNONYMS = {  # terms that people use for a field whose name they do not know
    "title": "document manual",
    "source": "file path",
    "acronym": "abbreviation",
    "dtc": "trouble fault diagnostic",
    "code": "part number article order",
    "date": "day when",
    "money": "amount price cost",
    "organization": "organisation company firm agency supplier customer",
    "person": "people name who",
    "place": "city country location where",
    "term": "topic keyword",
    ANY_ENTITY_FIELD: "entity identifier",
}


def list_countable_fields(available_fields: Sequence[str]) -> tuple[str, ...]:
    """Return the fields that can be counted: those with values, then those that every document has."""
    return tuple(dict.fromkeys((*available_fields, *COMMON_FACET_FIELDS)))


def resolve_facet_fields(requested_fields: Sequence[str], available_fields: Sequence[str]) -> list[str]:
    """Return the full names of the requested fields, each once; "make" also stands for "metadata.make".

    Raises:
        InvalidRequest: one of them does not exist; the message lists those that do (unknown_facet).
    """
    available = list_countable_fields(available_fields)
    full = {field.removeprefix("metadata."): field for field in reversed(available)}
    missing = [field for field in requested_fields if field not in available and field not in full]
    if missing:
        raise InvalidRequest("facets", f"must be among {', '.join(available)}", code="unknown_facet")
    return list(dict.fromkeys(field if field in available else full[field] for field in requested_fields))


def infer_facet_field(query_text: str, available_fields: Sequence[str]) -> str | None:
    """Return the field whose name shares most terms with the question, or None.

    Among equals it is the field with the shorter name, then the one that the question names first, then a column: the
    value of a column is exact.
    """
    query_terms = extract_terms(query_text)
    order = [stem_word(word) for word in WORD_PATTERN.findall(query_text)]

    def rank(field: str) -> tuple[tuple[int, float], int, bool]:
        names = _list_name_terms(field) | extract_terms(FIELD_SYNONYMS.get(field, ""))
        first = min((order.index(term) for term in names if term in order), default=len(order))
        return _score_field_name(field, query_terms), -first, field.startswith("metadata.")

    best = max(list_countable_fields(available_fields), key=rank)
    return best if _score_field_name(best, query_terms) > (0, 0.0) else None


def _list_name_terms(field: str) -> set[str]:
    return {stem_word(word) for word in WORD_PATTERN.findall(field.removeprefix("metadata.").replace("_", " "))}


def _score_field_name(field: str, query_terms: frozenset[str]) -> tuple[int, float]:
    """Count the terms of a field's name in the question, synonyms as one; return also their share of the name."""
    name_terms = _list_name_terms(field)
    shared = len(name_terms & query_terms) or int(bool(query_terms & extract_terms(FIELD_SYNONYMS.get(field, ""))))
    return shared, shared / len(name_terms)
