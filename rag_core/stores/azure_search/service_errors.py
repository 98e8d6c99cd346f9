"""The errors of the search service: the SDK's are translated into ours, and malformed replies are told as such."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    IncompleteReadError,
)

from rag_core.core.errors import Misconfigured, RagError, Unavailable
from rag_core.core.retrying import RETRIED_STATUS_CODES, TransientFailure, parse_retry_after_s

MALFORMED_REPLY_ERRORS = (
    DecodeError,
    TypeError,
    KeyError,
    AttributeError,
    ValueError,
    IndexError,
)  # for malformed replies
OTHER_REFUSALS = (401, 404, 408)  # no credential, no index, too slow

T = TypeVar("T")
SearchRecord = Mapping[str, Any]


class FeatureNotOffered(RagError):
    """The service lacks a requested feature, for example a tier without the semantic ranker."""

    code = "search_not_offered"


class SemanticRankerRefused(RagError):
    """The service refused a query that asks for its semantic ranker: of a plan that is used up, say."""

    code = "semantic_ranker_refused"


class KnowledgeBaseRefused(RagError):
    """The service refused a retrieval by a knowledge base: of a plan that is used up, say."""

    code = "knowledge_base_refused"


class BatchRefused(Exception):
    """The service refused a whole batch: it is too large or contains something unreadable."""


@contextmanager
def translate_azure_search_errors(index: str) -> Iterator[None]:
    """Translate the SDK's errors, and those it raises for malformed replies, into errors of `core.errors`."""
    try:
        yield
    except IncompleteReadError as failure:
        raise TransientFailure("the reply was cut off") from failure
    except MALFORMED_REPLY_ERRORS as failure:
        raise make_malformed_reply_error(type(failure).__name__) from failure
    except ClientAuthenticationError as failure:
        raise _make_refused_credential_error() from failure
    except HttpResponseError as failure:
        raise _error_from_azure_response(failure, index) from failure
    except AzureError as failure:  # the service was not reached, or did not answer
        raise TransientFailure(type(failure).__name__) from failure


def make_malformed_reply_error(problem: str) -> Unavailable:
    return Unavailable(f"Azure AI Search sent a malformed reply ({problem})", code="search_response_invalid")


def parse_records(parse: Callable[[SearchRecord], T], records: Sequence[SearchRecord]) -> list[T]:
    """Parse each record. Raises Unavailable when one of them is malformed."""
    try:
        return [parse(record) for record in records]
    except MALFORMED_REPLY_ERRORS as failure:
        raise make_malformed_reply_error(type(failure).__name__) from failure


def _error_from_azure_response(failure: HttpResponseError, index: str) -> Exception:
    status = failure.status_code or 0
    if status in RETRIED_STATUS_CODES:
        return TransientFailure(
            f"HTTP {status}", retry_after_s=parse_retry_after_s(getattr(failure.response, "headers", {}))
        )
    if status in (401, 403):
        return _make_refused_credential_error()
    if status == 404:
        return Misconfigured(f"there is no index {index}: run rag setup to create it", code="index_missing")
    if 200 <= status < 300:
        return make_malformed_reply_error(f"HTTP {status}")
    if _is_feature_missing(failure):
        return FeatureNotOffered("this Azure AI Search service does not offer a requested feature")
    return RagError(f"Azure AI Search refused a request with status {status}", code="search_refused")


def may_concern_plan(failure: HttpResponseError) -> bool:
    """Return whether a refusal of a semantic query or of a retrieval can be about the service's plan for it.

    Which status a used-up plan has is not public. If it was about something else, the query without the ranker is
    refused as well, and says so.
    """
    return (
        400 <= (failure.status_code or 0) < 500
        and failure.status_code not in OTHER_REFUSALS
        and not (_is_feature_missing(failure))
    )


def _is_feature_missing(failure: HttpResponseError) -> bool:
    return getattr(failure.error, "code", "") == "FeatureNotSupportedInService"


def make_ranker_refusal(failure: HttpResponseError) -> SemanticRankerRefused:
    reason = getattr(failure.error, "code", "") or "no code"
    message = (
        f"the semantic ranker of Azure AI Search refused the query (status {failure.status_code}, {reason}): its free "
        "plan ends after 1,000 queries a month, and semanticRankerPlan 'standard' charges for more"
    )
    return SemanticRankerRefused(message, details={"status": failure.status_code})


def make_retrieval_refusal(failure: HttpResponseError) -> KnowledgeBaseRefused:
    reason = getattr(failure.error, "code", "") or "no code"
    plan = (
        ": the free plan of agentic retrieval ends after 50 million tokens a month, and knowledgeRetrieval 'standard' "
        "charges for more"
        if failure.status_code in (402, 403)
        else ""
    )
    refusal = f"Azure AI Search refused a retrieval by its knowledge base (status {failure.status_code}, {reason})"
    return KnowledgeBaseRefused(refusal + plan)


def _make_refused_credential_error() -> Misconfigured:
    message = "Azure AI Search refuses the credential: set AZURE_SEARCH_API_KEY, or assign this identity a role"
    return Misconfigured(message, code="search_unauthorized", field="AZURE_SEARCH_API_KEY")
