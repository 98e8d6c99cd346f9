"""The limits of the requests, and what their fields become."""

from typing import Any

import pytest

from functions.answers import AskRequest, CitationsRequest
from functions.consult import ConsultRequest, filters_from_request
from functions.documents import IndexRequest, SummaryRequest
from functions.graph import GraphRequest
from functions.requests import Request, parse_request
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Filter

TOO_LONG = "x" * 8001
REFUSED: list[tuple[type[Request], dict[str, Any], str, str]] = [
    (ConsultRequest, {}, "query", "is required"),
    *[(ConsultRequest, {"query": text}, "query", "must hold more than spaces") for text in ("", " \n")],
    (ConsultRequest, {"query": TOO_LONG}, "query", "must have at most 8000 characters"),
    (ConsultRequest, {"query": "x", "facets": ["f"] * 21}, "facets", "at most 20 items after"),
    (
        ConsultRequest,
        {"query": "x", "pipeline": "fast"},
        "pipeline",
        "'standard', 'rerank', 'advanced', 'facets', 'classical' or 'agentic'",
    ),
    (ConsultRequest, {"query": "x", "search_type": "fuzzy"}, "search_type", "'keyword', 'hybrid' or 'semantic'"),
    (ConsultRequest, {"query": "x", "topk": 5}, "topk", "not a field"),
    *[(ConsultRequest, {"query": "x", "top_k": k}, "top_k", "must be") for k in (0, 101, 10**9, True, "5", 1.5, -1)],
    (ConsultRequest, {"query": "x", "workflow_id": "a b"}, "workflow_id", "must match"),
    (ConsultRequest, {"query": "x", "workflow_id": ""}, "workflow_id", "must match"),
    (ConsultRequest, {"query": "x", "workflow_id": "a\n"}, "workflow_id", "must match"),
    (ConsultRequest, {"query": "x", "workflow_id": "é" * 3}, "workflow_id", "must match"),
    (ConsultRequest, {"query": "x", "workflow_id": "x" * 129}, "workflow_id", "must match"),
    (ConsultRequest, {"query": "x", "filters": {"page": None}}, "filters.page", "conditions (eq, ne,"),
    (ConsultRequest, {"query": "x", "filters": {"page": {"near": 1}}}, "filters.page", "conditions (eq, ne,"),
    (ConsultRequest, {"query": "x", "filters": {"page": {}}}, "filters.page", "conditions (eq, ne,"),
    (ConsultRequest, {"query": "x", "filters": {"page": []}}, "filters.page", "conditions (eq, ne,"),
    (ConsultRequest, {"query": "x", "filters": {"a\tb": 1}}, "filters.a\tb", "must match"),
    (ConsultRequest, {"query": "x", "facets": ["dtc", 1]}, "facets.1", "valid string"),
    (AskRequest, {}, "query", "is required"),
    (AskRequest, {"query": "x", "style": "footnotes"}, "style", "'numbers', 'pages', 'sections' or 'badges'"),
    (AskRequest, {"query": "x", "facets": ["dtc"]}, "facets", "not a field"),
    (AskRequest, {"query": "x", "document_ids": ["a", "b c"]}, "document_ids.1", "must match"),
    *[(AskRequest, {"query": "x", "top_n": n}, "top_n", "must be") for n in (0, 21, True, "5", 1.5)],
    (IndexRequest, {"content": ""}, "content", "at least 1"),
    (IndexRequest, {"content": "x", "metadata": {"a": [1]}}, "metadata.a", "a text, a number, true or false"),
    (IndexRequest, {"content": "x", "chunking": {"size": 1}}, "chunking.size", "not a field"),
    (IndexRequest, {"content": "x", "chunking": {"chunk_size": 31}}, "chunking.chunk_size", "equal to 32"),
    (IndexRequest, {"blocks": []}, "blocks", "at least 1"),
    (IndexRequest, {"blocks": [{"text": "x", "bbox": [1.0, 2.0]}]}, "blocks.0.bbox.2", "is required"),
    (IndexRequest, {"blocks": [{"page": 1}]}, "blocks.0.text", "is required"),
    (IndexRequest, {"metadata": 5}, "metadata", "valid dictionary"),
    (IndexRequest, {"blocks": [{"text": "x", "page": 0}]}, "blocks.0.page", "equal to 1"),
    (IndexRequest, {"content": "x", "user_id": "me"}, "user_id", "not a field"),
    (SummaryRequest, {}, "document_id", "is required"),
    (CitationsRequest, {"text": " "}, "text", "must hold more than spaces"),
    (CitationsRequest, {"text": "x", "document_ids": ["a", "b c"]}, "document_ids.1", "must match"),
    (GraphRequest, {"operation": "all"}, "operation", "'neighbors', 'path', 'top' or 'overview'"),
    (GraphRequest, {"operation": "top", "limit": 101}, "limit", "equal to 100"),
]


@pytest.mark.parametrize(("model", "data", "field", "words"), REFUSED)
def test_what_is_out_of_bounds_is_refused_by_path_and_said(
    model: type[Request], data: dict[str, Any], field: str, words: str
) -> None:
    """C06 C07 C16 S1-44..52: each bound, with the allowed values in the message."""
    with pytest.raises(InvalidRequest) as refused:
        parse_request(model, data)
    assert refused.value.field == field
    assert words in refused.value.message


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(ConsultRequest, {"query": 1, "top_k": 0, "x": 1})
    assert list(refused.value.details["fields"]) == ["query", "top_k", "x"]  # type: ignore[call-overload]


def test_a_refusal_repeats_nothing_of_a_users_words() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(ConsultRequest, {"query": "x", "pipeline": "my password"})
    assert "password" not in str(refused.value) + str(refused.value.details)


def test_an_omitted_workflow_is_the_one_called_default() -> None:
    assert parse_request(ConsultRequest, {"query": "x"}).workflow_id == "default"


def test_filters_become_conditions() -> None:
    said = {"source": "a.pdf", "page": {"ge": 2, "lt": 9}, "dtc": ["P0700", "P0701"], "metadata.ok": True}
    said["title"] = {"in": ["a", "b"], "ne": "c"}  # type: ignore[assignment]
    assert filters_from_request(parse_request(ConsultRequest, {"query": "x", "filters": said})) == (
        Filter("source", "eq", "a.pdf"),
        Filter("page", "ge", 2),
        Filter("page", "lt", 9),
        Filter("dtc", "in", ("P0700", "P0701")),
        Filter("metadata.ok", "eq", True),
        Filter("title", "ne", "c"),
        Filter("title", "in", ("a", "b")),
    )


def test_texts_of_a_query_string_are_read_as_what_they_mean() -> None:
    asked = parse_request(GraphRequest, {"operation": "top", "limit": "7"}, texts=True)
    assert asked.limit == 7
    with pytest.raises(InvalidRequest, match="limit must be a valid integer"):
        parse_request(GraphRequest, {"operation": "top", "limit": "1,2"}, texts=True)
