"""The web pages: one HTML file served at the address of every page, and the static files of web/.

They need no function key: they are public source, and their data come from the JSON routes with the key that the
reader enters.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import azure.functions as func

WEB_DIR = Path(__file__).parents[1] / "web"  # alike in a checkout, a deployed app and an installed package
PAGE_ROUTES: Mapping[str, str] = {  # by the name of the function
    "page_queries": "rag",
    "page_ask": "rag/ask",
    "page_answer": "rag/ask/{id:int}",
    "page_new": "rag/new",
    "page_query": "rag/{id:int}",
    "page_inspect": "rag/{id:int}/inspect",
    "page_results": "rag/{id:int}/results",
    "page_result": "rag/{id:int}/results/{result_id:int}",
    "page_admin": "rag/admin",
    "page_admin_section": "rag/admin/{section}",
    "page_documents": "rag/documents",
    "page_document": "rag/documents/{*document_id}",
    "page_graph": "rag/graph",
    "page_schema": "rag/schema",
    "page_api": "rag/api",
}
FILE_ROUTES = {"page_file": "rag/static/{*path}"}
MEDIA_TYPES: Mapping[str, str] = {  # by suffix; no other file of web/ is served
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"  # text can never become markup, whatever our scripts do
)
PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is served, with its ETag (quotes included)."""

    data: bytes
    media_type: str
    etag: str


def mount_pages(app: func.FunctionApp) -> None:
    """Add the pages and the static files to the app as functions without a key."""
    for handler, routes in ((serve_page, PAGE_ROUTES), (serve_static_file, FILE_ROUTES)):
        for name, route in routes.items():
            routed = app.route(route, methods=("GET",), auth_level=func.AuthLevel.ANONYMOUS)
            app.function_name(name)(routed(handler))


async def serve_page(req: func.HttpRequest) -> func.HttpResponse:  # the worker binds by the name `req`
    """Serve the HTML file that all pages share."""
    return _make_file_response("index.html", req)


async def serve_static_file(req: func.HttpRequest) -> func.HttpResponse:
    """Serve the file that the route names."""
    return _make_file_response(req.route_params.get("path", ""), req)


def _make_file_response(path: str, req: func.HttpRequest) -> func.HttpResponse:
    """Return the file, 304 when the ETag shows that the client has it, or 404 for a path that is not served."""
    static_file = load_static_files().get(path)
    if static_file is None:
        return func.HttpResponse(status_code=404, headers=dict(PAGE_HEADERS))
    headers = {
        **PAGE_HEADERS,
        "Content-Type": static_file.media_type,  # in a 304 too: a cache takes over its headers
        "ETag": static_file.etag,
        "Cache-Control": "no-cache",  # revalidated each time, so that files of two releases never mix
    }
    if static_file.etag in req.headers.get("if-none-match", ""):
        return func.HttpResponse(status_code=304, headers=headers)
    return func.HttpResponse(static_file.data, headers=headers)


@cache
def load_static_files() -> Mapping[str, StaticFile]:
    """Return the files served, by their path below web/, read once.

    A requested path is only looked up here and never opened, so that it cannot lead out of web/.
    """
    paths = (path for path in sorted(WEB_DIR.rglob("*")) if path.suffix in MEDIA_TYPES and path.is_file())
    return {path.relative_to(WEB_DIR).as_posix(): _load_static_file(path) for path in paths}


def _load_static_file(path: Path) -> StaticFile:
    data = path.read_bytes()
    tag = hashlib.sha256(data).hexdigest()[:32]
    return StaticFile(data, MEDIA_TYPES[path.suffix], f'"{tag}"')
