"""Why a sentence of an answer is not verified, on the pages: in the words of the reply, with the nearest words."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import asked, call

VERIFIED = "The encoding of words and their meaning is known as semantic encoding."
CONTRADICTED = "There are four types of encoding."
NOT_STATED = "Cats fly."


@pytest.fixture(scope="module")
def result(site: str) -> tuple[str, list[dict[str, object]]]:
    """The path of a saved result with three sentences, and their claims as replied."""
    id = asked(site, "How many types of encoding are there?", "embed", "retrieve", "consolidate")
    call(site, "POST", f"rag/queries/{id}/augment/manual", response_text=f"{VERIFIED} {CONTRADICTED} {NOT_STATED}")
    number = call(site, "GET", f"rag/queries/{id}/results")["results"][0]["id"]
    saved = call(site, "GET", f"rag/queries/{id}/results/{number}")
    return f"/rag/{id}/results/{number}", saved["details"]["claims"]


def test_each_sentence_that_is_not_verified_has_its_reason_and_the_nearest_words(
    page: Page, result: tuple[str, list[dict[str, object]]]
) -> None:
    """S0-06: in words, not by colour alone, and in those of the reply."""
    path, claims = result
    page.goto(path)
    doubts = page.get_by_role("list", name="Sentences that are not verified").get_by_role("listitem")
    expect(doubts).to_have_count(2)
    for shown, claim in zip(doubts.all(), claims[1:], strict=True):
        expect(shown).to_contain_text(str(claim["text"]))
        expect(shown).to_contain_text(f"Why: {claim['explanation']}.")
        expect(shown.locator("blockquote")).to_have_text(str(claim["nearest"]))
        expect(shown).to_contain_text("not supported")
    expect(doubts.first).to_contain_text("Why: says four; the passage says three.")
    expect(page.locator(".sentence").nth(1)).to_have_attribute(
        "title", "not supported: says four; the passage says three"
    )
    page.get_by_role("link", name="Why this sentence is not supported").first.click()
    expect(page.locator("#why-1:target")).to_contain_text(CONTRADICTED)
    worst = [one["id"] for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
    assert worst == []


def test_a_result_that_an_earlier_version_saved_is_shown_with_its_reasons(
    page: Page, result: tuple[str, list[dict[str, object]]]
) -> None:
    path, _ = result

    def age(route: Route) -> None:
        reply = route.fetch().json()
        for claim in reply["details"]["claims"]:
            for name in ("finding", "support", "judge", "nearest", "explanation"):
                del claim[name]
        route.fulfill(json=reply)

    page.route(f"**{path.replace('/rag/', '/rag/queries/')}*", age)
    page.goto(path)
    doubts = page.get_by_role("list", name="Sentences that are not verified").get_by_role("listitem")
    expect(doubts.first).to_contain_text("Why: number: four (the passage: three).")
    expect(doubts.first.locator("blockquote")).to_contain_text("three types of encoding")
    expect(doubts.last).to_contain_text(NOT_STATED)
    assert "undefined" not in json.dumps(page.get_by_role("article").inner_text())
