"""Search by words: an inverted index a field and BM25 over it are exact and in memory.

It is our own rather than tantivy: any schema may come and be changed, scores are summed per field as Lucene does, and
the tokens are needed with their places for phrases, highlights and suggestions. It is meant for what fits in memory.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .analysis import ANALYZERS, Token
from .schema import Field
from .syntax import AllOf, AnyOf, Phrase, Prefix, Query, Term, Without

Json = dict[str, Any]
Scores = dict[str, float]


@dataclasses.dataclass
class FieldPostings:
    """The postings of one field hold, for each term, the documents and how often it stands in them."""

    field: Field
    postings: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    lengths: dict[str, int] = dataclasses.field(default_factory=dict)
    total: int = 0

    def add_document(self, key: str, terms: Counter[str]) -> None:
        for term, count in terms.items():
            self.postings.setdefault(term, {})[key] = count
        self.lengths[key] = terms.total()
        self.total += terms.total()

    def remove_document(self, key: str, terms: Iterable[str]) -> None:
        for term in terms:
            held = self.postings[term]
            del held[key]
            if not held:
                del self.postings[term]
        self.total -= self.lengths.pop(key, 0)


class WordIndex:
    """The index finds documents by their words. Changes are applied when the next search comes."""

    def __init__(self, fields: Sequence[Field], *, k1: float, b: float) -> None:
        self._fields = {field.path: FieldPostings(field) for field in fields}
        self._documents: dict[str, Json] = {}
        self._pending: dict[str, Json | None] = {}
        self._k1, self._b = k1, b

    def queue_changes(self, changes: Mapping[str, Json | None]) -> None:
        self._pending.update(changes)

    def find_documents(self, query: Query, paths: Sequence[str], *, every: bool) -> Scores:
        """Find documents, with their scores summed over the fields; `every` asks for all the tokens of one word."""
        self._apply_pending_changes()
        found = self._score_query(query, [self._fields[path] for path in paths], every)
        return {} if found is None else found

    def _apply_pending_changes(self) -> None:
        for key, document in self._pending.items():
            old = self._documents.pop(key, None)
            for posted in self._fields.values():
                if old is not None and key in posted.lengths:
                    posted.remove_document(key, _count_terms(old, posted.field))
                if document is not None and (terms := _count_terms(document, posted.field)):
                    posted.add_document(key, terms)
            if document is not None:
                self._documents[key] = document
        self._pending.clear()

    def _score_query(self, query: Query, fields: Sequence[FieldPostings], every: bool) -> Scores | None:
        """Score a query; return None when analysis leaves nothing of it: stop words neither match nor forbid."""
        match query:
            case AllOf(parts):
                return _combine_scores((self._score_query(part, fields, every) for part in parts), every=True)
            case AnyOf(parts):
                return _combine_scores((self._score_query(part, fields, every) for part in parts), every=False)
            case Without(inner):
                found = self._score_query(inner, fields, every)
                return None if found is None else {key: 1.0 for key in self._documents if key not in found}
            case Term(text):
                return _combine_scores((self._score_term(text, posted, every) for posted in fields), every=False)
            case Phrase(text):
                return _combine_scores((self._score_phrase(text, posted) for posted in fields), every=False)
            case Prefix(text):
                return _combine_scores((_score_prefix(text, posted) for posted in fields), every=False)

    def _score_term(self, text: str, posted: FieldPostings, every: bool) -> Scores | None:
        tokens = analyze_query_text(text, posted.field)
        return _combine_scores((self._score_postings(posted, [token.term]) for token in tokens), every=every)

    def _score_phrase(self, text: str, posted: FieldPostings) -> Scores | None:
        tokens = list(analyze_query_text(text, posted.field))
        if len(tokens) < 2:
            return self._score_postings(posted, [token.term for token in tokens]) if tokens else None
        held = [posted.postings.get(token.term, {}) for token in tokens]
        both = set(held[0]).intersection(*held[1:])
        times = {key: _count_phrase(tokens, self._documents[key], posted.field) for key in both}
        return self._compute_bm25(posted, {key: n for key, n in times.items() if n}, [len(one) for one in held])

    def _score_postings(self, posted: FieldPostings, terms: Sequence[str]) -> Scores:
        held = posted.postings.get(terms[0], {})
        return self._compute_bm25(posted, held, [len(held)])

    def _compute_bm25(self, posted: FieldPostings, times: Mapping[str, int], found_in: Sequence[int]) -> Scores:
        """Compute Lucene's BM25:

        ln(1 + (N - n + 0.5) / (n + 0.5)) * tf / (tf + k1 * (1 - b + b * length / average)).
        """
        if not times:
            return {}
        held = len(posted.lengths)
        idf = sum(math.log(1 + (held - n + 0.5) / (n + 0.5)) for n in found_in)
        average = posted.total / held
        return {
            key: idf * tf / (tf + self._k1 * (1 - self._b + self._b * posted.lengths[key] / average))
            for key, tf in times.items()
        }


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
    return ANALYZERS[field.search_analyzer].analyze(text)


def analyze_field_text(text: str, field: Field) -> Iterator[Token]:
    return ANALYZERS[field.analyzer].analyze(text)


def list_query_terms(query: Query, field: Field) -> tuple[set[str], tuple[str, ...]]:
    """List the terms and the beginnings of terms that a query asks of a field: what a highlight marks."""
    match query:
        case AllOf(parts) | AnyOf(parts):
            found = [list_query_terms(part, field) for part in parts]
            return set().union(*(terms for terms, _ in found)), tuple(p for _, prefixes in found for p in prefixes)
        case Term(text) | Phrase(text):
            return {token.term for token in analyze_query_text(text, field)}, ()
        case Prefix(text):
            return set(), (text.lower(),)
        case Without():
            return set(), ()


def _count_terms(document: Json, field: Field) -> Counter[str]:
    return Counter(token.term for text in list_texts(document, field.path) for token in analyze_field_text(text, field))


def _count_phrase(tokens: Sequence[Token], document: Json, field: Field) -> int:
    """Count how often the tokens stand in a document one after the other, as far apart as in the question."""
    offsets = [(token.term, token.position - tokens[0].position) for token in tokens]
    count = 0
    for text in list_texts(document, field.path):
        places = {(token.term, token.position) for token in analyze_field_text(text, field)}
        starts = [position for term, position in places if term == tokens[0].term]
        count += sum(all((term, start + offset) in places for term, offset in offsets) for start in starts)
    return count


def _score_prefix(text: str, posted: FieldPostings) -> Scores:
    """Score what a prefix finds, which is lower-cased but not analyzed, with 1."""
    start = text.lower()
    return {key: 1.0 for term, held in posted.postings.items() if term.startswith(start) for key in held}


def _combine_scores(parts: Iterable[Scores | None], *, every: bool) -> Scores | None:
    """Sum the scores of what matches every part, or some; return None when there is no part."""
    held = [part for part in parts if part is not None]
    if not held:
        return None
    keys = set(held[0]).intersection(*held[1:]) if every else set().union(*held)
    return {key: math.fsum(part[key] for part in held if key in part) for key in keys}
