"""Every page for people who use a keyboard or a screen reader, in the dark, or on a narrow screen."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import asked, call

PLACES = (
    "",
    "/ask",
    "/ask/{answer}",
    "/new",
    "/{id}",
    "/{id}/inspect",
    "/{id}/results",
    "/{id}/results/{result}",
    "/admin",
    "/admin/presets",
    "/admin/prompts",
    "/admin/usage",
    "/admin/health",
    "/documents",
    "/documents/workshop-notes.txt?lines=3-4",
    "/graph?entity=P0700&depth=1&limit=3",
    "/schema",
    "/api",
)
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 390))
ONLY_WORST = {"resultTypes": ["violations"]}
# what can be used, less what was focused since, and what was focused without a mark that shows where one is
WATCH_FOCUS = """() => {
  const wanted = "a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary";
  const all = [...document.querySelectorAll(wanted)];
  const shown = all.filter((one) => one.checkVisibility() && !one.closest("dialog"));
  window.__left = new Set(shown);
  window.__unmarked = new Set();
  document.addEventListener("focusin", ({ target }) => {
    window.__left.delete(target);
    const { outlineStyle, boxShadow } = getComputedStyle(target.querySelector(":scope > circle") ?? target);
    if (outlineStyle === "none" && boxShadow === "none") window.__unmarked.add(target);
  });
  document.activeElement?.blur();
  return shown.length;
}"""
MISSED = """() => ["__left", "__unmarked"].map((name) => [...window[name]].map((one) => one.outerHTML.slice(0, 120)))"""


@pytest.fixture(scope="module")
def question(site: str) -> dict[str, int]:
    """Of an answered question its id and its result's, and the id of an answer of the page Ask."""
    id = asked(site, "What is short-term memory?", "embed", "retrieve", "consolidate", "augment/run")
    answer = call(site, "POST", "api/rag/ask", query="What is short-term memory?", preset="standard", keep=True)["kept"]
    return {"id": id, "result": call(site, "GET", f"rag/queries/{id}/results")["results"][0]["id"], "answer": answer}


@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing_serious_light_and_wide_or_dark_and_narrow_and_tab_reaches_everything(
    place: str, page: Page, question: dict[str, int]
) -> None:
    """Each page is walked by keyboard alone at 390 px: nothing is out of reach, and one always sees where one is."""
    page.goto("/rag" + place.format(**question))
    page.locator("h1").wait_for()
    expect(page.locator(".loading")).to_have_count(0)
    page.wait_for_load_state("networkidle")  # names to choose from come without a word
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
        if place == "/api":
            page.get_by_label("Filter").fill("presets")  # 43 operations are drawn alike
        page.locator("details").evaluate_all("all => all.slice(0, 6).forEach((one) => { one.open = true })")
        expect(page.locator(".loading")).to_have_count(0)
        found = Axe().run(page, options=ONLY_WORST).response["violations"]
        worst = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in worst] == []
    expect(page.locator(".loading")).to_have_count(0)  # what was unfolded
    for _ in range(page.evaluate(WATCH_FOCUS) + 20):  # regions that scroll are stops too
        page.keyboard.press("Tab")
    assert page.evaluate(MISSED) == [[], []]


def test_a_long_name_of_an_entity_breaks_on_a_narrow_screen(page: Page, question: dict[str, int]) -> None:
    """The name “National Historical Publications and Records Commission” once pushed a page 72 px aside."""
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(f"/rag/{question['id']}")
    chip = page.locator(".passage .chip").first
    chip.wait_for(state="attached")
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true })")
    chip.evaluate("one => { one.textContent = 'Commission of National Historical Publications '.repeat(2) }")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_axe_catches_a_planted_violation(page: Page) -> None:
    page.goto("/rag/new")
    page.locator("h1").wait_for()
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert "button-name" in {one["id"] for one in Axe().run(page, options=ONLY_WORST).response["violations"]}


def test_a_dialog_is_answered_by_keyboard_and_gives_the_focus_back(page: Page) -> None:
    page.goto("/rag/documents")
    button = page.get_by_role("button", name="Delete").first
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()


def test_the_content_is_one_step_away(page: Page) -> None:
    page.goto("/rag/graph")
    page.locator("h1").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
