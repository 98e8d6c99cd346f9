"""What the newer pages are for, done by keys alone on a narrow screen; test_accessibility has that Tab reaches all."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, call


@pytest.fixture
def narrow(open_page: Open, site: str) -> Page:
    return open_page(site, viewport={"width": 390, "height": 900})


def test_a_document_is_filtered_previewed_opened_and_searched(narrow: Page) -> None:
    narrow.goto("/rag/documents")
    narrow.get_by_label("Filter").focus()
    narrow.keyboard.type("workshop")
    expect(narrow.get_by_role("table").get_by_role("row")).to_have_count(2)
    narrow.locator("summary", has_text="Preview").press("Enter")
    expect(narrow.locator(".preview")).to_contain_text("passage")
    narrow.get_by_role("button", name="Re-index Workshop notes").press("Enter")
    expect(narrow.get_by_role("table")).to_contain_text("nothing changed")
    narrow.get_by_role("link", name="Workshop notes").press("Enter")
    narrow.wait_for_url("**/rag/documents/workshop-notes.txt")
    narrow.get_by_role("searchbox", name="Search in the document").focus()
    narrow.keyboard.type("fluid")
    expect(narrow.locator("mark").first).to_be_visible()


def test_a_preset_is_edited_and_taken_back(narrow: Page) -> None:
    narrow.goto("/rag/admin/presets")
    narrow.get_by_role("combobox", name="Preset").focus()
    narrow.keyboard.press("r")  # one key: where each takes long, the next begins a name of its own
    expect(narrow.get_by_role("combobox", name="Preset")).to_have_value("rerank")
    narrow.get_by_label("top n").focus()
    narrow.keyboard.press("Control+a")
    narrow.keyboard.type("4")
    presets = narrow.get_by_role("region", name="Presets")
    presets.get_by_role("button", name="Save").press("Enter")
    expect(presets.get_by_text("edited", exact=True)).to_be_visible()
    expect(presets.get_by_role("button", name="Save")).to_be_focused()
    presets.get_by_role("button", name="Restore the packaged numbers").press("Enter")
    expect(presets.get_by_text("as packaged", exact=True)).to_be_visible()


def test_a_prompt_is_edited_and_taken_back(narrow: Page) -> None:
    narrow.goto("/rag/admin/prompts")
    first = narrow.get_by_role("region", name="Prompts").locator("details").first
    first.locator("summary").first.press("Enter")
    first.get_by_role("textbox").focus()
    narrow.keyboard.press("Control+End")
    narrow.keyboard.type(" Be brief.")
    first.get_by_role("button", name="Save").press("Enter")
    expect(first.get_by_text("edited", exact=True)).to_be_visible()
    expect(first.get_by_role("button", name="Save")).to_be_focused()
    first.get_by_role("button", name="Restore the packaged wording").press("Enter")
    expect(first.get_by_text("as packaged", exact=True)).to_be_visible()


def test_usage_is_read_for_another_time_and_health_is_asked_again(narrow: Page, site: str) -> None:
    call(site, "POST", "api/rag/ask", query="What is a fluid?", preset="standard", keep=True)
    narrow.goto("/rag/admin/usage")
    period = narrow.get_by_label("Period")
    period.focus()
    narrow.keyboard.press("t")
    expect(period).to_have_value("1")
    expect(narrow.get_by_role("table", name="By day").get_by_role("row")).to_have_count(2)
    narrow.get_by_role("region", name="Days").focus()
    narrow.get_by_role("link", name="Health").press("Enter")
    narrow.get_by_role("button", name="Check again").press("Enter")
    expect(narrow.get_by_text("healthy The store responds.")).to_be_visible()


def test_an_answer_of_the_history_is_opened_and_another_deleted(narrow: Page, site: str) -> None:
    """When the row is gone that held the focus, the page has it, and not the beginning of the window."""
    for word in ("first", "second"):
        said = {"query": f"What is the {word} fluid?", "keep": True, "preset": "standard", "workflow_id": "past"}
        call(site, "POST", "api/rag/ask", **said)
    narrow.goto("/rag/ask?workflow_id=past")
    narrow.locator(".past-questions summary").press("Enter")
    narrow.get_by_role("button", name=re.compile("^Delete “What is the first")).press("Enter")
    dialog = narrow.get_by_role("dialog")
    dialog.get_by_role("button", name="Delete").press("Enter")
    expect(narrow.locator(".past li")).to_have_count(1)
    expect(narrow.locator("main")).to_be_focused()
    narrow.get_by_role("link", name="What is the second fluid?").press("Enter")
    narrow.wait_for_url(re.compile(r"/rag/ask/\d+"))
    expect(narrow.get_by_role("article")).to_contain_text("What is the second fluid?")


def test_an_entity_is_looked_up_in_the_graph(narrow: Page) -> None:
    narrow.goto("/rag/graph")
    narrow.get_by_label("Entity", exact=True).focus()
    narrow.keyboard.type("P0700")
    narrow.keyboard.press("Enter")
    narrow.wait_for_url("**/rag/graph?*entity=P0700*")
    expect(narrow.get_by_role("region", name="Entities").get_by_role("link", name="TCM")).to_be_visible()
