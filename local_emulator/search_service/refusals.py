"""What the service says no with: a status, a code and a message in its own words."""


class Refusal(Exception):
    """Ends a request with `{"error": {"code", "message"}}`."""

    def __init__(self, status: int, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def invalid(message: str, *, parameter: str = "", code: str = "") -> Refusal:
    """The caller's mistake. The service names the parameter on a line of its own."""
    return Refusal(400, message + (f"\r\nParameter name: {parameter}" if parameter else ""), code=code)


def unimplemented(what: str) -> Refusal:
    """The service could, this emulator cannot: said, so that nothing is silently answered without it."""
    return Refusal(501, f"The local search service does not implement {what}.", code="NotImplemented")


def missing_index(name: str) -> Refusal:
    return Refusal(404, f"No index with the name '{name}' was found in the service.", code="ResourceNotFound")
