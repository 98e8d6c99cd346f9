"""Parse a search request: every parameter is read, checked, or refused by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .expressions import Expression
from .facets import FacetExpression, MetricExpression, parse_facets
from .filter_syntax import parse_filter
from .highlights import Tags, parse_highlight
from .lucene_syntax import parse_lucene_query
from .orderby import SortClause, parse_orderby
from .query_tree import Query
from .refusals import make_refusal, make_unimplemented_refusal
from .rewriting import Rewriter, Rewrites, rewrite_question
from .schema import VECTOR, Schema
from .scoring import ScoringProfile, parse_scoring
from .selection import Selection, parse_selection
from .semantic import SemanticRequest, parse_semantic_request
from .syntax import parse_simple_query
from .vector_queries import VectorQuery, parse_vector_queries

Json = dict[str, Any]

PAGE = 50  # results when `top` is not given
MOST_SKIPPED = 100_000
STRING, BOOLEAN, INTEGER, NUMBER, LIST = (str,), (bool,), (int,), (int, float), (list,)
TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("search", "filter", "orderby", "select", "searchFields", "searchMode", "queryType"), STRING),
    **dict.fromkeys(("highlight", "highlightPreTag", "highlightPostTag", "sessionId", "scoringStatistics"), STRING),
    **dict.fromkeys(("semanticConfiguration", "semanticQuery", "semanticErrorHandling", "answers"), STRING),
    **dict.fromkeys(("captions", "vectorFilterMode", "debug", "scoringProfile", "queryLanguage", "speller"), STRING),
    "queryRewrites": STRING,
    **dict.fromkeys(("top", "skip", "semanticMaxWaitInMilliseconds"), INTEGER),
    "minimumCoverage": NUMBER,
    **dict.fromkeys(("facets", "vectorQueries", "scoringParameters"), LIST),
    "hybridSearch": (dict,),
    "count": BOOLEAN,
}
VALUES: Mapping[str, tuple[str, ...]] = {
    "searchMode": ("any", "all"),
    "queryType": ("simple", "semantic", "full"),
    "speller": ("none", "lexicon"),
    "scoringStatistics": ("local", "global"),  # the same here: there is one shard
    "semanticErrorHandling": ("fail", "partial"),
    "vectorFilterMode": ("preFilter", "postFilter", "strictPostFilter"),
    "debug": ("disabled", "vector", "semantic", "queryRewrites", "all"),
}
UNIMPLEMENTED_VALUES = {"debug": ("innerHits",)}
UNIMPLEMENTED = ("semanticFields", "moreLikeThis", "personalization")
DEFAULT_RECALL = 1000  # documents of the words leg that hybrid search fuses
MOST_RECALL = 10_000


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search is asked for with these; `words` None means every document, unless there are vectors."""

    words: Query | None
    rewrites: Rewrites
    rewritten: tuple[Query, ...]  # the other wordings, parsed
    recall: int  # documents that the words leg may bring into a hybrid search
    scoring: ScoringProfile | None
    fields: tuple[str, ...]
    every: bool
    vectors: tuple[VectorQuery, ...]
    filter: Expression | None
    filter_mode: str
    order: tuple[SortClause, ...]
    facets: tuple[FacetExpression | MetricExpression, ...]
    highlight: Mapping[str, int]
    tags: Tags
    selection: Selection
    semantic: SemanticRequest | None
    subscores: bool  # of each leg, for debug "vector"
    ranked_texts: bool  # for debug "semantic"
    count: bool
    coverage: bool
    top: int | None
    skip: int


def parse_search_request(body: Any, schema: Schema, *, ranker: bool, rewriter: Rewriter | None = None) -> SearchRequest:
    """Check a request whole. Raises a ServiceRefusal: 400 for what is wrong, 501 for what is not implemented."""
    given = check_parameters(body, TYPES, VALUES, UNIMPLEMENTED, UNIMPLEMENTED_VALUES)
    text, every = given.get("search") or "*", given.get("searchMode") == "all"
    vectors = tuple(one for query in given.get("vectorQueries", ()) for one in parse_vector_queries(query, schema))
    top, skip = given.get("top"), given.get("skip", 0)
    if skip > MOST_SKIPPED or skip < 0 or (top is not None and top < 0):
        raise make_refusal(f"Value must be between 0 and {MOST_SKIPPED}.", parameter="skip" if skip else "top")
    ranked, debug = given.get("queryType") == "semantic", given.get("debug")
    subscores = debug == "vector" or (debug == "all" and bool(vectors))
    if not ranked:
        _refuse_semantic_parameters(given)
    if subscores and any(one.field.metric != "cosine" for one in vectors):
        raise make_unimplemented_refusal("debug 'vector' of a metric other than cosine")
    rewrites = rewrite_question(given, rewriter)
    others = [_parse_words(one, schema, full=False, every=every) for one in rewrites.texts]
    return SearchRequest(
        rewrites=rewrites,
        rewritten=tuple(one for one in others if one is not None),
        words=_parse_words(text, schema, full=given.get("queryType") == "full", every=every),
        recall=_parse_recall(given.get("hybridSearch") or {}),
        scoring=parse_scoring(given, schema.definition),
        fields=_parse_search_fields(given.get("searchFields"), schema),
        every=every,
        vectors=vectors,
        filter=parse_filter(given["filter"], schema) if given.get("filter") else None,
        filter_mode=given.get("vectorFilterMode", "preFilter"),
        order=tuple(parse_orderby(given["orderby"], schema)) if given.get("orderby") else (),
        facets=tuple(parse_facets(given.get("facets", []), schema)),
        highlight=parse_highlight(given["highlight"], schema) if given.get("highlight") else {},
        tags=Tags(given.get("highlightPreTag", "<em>"), given.get("highlightPostTag", "</em>")),
        selection=parse_selection(given.get("select", ""), schema),
        semantic=parse_semantic_request(given, schema, ranker=ranker) if ranked else None,
        subscores=subscores,
        ranked_texts=ranked and debug in ("semantic", "all"),
        count=given.get("count", False),
        coverage="minimumCoverage" in given,
        top=top,
        skip=skip,
    )


def _parse_words(text: str, schema: Schema, *, full: bool, every: bool) -> Query | None:
    if text.strip() in ("", "*"):
        return None
    return parse_lucene_query(text, schema.fields, every=every) if full else parse_simple_query(text, every=every)


def _parse_recall(hybrid: Json) -> int:
    if unknown := hybrid.keys() - {"maxTextRecallSize", "countAndFacetMode"}:
        raise make_refusal(f"'{min(unknown)}' is not a property of hybridSearch.", parameter="hybridSearch")
    if hybrid.get("countAndFacetMode", "countRetrievableResults") != "countRetrievableResults":
        raise make_unimplemented_refusal(f"'{hybrid['countAndFacetMode']}' of 'countAndFacetMode'")
    size = hybrid.get("maxTextRecallSize") or DEFAULT_RECALL
    if type(size) is not int or not 1 <= size <= MOST_RECALL:
        raise make_refusal(f"'maxTextRecallSize' is from 1 to {MOST_RECALL}.", parameter="hybridSearch")
    return size


def check_parameters(
    body: Any,
    types: Mapping[str, tuple[type, ...]],
    values: Mapping[str, Sequence[str]],
    unimplemented_names: Sequence[str],
    unimplemented_values: Mapping[str, Sequence[Any]],
) -> Json:
    """Check that each parameter that is set has its type and one of its values, and return them."""
    if not isinstance(body, dict):
        raise make_refusal("The request is invalid. Details: parameters : The body must be an object.")
    given = {name: value for name, value in body.items() if value is not None and value != []}
    for name, value in given.items():
        if name in unimplemented_names:
            raise make_unimplemented_refusal(f"the parameter '{name}'")
        if name not in types:
            raise make_refusal(
                f"The request is invalid. Details: parameters : The parameter '{name}' in the request payload is not a "
                "valid parameter for the operation.",
                parameter=name,
            )
        if not isinstance(value, types[name]) or isinstance(value, bool) != (types[name] is BOOLEAN):
            raise make_refusal(f"Cannot read the value of '{name}' as the expected type.", parameter=name)
        if value in unimplemented_values.get(name, ()):
            raise make_unimplemented_refusal(f"'{value}' of the parameter '{name}'")
        if name in values and value not in values[name]:
            raise make_refusal(
                f"Invalid value '{value}': one of {', '.join(values[name])} was expected.", parameter=name
            )
    return given


def _refuse_semantic_parameters(given: Json) -> None:
    for name in ("answers", "captions"):
        if given.get(name, "none") != "none":
            raise make_refusal(f"'{name}' can only be used with queryType 'semantic'.", parameter=name)


def _parse_search_fields(text: str | None, schema: Schema) -> tuple[str, ...]:
    if not text:
        return tuple(field.path for field in schema.searchable_fields)
    paths = tuple(path.strip() for path in text.split(","))
    for path in paths:
        if not schema.get_field(path, "searchFields").searchable or schema.fields[path].type == VECTOR:
            raise make_refusal(
                f"The field '{path}' in the search field list is not searchable.", parameter="searchFields"
            )
    return paths
