"""The errors of the service, sorted by who can correct them."""

from collections.abc import Mapping
from typing import Any, TypedDict


class ErrorDetail(TypedDict):
    """An error: `field` is the wrong field of the request, null when none is."""

    code: str
    message: str
    field: str | None
    retryable: bool
    details: dict[str, Any]


class RagError(Exception):
    """The base of all errors that the service reports to its callers.

    `code` is stable and machine-readable, `message` is plain English without the users' text, `field` names the part
    of the request that is wrong, `details` holds numbers and names that help to correct it.
    """

    code = "error"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        field: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.field = field
        self.details = dict(details or {})

    def describe(self) -> ErrorDetail:
        """Return the error as the HTTP API and the command line give it."""
        return {
            "code": self.code,
            "message": self.message,
            "field": self.field,
            "retryable": self.retryable,
            "details": self.details,
        }


class InvalidRequest(RagError):
    """A request that the caller can correct: `field` is named and the message says which values are valid."""

    code = "invalid_request"

    def __init__(self, field: str, message: str, *, code: str | None = None, **details: object) -> None:
        super().__init__(f"{field} {message}", code=code, field=field, details=details)


class Forbidden(RagError):
    """A refusal that only an administrator of roles can lift: the caller's credential does not allow the operation."""

    code = "forbidden"


class NotFound(RagError):
    """An object that does not exist or that the caller may not see; the two cases are reported alike."""

    code = "not_found"


def make_unknown_document_error() -> NotFound:
    """Return the error for a document that does not exist in the workflow or is hidden from the caller."""
    return NotFound("there is no such document in this workflow", code="document_not_found", field="document_id")


def make_unknown_result_error() -> NotFound:
    """Return the error for a saved result that does not exist or is out of scope."""
    return NotFound("this query has no such result", code="result_not_found", field="result_id")


def make_unknown_query_error() -> NotFound:
    """Return the error for a saved query that does not exist in the workflow or is hidden from the caller."""
    return NotFound("there is no such saved query in this workflow", code="query_not_found", field="id")


class TooLarge(RagError):
    """A request or document that exceeds a stated limit."""

    code = "too_large"


class UnsupportedDocument(RagError):
    """A file of a kind that no extractor reads; the message lists the kinds that can be read."""

    code = "unsupported_document"


class UnreadableDocument(RagError):
    """A file of a supported kind that cannot be read: encrypted, empty, damaged, or of another kind than declared."""

    code = "document_unreadable"


class Conflict(RagError):
    """A conflict that the caller can resolve by an earlier step, or by rebuilding the index for another model."""

    code = "conflict"


class Misconfigured(RagError):
    """A missing or wrong setting, which the operator can correct."""

    code = "misconfigured"


class Unavailable(RagError):
    """A temporary failure: a dependency did not answer, or its answer could not be used."""

    code = "unavailable"
    retryable = True


class NotChosen(Unavailable):
    """A part that this composition does without on purpose: what stands in for it is no degradation."""


class DeadlineExceeded(Unavailable):
    """A request, or one step of it, that ran out of time."""

    code = "deadline_exceeded"


class Overloaded(RagError):
    """A request that is refused because too many others are running; `details` has `retry_after_s`."""

    code = "overloaded"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message, details={"retry_after_s": retry_after_s})


class UnsupportedScript(Unavailable):
    """A text in a script that the configured model does not read; another model may read it."""

    code = "script_unread"
    retryable = False


class StorageFull(RagError):
    """A full disk that refuses writes; what was acknowledged before can still be read."""

    code = "storage_full"
    retryable = True


def describe_read_error(error: Exception) -> str:
    """Return why a file cannot be read: what the system said of it, or that it is gzipped and ends early."""
    return describe_os_error(error) if isinstance(error, OSError) else "it is no whole gzip file"


def describe_os_error(error: OSError) -> str:
    """Return what the system said of a file, without its number and path."""
    return (error.strerror or type(error).__name__).lower()
