"""Find who handles a request: the addresses that the SDKs send, and those that the REST reference documents."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from werkzeug.wrappers import Response

from . import document_routes, index_routes, knowledge, resource_routes
from .refusals import make_unimplemented_refusal
from .resources import KINDS

Handler = Callable[..., Response]

# names and keys stand in brackets and quotes, a quote within them doubled
_NAME = r"\('(?P<name>(?:[^']|'')*)'\)"
_KEY = r"\('(?P<key>(?:[^']|'')*)'\)"
_COLLECTION = f"/(?P<collection>{'|'.join(KINDS)})"
_PLAIN_NAME = re.compile(r"^/(indexes|" + "|".join(KINDS) + r")/(?!$)([^/()]+)")
# the documented address below /indexes/NAME, and the one that the SDKs send
_DOCUMENTED = {
    "/docs/search": "/docs/search.post.search",
    "/docs/suggest": "/docs/search.post.suggest",
    "/docs/autocomplete": "/docs/search.post.autocomplete",
    "/docs/index": "/docs/search.index",
    "/stats": "/search.stats",
    "/analyze": "/search.analyze",
}
_INDEXER_OPERATION = re.compile(rf"(/indexers{_NAME})/(run|reset|resetdocs|resetskills|resync|status)")


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    pattern: str
    operation: str  # which faults strike it
    handle: Handler
    reads_documents: bool = False  # so that a query key is enough


_ROUTES = [
    Route("POST", "/indexes", "definition", index_routes.create_index),
    Route("GET", "/indexes", "definition", index_routes.list_indexes),
    Route("PUT", f"/indexes{_NAME}", "definition", index_routes.put_index),
    Route("GET", f"/indexes{_NAME}", "definition", index_routes.get_index),
    Route("DELETE", f"/indexes{_NAME}", "definition", index_routes.delete_index),
    Route("GET", rf"/indexes{_NAME}/search\.stats", "definition", index_routes.get_index_statistics),
    Route("POST", rf"/indexes{_NAME}/search\.analyze", "definition", index_routes.analyze_text),
    Route("GET", "/servicestats", "definition", index_routes.get_service_statistics),
    Route("GET", "/indexstats", "definition", index_routes.list_index_statistics),
    Route("POST", _COLLECTION, "definition", resource_routes.create_resource),
    Route("GET", _COLLECTION, "definition", resource_routes.list_resources),
    Route("PUT", f"{_COLLECTION}{_NAME}", "definition", resource_routes.put_resource),
    Route("GET", f"{_COLLECTION}{_NAME}", "definition", resource_routes.get_resource),
    Route("DELETE", f"{_COLLECTION}{_NAME}", "definition", resource_routes.delete_resource),
    Route("POST", rf"/indexers{_NAME}/search\.(?P<operation>\w+)", "definition", resource_routes.refuse_to_run),
    Route("GET", rf"/indexers{_NAME}/search\.(?P<operation>status)", "definition", resource_routes.refuse_to_run),
    Route("GET", f"/knowledgesources{_NAME}/status", "definition", resource_routes.get_source_status),
    Route("POST", f"/knowledgebases{_NAME}/retrieve", "search", knowledge.retrieve, True),
    Route("POST", rf"/indexes{_NAME}/docs/search\.index", "index", document_routes.change_documents),
    Route("GET", rf"/indexes{_NAME}/docs{_KEY}", "lookup", document_routes.get_document, True),
    Route("GET", rf"/indexes{_NAME}/docs/\$count", "lookup", document_routes.count_documents, True),
    Route("POST", rf"/indexes{_NAME}/docs/search\.post\.search", "search", document_routes.search_documents, True),
    Route("GET", rf"/indexes{_NAME}/docs", "search", document_routes.search_by_address, True),
    Route("POST", rf"/indexes{_NAME}/docs/search\.post\.suggest", "suggest", document_routes.suggest_documents, True),
    Route("GET", rf"/indexes{_NAME}/docs/search\.suggest", "suggest", document_routes.suggest_by_address, True),
    Route("POST", rf"/indexes{_NAME}/docs/search\.post\.autocomplete", "suggest", document_routes.complete_word, True),
    Route("GET", rf"/indexes{_NAME}/docs/search\.autocomplete", "suggest", document_routes.complete_by_address, True),
]


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Find the route of a request and the names in its address. Raises a ServiceRefusal where there is none."""
    plain = _write_plainly(path, method)
    for route in _ROUTES:
        found = re.fullmatch(route.pattern, plain)
        if found and method == route.method:
            return route, {name: value.replace("''", "'") for name, value in found.groupdict().items()}
    raise make_unimplemented_refusal(f"{method} {path}")


def _write_plainly(path: str, method: str) -> str:
    """Write an address as the SDKs do: `/indexes/docs/docs/search` becomes `/indexes('docs')/docs/search...`."""
    path = re.sub(r"^/{2,}", "/", path)
    path = _PLAIN_NAME.sub(lambda found: f"/{found[1]}('{unquote(found[2])}')", path)
    path = _INDEXER_OPERATION.sub(r"\1/search.\3", path)
    found = re.fullmatch(rf"(/indexes{_NAME})(/.*)", path)
    if not found:
        return path
    index, rest = found[1], found[3]
    if method == "GET" and rest in ("/docs/search", "/docs/suggest", "/docs/autocomplete"):
        return index + {"/docs/search": "/docs"}.get(rest, rest.replace("/docs/", "/docs/search."))
    if rest in _DOCUMENTED:
        return index + _DOCUMENTED[rest]
    key = re.fullmatch(r"/docs/(?!search\.|\$)([^/()]+)", rest)
    return f"{index}/docs('{key[1]}')" if key and method == "GET" else path
