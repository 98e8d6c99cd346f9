"""A search service that refuses semantic queries and no others, as one whose ranker's plan is used up."""

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from werkzeug.wrappers import Response

from local_emulator.search_service.serving import Application


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the service answers to a semantic query."""

    status: int
    code: str
    headers: dict[str, str] = field(default_factory=dict)


# the status of a used-up plan is not public: each of these has been seen or guessed at
REFUSALS = {
    "402": Refusal(402, "SemanticQueryQuotaExceeded"),
    "403": Refusal(403, "SemanticSearchQuotaExceeded"),
    "403 without a code": Refusal(403, ""),
    "400": Refusal(400, "QuotaExceeded"),
    "429": Refusal(429, "TooManyRequests"),
    "429 with an hour to wait": Refusal(429, "", {"Retry-After": "3600"}),
}


class SemanticQuota:
    """Wraps a service. `refusal` is what a semantic query meets, None for no refusal; `asked` has the query types."""

    def __init__(self, service: Application) -> None:
        self.service = service
        self.refusal: Refusal | None = None
        self.refuses_everything = False
        self.asked: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ = {**environ, "wsgi.input": io.BytesIO(body)}
        if environ["PATH_INFO"].endswith("search.post.search"):
            query_type = json.loads(body).get("queryType", "simple")
            self.asked.append(query_type)
            if self.refusal and (query_type == "semantic" or self.refuses_everything):
                return self._refuse(self.refusal)(environ, start_response)
        return self.service(environ, start_response)

    def _refuse(self, refusal: Refusal) -> Response:
        said = {"error": {"code": refusal.code, "message": f"planted {refusal.status}"}}
        return Response(json.dumps(said), refusal.status, refusal.headers, mimetype="application/json")
