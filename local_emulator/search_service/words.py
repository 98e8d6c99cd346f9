"""Search by words: an inverted index a field and BM25 over it are exact and in memory.

It is our own rather than tantivy: any schema may come and be changed, scores are summed per field as Lucene does, and
the tokens are needed with their places for phrases, highlights and suggestions. It is meant for what fits in memory.
"""

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .analysis import Token
from .field_texts import analyze_query_text, count_phrase, count_terms
from .postings import FieldPostings, combine_scores, measure_edits, score_matching
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
from .synonyms import SynonymMaps

Json = dict[str, Any]
Scores = dict[str, float]


@dataclasses.dataclass(frozen=True, slots=True)
class _SearchedFields:
    """The fields that a query is asked of, and how much a hit in each counts."""

    paths: Sequence[str]
    weights: Mapping[str, float]
    every: bool


class WordIndex:
    """The index finds documents by their words. Changes are applied when the next search comes."""

    def __init__(self, fields: Sequence[Field], synonyms: SynonymMaps, *, k1: float, b: float) -> None:
        self._fields = {field.path: FieldPostings(field) for field in fields}
        self._synonyms = synonyms
        self._documents: dict[str, Json] = {}
        self._pending: dict[str, Json | None] = {}
        self._k1, self._b = k1, b

    def queue_changes(self, changes: Mapping[str, Json | None]) -> None:
        self._pending.update(changes)

    def find_documents(
        self, query: Query, paths: Sequence[str], *, every: bool, weights: Mapping[str, float] | None = None
    ) -> Scores:
        """Find documents, with their scores summed over the fields; `every` asks for all the tokens of one word."""
        self._apply_pending_changes()
        found = self._score_query(query, _SearchedFields(paths, weights or {}, every))
        return {} if found is None else found

    def _apply_pending_changes(self) -> None:
        for key, document in self._pending.items():
            old = self._documents.pop(key, None)
            for posted in self._fields.values():
                if old is not None and key in posted.lengths:
                    posted.remove_document(key, count_terms(old, posted.field))
                if document is not None and (terms := count_terms(document, posted.field)):
                    posted.add_document(key, terms)
            if document is not None:
                self._documents[key] = document
        self._pending.clear()

    def _score_query(self, query: Query, asked: _SearchedFields) -> Scores | None:
        """Score a query; return None when analysis leaves nothing of it: stop words neither match nor forbid."""
        match query:
            case AllOf(parts):
                return combine_scores((self._score_query(part, asked) for part in parts), every=True)
            case AnyOf(parts):
                return combine_scores((self._score_query(part, asked) for part in parts), every=False)
            case Clauses():
                return self._score_clauses(query, asked)
            case Without(inner):
                return self._score_others(inner, asked)
            case Boosted(inner, factor):
                found = self._score_query(inner, asked)
                return None if found is None else {key: score * factor for key, score in found.items()}
            case InField(path, inner):
                return self._score_query(inner, dataclasses.replace(asked, paths=(path,)))
            case _:
                return combine_scores((self._score_in_field(query, path, asked) for path in asked.paths), every=False)

    def _score_clauses(self, query: Clauses, asked: _SearchedFields) -> Scores | None:
        must = combine_scores((self._score_query(part, asked) for part in query.must), every=True)
        may = combine_scores((self._score_query(part, asked) for part in query.may), every=False)
        found = may if must is None else {key: score + (may or {}).get(key, 0.0) for key, score in must.items()}
        if not query.must_not:
            return found
        without = self._score_others(AnyOf(query.must_not), asked)
        if found is None or without is None:
            return without if found is None and not (query.must or query.may) else found
        return {key: score for key, score in found.items() if key in without}

    def _score_others(self, inner: Query, asked: _SearchedFields) -> Scores | None:
        found = self._score_query(inner, asked)
        return None if found is None else {key: 1.0 for key in self._documents if key not in found}

    def _score_in_field(self, query: Query, path: str, asked: _SearchedFields) -> Scores | None:
        posted = self._fields[path]
        match query:
            case Term(text):
                found = self._score_words(text, posted, every=asked.every)
            case Phrase(text):
                found = self._score_words(text, posted)
            case Near(text, slop):
                found = self._score_tokens(list(analyze_query_text(text, posted.field)), posted, slop)
            case Prefix(text):
                found = score_matching(posted, re.compile(re.escape(text.lower()) + ".*", re.DOTALL))
            case Pattern(regex):
                found = score_matching(posted, re.compile(regex, re.DOTALL))
            case Fuzzy(text, edits):
                found = self._score_fuzzy(text, edits, posted)
            case _:
                raise TypeError(f"{query} is not a query of one field")
        weight = asked.weights.get(path, 1.0)
        return found if found is None or weight == 1 else {key: score * weight for key, score in found.items()}

    def _score_words(self, text: str, posted: FieldPostings, *, every: bool | None = None) -> Scores | None:
        """Score the tokens of a text as a phrase or, where `every` is given, by all or some of them."""
        field = posted.field
        tokens = list(analyze_query_text(text, field))
        rules = self._synonyms.get_rules(field.synonym_maps, field.search_analysis)
        wordings = rules.get(tuple(token.term for token in tokens))
        if wordings is not None:
            return combine_scores((self._score_phrase(wording, posted) for wording in wordings), every=False)
        if every is None:
            return self._score_tokens(tokens, posted)
        at_one_place = (list(held) for _, held in itertools.groupby(tokens, key=lambda token: token.position))
        return combine_scores((self._score_alternatives(held, posted) for held in at_one_place), every=every)

    def _score_alternatives(self, tokens: Sequence[Token], posted: FieldPostings) -> Scores | None:
        return combine_scores((self._score_postings(posted, [token.term]) for token in tokens), every=False)

    def _score_tokens(self, tokens: Sequence[Token], posted: FieldPostings, slop: int = 0) -> Scores | None:
        if len(tokens) < 2:
            return self._score_postings(posted, [token.term for token in tokens]) if tokens else None
        held = [posted.postings.get(token.term, {}) for token in tokens]
        both = set(held[0]).intersection(*held[1:])
        times = {key: count_phrase(tokens, self._documents[key], posted.field, slop) for key in both}
        return self._compute_bm25(posted, {key: n for key, n in times.items() if n}, [len(one) for one in held])

    def _score_phrase(self, terms: Sequence[str], posted: FieldPostings) -> Scores | None:
        return self._score_tokens([Token(term, 0, 0, place) for place, term in enumerate(terms)], posted)

    def _score_fuzzy(self, text: str, edits: int, posted: FieldPostings) -> Scores | None:
        """Score the terms that differ in few letters, each by the share of its letters that are right."""
        word = text.lower()
        near = {term: measure_edits(word, term, edits) for term in posted.postings}
        found = [
            {key: score * (1 - apart / max(1, min(len(word), len(term)))) for key, score in scores.items()}
            for term, apart in near.items()
            if apart <= edits and (scores := self._score_postings(posted, [term]))
        ]
        return combine_scores(found, every=False) if found else {}

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
