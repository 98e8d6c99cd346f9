"""The admin page: asking, ingesting, adding documents, presets and prompts."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from local_emulator.host import run_service
from rag_core.core.settings import Settings
from tests.browser.conftest import EXAMPLES, Open
from tests.proposal_records import AIP

JOB = {
    "success": True,
    "job_id": "j1",
    "status_url": "/api/index_jobs/j1",
    "status": "queued",
    "degraded": [],
    "warnings": [],
}
DIARY = {"degraded": [], "warnings": [], "timings": {}}
INDEXED = {"document_id": "d1", "chunks": 2, "unchanged": 0, "failed": ["d1#1"]}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of an app with a source of proposals, for an administrator, and for anybody."""
    folder = tmp_path_factory.mktemp("desk")
    source = folder / "proposals.json"
    source.write_text(json.dumps([AIP]), "utf-8")
    settings = Settings(data_dir=folder / "data", proposals_source=str(source))
    other = replace(settings, data_dir=folder / "other")
    with _running(settings, admin=True) as url, _running(other, admin=False) as public:
        yield url, public


def _running(settings: Settings, *, admin: bool) -> AbstractContextManager[str]:
    return run_service(settings, admin=admin)


@pytest.fixture
def admin(open_page: Open, desk: tuple[str, str]) -> Page:
    page = open_page(desk[0])
    page.goto("/rag/admin")
    return page


def test_the_admin_page_is_linked_from_the_workbench(page: Page) -> None:
    """S2-54, C13: the page is at /rag/admin."""
    page.goto("/rag")
    page.get_by_role("link", name="Admin").click()
    expect(page.get_by_role("heading", name="Admin", level=1)).to_be_visible()


def test_proposals_are_ingested_and_asked_by_stage(admin: Page) -> None:
    """S2-53: Run Ingestion with clear-first, then the query box with stage and status filters."""
    admin.get_by_label("delete all existing proposals first").check()
    admin.get_by_role("button", name="Run Ingestion").click()
    expect(admin.get_by_text("3 documents of 1 proposal ingested")).to_be_visible()

    admin.get_by_label("Question").fill("What does the gearbox audit cost?")
    admin.get_by_label("snapshot").check()
    admin.get_by_role("button", name="Ask", exact=True).click()
    answer = admin.get_by_role("article", name="Answer")
    citation = answer.get_by_role("listitem").filter(has=admin.locator("blockquote"))
    expect(citation).to_have_count(1)
    expect(citation.get_by_role("link")).to_have_attribute("href", AIP["snapshot"]["url"])
    expect(citation.get_by_text("snapshot", exact=True)).to_be_visible()


def test_who_is_no_administrator_is_told_what_to_do(open_page: Open, desk: tuple[str, str]) -> None:
    """S2-51: ingestion wants the role admin."""
    page = open_page(desk[1], refusals=(403,))
    page.goto("/rag/admin")
    page.get_by_role("button", name="Run Ingestion").click()
    expect(page.get_by_role("alert").get_by_text("Not allowed")).to_be_visible()
    expect(page.get_by_text("rag serve --admin")).to_be_visible()


def test_the_documents_are_asked_by_any_preset(page: Page) -> None:
    page.goto("/rag/admin")
    page.get_by_label("Question").fill("What is short-term memory?")
    page.get_by_role("combobox", name="Collection").select_option("standard")
    expect(page.get_by_role("group", name="Stage")).to_have_count(0)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("article", name="Answer").get_by_role("link").first.click()
    expect(page.locator("mark").first).to_be_visible()


def test_a_document_that_is_sent_can_be_opened(admin: Page) -> None:
    admin.get_by_label("File").set_input_files(EXAMPLES / "workshop-notes.txt")
    admin.get_by_label("Title").fill("Notes of the workshop")
    admin.get_by_role("button", name="Add", exact=True).click()
    admin.get_by_role("link", name="Open the document").click()
    expect(admin.get_by_role("heading", name="Notes of the workshop", level=1)).to_be_visible()


def test_long_work_is_followed_and_names_the_chunks_that_failed(admin: Page, tmp_path: Path) -> None:
    """202, then a job: its replies are canned, for it is the page that is tried."""
    running = {**DIARY, "job_id": "j1", "status": "running", "progress": {"chunks_done": 1, "chunks": 2}, "error": None}
    replies = [running, {**running, "status": "done", "result": INDEXED}]
    admin.route("**/api/index_document", lambda route: route.fulfill(status=202, json=JOB))
    admin.route("**/api/index_jobs/j1*", lambda route: route.fulfill(json=replies.pop(0)))
    admin.get_by_label("File").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"P0700"})
    admin.get_by_role("button", name="Add", exact=True).click()
    expect(admin.get_by_text("1 of 2 passages embedded")).to_be_visible()
    expect(admin.get_by_text("d1#1")).to_be_visible()
    assert replies == []


def test_a_job_is_never_asked_for_at_another_server(open_page: Open, desk: tuple[str, str]) -> None:
    """The key goes with each call: an address in a reply is a path of this server, or it is nothing."""
    page = open_page(desk[0], refusals=(404,))
    page.route(
        "**/api/index_document", lambda route: route.fulfill(status=202, json={**JOB, "status_url": "//a.example/j"})
    )
    page.goto("/rag/admin")
    page.get_by_label("File").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"P0700"})
    with page.expect_response(f"{desk[0]}/a.example/j?"):
        page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not found")


def test_an_upload_of_which_a_part_is_not_searchable_names_it(admin: Page) -> None:
    """207: canned too, for it takes an embedder that fails for one chunk."""
    admin.route("**/api/index_document", lambda route: route.fulfill(status=207, json={**DIARY, **INDEXED}))
    admin.get_by_label("File").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"P0700"})
    admin.get_by_role("button", name="Add", exact=True).click()
    expect(admin.get_by_text("indexed in part", exact=True)).to_be_visible()
    expect(admin.get_by_text("These chunks are not searchable.")).to_be_visible()
    expect(admin.get_by_text("d1#1")).to_be_visible()


def test_a_preset_is_edited_and_taken_back(admin: Page) -> None:
    admin.get_by_role("combobox", name="Preset").select_option("standard")
    admin.get_by_label("search type").select_option("vector")
    admin.get_by_label("top n").fill("4")
    admin.get_by_label("Reason").fill("shorter answers")
    presets = admin.get_by_role("region", name="Presets")
    presets.get_by_role("button", name="Save").click()
    expect(presets.get_by_text("packaged: 5")).to_be_visible()
    expect(presets.get_by_text("packaged: hybrid")).to_be_visible()
    presets.get_by_role("button", name="Restore the packaged numbers").click()
    expect(admin.get_by_label("top n")).to_have_value("5")
    expect(admin.get_by_label("search type")).to_have_value("hybrid")


def test_a_prompt_is_edited_and_taken_back(admin: Page) -> None:
    prompts = admin.get_by_role("region", name="Prompts")
    first = prompts.locator("details").first
    first.locator("summary").click()
    packaged = first.get_by_role("textbox").input_value()
    first.get_by_role("textbox").fill(f"{packaged}\nBe brief.")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_text("edited", exact=True)).to_be_visible()
    first.locator("summary").first.click()
    first.get_by_role("button", name="Restore the packaged wording").click()
    expect(first.get_by_text("as packaged", exact=True)).to_be_visible()
