"""The page that shows what of a database a question needs: boxes, lines, rules, and what the question leaves open."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import rag_core
from rag_core.core.settings import Settings
from rag_core.schema.ingest import DatabaseSource
from tests.browser.conftest import Open, embedder_only, run_service
from tests.browser.test_accessibility import LOOKS, ONLY_WORST
from tests.schema.heroes import PAST_QUESTIONS, RULES, write_heroes

QUESTION = "What is the average height of villains with blue eyes from Gotham?"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def heroes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app with the heroes, their rules, and a table that refers to them without saying so."""
    folder = tmp_path_factory.mktemp("schema")
    settings = Settings(data_dir=folder / "data", models_dir=embedder_only(folder))
    with ThreadPoolExecutor(1) as pool:  # Playwright has a loop in this thread
        pool.submit(lambda: asyncio.run(index_heroes(folder, settings))).result()
    with run_service(settings, admin=True) as url:
        yield url


async def index_heroes(folder: Path, settings: Settings) -> None:
    write_heroes(folder / "heroes.sqlite")
    with sqlite3.connect(folder / "heroes.sqlite") as db:
        db.execute(f'create table villain (superhero_id integer, lair text, "{EVIL}" text)')
        db.executemany("insert into villain values (?, ?, ?)", [(1, "Blue", EVIL), (3, "Cave", EVIL)])
    (folder / "questions.jsonl").write_text(PAST_QUESTIONS)
    (folder / "rules.md").write_text(RULES)
    async with rag_core.open(settings) as rag:
        await rag.index(folder / "rules.md")
        source = DatabaseSource(f"sqlite:///{folder}/heroes.sqlite", questions=folder / "questions.jsonl")
        await rag.index_database(source)


@pytest.fixture
def schema_page(open_page: Open, heroes: str) -> Page:
    return open_page(heroes, permissions=["clipboard-read", "clipboard-write"])


def ask(page: Page) -> None:
    page.goto("/rag/schema")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="DDL")).to_be_visible()


def test_a_question_is_answered_by_boxes_lines_values_rules_and_ddl(schema_page: Page) -> None:
    page = schema_page
    ask(page)
    hero = page.get_by_role("region", name="Table superhero")
    expect(hero.get_by_role("listitem").filter(has_text="height_cm")).to_contain_text("in cm")
    expect(hero.get_by_role("listitem").filter(has_text="eye_colour_id")).to_contain_text("refers")
    expect(page.get_by_role("region", name="Table colour")).to_be_visible()
    villain = page.get_by_role("region", name="Table villain")
    expect(villain.get_by_role("listitem").filter(has_text="= Blue")).to_be_visible()
    joins = page.get_by_role("region", name="Joins")
    expect(joins.get_by_role("listitem").filter(has_text="superhero.eye_colour_id = colour.id")).to_contain_text(
        "declared"
    )
    inferred = joins.get_by_role("listitem").filter(has_text="villain.superhero_id")
    expect(inferred).to_contain_text("inferred: 100 % of the values match")
    expect(page.locator(".tables path.inferred")).to_have_count(1)
    expect(page.locator(".tables path")).to_have_count(joins.get_by_role("listitem").count())
    expect(page.get_by_role("region", name="Left open")).to_contain_text("“blue” may mean")
    expect(page.get_by_role("status")).to_contain_text("Gotham")
    expect(page.get_by_role("region", name="Asked before")).to_contain_text("How many heroes have green eyes?")
    page.get_by_role("button", name="Copy the DDL").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "CREATE TABLE superhero" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("region", name="Rules").get_by_role("link").first.click()
    page.wait_for_url("**/rag/documents/*")
    expect(page.get_by_text("Villains are the heroes whose alignment is Bad").first).to_be_visible()


def test_each_line_ends_at_the_rows_that_it_joins_wide_and_narrow(schema_page: Page) -> None:
    page = schema_page
    ask(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
        page.wait_for_function("""() => {
          const rows = [...document.querySelectorAll("[data-column]")].map((row) => row.getBoundingClientRect());
          const paths = [...document.querySelectorAll(".tables path")];
          const strays = paths.flatMap((path) => {
            const frame = path.ownerSVGElement.getBoundingClientRect();
            return [0, path.getTotalLength()].map((at) => path.getPointAtLength(at).y + frame.top)
              .filter((y) => !rows.some((row) => Math.abs(row.top + row.height / 2 - y) < 1.5));
          });
          return paths.length && !strays.length;
        }""")  # drawn anew after the page is


def test_axe_finds_nothing_serious_where_a_question_is_linked(schema_page: Page) -> None:
    page = schema_page
    ask(page)
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        found = Axe().run(page, options=ONLY_WORST).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    page.get_by_role("button", name="Copy the DDL").press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()


def test_a_workflow_without_a_database_says_how_one_is_added(open_page: Open, heroes: str) -> None:
    page = open_page(heroes, refusals=(404,))
    page.goto("/rag/schema?workflow_id=empty&question=How many?")
    expect(page.get_by_role("alert")).to_contain_text("rag index --database adds one")
