"""What Chromium asks for when it shows the hostile Markdown of a model, as two renderers make HTML of it."""

from collections.abc import Sequence

import pytest
from playwright.sync_api import Browser

from rag_core.prompts.screening import screen_text
from tests.markdown_rendering import CITED, load_payloads, render_each_way

TEXTS = load_payloads()
SHOW = """async (pages) => {
  await Promise.all(pages.map((html) => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.onload = done;
    frame.srcdoc = html;
    document.body.append(frame);
  })));
  const frames = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument);
  return frames.flatMap((shown) => [...shown?.querySelectorAll("a[href], area[href], form") ?? []]
    .map((link) => link.getAttribute("href") ?? "form"));
}"""


def show(texts: Sequence[str], chromium: Browser) -> tuple[set[str], set[str]]:
    """Return the addresses that the browser asked for, and those that can be clicked; nothing leaves this machine."""
    asked: set[str] = set()
    page = chromium.new_page()
    page.route("**/*", lambda route: route.abort())
    page.on("request", lambda request: asked.add(request.url))
    page.on("dialog", lambda dialog: (asked.add("a dialog"), dialog.dismiss()))
    pages = [html for text in texts for html in render_each_way(text).values()]
    clickable: set[str] = set()
    for start in range(0, len(pages), 120):
        page.set_content("<!doctype html><p>x")
        clickable.update(page.evaluate(SHOW, pages[start : start + 120]))
    page.close()
    return {url for url in asked if not url.startswith("about:")}, clickable


@pytest.mark.parametrize("sources", [(CITED,), ()], ids=["cited", "none"])
def test_chromium_fetches_nothing_of_what_is_left_of_a_payload(chromium: Browser, sources: tuple[str, ...]) -> None:
    """C41: neither an image nor a style, a frame or a script; and only the cited address can be clicked."""
    asked, clickable = show([screen_text(text, sources)[0] for text in TEXTS], chromium)
    assert asked == set()
    assert {address for address in clickable if not address.startswith("#fn")} <= set(sources)


def test_chromium_fetches_the_payloads_that_are_not_screened(chromium: Browser) -> None:
    """The harness sees what it is to see."""
    asked, clickable = show([text for text in TEXTS if "meta" not in text], chromium)
    assert len(asked) > 20
    assert len(clickable) > 20
