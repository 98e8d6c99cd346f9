"""Find the texts of a field in a document, its terms, and the places where a query's words stand in it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .analysis import Token
from .postings import measure_edits
from .query_tree import (
    AllOf,
    AnyOf,
    Boosted,
    Clauses,
    Fuzzy,
    InField,
    Near,
    Pattern,
    Phrase,
    Prefix,
    Query,
    Term,
    Without,
)
from .schema import Field

Json = dict[str, Any]
TermTest = Callable[[str], bool]


def list_texts(document: Any, path: str) -> Iterator[str]:
    """List the strings at a path, through collections too."""
    yield from _walk_texts(document, path.split("/"))


def _walk_texts(value: Any, names: Sequence[str]) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _walk_texts(item, names)
    elif names and isinstance(value, Mapping):
        yield from _walk_texts(value.get(names[0]), names[1:])
    elif isinstance(value, str):
        yield value


def analyze_query_text(text: str, field: Field) -> Iterator[Token]:
    return field.search_analysis.analyze(text)


def analyze_field_text(text: str, field: Field) -> Iterator[Token]:
    return field.index_analysis.analyze(text)


def list_term_tests(query: Query, field: Field) -> list[TermTest]:
    """List the tests of which a term of a field passes one when a query asks for it: what a highlight marks."""
    match query:
        case AllOf(parts) | AnyOf(parts):
            return [test for part in parts for test in list_term_tests(part, field)]
        case Clauses(must, may, _):
            return [test for part in (*must, *may) for test in list_term_tests(part, field)]
        case Boosted(inner, _):
            return list_term_tests(inner, field)
        case InField(path, inner):
            return list_term_tests(inner, field) if path == field.path else []
        case Term(text) | Phrase(text) | Near(text, _):
            terms = {token.term for token in analyze_query_text(text, field)}
            return [terms.__contains__]
        case Prefix(text):
            start = text.lower()
            return [lambda term: term.startswith(start)]
        case Pattern(regex):
            pattern = re.compile(regex, re.DOTALL)
            return [lambda term: pattern.fullmatch(term) is not None]
        case Fuzzy(text, edits):
            word = text.lower()
            return [lambda term: measure_edits(word, term, edits) <= edits]
        case Without():
            return []


def count_terms(document: Json, field: Field) -> Counter[str]:
    return Counter(token.term for text in list_texts(document, field.path) for token in analyze_field_text(text, field))


def count_phrase(tokens: Sequence[Token], document: Json, field: Field, slop: int) -> int:
    """Count how often the tokens stand in a document as far apart as in the question, give or take `slop` places."""
    offsets = [(token.term, token.position - tokens[0].position) for token in tokens]
    count = 0
    for text in list_texts(document, field.path):
        places: dict[str, list[int]] = {}
        for token in analyze_field_text(text, field):
            places.setdefault(token.term, []).append(token.position)
        starts = places.get(tokens[0].term, [])
        count += sum(_measure_slop(offsets, start, places) <= slop for start in starts)
    return count


def _measure_slop(offsets: Sequence[tuple[str, int]], start: int, places: Mapping[str, Sequence[int]]) -> float:
    """Measure how many places the words must be moved to stand as the phrase that begins at `start`."""
    return sum(
        min((abs(place - start - offset) for place in places.get(term, ())), default=float("inf"))
        for term, offset in offsets
    )
