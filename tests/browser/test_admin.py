"""The admin pages: ingesting and asking proposals, presets, prompts, usage; and documents that are added."""

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from rag_core.core.presets import NUMBER_FIELDS
from rag_core.core.settings import Settings
from tests.browser.conftest import EXAMPLES, Open, call, run_service
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
INDEXED = {"document_id": "d1", "pages": None, "chunks": 2, "unchanged": 0, "failed": ["d1#1"]}


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
    expect(page.get_by_role("heading", name="Admin: Ingest", level=1)).to_be_visible()
    for name in ("Presets", "Prompts", "Usage and cost", "Health"):
        page.get_by_role("navigation", name="Admin pages").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=f"Admin: {name}", level=1)).to_be_visible()


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


def add(page: Page, name: str = "a.txt", data: bytes = b"P0700") -> Locator:
    """Add a file on the page of documents; its line in the list of added files."""
    page.get_by_label("Files to add").set_input_files({"name": name, "mimeType": "text/plain", "buffer": data})
    return page.get_by_role("region", name="Added files").get_by_role("listitem")


def test_a_document_that_is_added_can_be_opened(open_page: Open, desk: tuple[str, str]) -> None:
    page = open_page(desk[0])
    page.goto("/rag/documents")
    page.get_by_label("Files to add").set_input_files(EXAMPLES / "workshop-notes.txt")
    page.get_by_role("region", name="Added files").get_by_role("link", name="workshop-notes.txt").click()
    expect(page.get_by_role("heading", name="workshop-notes", level=1)).to_be_visible()


def test_long_work_is_followed_and_counts_the_passages_that_failed(open_page: Open, desk: tuple[str, str]) -> None:
    """202, then a job: its replies are canned, for it is the page that is tried."""
    page = open_page(desk[0])
    page.goto("/rag/documents")
    running = {**DIARY, "job_id": "j1", "status": "running", "progress": {"chunks_done": 1, "chunks": 2}, "error": None}
    state = {"job": running}
    page.route("**/api/index_document", lambda route: route.fulfill(status=202, json=JOB))
    page.route("**/api/index_jobs/j1*", lambda route: route.fulfill(json=state["job"]))
    line = add(page)
    expect(line).to_contain_text("1 of 2 passages")
    state["job"] = {**running, "status": "done", "result": INDEXED}
    expect(line).to_contain_text("added in part")
    expect(line).to_contain_text("1 passage not searchable: add the file again")


def test_a_job_is_never_asked_for_at_another_server(open_page: Open, desk: tuple[str, str]) -> None:
    """The key goes with each call: an address in a reply is a path of this server, or it is nothing."""
    page = open_page(desk[0], refusals=(404,))
    page.route(
        "**/api/index_document", lambda route: route.fulfill(status=202, json={**JOB, "status_url": "//a.example/j"})
    )
    page.goto("/rag/documents")
    with page.expect_response(f"{desk[0]}/a.example/j?"):
        line = add(page)
    expect(line).to_contain_text("not added")


def test_a_file_that_waits_and_a_job_that_runs_are_cancelled(open_page: Open, desk: tuple[str, str]) -> None:
    page = open_page(desk[0])
    page.goto("/rag/documents")
    running = {**DIARY, "job_id": "j1", "status": "running", "progress": {"chunks_done": 1, "chunks": 2}, "error": None}
    error = {"code": "cancelled", "message": "the job was cancelled by its owner", "retryable": False}
    state = {"job": running}

    def job(route: Route) -> None:
        if route.request.method == "DELETE":
            state["job"] = {**running, "status": "failed", "error": error}
        route.fulfill(json=state["job"])

    page.route("**/api/index_document", lambda route: route.fulfill(status=202, json=JOB))
    page.route("**/api/index_jobs/j1*", job)
    files = [{"name": name, "mimeType": "text/plain", "buffer": b"P0700"} for name in ("a.txt", "b.txt")]
    page.get_by_label("Files to add").set_input_files(files)  # type: ignore[arg-type]
    page.get_by_role("button", name="Cancel b.txt").click()
    lines = page.get_by_role("region", name="Added files").get_by_role("listitem")
    expect(lines.first).to_contain_text("1 of 2 passages")  # a job by now
    page.get_by_role("button", name="Cancel a.txt").click()
    expect(lines.first).to_contain_text("the job was cancelled by its owner")
    expect(lines).to_contain_text(["cancelled", "cancelled"])


def test_what_changed_is_said_when_a_file_replaces_an_earlier_one(open_page: Open, desk: tuple[str, str]) -> None:
    page = open_page(desk[0])
    page.goto("/rag/documents?workflow_id=changes")
    sections = [f"# Part {n}\n\n" + f"The valve number {n} opens at {n} bar. " * 40 for n in range(3)]
    expect(add(page, "notes.md", "\n\n".join(sections).encode())).to_contain_text("added")
    changed = [*sections[:2], "# Part 2\n\n" + "The valve was removed. " * 40]
    add(page, "notes.md", "\n\n".join(changed).encode())
    lines = page.get_by_role("region", name="Added files").get_by_role("listitem")
    expect(lines.nth(1)).to_contain_text(re.compile(r"\d+ new or changed, \d+ as before, \d+ removed"))
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(2)  # the head, and one document
    page.get_by_role("button", name="Re-index Part 0").click()
    expect(page.get_by_role("table")).to_contain_text("nothing changed")
    page.get_by_text("Preview", exact=True).click()
    expect(page.locator(".preview")).to_contain_text("passages")


def test_usage_is_summed_up_from_what_was_asked(open_page: Open, desk: tuple[str, str]) -> None:
    page = open_page(desk[0])
    page.goto("/rag/admin/usage?workflow_id=used")
    expect(page.get_by_text("Nothing was saved in this time")).to_be_visible()
    said = {"query": "What is P0700?", "pipeline": "standard", "keep": True, "workflow_id": "used"}
    call(desk[0], "POST", "api/rag/ask", **said)
    page.reload()
    expect(page.get_by_role("region", name="By pipeline").get_by_role("row").nth(1)).to_contain_text("standard")
    page.get_by_label("Period").select_option("today")
    expect(page.get_by_role("table", name="By day").get_by_role("row")).to_have_count(2)


def test_every_number_of_a_preset_is_explained(open_page: Open, desk: tuple[str, str]) -> None:
    page = open_page(desk[0])
    page.goto("/rag/admin/presets")
    explained = page.evaluate(
        """async (names) => {
          const { explainPresetNumber } = await import("/rag/static/labels.js");
          return names.filter((name) => !explainPresetNumber(name));
        }""",
        list(NUMBER_FIELDS),
    )
    assert explained == []
    expect(page.get_by_label("candidates")).to_have_attribute("max", "1000")


def test_a_preset_is_edited_and_taken_back(admin: Page) -> None:
    admin.get_by_role("link", name="Presets").click()
    admin.get_by_role("combobox", name="Preset").select_option("standard")
    admin.get_by_label("search type").select_option("vector")
    admin.get_by_label("top n").fill("4")
    admin.get_by_label("Reason").fill("shorter answers")
    presets = admin.get_by_role("region", name="Presets")
    presets.get_by_role("button", name="Save").click()
    expect(presets.get_by_text("Packaged: 5")).to_be_visible()
    expect(presets.get_by_text("Packaged: hybrid")).to_be_visible()
    presets.get_by_role("button", name="Restore the packaged numbers").click()
    expect(admin.get_by_label("top n")).to_have_value("5")
    expect(admin.get_by_label("search type")).to_have_value("hybrid")


def test_a_prompt_is_edited_and_taken_back(admin: Page) -> None:
    admin.get_by_role("link", name="Prompts").click()
    prompts = admin.get_by_role("region", name="Prompts")
    first = prompts.locator("details").first
    first.locator("summary").click()
    packaged = first.get_by_role("textbox").input_value()
    first.get_by_role("textbox").fill(f"{packaged}\nBe brief.")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_text("edited", exact=True)).to_be_visible()
    first.get_by_role("button", name="Restore the packaged wording").click()
    expect(first.get_by_text("as packaged", exact=True)).to_be_visible()
    expect(first.get_by_role("textbox")).to_have_value(packaged)


def test_what_is_typed_while_an_edit_is_saved_stays(admin: Page) -> None:
    """The reply comes late: what the reader does meanwhile is not drawn over, and the focus stays."""
    held: list[Route] = []
    for place, path in (("Presets", "rag/presets/"), ("Prompts", "rag/prompts/")):
        admin.route(f"**/{path}*", lambda route: held.append(route))
        admin.get_by_role("link", name=place).click()
        region = admin.get_by_role("region", name=place)
        form = region.locator("form").first
        first, second = form.get_by_label("top n"), form.get_by_label("Reason")
        if place == "Prompts":
            region.locator("summary").first.click()
            first = second = form.get_by_role("textbox")
            first.fill(f"{first.input_value()}\nBe brief.")
        else:
            first.fill("4")
        with admin.expect_request(f"**/{path}*"):
            form.get_by_role("button", name="Save").press("Enter")
        second.fill("typed meanwhile")
        held.pop().continue_()
        expect(region.get_by_text("edited", exact=True).first).to_be_visible()
        expect(second).to_be_focused()
        expect(second).to_have_value("typed meanwhile")
        admin.unroute(f"**/{path}*")
        form.get_by_role("button", name="Restore the packaged").press("Enter")
        expect(region.get_by_text("edited", exact=True)).to_have_count(0)
        expect(second).not_to_have_value("typed meanwhile")


def test_a_file_is_listed_at_once(open_page: Open, desk: tuple[str, str]) -> None:
    """Before anything was replied: what is not seen is added a second time."""
    page = open_page(desk[0])
    page.goto("/rag/documents")
    held: list[Route] = []
    page.route("**/api/health*", lambda route: held.append(route))
    page.route("**/api/index_document", lambda route: route.fulfill(json={**INDEXED, "failed": []}))
    with page.expect_request("**/api/health*"):
        line = add(page)
    expect(line).to_contain_text("waiting")
    held[0].continue_()
    expect(line).to_contain_text("2 passages")
