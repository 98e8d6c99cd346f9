"""The page Ask on a host that sends the events of an answer together at its end, as Azure Functions does."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest
from playwright.sync_api import Locator, Page, expect

import function_app
from local_emulator.host import run_host
from rag_core.core.settings import Settings
from rag_core.stores.archive import ArchiveDatabase, SqlAnswerLog, SqlArchive
from tests.browser.conftest import Open, close_pages_before, open_scope
from tests.fakes import SCOPE
from tests.functions.test_event_stream import COPIED, OWN, GatedModel, build_gated_kit

POLLED = "/api/rag/answer_events"


@contextmanager
def served(model: GatedModel, *, can_stream: bool) -> Iterator[str]:
    """Serve the app and its pages with this model."""
    database = ArchiveDatabase(None)
    with ThreadPoolExecutor() as threads:  # the browser's loop runs in this one
        kit = threads.submit(lambda: asyncio.run(build_gated_kit(model))).result()
    kit = replace(kit, archive=SqlArchive(database), answer_log=SqlAnswerLog(database))
    app = function_app.build_app(lambda: Settings(data_dir=None), lambda: kit, can_stream=can_stream)
    with close_pages_before(run_host(app, on_close=kit.close)) as url:
        yield url
        model.answering.set()
        model.judging.set()


@dataclass
class Requests:
    """What a page has asked for, by path."""

    paths: list[str] = field(default_factory=list)

    def of(self, page: Page) -> "Requests":
        page.on("request", lambda request: self.paths.append(request.url.partition("?")[0]))
        return self

    def count(self, path: str) -> int:
        return sum(address.endswith(path) for address in self.paths)


def begin(page: Page) -> Locator:
    """Ask, and return the turn in which the answer will be."""
    page.goto(f"/rag/ask?workflow_id={SCOPE.workflow_id}")
    open_scope(page)
    page.get_by_label("Preset").select_option("standard")
    page.get_by_label("Question", exact=True).fill("What stores P0700?")
    page.keyboard.press("Enter")
    return page.get_by_role("article")


def expect_answer_once(turn: Locator) -> None:
    expect(turn.get_by_role("button", name="Save as Markdown")).to_be_visible()
    for sentence in (COPIED, OWN):
        expect(turn.get_by_text(sentence, exact=True)).to_have_count(1)


def test_a_sentence_is_shown_before_the_answer_is_there_and_once_when_it_is(open_page: Open) -> None:
    model = GatedModel()
    with served(model, can_stream=False) as url:
        page = open_page(url)
        requests = Requests().of(page)
        turn = begin(page)
        model.answering.set()
        expect(turn).to_contain_text(COPIED)
        expect(turn).not_to_contain_text(OWN)  # which the judge reads; the reply waits for it
        assert requests.count(POLLED) > 0
        model.judging.set()
        expect_answer_once(turn)
        polls = requests.count(POLLED)
        page.wait_for_timeout(1500)
        assert requests.count(POLLED) == polls  # nobody polls when the answer is there
        assert requests.count("/api/rag/ask") == 1


def test_a_host_that_streams_is_not_polled(open_page: Open) -> None:
    model = GatedModel()
    with served(model, can_stream=True) as url:
        page = open_page(url)
        requests = Requests().of(page)
        page.route(f"**{POLLED}*", lambda route: route.fulfill(json={"events": [], "state": "running"}))
        turn = begin(page)
        expect(turn).to_contain_text("Writing the answer")  # as an event of the stream says
        polls = requests.count(POLLED)  # none, unless the first event took longer than the page waits for it
        page.wait_for_timeout(2500)
        model.answering.set()
        expect(turn).to_contain_text(COPIED)
        model.judging.set()
        expect_answer_once(turn)
        assert requests.count(POLLED) == polls


def test_the_focus_stays_where_it_is_when_the_answer_ends(open_page: Open) -> None:
    model = GatedModel()
    model.answering.set()
    with served(model, can_stream=True) as url:
        page = open_page(url)
        turn = begin(page)
        chip = turn.get_by_role("button", name=re.compile("^Source 1:"))
        chip.focus()
        model.judging.set()
        expect_answer_once(turn)
        expect(chip).to_be_focused()


def test_the_button_that_asks_and_stops_keeps_the_focus(open_page: Open) -> None:
    model = GatedModel()
    with served(model, can_stream=True) as url:
        page = open_page(url)
        page.goto(f"/rag/ask?workflow_id={SCOPE.workflow_id}")
        page.get_by_label("Question", exact=True).fill("What stores P0700?")
        page.get_by_role("button", name="Ask", exact=True).press("Enter")
        stop = page.get_by_role("button", name="Stop")
        expect(stop).to_be_focused()
        page.get_by_label("Question", exact=True).fill("And the lamp?")
        stop.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("You stopped this answer.")
        expect(page.get_by_role("article")).to_have_count(1)  # what was typed meanwhile is not asked
        expect(page.get_by_label("Question", exact=True)).to_have_value("And the lamp?")
        expect(page.get_by_role("button", name="Ask", exact=True)).to_be_focused()


@pytest.mark.parametrize("status", [404, 503])
def test_an_answer_comes_all_the_same_where_nothing_can_be_polled(open_page: Open, status: int) -> None:
    """An instance of the version before, or a storage account that does not answer."""
    model = GatedModel()
    with served(model, can_stream=False) as url:
        page = open_page(url, refusals=(status,))
        page.route(f"**{POLLED}*", lambda route: route.fulfill(status=status, json={}))
        with page.expect_response(f"**{POLLED}*"):
            turn = begin(page)
        model.answering.set()
        model.judging.set()
        expect_answer_once(turn)
