"""The real app with examples in it, and pages of Chromium in which nothing may go wrong unseen."""

import json
import os
import shutil
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, Route, expect, sync_playwright

from local_emulator import host
from rag_core.core.settings import Settings
from rag_core.providers.local_models import find_model_folder

EXAMPLES = Path(__file__).parents[2] / "examples"
INDEXED = ("how-memory-functions.md", "workshop-notes.txt")
REQUIRED = "BROWSER_TESTS_REQUIRED"  # set where Chromium must not be missing: in CI
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
WAIT_MS = 60_000  # for what takes two seconds, on a machine that many share
expect.set_options(timeout=WAIT_MS)


@dataclass
class Watch:
    """What went wrong in the pages of a test: nothing may but the `refusals` that it expects, by status."""

    origin: str
    refusals: frozenset[int]
    faults: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.route(lambda url: not url.startswith((self.origin, "data:", "blob:")), self._elsewhere)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.faults.append(f"thrown: {error.error}"))
        context.on("response", self._answered)

    def _elsewhere(self, route: Route) -> None:
        self.faults.append(f"asked elsewhere: {route.request.url}")
        route.abort()

    def _said(self, message: ConsoleMessage) -> None:
        refused = message.text.startswith("Failed to load resource")  # told by `_answered`, with its status
        if message.type in ("error", "warning") and not refused:
            self.faults.append(f"{message.type}: {message.text}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.refusals:
            self.faults.append(f"{response.status} {response.request.method} {response.url}: {response.text()[:300]}")


Open = Callable[..., Page]
CONTEXTS: defaultdict[str, list[BrowserContext]] = defaultdict(list)  # by the address of their service


def find_chromium() -> str | None:
    """Return the path of Debian's Chromium: without windows, which takes a quarter of the CPU, if there."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. Without any the tests skip, in CI they fail."""
    path = find_chromium()
    if path is None:
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(
            "Chromium is not installed: apt-get install chromium-headless-shell"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET.split())
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app over local parts, with two examples indexed and an administrator at every desk."""
    folder = tmp_path_factory.mktemp("site")
    with run_service(Settings(data_dir=folder, models_dir=embedder_only(folder), keep_runs=True), admin=True) as url:
        index(url)
        yield url


@contextmanager
def close_pages_before(service: AbstractContextManager[str]) -> Iterator[str]:
    """Run a service whose pages are closed before it ends: it refuses what they still ask for, which is no fault."""
    with service as url:
        yield url
        for context in CONTEXTS.pop(url, []):
            context.close()


def run_service(settings: Settings, **options: Any) -> AbstractContextManager[str]:
    """Serve the app while the block runs, its pages closed before it ends."""
    return close_pages_before(host.run_service(settings, **options))


def embedder_only(folder: Path) -> Path:
    """A folder of models without a cross-encoder, which takes most of a question's time and changes no page."""
    packaged = find_model_folder("embedder", None)
    models = folder / "models"
    models.mkdir()
    if packaged:
        (models / "embedder").symlink_to(packaged)
    return models


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens pages: `open_page(url, refusals=(404,), **options of a browser context)`; faults in them fail the test."""
    watches: list[Watch] = []

    def opened(url: str, *, refusals: tuple[int, ...] = (), **options: Any) -> Page:
        context = chromium.new_context(base_url=url, reduced_motion="reduce", **options)
        context.set_default_timeout(WAIT_MS)
        watches.append(Watch(url, frozenset(refusals)))
        CONTEXTS[url].append(context)
        watches[-1].over(context)
        return context.new_page()

    yield opened
    for watch in watches:
        for context in CONTEXTS.pop(watch.origin, []):
            context.close()
    assert [fault for watch in watches for fault in watch.faults] == []


@pytest.fixture
def page(open_page: Open, site: str) -> Page:
    """A page of the site, wide and light."""
    return open_page(site, permissions=["clipboard-read", "clipboard-write"])


def index(url: str, *names: str, workflow_id: str = "default") -> None:
    """Index these examples, all that the site has when none is named."""
    for name in names or INDEXED:
        data = b64encode((EXAMPLES / name).read_bytes()).decode()
        said = {"document_id": name, "title": Path(name).stem.replace("-", " ").capitalize(), "filename": name}
        call(url, "POST", "api/index_document", workflow_id=workflow_id, content_base64=data, **said)


def call(url: str, method: str, path: str, **body: Any) -> Any:
    """The reply of a JSON route. Raises HTTPError for a refusal."""
    data = None if method == "GET" else json.dumps(body).encode()
    request = Request(f"{url}/{path}", data, {"content-type": "application/json"}, method=method)  # noqa: S310
    with urlopen(request, timeout=300) as reply:  # noqa: S310
        return json.load(reply)


def asked(url: str, text: str, *steps: str) -> int:
    """The id of a question that was taken through these steps."""
    id = call(url, "POST", "rag/expansion/run", original_query=text)["query_id"]
    for step in steps:
        call(url, "POST", f"rag/queries/{id}/{step}")
    return int(id)


def open_scope(page: Page) -> None:
    """Open what is asked on the page Ask once all of it is drawn."""
    expect(page.locator(".scope")).to_have_count(1)
    expect(page.locator(".unknown-yet")).to_have_count(0)
    page.locator(".scope summary").click()
    expect(page.locator(".scope")).to_have_attribute("open", "")
