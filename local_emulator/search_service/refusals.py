"""Refusals carry a status, a code and a message in the service's own words."""


class ServiceRefusal(Exception):
    """A refusal ends a request with `{"error": {"code", "message"}}`."""

    def __init__(self, status: int, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def make_refusal(message: str, *, parameter: str = "", code: str = "") -> ServiceRefusal:
    """Make the refusal of a caller's mistake; the service names the parameter on a line of its own."""
    return ServiceRefusal(400, message + (f"\r\nParameter name: {parameter}" if parameter else ""), code=code)


def make_filter_refusal(message: str) -> ServiceRefusal:
    """Make the refusal of a filter that cannot be read or applied."""
    return make_refusal(f"Invalid expression: {message}", parameter="$filter")


def make_unimplemented_refusal(what: str) -> ServiceRefusal:
    """Make the refusal of what the service can do and this emulator cannot, so that nothing is silently ignored."""
    return ServiceRefusal(501, f"The local search service does not implement {what}.", code="NotImplemented")


def make_missing_index_refusal(name: str) -> ServiceRefusal:
    return ServiceRefusal(404, f"No index with the name '{name}' was found in the service.", code="ResourceNotFound")
