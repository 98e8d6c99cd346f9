"""Let in whoever has a key or a bearer token; a query key reads documents and changes nothing."""

import hmac
from collections.abc import Collection
from dataclasses import dataclass

from werkzeug.wrappers import Request

from .refusals import ServiceRefusal


@dataclass(frozen=True, slots=True)
class Access:
    """Keys and tokens are compared as they are: a token is not asked who it was issued to."""

    keys: Collection[str]
    query_keys: Collection[str] = ()
    tokens: Collection[str] = ()

    def check_request(self, request: Request, *, reads_documents: bool) -> None:
        """Raise a ServiceRefusal unless the request shows a key or token that this operation takes."""
        key, bearer = request.headers.get("api-key"), request.headers.get("Authorization", "")
        if key is None and not bearer:
            raise ServiceRefusal(401, "Access denied: no api-key was given.", code="Unauthorized")
        if key is None:
            self._check_bearer(bearer)
        elif not _is_among(key, self.keys) and not (reads_documents and _is_among(key, self.query_keys)):
            raise ServiceRefusal(403, "The given API key doesn't match service's internal, primary or secondary keys.")

    def _check_bearer(self, bearer: str) -> None:
        kind, _, token = bearer.partition(" ")
        if kind.lower() != "bearer" or not _is_among(token.strip(), self.tokens):
            raise ServiceRefusal(
                401, "Access denied: the bearer token is not one of the service's.", code="Unauthorized"
            )


def _is_among(given: str, held: Collection[str]) -> bool:
    return any(hmac.compare_digest(given.encode(), one.encode()) for one in held)
