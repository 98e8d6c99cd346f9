"""One hybrid request a probe, and its hits."""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from azure.search.documents.models import VectorizedQuery

from rag_core.core.model import Caption, Hit, Ranking
from rag_core.core.ports import Probe
from rag_core.core.rankings import best_first
from rag_core.stores.azure_search.records import CHUNK, chunk_of, codes
from rag_core.stores.azure_search.schema import SEMANTIC, VECTOR
from rag_core.stores.azure_search.service import Found, NotOffered, Service, checked
from rag_core.text.spelling import plain

SEARCHED = ("title", "content", "codes")
BY_SCORE = ["search.score() desc", "id asc"]
NEAREST = 50  # vectors are asked for at least: the semantic ranker reads that many
SYNTAX = str.maketrans({char: f"\\{char}" for char in "+-|\"()*~\\'"})
TOP_RELEVANCE = 4.0  # of the semantic ranker


async def ranked(
    probe: Probe, service: Service, *, filter: str, limit: int, exhaustive: bool, semantic: bool
) -> Ranking:
    """The hits of a probe, best first. Its two legs are fused by the service: 1 / (60 + rank), rank from 0.

    They have no signal of the semantic ranker where the service has none.
    """
    words = probe.words if any(map(str.isalnum, probe.words)) else ""
    if not words and probe.vector is None:
        return []
    asked: dict[str, Any] = {"filter": filter, "top": limit if words else max(limit, NEAREST), "select": list(CHUNK)}
    if words:
        asked |= {"query_type": "simple", "search_mode": "any", "search_fields": list(SEARCHED)}
    if probe.vector is not None:
        asked |= _nearest(probe.vector, max(limit, NEAREST), exhaustive)
    if words and probe.vector is not None:
        asked |= {"debug": "vector"}
    ordered = {**asked, "order_by": BY_SCORE}
    judged = {**asked, **_judged(probe.question)} if words and probe.question and semantic else ordered
    text = escaped(" ".join([words, *codes(words)])) if words else None
    try:
        found = await service.search(text, **judged)
    except NotOffered:
        found = await service.search(text, **ordered)
    hits = checked(lambda one: _hit(one, probe.label, bool(words), probe.vector is not None), found)
    return best_first(hits)[:limit]


def escaped(text: str) -> str:
    """Words for the simple query syntax, in which no character has a meaning of its own any more."""
    return plain(text).translate(SYNTAX)


def _nearest(vector: Any, count: int, exhaustive: bool) -> dict[str, Any]:
    query = VectorizedQuery(
        vector=list(map(float, vector)), k_nearest_neighbors=count, fields=VECTOR, exhaustive=exhaustive or None
    )
    return {"vector_queries": [query], "vector_filter_mode": "preFilter"}


def _judged(question: str) -> dict[str, Any]:
    return {
        "query_type": "semantic",
        "semantic_query": question,
        "semantic_configuration_name": SEMANTIC,
        "query_caption": "extractive",
        "semantic_error_mode": "partial",  # without the ranker: hits then have no such signal
    }


def _hit(found: Found, label: str, words: bool, meaning: bool) -> Hit:
    score = _finite(found["@search.score"])
    if words and meaning:
        signals = _legs(found["@search.document_debug_info"])
    else:
        score = score if words else _cosine(score)
        signals = {"words" if words else "meaning": score}
    judged = found["@search.reranker_score"]
    if judged is not None:
        signals["semantic"] = min(1.0, _finite(judged) / TOP_RELEVANCE)
    captions = tuple(_caption(one) for one in found["@search.captions"] or ())
    return Hit(chunk_of(found), score, signals, captions, (label,))


def _caption(given: Any) -> Caption:
    """The service marks words with <em> in a text that it does not escape."""
    marked = escape(given.highlights or given.text, quote=False)
    return Caption(given.text, marked.replace("&lt;em&gt;", "<em>").replace("&lt;/em&gt;", "</em>"))


def _legs(debug: Any) -> dict[str, float]:
    """What each leg gave the chunk that the fusion has put in its place."""
    scores = debug.vectors.subscores if debug and debug.vectors else None
    legs: dict[str, float] = {}
    if scores and scores.text and scores.text.search_score:
        legs["words"] = _finite(scores.text.search_score)
    for vectors in (scores and scores.vectors) or ():
        similarity = vectors[VECTOR].vector_similarity if VECTOR in vectors else None
        if similarity is not None:
            legs["meaning"] = round(_finite(similarity), 6)
    return legs


def _cosine(score: float) -> float:
    """The service scores a vector by 1 / (1 + distance), of which the distance is 1 - cosine."""
    return round(2.0 - 1.0 / score, 6)


def _finite(number: Any) -> float:
    if not math.isfinite(number):
        raise ValueError("not a score")
    return float(number)


def facets_of(found: Mapping[str, Any], field: str) -> list[tuple[Any, int]]:
    """The values of an index field and their counts."""
    return checked(lambda bucket: (bucket["value"], int(bucket["count"])), found.get(field, ()))
