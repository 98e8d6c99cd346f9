"""The entity graph as a picture and as tables, and the description of the HTTP surface."""

import re

import pytest
from playwright.sync_api import Page, expect

from functions.routes import ROUTES
from tests.browser.conftest import Open, call

WORKFLOW = "workflow_id=codes"
HEIGHTS = "all => all.map(one => one.getBoundingClientRect().height)"


@pytest.fixture(scope="module", autouse=True)
def codes(site: str) -> None:
    texts = ("P0700 and P0715 stand together.", "P0715 and P0720 stand together.", "P0700 is stored by the TCM.")
    for number, text in enumerate(texts):
        call(site, "POST", "api/index_document", workflow_id="codes", document_id=f"d{number}", content=text)


def test_it_opens_on_the_most_connected_in_letters_of_a_readable_size(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}")
    picture = page.get_by_role("group", name="Graph of")
    expect(picture.get_by_role("link", name="P0715, dtc, 2 passages")).to_be_visible()
    height = picture.locator("text").first.bounding_box()
    assert height
    assert 10 < height["height"] < 30
    picture.get_by_role("link", name="P0720, dtc, 1 passage").focus()
    page.keyboard.press("Enter")
    expect(picture.get_by_role("link", name="P0720")).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="only it and its neighbours").click()
    page.wait_for_url("**entity=P0720*")
    expect(page.get_by_label("Entity", exact=True)).to_have_value("P0720")


def test_a_click_adds_the_neighbours_and_takes_nothing_away(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}&entity=P0720")
    nodes = page.get_by_role("group", name="Graph of").get_by_role("link")
    expect(nodes.filter(has_text="P0715")).to_be_visible()
    earlier = nodes.all_text_contents()
    expect(nodes.filter(has_text="P0700")).to_have_count(0)
    nodes.filter(has_text="P0715").click()
    expect(nodes.filter(has_text="P0700")).to_have_count(1)
    expect(page.get_by_role("region", name="Entities").get_by_role("row")).to_have_count(nodes.count() + 1)
    assert set(earlier) < set(nodes.all_text_contents())


def test_it_is_narrowed_to_one_document(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}")
    page.get_by_label("Document").select_option("d1")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**document=d1*")
    nodes = page.get_by_role("group", name="Graph of").get_by_role("link")
    expect(nodes.filter(has_text="P0720")).to_have_count(1)
    expect(nodes.filter(has_text="P0700")).to_have_count(0)


def test_an_entity_in_more_passages_is_drawn_larger(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}")
    sizes = {
        name: float(page.get_by_role("link", name=f"{name}, dtc").locator("circle").get_attribute("r") or 0)
        for name in ("P0715", "P0720")
    }
    assert sizes["P0715"] > sizes["P0720"]


def test_the_picture_is_settled_when_it_is_shown(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}")
    circles = page.locator("circle")
    circles.first.wait_for()
    places = "all => all.map(one => [one.getAttribute('cx'), one.getAttribute('cy')].join())"
    before = circles.evaluate_all(places)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert circles.evaluate_all(places) == before
    assert len(set(before)) == len(before)


def test_the_passages_behind_an_edge_are_listed_with_links(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}&entity=P0715&depth=1")
    page.get_by_role("button", name="Show the passages with P0715 and P0700").click()
    behind = page.get_by_role("region", name="P0715 and P0700").last
    expect(behind.get_by_role("listitem")).to_have_count(1)
    expect(behind).to_contain_text("P0700 and P0715 stand together.")
    behind.get_by_role("link").click()
    page.wait_for_url("**/rag/documents/d0?*")


def test_the_way_between_two_entities_is_drawn_as_a_row(page: Page) -> None:
    page.goto(f"/rag/graph?{WORKFLOW}")
    page.get_by_label("Entity", exact=True).fill("P0700")
    page.get_by_label("Path to").fill("P0720")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**target=P0720*")
    names = page.get_by_role("group", name="Graph of").get_by_role("link")
    expect(names).to_have_count(3)
    for index, name in enumerate(("P0700", "P0715", "P0720")):
        expect(names.nth(index)).to_have_attribute("aria-label", re.compile(f"^{name},"))


def test_many_entities_fit_a_narrow_page_in_letters_of_a_readable_size(open_page: Open, site: str) -> None:
    for number in range(30):
        content = f"Unit X{number + 100} feeds X{(number + 1) % 30 + 100} and X{(number * 7) % 30 + 100}."
        call(site, "POST", "api/index_document", workflow_id="many", document_id=f"m{number}", content=content)
    page = open_page(site, viewport={"width": 390, "height": 844})
    page.goto("/rag/graph?workflow_id=many")
    expect(page.get_by_role("group", name="Graph of").get_by_role("link")).to_have_count(30)
    frame = page.get_by_role("region", name="Drawing")
    assert frame.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert all(10 < height < 30 for height in page.locator(".graph text").evaluate_all(HEIGHTS))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".graph a.node").first.dispatch_event("click")
    expect(page.locator("[aria-current=true]").last).to_be_attached()
    assert frame.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_an_entity_that_is_not_there_is_said_to_be_missing(open_page: Open, site: str) -> None:
    page = open_page(site, refusals=(404,))
    page.goto(f"/rag/graph?{WORKFLOW}&entity=P9999")
    expect(page.get_by_role("alert").get_by_text("Not found")).to_be_visible()


def test_every_operation_is_described_with_an_example(page: Page) -> None:
    page.goto("/rag/api")
    expect(page.locator("article.operation")).to_have_count(sum(len(one.methods) for one in ROUTES))
    asked = page.get_by_role("article", name="POST /api/rag/ask")
    expect(asked.get_by_role("row", name="query required text")).to_be_visible()
    expect(asked.locator("pre")).to_contain_text("curl -sS 'http://127.0.0.1")
    asked.get_by_text("Errors", exact=True).click()
    expect(asked.get_by_text("A size is over its limit.")).to_be_visible()
