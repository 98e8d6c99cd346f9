"""What can go wrong, sorted by who can put it right."""

from collections.abc import Mapping


class RagError(Exception):
    """A failure with a place in the error contract.

    `code` is stable and machine-readable, `message` is plain words without users' text, `field` names the
    part of the request that was wrong, `details` holds numbers and names that help to put it right.
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


class InvalidRequest(RagError):
    """The caller can put it right: `field` is named and the message says what would be right."""

    code = "invalid_request"

    def __init__(self, field: str, message: str, *, code: str | None = None, **details: object) -> None:
        super().__init__(f"{field} {message}", code=code, field=field, details=details)


class Forbidden(RagError):
    """Whoever gives roles can put it right: the caller's credential does not allow this to anyone like them."""

    code = "forbidden"


class NotFound(RagError):
    """It is not there, or not the caller's: the two are not told apart."""

    code = "not_found"


def no_document() -> NotFound:
    return NotFound("there is no such document in this workflow", code="document_not_found", field="document_id")


def no_question() -> NotFound:
    return NotFound("there is no such question in this workflow", code="query_not_found", field="id")


class TooLarge(RagError):
    """The request or document is over a stated limit."""

    code = "too_large"


class UnsupportedDocument(RagError):
    """No extractor reads this kind of file; the message lists those that can be read."""

    code = "unsupported_document"


class UnreadableDocument(RagError):
    """The kind is known but this file cannot be read: encrypted, empty, damaged, or not what it says."""

    code = "document_unreadable"


class Conflict(RagError):
    """The caller can put it right by an earlier step, or by rebuilding the index for another model."""

    code = "conflict"


class Misconfigured(RagError):
    """The operator can put it right: a setting is missing or wrong."""

    code = "misconfigured"


class Unavailable(RagError):
    """Time can put it right: a neighbour did not answer, or answered nonsense."""

    code = "unavailable"
    retryable = True


class DeadlineExceeded(Unavailable):
    """The request, or one step of it, had no time left."""

    code = "deadline_exceeded"


class Unread(Unavailable):
    """Another model can put it right: the one that is here does not read the script of the text."""

    code = "script_unread"
    retryable = False


class StorageFull(RagError):
    """The disk refuses writes; what was acknowledged before can still be read."""

    code = "storage_full"
    retryable = True
