"""The search of Azure AI Search: one hybrid request per probe, parsed into hits."""

import math
from functools import partial
from html import escape
from typing import Any

from azure.search.documents.models import VectorizedQuery

from rag_core.core.model import Caption, Hit, Ranking
from rag_core.core.ports import Probe
from rag_core.core.rankings import sort_by_score
from rag_core.stores.azure_search.index_client import AzureIndexClient
from rag_core.stores.azure_search.previews import MEMBERS_OPTION, SearchPreviews
from rag_core.stores.azure_search.records import SELECTED_CHUNK_FIELDS, chunk_from_azure_record, extract_search_codes
from rag_core.stores.azure_search.schema import SEMANTIC_CONFIGURATION, VECTOR_FIELD
from rag_core.stores.azure_search.semantic_ranker import SemanticRanker
from rag_core.stores.azure_search.service_errors import SearchRecord, parse_records
from rag_core.text.index_terms import normalize_characters

LEXICAL_FIELDS = ("title", "content", "codes")
ORDER_BY_SCORE = ["search.score() desc", "id asc"]
MIN_VECTOR_CANDIDATES = 50  # at least so many nearest vectors: the semantic ranker reads that many
SIMPLE_SYNTAX_ESCAPES = str.maketrans({char: f"\\{char}" for char in "+-|\"()*~\\'"})
MAX_RERANKER_SCORE = 4.0  # of the semantic ranker's `@search.rerankerScore`


async def search_azure_probe(
    probe: Probe,
    service: AzureIndexClient,
    *,
    filter: str,
    limit: int,
    exhaustive: bool,
    vector_weight: float,
    ranker: SemanticRanker,
    previews: SearchPreviews,
) -> Ranking:
    """Search for a probe and return its hits, best first; the service fuses two legs by weight / (60 + rank).

    Ranks count from 0; the lexical leg's weight is 1.
    Without a semantic ranker in the service, or when it refuses, the hits lack its signal.
    """
    lexical_query = probe.lexical_query if any(map(str.isalnum, probe.lexical_query)) else ""
    if not lexical_query and probe.vector is None:
        return []
    parameters: dict[str, Any] = {
        "filter": filter,
        "top": limit if lexical_query else max(limit, MIN_VECTOR_CANDIDATES),
        "select": list(SELECTED_CHUNK_FIELDS),
    }
    if lexical_query:
        parameters |= {"query_type": "simple", "search_mode": "any", "search_fields": list(LEXICAL_FIELDS)}
    if probe.vector is not None:
        parameters |= _build_vector_parameters(probe.vector, max(limit, MIN_VECTOR_CANDIDATES), exhaustive)
    if lexical_query and probe.vector is not None:
        parameters["vector_queries"][0].weight = vector_weight  # alone it would only scale the scores
        parameters |= {"debug": "vector", MEMBERS_OPTION: previews.list_hybrid_members()}
    plain_parameters = {**parameters, "order_by": ORDER_BY_SCORE}
    semantic_parameters = (
        {**parameters, **_build_semantic_parameters(probe.semantic_query)}
        if lexical_query and probe.semantic_query
        else None
    )
    text = (
        escape_simple_syntax(" ".join([lexical_query, *extract_search_codes(lexical_query)])) if lexical_query else None
    )
    records = await ranker.search(
        partial(service.search, text), semantic_parameters, plain_parameters, previews.list_rewriting_members()
    )
    hits = parse_records(
        lambda record: _hit_from_azure_record(record, probe.label, bool(lexical_query), probe.vector is not None),
        records,
    )
    return sort_by_score(hits)[:limit]


def escape_simple_syntax(text: str) -> str:
    """Escape a text for the simple query syntax, so that no character acts as an operator."""
    return normalize_characters(text).translate(SIMPLE_SYNTAX_ESCAPES)


def _build_vector_parameters(vector: Any, count: int, exhaustive: bool) -> dict[str, Any]:
    query = VectorizedQuery(
        vector=list(map(float, vector)), k_nearest_neighbors=count, fields=VECTOR_FIELD, exhaustive=exhaustive or None
    )
    return {"vector_queries": [query], "vector_filter_mode": "preFilter"}


def _build_semantic_parameters(question: str) -> dict[str, Any]:
    return {
        "query_type": "semantic",
        "semantic_query": question,
        "semantic_configuration_name": SEMANTIC_CONFIGURATION,
        "query_caption": "extractive",
        "semantic_error_mode": "partial",  # when the semantic ranker fails, hits come without its signal
    }


def _hit_from_azure_record(record: SearchRecord, label: str, has_lexical_leg: bool, has_vector_leg: bool) -> Hit:
    score = parse_finite_score(record["@search.score"])
    if has_lexical_leg and has_vector_leg:
        signals = _parse_leg_signals(record["@search.document_debug_info"])
    else:
        score = score if has_lexical_leg else _cosine_from_azure_score(score)
        signals = {"words" if has_lexical_leg else "meaning": score}
    reranker_score = record["@search.reranker_score"]
    if reranker_score is not None:
        signals["semantic"] = min(1.0, parse_finite_score(reranker_score) / MAX_RERANKER_SCORE)
    captions = tuple(_caption_from_azure_reply(caption) for caption in record["@search.captions"] or ())
    return Hit(chunk_from_azure_record(record), score, signals, captions, (label,))


def _caption_from_azure_reply(caption: Any) -> Caption:
    """Escape the caption's HTML except for the <em> marks, which the service sets in unescaped text."""
    highlights = escape(caption.highlights or caption.text, quote=False)
    return Caption(caption.text, highlights.replace("&lt;em&gt;", "<em>").replace("&lt;/em&gt;", "</em>"))


def _parse_leg_signals(debug: Any) -> dict[str, float]:
    """Parse the scores that each leg gave a fused hit."""
    scores = debug.vectors.subscores if debug and debug.vectors else None
    legs: dict[str, float] = {}
    if scores and scores.text and scores.text.search_score:
        legs["words"] = parse_finite_score(scores.text.search_score)
    for vectors in (scores and scores.vectors) or ():
        similarity = vectors[VECTOR_FIELD].vector_similarity if VECTOR_FIELD in vectors else None
        if similarity is not None:
            legs["meaning"] = round(parse_finite_score(similarity), 6)
    return legs


def _cosine_from_azure_score(score: float) -> float:
    """Convert the service's vector score 1 / (1 + distance) to the cosine, where distance = 1 - cosine."""
    return round(2.0 - 1.0 / score, 6)


def parse_finite_score(number: Any) -> float:
    """Return a score as the service sent it. Raises ValueError for one that is no number, which it cannot be."""
    if not math.isfinite(number):
        raise ValueError("not a score")
    return float(number)
