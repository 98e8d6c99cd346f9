"""Azure AI Search as a WSGI application: REST api-version 2026-04-01, as far as this project uses it."""

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

from local_emulator.search_service import query, suggestions
from local_emulator.search_service.documents import MOST_BYTES, Index, actions_of, selection
from local_emulator.search_service.refusals import Refusal, invalid, missing_index, unimplemented
from local_emulator.search_service.schema import Schema, schema
from local_emulator.search_service.semantic import Ranker
from local_emulator.search_service.storage import Storage

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
    """Indexes in `folder`, or in memory when there is none. Every request needs one of `keys`."""

    def __init__(self, folder: Path | None, *, keys: set[str], reranker: Ranker | None = None) -> None:
        self._storage = Storage(folder)
        self._keys, self._reranker = keys, reranker
        self._lock = threading.Lock()
        self._indexes: dict[str, Index] = {}
        for etag, definition in self._storage.indexes():
            index = Index(schema(definition), etag, self._storage)
            index.load()
            self._indexes[index.schema.name] = index

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        began = time.perf_counter()
        request = Request(environ)
        request.max_content_length = MOST_BYTES
        try:
            self._admit(request)
            response = self._route(request)
        except Refusal as refusal:
            response = _refused(refusal)
        except HTTPException as refusal:  # the body is over the limit, or was cut off
            response = _refused(Refusal(refusal.code or 400, "The request body is too large or was cut off."))
        response.headers["request-id"] = str(uuid.uuid4())
        response.headers["elapsed-time"] = str(round((time.perf_counter() - began) * 1000))
        if client := request.headers.get("x-ms-client-request-id"):
            response.headers["client-request-id"] = client
        return response(environ, start_response)

    def close(self) -> None:
        self._storage.close()

    def _admit(self, request: Request) -> None:
        given = request.headers.get("api-key")
        if given is None and "Authorization" in request.headers:
            raise unimplemented("bearer tokens; use an api-key")
        if given is None:
            raise Refusal(401, "Access denied: no api-key was given.", code="Unauthorized")
        if not any(hmac.compare_digest(given.encode(), key.encode()) for key in self._keys):
            raise Refusal(403, "The given API key doesn't match service's internal, primary or secondary keys.")
        if others := request.args.keys() - ARGUMENTS:
            raise unimplemented(f"'{min(others)}' in the address")
        for header in FOR_PERMISSIONS:
            if header in request.headers:
                raise unimplemented(f"the header '{header}'")
        version = request.args.get("api-version")
        if version not in VERSIONS:
            raise Refusal(400, f"Invalid or missing api-version query string parameter: '{version}'.")

    def _route(self, request: Request) -> Response:
        path = re.sub(r"^/indexes/(?!$)([^/()]+)", lambda m: f"/indexes('{unquote(m[1])}')", request.path)
        for method, pattern, handle in _ROUTES:
            found = re.fullmatch(pattern, path)
            if found and request.method == method:
                named = {name: value.replace("''", "'") for name, value in found.groupdict().items()}
                return handle(self, request, **named)
        raise unimplemented(f"{request.method} {request.path}")

    # indexes

    def _create(self, request: Request) -> Response:
        made = _definition(_body(request))
        with self._lock:
            if made.name in self._indexes:
                message = f"Cannot create index '{made.name}' because it already exists."
                raise Refusal(409, message, code="ResourceNameAlreadyInUse")
            return self._add(request, made)

    def _put(self, request: Request, name: str) -> Response:
        made = _definition(_body(request))
        if made.name != name:
            raise invalid("Index name in the request body does not match the name in the URL.")
        with self._lock:
            held = self._indexes.get(name)
            _check_etag(request, held)
            if held is None:
                return self._add(request, made)
            _check_change(held.schema, made)
            held.redefine(made, _etag())
        if "return=minimal" in request.headers.get("Prefer", ""):
            return _bare(204)
        return _index(held, request, 200)

    def _add(self, request: Request, made: Schema) -> Response:
        if len(self._indexes) >= MOST_INDEXES:
            raise Refusal(400, f"Index quota of {MOST_INDEXES} has been exceeded for this service.")
        index = Index(made, _etag(), self._storage)
        self._storage.save_index(index.etag, made.definition)
        self._indexes[made.name] = index
        response = _index(index, request, 201)
        response.headers["Location"] = f"{request.host_url}indexes('{made.name}')"
        return response

    def _get(self, request: Request, name: str) -> Response:
        return _index(self._index(name), request, 200)

    def _delete(self, request: Request, name: str) -> Response:
        with self._lock:
            index = self._index(name)
            _check_etag(request, index)
            index.drop()
            del self._indexes[name]
        return _bare(204)

    def _list(self, request: Request) -> Response:
        names = request.args.get("$select")
        shown = [_shown(self._indexes[name]) for name in sorted(self._indexes)]
        if names and names != "*":
            wanted = {name.strip() for name in names.split(",")}
            shown = [{k: v for k, v in one.items() if k in wanted} for one in shown]
        return _minimal({"@odata.context": f"{request.host_url}$metadata#indexes", "value": shown}, 200)

    def _statistics(self, request: Request, name: str) -> Response:
        index = self._index(name)
        context = f"{request.host_url}$metadata#Microsoft.Azure.Search.IndexStatistics"
        counts = {
            "documentCount": len(index.documents),
            "storageSize": self._storage.size(name),
            "vectorIndexSize": index.vectors.size(),
        }
        return _minimal({"@odata.context": context, **counts}, 200)

    def _service_statistics(self, request: Request) -> Response:
        indexes = list(self._indexes.values())
        used = {
            "documentCount": (sum(len(index.documents) for index in indexes), None),
            "indexesCount": (len(indexes), MOST_INDEXES),
            "storageSize": (sum(self._storage.size(index.schema.name) for index in indexes), None),
            "vectorIndexSize": (sum(index.vectors.size() for index in indexes), None),
            **dict.fromkeys(ABSENT, (0, 0)),
        }
        counters = {name: {"usage": usage, "quota": quota} for name, (usage, quota) in used.items()}
        limits = {"maxFieldsPerIndex": 1000, "maxFieldNestingDepthPerIndex": 10}
        context = f"{request.host_url}$metadata#Microsoft.Azure.Search.ServiceStatistics"
        return _minimal({"@odata.context": context, "counters": counters, "limits": limits}, 200)

    def _none(self, request: Request, kind: str) -> Response:
        """What there can be none of here."""
        return _minimal({"@odata.context": f"{request.host_url}$metadata#{kind}", "value": []}, 200)

    def _analyze(self, request: Request, name: str) -> Response:
        self._index(name)
        context = f"{request.host_url}$metadata#Microsoft.Azure.Search.AnalyzeResult"
        return _minimal({"@odata.context": context, "tokens": suggestions.analyzed(_body(request))}, 200)

    # documents

    def _change(self, request: Request, name: str) -> Response:
        index = self._index(name)
        unsafe = request.args.get("allowUnsafeKeys", "").lower() == "true"
        statuses = index.apply(actions_of(_body(request)), unsafe_keys=unsafe)
        return _plain({"value": statuses}, 200 if all(status["status"] for status in statuses) else 207)

    def _look_up(self, request: Request, name: str, key: str) -> Response:
        index = self._index(name)
        shown = selection(request.args.get("$select", ""), index.schema)
        document = index.documents.get(key)
        return _bare(404) if document is None else _plain(shown.of(document), 200)

    def _count(self, request: Request, name: str) -> Response:
        return Response(str(len(self._index(name).documents)), content_type="text/plain; charset=utf-8")

    def _search(self, request: Request, name: str) -> Response:
        status, answer = query.search(self._index(name), _body(request), self._reranker, request.url)
        return _plain(answer, status)

    def _suggest(self, request: Request, name: str) -> Response:
        return _plain(suggestions.suggest(self._index(name), _body(request)), 200)

    def _autocomplete(self, request: Request, name: str) -> Response:
        return _plain(suggestions.autocomplete(self._index(name), _body(request)), 200)

    def _index(self, name: str) -> Index:
        index = self._indexes.get(name)
        if index is None:
            raise missing_index(name)
        return index


_ROUTES: list[tuple[str, str, Callable[..., Response]]] = [
    ("POST", "/indexes", SearchService._create),
    ("GET", "/indexes", SearchService._list),
    ("PUT", f"/indexes{_NAME}", SearchService._put),
    ("GET", f"/indexes{_NAME}", SearchService._get),
    ("DELETE", f"/indexes{_NAME}", SearchService._delete),
    ("GET", rf"/indexes{_NAME}/search\.stats", SearchService._statistics),
    ("POST", rf"/indexes{_NAME}/search\.analyze", SearchService._analyze),
    ("GET", "/(?P<kind>synonymmaps|indexers|datasources|skillsets|aliases)", SearchService._none),
    ("GET", "/servicestats", SearchService._service_statistics),
    ("POST", rf"/indexes{_NAME}/docs/search\.index", SearchService._change),
    ("GET", rf"/indexes{_NAME}/docs{_KEY}", SearchService._look_up),
    ("GET", rf"/indexes{_NAME}/docs/\$count", SearchService._count),
    ("POST", rf"/indexes{_NAME}/docs/search\.post\.search", SearchService._search),
    ("POST", rf"/indexes{_NAME}/docs/search\.post\.suggest", SearchService._suggest),
    ("POST", rf"/indexes{_NAME}/docs/search\.post\.autocomplete", SearchService._autocomplete),
]


def _body(request: Request) -> Any:
    """The body as strict JSON: no NaN, no half of a surrogate pair."""
    data = request.get_data()
    try:
        body = json.loads(data, parse_constant=_refuse_constant)
        if b"\\ud" in data.lower():
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as failure:
        raise invalid("The request is invalid. Details: parameters : The body is not valid JSON.") from failure
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _definition(body: Any) -> Schema:
    try:
        return schema(body)
    except (KeyError, TypeError, AttributeError) as failure:
        raise invalid(f"The request is invalid. Details: index : {failure} is missing or malformed.") from failure


def _etag() -> str:
    return f'"0x{uuid.uuid4().hex[:15].upper()}"'


def _check_etag(request: Request, index: Index | None) -> None:
    """Refuse what is conditional on a state that the index is not in."""
    wanted, unwanted = request.headers.get("If-Match"), request.headers.get("If-None-Match")
    held = index.etag if index else None
    unmatched = wanted is not None and (held is None if wanted == "*" else wanted.strip('"') != str(held).strip('"'))
    if unmatched or (unwanted is not None and held is not None and unwanted.strip('"') in ("*", held.strip('"'))):
        raise Refusal(
            412,
            "The precondition given in one of the request headers evaluated to false. No change was made to the "
            "resource from this request.",
        )


def _check_change(held: Schema, made: Schema) -> None:
    """Fields may be added; those there are may change in what is shown of them, not in how they are indexed."""
    for path, kind in held.kinds.items():
        if path not in made.kinds:
            raise invalid(f"Existing field(s) '{path}' cannot be deleted.", code="OperationNotAllowed")
        old, new = held.fields.get(path), made.fields.get(path)
        if made.kinds[path] != kind or any(getattr(old, name, None) != getattr(new, name, None) for name in FIXED):
            raise invalid(f"Existing field '{path}' cannot be changed.", code="OperationNotAllowed")
    if held.key != made.key:
        raise invalid("The key field cannot be changed.", code="OperationNotAllowed")


def _shown(index: Index) -> Json:
    return {"@odata.etag": index.etag, **index.schema.definition}


def _index(index: Index, request: Request, status: int) -> Response:
    response = _minimal({"@odata.context": f"{request.host_url}$metadata#indexes/$entity", **_shown(index)}, status)
    response.headers["ETag"] = index.etag
    return response


def _bare(status: int) -> Response:
    response = Response(status=status)
    del response.headers["Content-Type"]
    return response


def _minimal(body: Json, status: int) -> Response:
    return _json(body, status, "minimal")


def _plain(body: Json, status: int) -> Response:
    return _json(body, status, "none")


def _json(body: Json, status: int, metadata: str) -> Response:
    response = Response(json.dumps(body, ensure_ascii=False, allow_nan=False), status)
    response.headers["Content-Type"] = (
        f"application/json; odata.metadata={metadata}; odata.streaming=true; charset=utf-8"
    )
    response.headers["OData-Version"] = "4.0"
    response.headers["Preference-Applied"] = 'odata.include-annotations="*"'
    return response


def _refused(refusal: Refusal) -> Response:
    response = Response(json.dumps({"error": {"code": refusal.code, "message": refusal.message}}), refusal.status)
    response.headers["Content-Type"] = "application/json; charset=utf-8"
    response.headers["Content-Language"] = "en"
    return response
