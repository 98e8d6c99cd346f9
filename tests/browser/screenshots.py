"""Draws the pictures of the pages: what `make screenshots` runs, over the real app with the examples in it.

With a folder as its argument it draws every page there, light and dark, wide and narrow, to be looked at.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from local_emulator.host import run_service
from rag_core.core.settings import Settings
from tests.browser.conftest import EXAMPLES, QUIET, WAIT_MS, asked, call, find_chromium, index

PICTURES = EXAMPLES.parent / "docs" / "pictures"
WIDE, NARROW = 1200, 360
TALLEST = 1500  # pixels: the rest of a long page says nothing new
SHOWN = "Which wires had worn through, and what did P0700 in the ECM follow from?"
Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class Shot:
    """A page in a picture, after something was done in it."""

    name: str
    path: str
    prepare: Callable[[Page], None] = lambda page: None
    scheme: Scheme = "light"
    width: int = WIDE


def pages() -> list[Shot]:
    """Each page once, wide and light. Question 1 is answered, 2 retrieved, 3 new, 4 edited, 5 one that `ask` kept."""
    return [
        Shot("queries", "/rag"),
        Shot("new", "/rag/new", _asking),
        Shot("query", "/rag/2", _from("Retrieve")),
        Shot("answer", "/rag/1", _from("Answer")),
        Shot("inspect", "/rag/2/inspect", _replayed),
        Shot("results", "/rag/1/results"),
        Shot("result", "/rag/1/results/1"),
        Shot("admin", "/rag/admin"),
        *(Shot(f"admin-{name}", f"/rag/admin/{name}") for name in ("presets", "prompts", "usage", "health")),
        Shot("documents", "/rag/documents"),
        Shot("document", "/rag/5/results/2", _cited),
        Shot("graph", "/rag/graph?entity=P0700&depth=1", _loaded),
        Shot("api", "/rag/api"),
        Shot("ask", "/rag/ask", _asked),
    ]


def kept() -> Iterator[Shot]:
    """Those that the documentation shows."""
    for shot in pages():
        if shot.name in ("ask", "query", "inspect", "document"):
            yield shot
        if shot.name in ("answer", "graph"):
            yield Shot(f"{shot.name}-dark", shot.path, shot.prepare, scheme="dark")
        if shot.name == "query":
            yield Shot(f"{shot.name}-narrow", shot.path, shot.prepare, width=NARROW)


def every() -> Iterator[Shot]:
    for shot in pages():
        for scheme in ("light", "dark"):
            for width in (WIDE, NARROW):
                yield Shot(f"{shot.name}-{scheme}-{width}", shot.path, shot.prepare, scheme, width)


def draw(shots: Sequence[Shot], folder: Path) -> None:
    with (
        TemporaryDirectory() as data,
        run_service(Settings(data_dir=Path(data), keep_runs=True), admin=True) as url,
        sync_playwright() as playwright,
    ):
        furnish(url)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET.split())
        for shot in shots:
            picture = optimised(taken(shot, url, browser))
            path = folder / f"workbench-{shot.name}.png"
            path.write_bytes(picture)
            print(f"{path}: {len(picture) // 1024} kB")
        browser.close()


def furnish(url: str) -> None:
    """Index the examples and ask the questions."""
    index(url, *(path.name for path in sorted(EXAMPLES.iterdir()) if path.suffix in {".md", ".txt", ".pdf", ".docx"}))
    steps = ("embed", "retrieve", "consolidate")
    answered = asked(url, SHOWN, *steps)
    call(url, "POST", f"rag/queries/{answered}/augment/run")
    asked(url, "How does semantic encoding make memory stronger?", *steps[:2])
    asked(url, "When must the learning cycle be driven?")
    edited = asked(url, "What is line pressure at idle?", "embed")
    call(url, "PATCH", f"rag/queries/{edited}", original_query="What should the line pressure at idle be?")
    call(url, "POST", "api/rag/ask", query="What does P0700 mean?", preset="standard")


def taken(shot: Shot, url: str, browser: Browser) -> bytes:
    context = browser.new_context(
        base_url=url, color_scheme=shot.scheme, reduced_motion="reduce", viewport={"width": shot.width, "height": 900}
    )
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto(shot.path)
    page.wait_for_load_state("networkidle")
    shot.prepare(page)
    height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": shot.width, "height": height})
    picture = page.screenshot()
    context.close()
    return picture


def optimised(picture: bytes) -> bytes:
    """In 256 colours: our pages have few, and a picture is a third of its size."""
    few = Image.open(BytesIO(picture)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    out = BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def _asking(page: Page) -> None:
    page.get_by_label("Question").fill(SHOWN)
    expect(page.get_by_label("Expansion prompt")).to_contain_text(SHOWN)


def _asked(page: Page) -> None:
    """Ask, and open what the answer cites beside it."""
    question = page.get_by_role("textbox", name=re.compile("question", re.IGNORECASE))
    question.fill("At what temperature is the fluid level checked?")
    question.press("Enter")
    page.get_by_role("list", name="Sources").get_by_role("button").first.click()
    page.locator(".beside img").wait_for()
    page.wait_for_load_state("networkidle")


def _from(step: str) -> Callable[[Page], None]:
    """Leave out what stands above a step, so that the picture begins with it."""

    def prepare(page: Page) -> None:
        page.get_by_role("region", name=re.compile(f"^{step}")).wait_for()
        page.evaluate(
            "name => { for (const step of document.querySelectorAll('.step')) {"
            " if (step.querySelector('h2').textContent.startsWith(name)) break; step.remove(); } }",
            step,
        )

    return prepare


def _replayed(page: Page) -> None:
    page.get_by_role("combobox", name="Preset").select_option("pages")  # vector search only
    page.get_by_role("button", name="Replay").click()
    page.locator("svg.moves").wait_for(state="attached")  # it is hidden on narrow screens
    page.evaluate("for (const id of ['record', 'steps']) document.querySelector(`[aria-labelledby=${id}]`).remove()")
    page.evaluate("scrollTo(0, 0)")


def _cited(page: Page) -> None:
    """The lines that bear out a sentence of the answer."""
    source = page.locator(".source a", has_text="diagnostic manual").first
    page.goto(source.get_attribute("href") or "")
    page.wait_for_load_state("networkidle")


def _loaded(page: Page) -> None:
    page.wait_for_timeout(1500)  # a drawing comes to rest


if __name__ == "__main__":
    if len(sys.argv) > 1:
        draw(list(every()), Path(sys.argv[1]))
    else:
        draw(list(kept()), PICTURES)
