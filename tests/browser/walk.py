"""The newcomer's walk in Chromium, with screenshots to be looked at: `python -m tests.browser.walk FOLDER`.

Ten files, one a format, are added as a folder; then: ask, follow up (with a new subject in between), open the page,
share the address, ask what nobody knows, see how it was found, save the highlighted pages, delete and restore. Once
without a model, once with one that paraphrases and with Document Intelligence, both on loopback.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from local_emulator.chat_stub import ChatStub
from local_emulator.document_service import DocumentService
from local_emulator.host import run_service
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core.settings import Settings
from tests import hosted, local
from tests.browser.conftest import QUIET, WAIT_MS, find_chromium
from tests.browser.test_ask import ask
from tests.browser.walk_files import NOTICE, write_walk_files
from tests.ingestion.pictures import make_picture

QUESTIONS = (
    "At what wind may the ramp be lowered?",
    "How many spaces does the car park at Larkfield have?",
    "What does a return ticket cost?",
    "Do dogs travel free of charge?",
    "How often are life jackets counted?",
    "Who takes over the training of deckhands?",
    "How often is the winch brake of the lower deck tested?",
)
FOLLOW_UPS = ("And the one of the upper deck?", "What is the deposit for berth 7?", "When is it due?")
UNKNOWN = "Who designed the engine of the submarine?"
VIEWS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 390))
PAGES = ("documents", "graph", "admin", "admin/presets", "admin/prompts", "admin/usage", "admin/health")
SERIOUS = ("serious", "critical")
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth)
    .slice(-1).map((one) => one.outerHTML.slice(0, 160))"""


@dataclass
class Walk:
    """A walk through one app; `faults` has what axe finds, and pages that scroll sideways."""

    page: Page
    folder: Path
    prefix: str
    count: int = 0
    faults: list[str] = field(default_factory=list)

    def shoot(self, name: str) -> None:
        """Take a picture of what is seen, and have axe look at the page."""
        self.count += 1
        self.page.wait_for_load_state("networkidle")
        self.page.screenshot(path=self.folder / f"{self.prefix}-{self.count:02d}-{name}.png")
        found = Axe().run(self.page, options={"resultTypes": ["violations"]}).response["violations"]
        self.faults += [
            f"{name}: {one['id']}, {one['nodes'][0]['html'][:160]}" for one in found if one["impact"] in SERIOUS
        ]
        self.faults += [f"{name}: is wider than the page, {html}" for html in self.page.evaluate(TOO_WIDE)]


@contextmanager
def serve_app(folder: Path, *, has_model: bool) -> Iterator[str]:
    """The app without a chat model, or with one that says everything in other words."""
    if not has_model:
        with run_service(Settings(data_dir=folder), admin=True) as url:
            yield url
        return
    pictures = {sha256(make_picture(*NOTICE)).hexdigest(): [list(NOTICE)]}
    model = ModelService(local.embedder(), ChatStub(hosted.text(), answering="paraphrases"), keys={"key"})
    with serve_wsgi(model) as models, serve_wsgi(DocumentService(keys={"key"}, picture_lines=pictures)) as layout:
        settings = replace(
            hosted.configure(folder, models), doc_intelligence_endpoint=layout, doc_intelligence_key="key"
        )
        with run_service(settings, admin=True) as url:
            yield url


def walk_through(walk: Walk, files: Path, saved: Path, *, has_model: bool) -> None:
    """Do what a newcomer does."""
    page = walk.page
    page.goto("/")
    walk.shoot("empty")
    if not page.get_by_text("Begin with a document").is_visible():
        raise AssertionError("the first page does not say what to do first")
    page.get_by_label("Folder to add").set_input_files(files)
    if has_model:
        page.get_by_role("alertdialog").wait_for()
        walk.shoot("price")
        page.get_by_role("button", name="Add and pay").click()
    added = page.get_by_role("region", name="Added files")
    expect(added.get_by_text("10 of 10 files done")).to_be_visible(timeout=120_000)
    walk.shoot("uploaded")
    expect(added.get_by_text("not added")).to_have_count(0 if has_model else 1)  # a scan, which nothing here reads
    page.get_by_role("button", name="Clear this list").click()
    for number, question in enumerate(QUESTIONS):
        ask(page, question)
        if number == 0:
            walk.shoot("answer")
            page.get_by_role("button", name=re.compile("^Source 1:")).first.click()
            expect(page.locator("rect.cited").first).to_be_visible()
            walk.shoot("beside")
            page.get_by_role("searchbox", name="Search in the document").fill("life jackets")
            expect(page.locator("rect.found").first).to_be_visible()
            page.get_by_role("button", name="Larger").click()
            walk.shoot("beside-found")
            page.keyboard.press("Escape")
            with page.expect_download() as pages:
                page.get_by_role("button", name="Save cited pages").click()
            pages.value.save_as(saved / f"{walk.prefix}-cited.pdf")
            with page.expect_download() as answer:
                page.get_by_role("button", name="Save as HTML").click()
            answer.value.save_as(saved / f"{walk.prefix}-answer.html")
    for follow_up in FOLLOW_UPS:
        ask(page, follow_up)
        walk.shoot("follow-up")
    sources = page.get_by_role("article").get_by_role("button", name=re.compile("^Source 1: (?!Deck)"))
    if sources.count():
        sources.first.click()
        page.get_by_role("complementary").get_by_role("searchbox").wait_for()
        walk.shoot("beside-text")
        page.keyboard.press("Escape")
    page.goto(page.url)
    expect(page.get_by_role("article")).to_have_count(len(QUESTIONS) + len(FOLLOW_UPS))
    walk.shoot("shared-address")
    ask(page, UNKNOWN)
    walk.shoot("unknown")
    page.get_by_role("link", name="How was answer 1 found?").click()
    page.get_by_role("heading", level=1).wait_for()
    walk.shoot("how-found")
    for name in PAGES:
        page.goto(f"/rag/{name}")
        walk.shoot(name.replace("/", "-"))
        if name == "documents":
            page.get_by_text("Preview", exact=True).first.click()
            page.locator(".preview").wait_for()
            walk.shoot("preview")
            page.get_by_role("button", name="Delete").first.click()
            page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            page.get_by_role("button", name="Restore").scroll_into_view_if_needed()
            walk.shoot("deleted")
            page.get_by_role("button", name="Restore").click()
            expect(page.get_by_role("button", name="Restore")).to_have_count(0)
        if name == "graph":
            page.evaluate("document.querySelector('.graph').scrollIntoView()")
            walk.shoot("graph-drawing")
    page.goto(f"file://{saved}/{walk.prefix}-answer.html")
    walk.shoot("saved-answer")


def run_walks(folder: Path, browser: Browser) -> list[str]:
    """Take both walks in both views, put their pictures into the folder, and return what axe and the widths say."""
    faults: list[str] = []
    for has_model in (False, True):
        for scheme, width in VIEWS:
            with TemporaryDirectory() as place:
                write_walk_files(files := Path(place) / "larkfield")
                with serve_app(Path(place) / "data", has_model=has_model) as url:
                    options: Any = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
                    context = browser.new_context(base_url=url, reduced_motion="reduce", **options)
                    context.set_default_timeout(WAIT_MS)
                    walk = Walk(context.new_page(), folder, f"{'model' if has_model else 'plain'}-{scheme}-{width}")
                    walk_through(walk, files, folder, has_model=has_model)
                    faults += [f"{walk.prefix} {fault}" for fault in walk.faults]
                    context.close()
    return faults


if __name__ == "__main__":
    (target := Path(sys.argv[1])).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET.split())
        try:
            print(
                "\n".join(run_walks(target.resolve(), chromium))
                or "axe finds nothing serious; no page scrolls sideways"
            )
        finally:
            chromium.close()
