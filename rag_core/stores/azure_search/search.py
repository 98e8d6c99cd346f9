"""The search of Azure AI Search: one hybrid request per probe, parsed into hits."""

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
NEAREST = 50  # at least so many nearest vectors: the semantic ranker reads that many
SYNTAX = str.maketrans({char: f"\\{char}" for char in "+-|\"()*~\\'"})
TOP_RELEVANCE = 4.0  # of the semantic ranker's `@search.rerankerScore`


async def ranked(
    probe: Probe, service: Service, *, filter: str, limit: int, exhaustive: bool, semantic: bool
) -> Ranking:
    """Search for a probe and return its hits, best first; the service fuses two legs by 1 / (60 + rank), rank from 0.

    Without a semantic ranker in the service the hits lack its signal.
    """
    lexical_query = probe.words if any(map(str.isalnum, probe.words)) else ""
    if not lexical_query and probe.vector is None:
        return []
    parameters: dict[str, Any] = {
        "filter": filter,
        "top": limit if lexical_query else max(limit, NEAREST),
        "select": list(CHUNK),
    }
    if lexical_query:
        parameters |= {"query_type": "simple", "search_mode": "any", "search_fields": list(SEARCHED)}
    if probe.vector is not None:
        parameters |= _nearest(probe.vector, max(limit, NEAREST), exhaustive)
    if lexical_query and probe.vector is not None:
        parameters |= {"debug": "vector"}
    plain_parameters = {**parameters, "order_by": BY_SCORE}
    search_parameters = (
        {**parameters, **_judged(probe.question)} if lexical_query and probe.question and semantic else plain_parameters
    )
    text = escaped(" ".join([lexical_query, *codes(lexical_query)])) if lexical_query else None
    try:
        records = await service.search(text, **search_parameters)
    except NotOffered:
        records = await service.search(text, **plain_parameters)
    hits = checked(lambda record: _hit(record, probe.label, bool(lexical_query), probe.vector is not None), records)
    return best_first(hits)[:limit]


def escaped(text: str) -> str:
    """Escape a text for the simple query syntax, so that no character acts as an operator."""
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
        "semantic_error_mode": "partial",  # when the semantic ranker fails, hits come without its signal
    }


def _hit(record: Found, label: str, has_lexical_leg: bool, has_vector_leg: bool) -> Hit:
    score = _finite(record["@search.score"])
    if has_lexical_leg and has_vector_leg:
        signals = _legs(record["@search.document_debug_info"])
    else:
        score = score if has_lexical_leg else _cosine(score)
        signals = {"words" if has_lexical_leg else "meaning": score}
    reranker_score = record["@search.reranker_score"]
    if reranker_score is not None:
        signals["semantic"] = min(1.0, _finite(reranker_score) / TOP_RELEVANCE)
    captions = tuple(_caption(caption) for caption in record["@search.captions"] or ())
    return Hit(chunk_of(record), score, signals, captions, (label,))


def _caption(caption: Any) -> Caption:
    """Escape the caption's HTML except for the <em> marks, which the service sets in unescaped text."""
    highlights = escape(caption.highlights or caption.text, quote=False)
    return Caption(caption.text, highlights.replace("&lt;em&gt;", "<em>").replace("&lt;/em&gt;", "</em>"))


def _legs(debug: Any) -> dict[str, float]:
    """Parse the scores that each leg gave a fused hit."""
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
    """Convert the service's vector score 1 / (1 + distance) to the cosine, where distance = 1 - cosine."""
    return round(2.0 - 1.0 / score, 6)


def _finite(number: Any) -> float:
    if not math.isfinite(number):
        raise ValueError("not a score")
    return float(number)


def facets_of(facets: Mapping[str, Any], field: str) -> list[tuple[Any, int]]:
    """Parse the values of an index field and their counts."""
    return checked(lambda bucket: (bucket["value"], int(bucket["count"])), facets.get(field, ()))
