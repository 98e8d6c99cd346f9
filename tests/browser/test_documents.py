"""The documents: listed, opened where they are cited, deleted, brought back."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from local_emulator.azure import serve_azure_services
from rag_core.core.settings import DEFAULT_SETTINGS
from tests.browser.conftest import EXAMPLES, Open, call, index, run_service
from tests.ingestion.office_files import make_zip

GARAGE = "garage"
MANUAL = "tcm-diagnostic-manual.pdf"
NOTES = "workshop-notes.txt"


@pytest.fixture(scope="module")
def garage(site: str) -> str:
    index(site, MANUAL, NOTES, "service-bulletin.docx", workflow_id=GARAGE)
    return f"workflow_id={GARAGE}"


def test_a_row_of_documents_keeps_its_format_and_its_buttons_on_one_line(page: Page, site: str) -> None:
    """Beside a long title they were "markdow" above "n", and "Re-index" above "Delete"."""
    said = {"workflow_id": "rows", "document_id": "long", "title": "The manual of the long title " * 6}
    call(
        site,
        "POST",
        "api/index_document",
        **said,
        filename="a.md",
        content_base64=base64.b64encode(b"# A\n\nB.").decode(),
    )
    page.goto("/rag/documents?workflow_id=rows")
    heights = [
        one.evaluate("(element) => element.offsetHeight")
        for one in (page.locator("td > .chip"), page.locator("td > .actions"))
    ]
    assert heights[0] < 30
    assert heights[1] < 60


def test_documents_are_filtered_opened_deleted_and_restored(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents?{garage}")
    page.get_by_label("Filter").fill("WORKSHOP notes")
    rows = page.get_by_role("row")
    expect(rows).to_have_count(2)  # one is the head

    page.get_by_role("button", name="Delete Workshop notes").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Restore Workshop notes").click()
    expect(page.get_by_role("main")).to_be_focused()  # the row is gone, and the focus with it
    page.get_by_role("link", name="Workshop notes").click()
    expect(page.get_by_role("heading", name="Workshop notes", level=1)).to_be_visible()


def test_a_document_is_purged_only_when_that_is_confirmed(page: Page, site: str) -> None:
    call(site, "POST", "api/index_document", workflow_id="bin", document_id="d1", title="Old", content="P0700")
    page.goto("/rag/documents?workflow_id=bin")
    page.get_by_role("button", name="Delete Old").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Purge Old").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Restore Old")).to_be_visible()
    page.get_by_role("button", name="Purge Old").click()
    page.get_by_role("dialog").get_by_role("button", name="Purge").click()
    expect(page.get_by_text("There are no documents in this workflow")).to_be_visible()


@pytest.mark.parametrize(("button", "sent"), [("Add and pay", None), ("Add without the model", 0)])
def test_the_price_of_a_chat_model_is_shown_before_a_file_is_added(button: str, sent: int | None, page: Page) -> None:
    """S1-31: a model is paid for after a yes; the site has none, so its replies are made up."""
    uploads: list[dict[str, object]] = []

    def reply(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        if body.get("estimate"):
            enrichment = {"calls": 1, "passages": 9, "usd": 0.0263, "budget_usd": 0.5}
            route.fulfill(json={"estimate": {"enrichment": enrichment}})
        else:
            uploads.append(body)
            route.fulfill(json={"document_id": "a", "pages": None, "chunks": 9, "unchanged": 0, "extractor": "text"})

    page.route("**/api/health*", lambda route: route.fulfill(json={"parts": {"enrichment": "mini"}}))
    page.route("**/api/index_document*", reply)
    page.goto("/rag/documents?workflow_id=priced")
    page.get_by_label("Files to add").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"Acme"})
    expect(page.get_by_role("alertdialog")).to_contain_text("by mini of 9 passages in 1 file cost at most 0.0263 USD")
    assert uploads == []
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text("9 passages", exact=False)).to_be_visible()
    assert [upload.get("enrichment_budget_usd") for upload in uploads] == [sent]


@pytest.mark.parametrize(("button", "sent"), [("Add and pay", None), ("Add without Document Intelligence", 0)])
def test_the_price_of_scanned_pages_is_shown_before_a_file_is_added(button: str, sent: int | None, page: Page) -> None:
    """S1-31: pages are sent to Document Intelligence after a yes; the site has none, so its replies are made up."""
    uploads: list[dict[str, object]] = []

    def reply(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        if body.get("estimate"):
            layout = {"reader": "Document Intelligence", "pages": 12, "usd": 0.12, "budget_usd": 5.0}
            route.fulfill(json={"estimate": {"enrichment": None, "layout": layout}})
        else:
            uploads.append(body)
            route.fulfill(json={"document_id": "a", "pages": 12, "chunks": 9, "unchanged": 0, "extractor": "pdf"})

    parts = {"enrichment": "none", "documents": "Document Intelligence prebuilt-layout"}
    page.route("**/api/health*", lambda route: route.fulfill(json={"parts": parts}))
    page.route("**/api/index_document*", reply)
    page.goto("/rag/documents?workflow_id=priced")
    page.get_by_label("Files to add").set_input_files(
        {"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"}
    )
    expect(page.get_by_role("alertdialog")).to_contain_text("Reading 12 pages (scans, pictures, Word files) in 1 file")
    expect(page.get_by_role("alertdialog")).to_contain_text("costs about 0.12 USD")
    assert uploads == []
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text("12 pages, 9 passages")).to_be_visible()
    assert [upload.get("layout_budget_usd") for upload in uploads] == [sent]


def reply_with(made_up: object) -> Callable[[Route], None]:
    return lambda route: route.fulfill(json=made_up)


@pytest.fixture
def priced(tmp_path: Path) -> Iterator[str]:
    """The app over emulated services whose tokens have list prices, and money for one call in three."""
    here = replace(DEFAULT_SETTINGS, data_dir=tmp_path, enrichment_budget_usd=0.04, chat_deployment="gpt-5.4-mini")
    with ExitStack() as services, ThreadPoolExecutor(1) as thread:  # in this one Playwright's loop is running
        pointed = thread.submit(services.enter_context, serve_azure_services(here, priced=True)).result()
        yield services.enter_context(run_service(pointed))


def test_what_a_budget_left_out_is_named_beside_the_file(open_page: Open, priced: str) -> None:
    """S1-31: by the real parts, and for a file that the user has agreed to pay for."""
    rows = "text\n" + "\n".join(f"Valve {n} of Acme Ltd is tight at {n + 10} bar." for n in range(30))
    page = open_page(priced)
    page.goto("/rag/documents?workflow_id=priced")
    page.get_by_label("Files to add").set_input_files(
        {"name": "v.csv", "mimeType": "text/csv", "buffer": rows.encode()}
    )
    page.get_by_role("button", name="Add and pay").click()
    said = page.get_by_label("Added files")
    expect(said).to_contain_text("30 passages")
    expect(said).to_contain_text("20 passages were not sent: with the next call the document would cost more than 0.04")


@pytest.mark.parametrize(
    ("reader", "button", "sent"),
    [
        ("zip", "Add and pay", None),
        ("zip", "Add without Document Intelligence", 0),
        ("pdf, page 2 by Document Intelligence", "Re-index", None),
    ],
)
def test_a_document_is_read_anew_for_money_only_after_a_yes(
    reader: str, button: str, sent: int | None, page: Page
) -> None:
    """What is then left out is named. The site has no such service, so its replies are made up."""
    uploads: list[dict[str, object]] = []
    unpaid = {"step": "layout", "code": "layout_budget", "reason": "may be paid nothing", "fallback": "page 2 left out"}
    layout = {"reader": "Document Intelligence", "pages": 1, "usd": 0.01, "budget_usd": 5.0}

    def reply(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        if body.get("estimate"):
            route.fulfill(json={"estimate": {"enrichment": None, "layout": layout}})
        else:
            uploads.append(body)
            indexed = {"document_id": "a", "pages": 2, "chunks": 9, "unchanged": 9, "extractor": reader}
            route.fulfill(json={**indexed, "degraded": [unpaid]})

    document = {"document_id": "a", "title": "Plans", "source": "a.zip", "extractor": reader, "pages": 2, "kept": True}
    replies = {
        "documents": {"documents": [document], "deleted": []},
        "document_original": {"content_base64": "JVBERg==", "filename": "a.zip"},
        "health": {"parts": {"enrichment": "none", "documents": "Document Intelligence prebuilt-layout"}},
    }
    for name, made_up in replies.items():
        page.route(f"**/api/{name}?*", reply_with(made_up))
    page.route("**/api/index_document*", reply)
    page.goto("/rag/documents?workflow_id=priced")
    page.get_by_role("button", name="Re-index Plans").click()
    question = page.get_by_role("dialog").or_(page.get_by_role("alertdialog"))
    expect(question).to_contain_text("Document Intelligence")
    assert uploads == []
    question.get_by_role("button", name=button).click()
    expect(page.get_by_text("may be paid nothing (instead: page 2 left out)")).to_be_visible()
    assert [(upload["enrichment_budget_usd"], upload.get("layout_budget_usd")) for upload in uploads] == [(0, sent)]


def test_a_job_is_shown_by_its_pages_and_passages(page: Page) -> None:
    states = iter(
        [
            {"status": "running", "progress": {"chunks_done": 0, "chunks": 0, "pages_done": None, "pages": None}},
            {"status": "running", "progress": {"chunks_done": 64, "chunks": 120, "pages_done": 31, "pages": 61}},
        ]
    )
    last: dict[str, object] = {}

    def reply(route: Route) -> None:
        last.update(next(states, last))
        route.fulfill(json=last)

    page.route("**/api/health*", lambda route: route.fulfill(json={"parts": {"enrichment": "none", "documents": ""}}))
    accepted = {"status": "queued", "job_id": "j1", "status_url": "/api/index_jobs/j1"}
    page.route("**/api/index_document*", lambda route: route.fulfill(json=accepted))
    page.route("**/api/index_jobs/j1*", reply)
    page.goto("/rag/documents?workflow_id=priced")
    page.get_by_label("Files to add").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"Acme"})
    expect(page.get_by_text("31 of 61 pages, 64 of 120 passages")).to_be_visible()


BOXES = (
    """(figure) => ["img", "rect.cited"].map((name) => figure.querySelector(name).getBoundingClientRect().toJSON())"""
)


def test_a_cited_page_is_shown_with_the_box_drawn(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/{MANUAL}?{garage}&page=3&box=72,100,300,115&box=72,116,300,131")
    picture = page.get_by_role("img", name="Page 3 of")
    expect(picture).to_have_attribute("alt", "Page 3 of Tcm diagnostic manual, 2 cited lines marked")
    expect(page.locator("rect.cited")).to_have_count(2)
    page_box, box = picture.locator("..").evaluate(BOXES)  # at one moment: the page may be scrolling
    scale = page_box["width"] / 595  # an A4 page
    assert box["x"] - page_box["x"] == pytest.approx(72 * scale, abs=6)
    assert box["y"] - page_box["y"] == pytest.approx(100 * scale, abs=6)


def test_a_page_of_a_pdf_within_a_zip_is_drawn_and_a_text_beside_it_is_shown_as_passages(page: Page, site: str) -> None:
    """The zip was shown as passages alone, and the place of its PDF could not be looked at."""
    archive = make_zip({"note.txt": b"The depot opens at six.", "docs/manual.pdf": (EXAMPLES / MANUAL).read_bytes()})
    upload = {"workflow_id": "zips", "document_id": "all", "filename": "all.zip", "title": "All"}
    call(site, "POST", "api/index_document", content_base64=base64.b64encode(archive).decode(), **upload)
    shown = call(site, "GET", "api/document?document_id=all&workflow_id=zips")
    chunk = next(chunk for chunk in shown["chunks"] if chunk["locator"].startswith("docs/manual.pdf, p. 3, "))
    boxes = "&".join(f"box={','.join(map(str, box))}" for box in chunk["boxes"])
    page.goto(f"/rag/documents/all?workflow_id=zips&page={chunk['page']}&{boxes}")
    picture = page.get_by_role("img", name="Page 4 of All")
    expect(picture).to_have_attribute("alt", f"Page 4 of All, {len(chunk['boxes'])} cited lines marked")
    expect(page.locator("rect.cited")).to_have_count(len(chunk["boxes"]))
    expect(page.locator("svg.page-text")).to_contain_text(chunk["content"].split("\n")[0])
    page.get_by_label("all pages").check()
    page.get_by_role("button", name="note.txt, line 1").click()
    expect(page.get_by_text("This kind of document has no page images")).to_be_visible()
    expect(page.get_by_role("article").first).to_contain_text("The depot opens at six.")


def test_pages_turn_by_keyboard(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/{MANUAL}?{garage}")
    page.get_by_role("img", name="Page 1 of").wait_for()
    page.get_by_role("region", name="Pages").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("img", name="Page 2 of").wait_for()
    page.keyboard.press("PageUp")
    page.get_by_role("img", name="Page 1 of").wait_for()
    page.keyboard.press("ArrowLeft")
    number = page.get_by_label("Page", exact=True)
    expect(number).to_have_value("1")
    number.fill("2")
    number.press("Enter")
    page.get_by_role("img", name="Page 2 of").wait_for()
    expect(number).to_be_focused()


def test_the_lines_of_a_passage_are_drawn_when_it_is_pointed_at(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/{MANUAL}?{garage}&page=2")
    page.get_by_role("img", name="Page 2 of").wait_for()
    page.get_by_role("button", name="Passage").first.hover()
    expect(page.locator("rect.active").first).to_be_visible()


def test_cited_lines_of_a_text_are_marked_and_in_view(page: Page, garage: str) -> None:
    page.set_viewport_size({"width": 900, "height": 400})
    page.goto(f"/rag/documents/{NOTES}?{garage}&lines=21-22")
    expect(page.locator("li.cited")).to_have_count(2)
    expect(page.locator("mark").first).to_be_in_viewport()
    assert page.locator("li.cited").first.get_attribute("value") == "21"


def test_a_document_without_pages_or_lines_shows_its_passages_and_says_why(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/service-bulletin.docx?{garage}&lines=1-2")
    expect(page.get_by_text("This kind of document has no page images")).to_be_visible()
    expect(page.get_by_role("article").first).to_contain_text("cited")


def test_a_citation_of_a_word_file_marks_its_line_and_not_the_whole_passage(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/service-bulletin.docx?{garage}&lines=2-2")
    article = page.get_by_role("article").first
    expect(article.locator("mark")).to_have_count(1)
    assert article.locator("mark").inner_text() != article.locator("pre").inner_text()


SELECTED = """() => {
  getSelection().selectAllChildren(document.querySelector(".page-text"));
  return getSelection().toString();
}"""


def test_the_text_of_a_page_stands_where_it_is_drawn_and_can_be_selected(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/{MANUAL}?{garage}&page=2")
    page.get_by_role("img", name="Page 2 of").wait_for()
    text = page.get_by_role("group", name="Text of page 2")
    expect(text).to_contain_text("P0700 means that the transmission control module")
    assert "P0700 means that the transmission control module" in page.evaluate(SELECTED)
    line = text.locator("text", has_text="P0700 means that").first
    page.get_by_role("button", name="Passage").first.hover()
    drawn, active = line.bounding_box(), page.locator("rect.active").first.bounding_box()
    assert drawn
    assert active
    assert drawn["x"] == pytest.approx(active["x"], abs=8)


def test_a_document_is_searched_enlarged_and_saved_as_it_came(page: Page, garage: str) -> None:
    page.goto(f"/rag/documents/{MANUAL}?{garage}")
    page.get_by_role("img", name="Page 1 of").wait_for()
    search = page.get_by_role("searchbox", name="Search in the document")
    search.fill("malfunction indicator   LAMP")  # in another case, over a line's end, with other spaces
    expect(page.get_by_role("search").get_by_role("status")).to_have_text(re.compile(r"^1 of \d+ places?$"))
    expect(page.locator("rect.found").first).to_be_in_viewport()
    before = page.get_by_role("img", name="Page").bounding_box()
    page.get_by_role("button", name="Larger").click()
    expect(page.locator(".page-image")).to_have_class(re.compile("zoom15"))
    after = page.get_by_role("img", name="Page").bounding_box()
    assert before
    assert after
    assert after["width"] == pytest.approx(1.5 * before["width"], abs=8)
    search.fill("P0700")
    search.press("Enter")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text(re.compile(r"^2 of \d+ places$"))
    search.fill("(zebra")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text("not found")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Original file").click()
    assert saved.value.suggested_filename == MANUAL
    assert Path(saved.value.path()).read_bytes() == (EXAMPLES / MANUAL).read_bytes()


@pytest.mark.parametrize(("name", "words"), [(NOTES, "third gear"), ("service-bulletin.docx", "the")])
def test_a_document_without_pages_is_searched_too(name: str, words: str, page: Page, garage: str) -> None:
    page.set_viewport_size({"width": 900, "height": 500})
    page.goto(f"/rag/documents/{name}?{garage}")
    page.get_by_role("searchbox", name="Search in the document").fill(words)
    expect(page.locator("mark.current, .lines .target mark.found").first).to_be_in_viewport()
    page.get_by_role("button", name="Previous place").click()  # from the first to the last
    expect(page.get_by_role("search").get_by_role("status")).to_have_text(re.compile(r"^(\d+) of \1 places?$"))
    expect(page.locator("mark.current, .lines .target mark.found").first).to_be_in_viewport()


def test_a_document_whose_original_was_not_kept_says_so(page: Page, garage: str) -> None:
    def without_original(route: Route) -> None:
        told = route.fetch().json()
        route.fulfill(body=json.dumps({**told, "kept": False, "kind": None, "lines": None}))

    page.route("**/api/document?*", without_original)
    page.goto(f"/rag/documents/{NOTES}?{garage}")
    expect(page.get_by_text("The original was not stored")).to_be_visible()
    expect(page.get_by_role("article").first).to_contain_text("Workshop notes")


def test_a_document_that_is_not_there_is_said_to_be_missing(open_page: Open, site: str) -> None:
    page = open_page(site, refusals=(404,))
    page.goto("/rag/documents/none")
    expect(page.get_by_role("alert").get_by_text("Not found")).to_be_visible()
