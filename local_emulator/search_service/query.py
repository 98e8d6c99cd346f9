"""Run one search: its legs are run and fused, and the answer is put together as the service does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import semantic
from .documents import EmulatedIndex
from .expressions import Expression, matches_filter
from .facets import count_facets
from .highlights import highlight_document
from .orderby import SortClause
from .permissions import Reader
from .postings import combine_scores
from .request import PAGE, SearchRequest
from .schema import Schema
from .semantic import RankedDocument, Ranker, SemanticRanking
from .vector_queries import VectorQuery

Json = dict[str, Any]
Scored = list[tuple[str, float]]

LARGEST_PAGE = 1000  # results of one page
RRF_K = 60


@dataclass(frozen=True, slots=True)
class Leg:
    """A leg is one of the rankings that are fused: of a vector field, or of the words where `path` is empty."""

    path: str
    hits: Scored
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class MatchedDocuments:
    """The hits are in order, and the documents are as they were at that moment."""

    hits: Scored
    legs: Sequence[Leg]
    documents: Mapping[str, Json]


def run_search(
    index: EmulatedIndex, asked: SearchRequest, body: Json, reranker: Ranker | None, link: str, reader: Reader
) -> tuple[int, Json]:
    """Run a search and return the status and the answer. `link` is where the next page is asked for."""
    with index.lock:
        index.publish_due_changes()
        found = find_documents(asked, index, reader)
    ranking = rank_semantically(asked, found, reranker)
    return 206 if ranking.failure else 200, _build_search_answer(asked, body, found, ranking, index.schema, link)


def find_documents(asked: SearchRequest, index: EmulatedIndex, reader: Reader) -> MatchedDocuments:
    """Find what matches, in order, of what the reader may read. The caller holds the index's lock."""
    passing = _filter_documents(asked.filter, _list_readable(index.documents, reader))
    legs = _run_legs(asked, index, passing, narrowed=reader.allowed is not None)
    ranked = legs[0].hits if len(legs) == 1 else fuse_legs(legs)
    hits = _sort_hits(asked.order, [hit for hit in ranked if hit[0] in passing], passing)
    return MatchedDocuments(hits, legs, {key: passing[key] for key, _ in hits})


def _list_readable(documents: Mapping[str, Json], reader: Reader) -> Mapping[str, Json]:
    if reader.allowed is None:
        return documents
    return {key: document for key, document in documents.items() if reader.may_read(document)}


def _run_legs(asked: SearchRequest, index: EmulatedIndex, passing: Mapping[str, Json], *, narrowed: bool) -> list[Leg]:
    """Run the legs; the filter narrows them before they are cut to their best, or only what is left afterwards."""
    among = passing if narrowed or (asked.filter and asked.filter_mode == "preFilter") else None
    legs = [Leg(one.field.path, _find_nearest(one, index, among), one.weight) for one in asked.vectors]
    if asked.words is None and legs:
        return legs
    worded = _score_words(asked, index)
    best = _sort_by_score(worded if among is None else {key: score for key, score in worded.items() if key in among})
    return [Leg("", best[: asked.recall] if legs else best), *legs]


def _find_nearest(asked: VectorQuery, index: EmulatedIndex, among: Mapping[str, Json] | None) -> Scored:
    nearest = index.vectors.find_nearest(asked.field, asked.vector, asked.k, among, oversampling=asked.oversampling)
    return [(key, score) for key, score in nearest if score >= asked.least]


def fuse_legs(legs: Sequence[Leg]) -> Scored:
    """Fuse by reciprocal rank in float32: the sum of weight / (60 + rank), ranks from 0, as recorded of the service."""
    scores: dict[str, np.float32] = {}
    for leg in legs:
        for rank, (key, _) in enumerate(leg.hits):
            part = np.float32(leg.weight) * (np.float32(1) / np.float32(RRF_K + rank))
            scores[key] = scores.get(key, np.float32(0)) + part
    return _sort_by_score(scores)


def _filter_documents(expression: Expression | None, documents: Mapping[str, Json]) -> Mapping[str, Json]:
    if expression is None:
        return documents
    return {key: document for key, document in documents.items() if matches_filter(expression, document)}


def _score_words(asked: SearchRequest, index: EmulatedIndex) -> Mapping[str, float]:
    if asked.words is None:
        scores = dict.fromkeys(index.documents, 1.0)
    else:
        weights = asked.scoring.weights if asked.scoring else None
        found = [
            index.words.find_documents(words, asked.fields, every=asked.every, weights=weights)
            for words in (asked.words, *asked.rewritten)
        ]
        scores = combine_scores(found, every=False) or {}
    if asked.scoring is None:
        return scores
    return {key: score * asked.scoring.compute_factor(index.documents[key]) for key, score in scores.items()}


def _sort_by_score(scores: Mapping[str, float | np.float32]) -> Scored:
    """Sort by score, best first, equals by key; a score is a float32, as on the wire."""
    rounded = ((key, float(np.float32(score))) for key, score in scores.items())
    return sorted(rounded, key=lambda hit: (-hit[1], hit[0]))


def _sort_hits(order: Sequence[SortClause], found: Scored, documents: Mapping[str, Json]) -> Scored:
    """Sort by the clauses, the last one first: each sort keeps the order of equals. Null is less than any value."""
    for clause in reversed(order):
        key = _make_sort_key(clause, documents)
        found = sorted(found, key=key, reverse=clause.descending)
    return found


def _make_sort_key(clause: SortClause, documents: Mapping[str, Json]) -> Callable[[tuple[str, float]], Any]:
    return lambda hit: clause.get_key(documents[hit[0]]) if clause.path else hit[1]


def rank_semantically(asked: SearchRequest, found: MatchedDocuments, reranker: Ranker | None) -> SemanticRanking:
    if asked.semantic is None or reranker is None:
        return SemanticRanking()
    first = [(key, found.documents[key]) for key, _ in found.hits[: semantic.DEPTH]]
    return semantic.rank_documents(asked.semantic, first, reranker, asked.scoring)


def _build_search_answer(
    asked: SearchRequest, body: Json, found: MatchedDocuments, ranking: SemanticRanking, schema: Schema, link: str
) -> Json:
    """Build the members of the answer that were asked for, in the service's order."""
    size = min(PAGE if asked.top is None else asked.top, LARGEST_PAGE)
    more = _has_more(asked, len(found.hits), size)
    hits = _reorder_hits(found.hits, ranking)[asked.skip : asked.skip + size]
    members: Mapping[str, tuple[bool, Callable[[], Any]]] = {
        "@odata.count": (asked.count, lambda: len(found.hits)),
        "@search.coverage": (asked.coverage, lambda: 100.0),
        "@search.facets": (bool(asked.facets), lambda: count_facets(asked.facets, found.documents.values())),
        "@search.answers": (ranking.answers is not None, lambda: ranking.answers),
        "@search.semanticPartialResponseReason": (bool(ranking.failure), lambda: ranking.failure),
        "@search.semanticPartialResponseType": (bool(ranking.failure), lambda: "baseResults"),
        "@search.semanticQueryRewritesResultType": (asked.rewrites.failed, lambda: "originalQueryOnly"),
        "@search.debug": (asked.rewrites.told, lambda: _describe_rewrites(asked, body)),
        "@search.nextPageParameters": (more, lambda: _build_next_page(asked, body, size)),
        "value": (True, lambda: [_build_hit(asked, hit, found, ranking, schema) for hit in hits]),
        "@odata.nextLink": (more, lambda: link),
    }
    return {name: value() for name, (wanted, value) in members.items() if wanted}


def _describe_rewrites(asked: SearchRequest, body: Json) -> Json:
    texts = list(asked.rewrites.texts)
    text = {"inputQuery": body.get("search", "") if texts else "", "rewrites": texts}
    return {"semantic": None, "queryRewrites": {"text": text, "vectors": []}}


def _reorder_hits(hits: Scored, ranking: SemanticRanking) -> Scored:
    """Put the reranked hits first, in the ranker's order, and the others after them as they were."""
    scores = dict(hits)
    return [(key, scores[key]) for key in ranking.by_key] + [hit for hit in hits if hit[0] not in ranking.by_key]


def _has_more(asked: SearchRequest, found: int, size: int) -> bool:
    """Tell whether what was asked for goes on after this page."""
    end = found if asked.top is None else min(found, asked.skip + asked.top)
    return size > 0 and asked.skip + size < end


def _build_next_page(asked: SearchRequest, body: Json, size: int) -> Json:
    rest = {} if asked.top is None else {"top": asked.top - size}
    return {**body, "skip": asked.skip + size, **rest}


def _build_hit(
    asked: SearchRequest, hit: tuple[str, float], found: MatchedDocuments, ranking: SemanticRanking, schema: Schema
) -> Json:
    key, score = hit
    document, ranked = found.documents[key], ranking.by_key.get(key)
    shown: Json = {"@search.score": score}
    if asked.semantic and ranked:
        shown |= _describe_ranking(ranked, asked)
    if marked := highlight_document(document, asked.highlight, asked.words, schema, asked.tags):
        shown["@search.highlights"] = marked
    if asked.subscores or asked.ranked_texts:
        ranker_input = semantic.describe_ranker_input(asked.semantic, document) if asked.semantic else None
        shown["@search.documentDebugInfo"] = {
            "semantic": ranker_input if asked.ranked_texts else None,
            "vectors": {"subscores": _build_subscores(key, found.legs)} if asked.subscores else None,
        }
    return shown | asked.selection.select_fields(document)


def _describe_ranking(ranked: RankedDocument, asked: SearchRequest) -> Json:
    scores: Json = {"@search.rerankerScore": ranked.score}
    if ranked.boosted is not None:
        scores["@search.rerankerBoostedScore"] = ranked.boosted
    if asked.semantic and asked.semantic.captions:
        return {**scores, "@search.captions": semantic.build_captions(ranked, asked.semantic)}
    return scores


def _build_subscores(key: str, legs: Sequence[Leg]) -> Json:
    """Build what each leg gave a document: BM25, and for vectors the score and the cosine that it is made of."""
    given = [(leg.path, score) for leg in legs for k, score in leg.hits if k == key]
    texts = [{"searchScore": score} for path, score in given if not path]
    vectors = [{path: {"searchScore": score, "vectorSimilarity": 2 - 1 / score}} for path, score in given if path]
    return {"text": texts[0] if texts else None, "vectors": vectors}
