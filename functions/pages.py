"""The pages: one HTML at each of their addresses, and the files of web/ that it is made of.

They are as public as their source: what they show comes by the JSON routes, with the key that the reader gives.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import azure.functions as func

WEB = Path(__file__).parents[1] / "web"  # in a checkout, in a deployed app and beside the installed package
PAGES: Mapping[str, str] = {  # the function's name -> its route
    "page_queries": "rag",
    "page_new": "rag/new",
    "page_query": "rag/{id:int}",
    "page_inspect": "rag/{id:int}/inspect",
    "page_results": "rag/{id:int}/results",
    "page_result": "rag/{id:int}/results/{result_id:int}",
    "page_admin": "rag/admin",
    "page_documents": "rag/documents",
    "page_document": "rag/documents/{*document_id}",
    "page_graph": "rag/graph",
    "page_api": "rag/api",
}
FILES = {"page_file": "rag/static/{*path}"}
TYPES: Mapping[str, str] = {  # nothing else of web/ is served
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"  # a text can never become markup, whatever we write
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is served; `tag` is its ETag, quotes included."""

    data: bytes
    media_type: str
    tag: str


def mount(app: func.FunctionApp) -> None:
    """Make each page, and the files, functions of the app that want no key."""
    for handler, routes in ((page, PAGES), (file, FILES)):
        for name, route in routes.items():
            routed = app.route(route, methods=("GET",), auth_level=func.AuthLevel.ANONYMOUS)
            app.function_name(name)(routed(handler))


async def page(req: func.HttpRequest) -> func.HttpResponse:  # the worker binds by the name `req`
    """The one HTML of all pages."""
    return _served("index.html", req)


async def file(req: func.HttpRequest) -> func.HttpResponse:
    """The file that the route names, where one is named."""
    return _served(req.route_params.get("path", ""), req)


def _served(path: str, req: func.HttpRequest) -> func.HttpResponse:
    """304 to who has it, 404 for what is not ours."""
    found = files().get(path)
    if found is None:
        return func.HttpResponse(status_code=404, headers=dict(HEADERS))
    headers = {
        **HEADERS,
        "Content-Type": found.media_type,  # of a 304 too, whose headers a cache takes over
        "ETag": found.tag,
        "Cache-Control": "no-cache",  # asked again each time: releases never mix
    }
    if found.tag in req.headers.get("if-none-match", ""):
        return func.HttpResponse(status_code=304, headers=headers)
    return func.HttpResponse(found.data, headers=headers)


@cache
def files() -> Mapping[str, File]:
    """What is served, by its path below web/, read once: what is asked for is looked up here, and no path is opened."""
    found = (path for path in sorted(WEB.rglob("*")) if path.suffix in TYPES and path.is_file())
    return {path.relative_to(WEB).as_posix(): _file(path) for path in found}


def _file(path: Path) -> File:
    data = path.read_bytes()
    tag = hashlib.sha256(data).hexdigest()[:32]
    return File(data, TYPES[path.suffix], f'"{tag}"')
