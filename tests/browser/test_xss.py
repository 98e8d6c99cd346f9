"""Nothing that a document, a question, a model or an address says is ever run by the pages."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from functions.pages import WEB_DIR
from rag_core.composition import assembly
from rag_core.core.model import SavedQuery, SavedResult, Scope
from rag_core.core.settings import Settings
from tests.browser import conftest, xss
from tests.proposal_records import AIP

PAYLOADS = xss.payloads()
TEXTS = [payload.text for payload in PAYLOADS]
ADMIN = ("admin", "admin/presets", "admin/prompts", "admin/usage", "admin/health")
PAGES = ("queries", "new", "query", "inspect", "results", "result", *ADMIN, "documents", "document", "graph", "api")

UNTOLD = ("new",)  # asks for nothing to begin with
# What is filled in, sent or clicked on a page, and what is asked for by that
PRESSED = {
    "new": ("main textarea", ["/rag/expansion/prompt"]),
    "query": (
        "main button",
        [f"/rag/queries/1/{step}" for step in ("embed", "retrieve", "consolidate", "augment/run")],
    ),
    "inspect": ("main form", ["/rag/queries/1/replay"]),
    "admin": ("main form", ["/api/rag/query", "/api/rag/ingest"]),
    "documents": ("main input[type=file]", ["/api/index_document"]),
    "graph": ("main .long button", ["/api/consult_rag"]),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app of its own, with a source of proposals: its first question and result are 1."""
    folder = tmp_path_factory.mktemp("site")
    source = folder / "proposals.json"
    source.write_text(json.dumps([AIP]), "utf-8")
    models = conftest.embedder_only(folder)
    settings = Settings(data_dir=folder / "data", models_dir=models, proposals_source=str(source))
    with conftest.run_service(settings, admin=True) as url:
        conftest.index(url)
        yield url


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app over documents and questions that are made of payloads."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("hostile"), models_dir=tmp_path_factory.mktemp("none"))
    with ThreadPoolExecutor() as threads:  # playwright has a loop in this one
        threads.submit(asyncio.run, _asked(settings)).result()
    with conftest.run_service(settings, admin=True) as url:
        _indexed(url)
        yield url


async def _asked(settings: Settings) -> None:
    kit, scope = assembly.build_kit(settings), Scope("default")
    found = tuple(_found(text) for text in TEXTS)
    known = {"expanded_queries": tuple(TEXTS), "hyde_answer": "\n".join(TEXTS), "entities": tuple(TEXTS)}
    for text in TEXTS[::8]:
        await kit.archive.add_query(SavedQuery(0, "default", text, intent=text[:50]), scope)
    whole = SavedQuery(0, "default", "\n".join(TEXTS), intent=TEXTS[0][:50], retrieved_context=found, **known)
    kept = await kit.archive.add_query(whole, scope)
    for text in ("\n".join(TEXTS), *TEXTS[::8]):
        await kit.archive.add_result(SavedResult(0, kept.id, text, model=text), scope)
    await kit.close()


def _found(text: str) -> dict[str, Any]:
    return {
        "id": text,
        "content": text,
        "title": text,
        "document_id": text,
        "source": text,
        "section": [text],
        "page": 1,
        "line_start": 1,
        "line_end": 2,
        "boxes": [],
        "scores": {"fused": 0.5, "final": 0.5},
        "ranks": {"fused": 1},
        "found_by": [text],
        "entities": [{"type": text, "value": text}],
        "metadata": {text: text},
    }


def _indexed(url: str) -> None:
    """A document of all payloads, by block and under headings of them; and some by title, source and value."""
    blocks = [{"text": f"P0700 {text}", "headings": [text]} for text in TEXTS]
    chunking = {"strategy": "blocks"}
    conftest.call(url, "POST", "api/index_document", document_id="all", title="All", blocks=blocks, chunking=chunking)
    for number, text in enumerate(TEXTS[::6]):
        said = {"title": text, "source": text, "metadata": {"said": text}}
        conftest.call(url, "POST", "api/index_document", document_id=f"d{number}", content=f"TCM {text}", **said)


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(conftest.WAIT_MS)
    yield context.new_page()
    context.close()


def test_there_are_more_than_200_payloads_each_once() -> None:
    assert len(set(TEXTS)) == len(TEXTS) > 200


def test_the_harness_catches_every_payload_on_a_page_that_is_open_to_it(page: Page) -> None:
    """As careless code would put it, without our policy: one that could not be caught would prove nothing."""
    with xss.watched(page) as watch:
        page.route("http://127.0.0.1:1/", lambda route: route.fulfill(body="<!doctype html><title>open</title>"))
        page.goto("http://127.0.0.1:1/")
        found = page.evaluate(xss.OPEN, [xss.planted(payload) for payload in PAYLOADS])
        asked = {frame for frame, _ in watch.beyond}
    assert [p.text for at, p in enumerate(PAYLOADS) if not found[at] and str(at) not in asked] == []


def test_the_harness_sees_what_runs_and_not_only_what_stands_there(page: Page) -> None:
    with xss.watched(page):
        page.route("http://127.0.0.1:1/", lambda route: route.fulfill(body="<!doctype html><title>open</title>"))
        page.goto("http://127.0.0.1:1/")
        script = '<!doctype html><p id=it><script>it.innerHTML = "<img src=x onerror=alert(1)>"; alert(2)</script>'
        [found] = page.evaluate(xss.OPEN, [[script]])
    assert found.count("alert was called") == 2


def test_the_harness_sees_a_payload_that_only_the_policy_stopped(page: Page, site: str) -> None:
    with xss.watched(page) as watch:
        page.goto(f"{site}/rag/api")
        page.get_by_role("heading", name="HTTP API").wait_for()
        page.evaluate("""() => { try { document.body.innerHTML = "<img src=x onerror=alert(1)>" } catch {} }""")
        caught = watch.caught()
    assert any("the policy stopped" in what for what in caught)


SHOWN = ("/rag/documents", "/rag/documents/all?lines=1-9", "/rag", "/rag/graph", "/rag/graph?entity=P0700")


@pytest.mark.parametrize("address", SHOWN)
def test_no_payload_of_a_document_or_a_question_runs(address: str, page: Page, hostile: str) -> None:
    with xss.watched(page) as watch:
        page.goto(hostile + address)
        page.locator("h1").wait_for()
        page.locator(".loading").first.wait_for(state="detached")
        assert watch.caught() == []


@pytest.mark.parametrize("part", ["", "/inspect", "/results"])
def test_no_payload_of_a_kept_question_runs(part: str, page: Page, hostile: str) -> None:
    newest = conftest.call(hostile, "GET", "rag/queries?limit=1")["queries"][0]["id"]
    with xss.watched(page) as watch:
        page.goto(f"{hostile}/rag/{newest}{part}")
        page.locator("h1").wait_for()
        page.locator(".loading").first.wait_for(state="detached")
        assert watch.caught() == []


ASKED: dict[str, dict[str, Any]] = {
    "rag/expansion/prompt": {"original_query": "What is memory?"},
    "rag/expansion/run": {"original_query": "What is memory?"},
    **{f"rag/queries/1/{step}": {} for step in ("embed", "retrieve", "consolidate", "augment/run")},
    "rag/queries/1/replay": {"preset": "standard"},
    "api/rag/ingest": {},
    "api/rag/query": {"query": "What does the gearbox audit cost?"},
    "api/consult_rag": {"query": "memory"},
    "api/index_document": {"document_id": "sent", "content": "P0700"},
}


@pytest.fixture(scope="module")
def replies(chromium: Browser, site: str) -> dict[str, Any]:
    """What the pages are told by the app, by path: what they ask for at once, and what by a click."""
    seen = {f"/{path}": conftest.call(site, "POST", path, **body) for path, body in ASKED.items()}
    seen["/api/index_document"]["failed"] = ["sent#0"]  # as a 207 has it
    page = chromium.new_page()

    def note(response: Response) -> None:
        path = urlsplit(response.url).path
        if "/static/" not in path and response.ok and "json" in response.headers.get("content-type", ""):
            seen[path] = response.json()

    page.on("response", note)
    admin = (f"/{place}" for place in ADMIN)
    places = ("", "/1", "/1/inspect", "/1/results", "/1/results/1", *admin, "/graph", "/api", "/documents")
    for place in (*places, "/documents/workshop-notes.txt"):
        page.goto(f"{site}/rag{place}")
        page.locator("h1").wait_for()
        expect(page.locator(".loading")).to_have_count(0)
        page.wait_for_load_state("networkidle")
    page.close()
    seen["/api/openapi.json"] = _shortened(seen["/api/openapi.json"])
    return seen


def _shortened(description: dict[str, Any]) -> dict[str, Any]:
    """Two operations with their schemas, and those that the admin page reads: the others are drawn alike."""
    paths = dict(list(description["paths"].items())[:2])
    referred = re.findall(r"#/components/schemas/(\w+)", json.dumps(paths))
    schemas = description["components"]["schemas"]
    kept = {name: schemas[name] for name in (*referred, "ProposalFilters", "AskRequest", "ConsultRequest")}
    return {**description, "paths": paths, "components": {"schemas": kept}}


Sweep = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def sweep(chromium: Browser, site: str, replies: dict[str, Any]) -> Iterator[Sweep]:
    """Shows a page, by its name, with every payload; and what was caught meanwhile. One load serves all pages.

    It is the load of a short page: it stands above what is shown, and is laid out again with each batch of it.
    """
    page = chromium.new_page(reduced_motion="reduce")
    with xss.watched(page) as watch:
        page.goto(f"{site}/rag/new")
        page.get_by_role("heading", name="New query").wait_for()

        def swept(name: str, texts: list[str], told: dict[str, Any], pressed: str = "") -> dict[str, Any]:
            module, _, section = name.partition("/")
            params = {"id": "1", "resultId": "1", "section": section}
            asked = {"page": module, "payloads": texts, "replies": json.dumps(told), "params": params}
            seen: dict[str, Any] = page.evaluate(xss.SWEEP, {**asked, "pressed": pressed})
            return {**seen, "found": seen["found"] + watch.caught()}

        yield swept
    page.close()


@pytest.mark.parametrize("refused", [False, True], ids=["told", "refused"])
@pytest.mark.parametrize("name", PAGES)
def test_no_payload_runs_wherever_a_reply_or_an_address_has_it(
    name: str, refused: bool, sweep: Sweep, replies: dict[str, Any]
) -> None:
    """Every text of every reply, or of every refusal, is the payload; and the path, the query and the fragment."""
    seen = sweep(name, TEXTS, {} if refused else replies)
    assert seen["found"] == []
    assert seen["missing"] == [] or name in UNTOLD


@pytest.mark.parametrize("name", PRESSED)
def test_no_payload_runs_when_a_form_is_filled_with_it_and_its_reply_has_it(
    name: str, sweep: Sweep, replies: dict[str, Any]
) -> None:
    """Ask, ingest, upload, expand, take a step, replay, passages of an edge: clicked with a payload of every sort."""
    pressed, asked = PRESSED[name]
    seen = sweep(name, TEXTS[::8], replies, pressed)
    assert seen["found"] == []
    assert seen["missing"] == []
    assert [path for path in asked if seen["turns"].get(path, 0) < len(TEXTS[::8])] == []


def test_the_sweep_catches_a_link_that_is_made_of_data_unchecked(
    page: Page, site: str, replies: dict[str, Any]
) -> None:
    checked = 'href=${buildAddress("/rag/graph", { entity: value })}'
    source = (WEB_DIR / "pages" / "document.js").read_text("utf-8")
    assert checked in source
    broken = source.replace(checked, "href=${value}")
    asked = {
        "page": "document",
        "payloads": ["javascript:alert(1)"],
        "replies": json.dumps(replies),
        "params": {},
        "pressed": "",
    }
    with xss.watched(page):
        page.route("**/pages/document.js", lambda route: route.fulfill(body=broken, content_type="text/javascript"))
        page.goto(f"{site}/rag/api")
        page.get_by_role("heading", name="HTTP API").wait_for()
        found = page.evaluate(xss.SWEEP, asked)["found"]
    assert any("href=javascript:alert(1)" in what for what in found)


@pytest.mark.parametrize("place", ["/rag/graph", "/rag/documents/%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"])
def test_no_payload_of_an_address_runs_when_it_is_opened(place: str, page: Page, site: str) -> None:
    for text in TEXTS[:: len(TEXTS) // 3]:
        with xss.watched(page) as watch:
            page.goto(
                f"{site}{place}?{urlencode(dict.fromkeys(('box', 'lines', 'workflow_id', 'entity', 'page'), text))}"
            )
            page.get_by_role("alert").first.wait_for()
            assert watch.caught() == []
