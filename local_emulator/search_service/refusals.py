"""Refusals carry a status, a code and a message in the service's own words."""


class ServiceRefusal(Exception):
    """A refusal ends a request with `{"error": {"code", "message"}}`, and `details` where the service gives them."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        detail: str = "",
        detail_message: str = "",
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.detail, self.detail_message, self.retry_after_s = detail, detail_message, retry_after_s


def make_refusal(message: str, *, parameter: str = "", code: str = "", detail: str = "") -> ServiceRefusal:
    """Make the refusal of a caller's mistake; the service names the parameter on a line of its own."""
    told = message + (f"\r\nParameter name: {parameter}" if parameter else "")
    return ServiceRefusal(400, told, code=code, detail=detail, detail_message=message)


def make_part_refusal(part: str, message: str, *, code: str, detail: str) -> ServiceRefusal:
    """Make the refusal of a part of a request's body: its actions, or a definition."""
    told = f"The request is invalid. Details: {part} : {message}"
    return ServiceRefusal(400, told, code=code, detail=detail, detail_message=f"{message} Parameters: {part}")


def make_filter_refusal(message: str) -> ServiceRefusal:
    """Make the refusal of a filter that cannot be read or applied."""
    return make_refusal(f"Invalid expression: {message}", parameter="$filter")


def make_unimplemented_refusal(what: str) -> ServiceRefusal:
    """Make the refusal of what the service can do and this emulator cannot, so that nothing is silently ignored."""
    return ServiceRefusal(501, f"The local search service does not implement {what}.", code="NotImplemented")


def make_missing_index_refusal(name: str) -> ServiceRefusal:
    return make_missing_refusal("index", name)


def make_missing_refusal(called: str, name: str) -> ServiceRefusal:
    """Make the refusal of a name that nothing has; the service gives it no code."""
    return ServiceRefusal(404, f"No {called} with the name '{name}' was found in the service 'localhost'.")
