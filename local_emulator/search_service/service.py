"""Serve Azure AI Search as a WSGI application: its public REST API, as far as this emulator has it."""

import time
import uuid
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request, Response

from .access import Access
from .documents import MOST_BYTES, EmulatedIndex
from .faults import Faults, read_faults
from .permissions import ELEVATED, TOKEN
from .refusals import ServiceRefusal, make_unimplemented_refusal
from .resources import ResourceStore
from .responses import build_refusal_response, parse_body, respond_without_body
from .rewriting import Rewriter
from .routing import Route, find_route
from .schema import parse_schema
from .semantic import Ranker
from .state import Call, ServiceState
from .storage import Storage
from .synonyms import SynonymMaps
from .versions import check_version

ARGUMENTS = {"api-version", "$select", "allowUnsafeKeys", "allowIndexDowntime"}  # a change takes no downtime here
ARGUMENTS_OF_PREVIEWS = {"ignoreResetRequirements", "disableCacheReprocessingChangeDetection"}  # no indexer runs
FAULTS_PATH = "/emulator/faults"


class SearchService:
    """The service holds the indexes in `folder`, or in memory when there is none.

    Every request needs one of `keys` or `tokens`; one of `query_keys` is enough to read documents. What is written is
    found after `delay_s`.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        keys: Collection[str],
        query_keys: Collection[str] = (),
        tokens: Collection[str] = (),
        reranker: Ranker | None = None,
        rewriter: Rewriter | None = None,
        faults: Faults | None = None,
        delay_s: float = 0.0,
    ) -> None:
        storage = Storage(folder)
        self._access = Access(keys, query_keys, tokens)
        self._faults = faults or Faults()
        self._state = ServiceState(
            storage, ResourceStore(storage), SynonymMaps(), reranker, self._faults, delay_s, rewriter
        )
        for one in self._state.resources.list_all("synonymmaps"):
            self._state.synonyms.set_map(one.definition["name"], one.definition["synonyms"])
        for etag, definition in storage.load_indexes():
            index = EmulatedIndex(parse_schema(definition), etag, storage, self._state.synonyms, delay_s)
            index.load_documents()
            self._state.indexes[index.schema.name] = index

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        began = time.perf_counter()
        request = Request(environ)
        request.max_content_length = MOST_BYTES
        try:
            response = self._answer_request(request)
        except ServiceRefusal as refusal:
            response = build_refusal_response(refusal)
        except HTTPException as refusal:  # the body is over the limit, or was cut off
            response = build_refusal_response(
                ServiceRefusal(refusal.code or 400, "The request body is too large or was cut off.")
            )
        response.headers["request-id"] = str(uuid.uuid4())
        response.headers["elapsed-time"] = str(round((time.perf_counter() - began) * 1000))
        if client := request.headers.get("x-ms-client-request-id"):
            response.headers["client-request-id"] = client
        return response(environ, start_response)

    def close(self) -> None:
        self._state.storage.close()

    def _answer_request(self, request: Request) -> Response:
        if request.path == FAULTS_PATH and request.method == "PUT":
            self._access.check_request(request, reads_documents=False)
            self._faults.set_faults(read_faults(parse_body(request)))
            return respond_without_body(204)
        if request.path == "/" and request.method == "GET":  # for those who wait until it is up
            return respond_without_body(204)
        route, named = self._check_request(request)
        call = Call(request, check_version(request.args.get("api-version")))
        self._faults.strike(route.operation)
        return route.handle(self._state, call, **named)

    def _check_request(self, request: Request) -> tuple[Route, dict[str, str]]:
        """Find the route of a request that may be made; whoever has no key is not told what there is."""
        try:
            route, named = find_route(request.method, request.path)
        except ServiceRefusal:
            self._access.check_request(request, reads_documents=False)
            check_version(request.args.get("api-version"))
            raise
        self._access.check_request(request, reads_documents=route.reads_documents)
        asks_by_address = request.method == "GET" and route.operation in ("search", "suggest")
        if not asks_by_address and (others := request.args.keys() - ARGUMENTS - ARGUMENTS_OF_PREVIEWS):
            raise make_unimplemented_refusal(f"'{min(others)}' in the address")
        for header in (TOKEN, ELEVATED):
            if header in request.headers and route.operation not in ("search", "lookup"):
                raise make_unimplemented_refusal(f"the header '{header}' of this operation")
        return route, named
