"""Serve Azure AI Search as a WSGI application: REST api-version 2026-04-01, as far as this project uses it."""

import hmac
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request, Response

from . import query, suggestions
from .documents import MOST_BYTES, EmulatedIndex, parse_selection, read_actions
from .refusals import (
    ServiceRefusal,
    make_missing_index_refusal,
    make_refusal,
    make_unimplemented_refusal,
)
from .schema import Schema, parse_schema
from .semantic import Ranker
from .storage import Storage

Json = dict[str, Any]

VERSIONS = {"2026-04-01", "2025-09-01", "2024-07-01", "2023-11-01"}
MOST_INDEXES = 200
ABSENT = ("indexersCount", "dataSourcesCount", "synonymMaps", "skillsetCount", "aliasesCount")
FIXED = ("searchable", "filterable", "sortable", "facetable", "analyzer", "dimensions")  # of a field, once it is there
ARGUMENTS = {"api-version", "$select", "allowUnsafeKeys", "allowIndexDowntime"}  # a change takes no downtime here
FOR_PERMISSIONS = ("x-ms-query-source-authorization", "x-ms-enable-elevated-read")
# names and keys stand in brackets and quotes, a quote within them doubled
_NAME = r"\('(?P<name>(?:[^']|'')*)'\)"
_KEY = r"\('(?P<key>(?:[^']|'')*)'\)"


class SearchService:
    """The service holds the indexes in `folder`, or in memory when there is none. Every request needs one of `keys`."""

    def __init__(self, folder: Path | None, *, keys: set[str], reranker: Ranker | None = None) -> None:
        self._storage = Storage(folder)
        self._keys, self._reranker = keys, reranker
        self._lock = threading.Lock()
        self._indexes: dict[str, EmulatedIndex] = {}
        for etag, definition in self._storage.load_indexes():
            index = EmulatedIndex(parse_schema(definition), etag, self._storage)
            index.load_documents()
            self._indexes[index.schema.name] = index

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        began = time.perf_counter()
        request = Request(environ)
        request.max_content_length = MOST_BYTES
        try:
            self._check_request(request)
            response = self._dispatch_request(request)
        except ServiceRefusal as refusal:
            response = _build_refusal_response(refusal)
        except HTTPException as refusal:  # the body is over the limit, or was cut off
            response = _build_refusal_response(
                ServiceRefusal(refusal.code or 400, "The request body is too large or was cut off.")
            )
        response.headers["request-id"] = str(uuid.uuid4())
        response.headers["elapsed-time"] = str(round((time.perf_counter() - began) * 1000))
        if client := request.headers.get("x-ms-client-request-id"):
            response.headers["client-request-id"] = client
        return response(environ, start_response)

    def close(self) -> None:
        self._storage.close()

    def _check_request(self, request: Request) -> None:
        given = request.headers.get("api-key")
        if given is None and "Authorization" in request.headers:
            raise make_unimplemented_refusal("bearer tokens; use an api-key")
        if given is None:
            raise ServiceRefusal(401, "Access denied: no api-key was given.", code="Unauthorized")
        if not any(hmac.compare_digest(given.encode(), key.encode()) for key in self._keys):
            raise ServiceRefusal(403, "The given API key doesn't match service's internal, primary or secondary keys.")
        if others := request.args.keys() - ARGUMENTS:
            raise make_unimplemented_refusal(f"'{min(others)}' in the address")
        for header in FOR_PERMISSIONS:
            if header in request.headers:
                raise make_unimplemented_refusal(f"the header '{header}'")
        version = request.args.get("api-version")
        if version not in VERSIONS:
            raise ServiceRefusal(400, f"Invalid or missing api-version query string parameter: '{version}'.")

    def _dispatch_request(self, request: Request) -> Response:
        path = re.sub(r"^/indexes/(?!$)([^/()]+)", lambda m: f"/indexes('{unquote(m[1])}')", request.path)
        for method, pattern, handle in _ROUTES:
            found = re.fullmatch(pattern, path)
            if found and request.method == method:
                named = {name: value.replace("''", "'") for name, value in found.groupdict().items()}
                return handle(self, request, **named)
        raise make_unimplemented_refusal(f"{request.method} {request.path}")

    # indexes

    def _create_index(self, request: Request) -> Response:
        made = _parse_definition(_parse_body(request))
        with self._lock:
            if made.name in self._indexes:
                message = f"Cannot create index '{made.name}' because it already exists."
                raise ServiceRefusal(409, message, code="ResourceNameAlreadyInUse")
            return self._add_index(request, made)

    def _put_index(self, request: Request, name: str) -> Response:
        made = _parse_definition(_parse_body(request))
        if made.name != name:
            raise make_refusal("Index name in the request body does not match the name in the URL.")
        with self._lock:
            held = self._indexes.get(name)
            _check_etag(request, held)
            if held is None:
                return self._add_index(request, made)
            _check_change(held.schema, made)
            held.change_definition(made, _make_etag())
        if "return=minimal" in request.headers.get("Prefer", ""):
            return _respond_without_body(204)
        return _build_index_response(held, request, 200)

    def _add_index(self, request: Request, made: Schema) -> Response:
        if len(self._indexes) >= MOST_INDEXES:
            raise ServiceRefusal(400, f"Index quota of {MOST_INDEXES} has been exceeded for this service.")
        index = EmulatedIndex(made, _make_etag(), self._storage)
        self._storage.save_index(index.etag, made.definition)
        self._indexes[made.name] = index
        response = _build_index_response(index, request, 201)
        response.headers["Location"] = f"{request.host_url}indexes('{made.name}')"
        return response

    def _get_index(self, request: Request, name: str) -> Response:
        return _build_index_response(self._find_index(name), request, 200)

    def _delete_index(self, request: Request, name: str) -> Response:
        with self._lock:
            index = self._find_index(name)
            _check_etag(request, index)
            index.drop_definition()
            del self._indexes[name]
        return _respond_without_body(204)

    def _list_indexes(self, request: Request) -> Response:
        names = request.args.get("$select")
        shown = [_describe_index(self._indexes[name]) for name in sorted(self._indexes)]
        if names and names != "*":
            wanted = {name.strip() for name in names.split(",")}
            shown = [{k: v for k, v in one.items() if k in wanted} for one in shown]
        return _respond_with_minimal_metadata(
            {"@odata.context": f"{request.host_url}$metadata#indexes", "value": shown}, 200
        )

    def _get_index_statistics(self, request: Request, name: str) -> Response:
        index = self._find_index(name)
        context = f"{request.host_url}$metadata#Microsoft.Azure.Search.IndexStatistics"
        counts = {
            "documentCount": len(index.documents),
            "storageSize": self._storage.measure_documents(name),
            "vectorIndexSize": index.vectors.measure_vectors(),
        }
        return _respond_with_minimal_metadata({"@odata.context": context, **counts}, 200)

    def _get_service_statistics(self, request: Request) -> Response:
        indexes = list(self._indexes.values())
        used = {
            "documentCount": (sum(len(index.documents) for index in indexes), None),
            "indexesCount": (len(indexes), MOST_INDEXES),
            "storageSize": (sum(self._storage.measure_documents(index.schema.name) for index in indexes), None),
            "vectorIndexSize": (sum(index.vectors.measure_vectors() for index in indexes), None),
            **dict.fromkeys(ABSENT, (0, 0)),
        }
        counters = {name: {"usage": usage, "quota": quota} for name, (usage, quota) in used.items()}
        limits = {"maxFieldsPerIndex": 1000, "maxFieldNestingDepthPerIndex": 10}
        context = f"{request.host_url}$metadata#Microsoft.Azure.Search.ServiceStatistics"
        return _respond_with_minimal_metadata({"@odata.context": context, "counters": counters, "limits": limits}, 200)

    def _list_nothing(self, request: Request, kind: str) -> Response:
        """List nothing, for the kinds of resources that there can be none of here."""
        return _respond_with_minimal_metadata(
            {"@odata.context": f"{request.host_url}$metadata#{kind}", "value": []}, 200
        )

    def _analyze_text(self, request: Request, name: str) -> Response:
        self._find_index(name)
        context = f"{request.host_url}$metadata#Microsoft.Azure.Search.AnalyzeResult"
        return _respond_with_minimal_metadata(
            {"@odata.context": context, "tokens": suggestions.analyze_text(_parse_body(request))}, 200
        )

    # documents

    def _change_documents(self, request: Request, name: str) -> Response:
        index = self._find_index(name)
        unsafe = request.args.get("allowUnsafeKeys", "").lower() == "true"
        statuses = index.apply_actions(read_actions(_parse_body(request)), unsafe_keys=unsafe)
        return _respond_without_metadata(
            {"value": statuses}, 200 if all(status["status"] for status in statuses) else 207
        )

    def _get_document(self, request: Request, name: str, key: str) -> Response:
        index = self._find_index(name)
        shown = parse_selection(request.args.get("$select", ""), index.schema)
        document = index.documents.get(key)
        return (
            _respond_without_body(404)
            if document is None
            else _respond_without_metadata(shown.select_fields(document), 200)
        )

    def _count_documents(self, request: Request, name: str) -> Response:
        return Response(str(len(self._find_index(name).documents)), content_type="text/plain; charset=utf-8")

    def _search_documents(self, request: Request, name: str) -> Response:
        status, answer = query.run_search(self._find_index(name), _parse_body(request), self._reranker, request.url)
        return _respond_without_metadata(answer, status)

    def _suggest_documents(self, request: Request, name: str) -> Response:
        return _respond_without_metadata(
            suggestions.suggest_documents(self._find_index(name), _parse_body(request)), 200
        )

    def _complete_word(self, request: Request, name: str) -> Response:
        return _respond_without_metadata(suggestions.complete_word(self._find_index(name), _parse_body(request)), 200)

    def _find_index(self, name: str) -> EmulatedIndex:
        index = self._indexes.get(name)
        if index is None:
            raise make_missing_index_refusal(name)
        return index


_ROUTES: list[tuple[str, str, Callable[..., Response]]] = [
    ("POST", "/indexes", SearchService._create_index),
    ("GET", "/indexes", SearchService._list_indexes),
    ("PUT", f"/indexes{_NAME}", SearchService._put_index),
    ("GET", f"/indexes{_NAME}", SearchService._get_index),
    ("DELETE", f"/indexes{_NAME}", SearchService._delete_index),
    ("GET", rf"/indexes{_NAME}/search\.stats", SearchService._get_index_statistics),
    ("POST", rf"/indexes{_NAME}/search\.analyze", SearchService._analyze_text),
    ("GET", "/(?P<kind>synonymmaps|indexers|datasources|skillsets|aliases)", SearchService._list_nothing),
    ("GET", "/servicestats", SearchService._get_service_statistics),
    ("POST", rf"/indexes{_NAME}/docs/search\.index", SearchService._change_documents),
    ("GET", rf"/indexes{_NAME}/docs{_KEY}", SearchService._get_document),
    ("GET", rf"/indexes{_NAME}/docs/\$count", SearchService._count_documents),
    ("POST", rf"/indexes{_NAME}/docs/search\.post\.search", SearchService._search_documents),
    ("POST", rf"/indexes{_NAME}/docs/search\.post\.suggest", SearchService._suggest_documents),
    ("POST", rf"/indexes{_NAME}/docs/search\.post\.autocomplete", SearchService._complete_word),
]


def _parse_body(request: Request) -> Any:
    """Parse the body as strict JSON: no NaN, no half of a surrogate pair."""
    data = request.get_data()
    try:
        body = json.loads(data, parse_constant=_refuse_constant)
        if b"\\ud" in data.lower():
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as failure:
        raise make_refusal("The request is invalid. Details: parameters : The body is not valid JSON.") from failure
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _parse_definition(body: Any) -> Schema:
    try:
        return parse_schema(body)
    except (KeyError, TypeError, AttributeError) as failure:
        raise make_refusal(f"The request is invalid. Details: index : {failure} is missing or malformed.") from failure


def _make_etag() -> str:
    return f'"0x{uuid.uuid4().hex[:15].upper()}"'


def _check_etag(request: Request, index: EmulatedIndex | None) -> None:
    """Refuse what is conditional on a state that the index is not in."""
    wanted, unwanted = request.headers.get("If-Match"), request.headers.get("If-None-Match")
    held = index.etag if index else None
    unmatched = wanted is not None and (held is None if wanted == "*" else wanted.strip('"') != str(held).strip('"'))
    if unmatched or (unwanted is not None and held is not None and unwanted.strip('"') in ("*", held.strip('"'))):
        raise ServiceRefusal(
            412,
            "The precondition given in one of the request headers evaluated to false. No change was made to the "
            "resource from this request.",
        )


def _check_change(held: Schema, made: Schema) -> None:
    """Check that no field is removed or indexed otherwise; fields may be added, or be shown otherwise."""
    for path, kind in held.kinds.items():
        if path not in made.kinds:
            raise make_refusal(f"Existing field(s) '{path}' cannot be deleted.", code="OperationNotAllowed")
        old, new = held.fields.get(path), made.fields.get(path)
        if made.kinds[path] != kind or any(getattr(old, name, None) != getattr(new, name, None) for name in FIXED):
            raise make_refusal(f"Existing field '{path}' cannot be changed.", code="OperationNotAllowed")
    if held.key != made.key:
        raise make_refusal("The key field cannot be changed.", code="OperationNotAllowed")


def _describe_index(index: EmulatedIndex) -> Json:
    return {"@odata.etag": index.etag, **index.schema.definition}


def _build_index_response(index: EmulatedIndex, request: Request, status: int) -> Response:
    response = _respond_with_minimal_metadata(
        {"@odata.context": f"{request.host_url}$metadata#indexes/$entity", **_describe_index(index)}, status
    )
    response.headers["ETag"] = index.etag
    return response


def _respond_without_body(status: int) -> Response:
    response = Response(status=status)
    del response.headers["Content-Type"]
    return response


def _respond_with_minimal_metadata(body: Json, status: int) -> Response:
    return _build_odata_response(body, status, "minimal")


def _respond_without_metadata(body: Json, status: int) -> Response:
    return _build_odata_response(body, status, "none")


def _build_odata_response(body: Json, status: int, metadata: str) -> Response:
    response = Response(json.dumps(body, ensure_ascii=False, allow_nan=False), status)
    response.headers["Content-Type"] = (
        f"application/json; odata.metadata={metadata}; odata.streaming=true; charset=utf-8"
    )
    response.headers["OData-Version"] = "4.0"
    response.headers["Preference-Applied"] = 'odata.include-annotations="*"'
    return response


def _build_refusal_response(refusal: ServiceRefusal) -> Response:
    response = Response(json.dumps({"error": {"code": refusal.code, "message": refusal.message}}), refusal.status)
    response.headers["Content-Type"] = "application/json; charset=utf-8"
    response.headers["Content-Language"] = "en"
    return response
