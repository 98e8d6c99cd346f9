"""The pages' one HTML and its files, as any reader without a key gets them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import azure.functions as func
import pytest
from werkzeug.test import Client

import function_app
from functions import pages
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.settings import Settings

ROOT = Path(__file__).parents[2]
ADDRESSES = {
    "page_queries": "/rag",
    "page_ask": "/rag/ask",
    "page_answer": "/rag/ask/7",
    "page_new": "/rag/new",
    "page_query": "/rag/7",
    "page_inspect": "/rag/7/inspect",
    "page_results": "/rag/7/results",
    "page_result": "/rag/7/results/42",
    "page_admin": "/rag/admin",
    "page_admin_section": "/rag/admin/usage",
    "page_documents": "/rag/documents",
    "page_document": "/rag/documents/manuals%2Ftcm.pdf",
    "page_graph": "/rag/graph",
    "page_schema": "/rag/schema",
    "page_api": "/rag/api",
}
INDEX = (pages.WEB_DIR / "index.html").read_bytes()


def unasked() -> Settings:
    raise AssertionError("a page reads no settings")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    host = Host(function_app.build_app(unasked), key="secret")
    yield Client(host)
    host.close()


@pytest.mark.parametrize("name", pages.PAGE_ROUTES)
def test_each_page_has_its_address_and_wants_no_key(client: Client, name: str) -> None:
    """S0-01 to S0-06, S2-54: the pages are where their document says, and nothing is configured for them."""
    reply = client.get(ADDRESSES[name])
    assert (reply.status_code, reply.content_type) == (200, "text/html; charset=utf-8")
    assert reply.data == INDEX


def test_the_documented_address_of_the_admin_page_leads_to_it(client: Client) -> None:
    """S2-53, C13: the Functions host reserves /admin, and the local server does not."""
    assert client.get("/admin/rag").headers["location"] == "/rag/admin"
    assert client.get("/admin/rag", follow_redirects=True).data == INDEX
    assert client.post("/admin/rag").status_code == client.get("/admin/rag/x").status_code == 404


def test_the_root_leads_to_the_page_ask(client: Client) -> None:
    assert client.get("/").headers["location"] == "/rag/ask"
    assert client.post("/").status_code == 404


def test_what_is_no_page_and_no_route_is_404(client: Client) -> None:
    for path in ("/rag/x", "/rag/7/x", "/rag/7.5", "/rag/7/results/x"):
        assert client.get(path).status_code == 404
    assert client.post("/rag/new").status_code == 404


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("app.js", "text/javascript; charset=utf-8"),
        ("pages/queries.js", "text/javascript; charset=utf-8"),
        ("vendor/preact.js", "text/javascript; charset=utf-8"),
        ("vendor/preact.LICENSE.txt", "text/plain; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml; charset=utf-8"),
    ],
)
def test_a_file_says_its_type(client: Client, path: str, kind: str) -> None:
    """A module of another type is run by no browser, and nosniff keeps it so."""
    reply = client.get(f"/rag/static/{path}")
    assert (reply.status_code, reply.content_type) == (200, kind)
    assert reply.data == (pages.WEB_DIR / path).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "../function_app.py",
        "..%2ffunction_app.py",
        "%2e%2e/function_app.py",
        "..%5cfunction_app.py",
        "pages/../../function_app.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "app.js%00.css",
        "./app.js",
        "pages",
        "vendor/package.json",
        "index.html/",
        "",
    ],
)
def test_no_path_leads_out_of_the_files(client: Client, path: str) -> None:
    assert client.get(f"/rag/static/{path}").status_code == 404


async def test_a_file_without_a_name_is_none_and_no_page() -> None:
    """The host leaves out an empty parameter."""
    asked = func.HttpRequest("GET", "/rag/static/", headers={}, params={}, route_params={}, body=b"")
    assert (await pages.serve_static_file(asked)).status_code == 404


async def test_what_was_not_changed_keeps_its_type() -> None:
    """A cache takes over the headers of a 304: with the worker's own, text/plain, no browser would run the module."""
    headers = {"if-none-match": pages.load_static_files()["app.js"].etag}
    asked = func.HttpRequest("GET", "/", headers=headers, params={}, route_params={"path": "app.js"}, body=b"")
    reply = await pages.serve_static_file(asked)
    assert (reply.status_code, reply.headers["content-type"]) == (304, "text/javascript; charset=utf-8")


async def test_a_path_that_no_server_has_made_plain_is_looked_up_as_it_stands() -> None:
    """The host's own route may hand over anything."""
    for path in ("../function_app.py", str(ROOT / "function_app.py"), "pages/../app.js"):
        asked = func.HttpRequest("GET", "/", headers={}, params={}, route_params={"path": path}, body=b"")
        assert (await pages.serve_static_file(asked)).status_code == 404


def test_a_kept_file_is_not_sent_again_until_it_changes(client: Client) -> None:
    first = client.get("/rag/static/app.js")
    tag = first.headers["ETag"]
    again = client.get("/rag/static/app.js", headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    assert client.get("/rag/static/app.js", headers={"If-None-Match": '"other"'}).status_code == 200
    assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/rag", "/rag/static/app.js", "/rag/static/icon.svg", "/rag/static/none"])
def test_every_reply_says_what_a_browser_may_do_with_it(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert {name: headers[name] for name in pages.PAGE_HEADERS} == dict(pages.PAGE_HEADERS)


def test_the_policy_lets_nothing_in_from_elsewhere_and_no_text_become_markup() -> None:
    policy = dict(part.strip().split(" ", 1) for part in pages.CONTENT_SECURITY_POLICY.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert (policy["require-trusted-types-for"], policy["trusted-types"]) == ("'script'", "'none'")
    assert "unsafe" not in pages.CONTENT_SECURITY_POLICY
    assert "http" not in pages.CONTENT_SECURITY_POLICY


def test_the_one_html_runs_nothing_that_the_policy_forbids() -> None:
    html = INDEX.decode()
    assert html.count("<script") == html.count('<script type="module" src="/rag/static/app.js"></script>') == 1
    assert "style=" not in html
    assert "<style" not in html
    assert "//" not in html.replace("<!doctype html>", "")


def test_all_that_the_pages_import_is_there() -> None:
    """A module that is not there would be a blank page; the script is not built, so nothing else says so."""
    scripts = [*pages.WEB_DIR.glob("*.js"), *(pages.WEB_DIR / "pages").glob("*.js")]
    imported = {
        (path.parent / line.rsplit(" from ", 1)[1].strip('";')).resolve()
        for path in scripts
        for line in path.read_text("utf-8").splitlines()
        if line.startswith(("import ", "export {", "export *")) and " from " in line
    }
    assert imported
    assert imported - set(pages.WEB_DIR.rglob("*.js")) == set()


def test_git_keeps_what_is_served() -> None:
    """A rule of .gitignore for another folder must not leave a file out of the repository."""
    served = [f"web/{name}" for name in pages.load_static_files()]
    asked = subprocess.run(["git", "check-ignore", *served], cwd=ROOT, capture_output=True, text=True, check=False)
    assert asked.stdout == ""


def test_the_pages_are_no_operations() -> None:
    """They are not in the description of the JSON surface."""
    described = json.dumps([route.path for route in ROUTES])
    assert not [route for route in pages.PAGE_ROUTES.values() if f'"{route}"' in described]
