"""A question from the box it is written in to its answers, in a browser, over the real app (S0-09)."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from rag_core.core.settings import Settings
from tests import hosted
from tests.browser.conftest import Open, Watch, asked, call, index, run_service

QUESTION = "How does semantic encoding make memory stronger?"
PASTED = json.dumps(
    {
        "queries": ["What is semantic encoding?", "How is the meaning of words remembered?"],
        "hyde_answer": "Semantic encoding stores the meaning of words.",
        "intent": "MECHANISM",
        "entities": ["semantic encoding", "Bousfield"],
    }
)
STEPS = ("Embed", "Retrieve", "Consolidate")
EVERY = ("embed", "retrieve", "consolidate")


def step(page: Page, name: str) -> Locator:
    """The card of a step on the page of a question."""
    return page.get_by_role("region", name=re.compile(f"^{name}"))


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def written(page: Page, question: str = QUESTION) -> None:
    page.goto("/rag/new")
    page.get_by_label("Question").fill(question)
    expect(page.get_by_label("Expansion prompt")).to_contain_text(question)


def taken(page: Page) -> None:
    """Press the buttons of the three steps, each when it is its turn. The focus stays where it was pressed."""
    for name in STEPS:
        press(page, name)
        expect(page.get_by_role("button", name=f"{name} again")).to_be_enabled()
        expect(page.get_by_role("button", name=f"{name} again")).to_be_focused()


def test_a_question_goes_from_the_box_to_its_result_without_a_chat_model(page: Page, site: str) -> None:
    """S0-01, S0-02, S0-03, S0-05, S0-06, S0-07, S0-08, S0-09: the eight steps in their order, on the pages meant."""
    page.goto("/rag")
    page.get_by_role("link", name="New query").first.click()
    written(page)
    press(page, "Run Expansion")
    expect(page).to_have_url(re.compile(r"/rag/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
    taken(page)
    expect(step(page, "Retrieve")).to_contain_text("candidates, best first")
    prompt = page.get_by_label("Augmented prompt")
    expect(prompt).to_contain_text(QUESTION)
    expect(page.get_by_text("Run LLM")).to_have_count(0)  # there is none
    press(page, "Quote the documents")
    answer = page.get_by_role("region", name="Latest answer")
    expect(answer).to_contain_text("verified")
    answer.get_by_role("link", name="1 result").click()
    expect(page).to_have_url(re.compile(r"/rag/\d+/results$"))
    results = page.get_by_role("link", name=re.compile("^Result"))
    call(site, "POST", f"rag/queries/{page.url.split('/')[-2]}/augment/manual", response_text="Another.")
    page.reload()
    expect(results).to_have_count(2)
    results.last.click()
    expect(page).to_have_url(re.compile(r"/rag/\d+/results/\d+$"))
    expect(page.get_by_role("main")).to_contain_text(QUESTION)
    expect(page.get_by_role("article")).to_contain_text("How memory functions")


def test_the_list_takes_a_question_through_its_steps_and_offers_only_the_next(page: Page, site: str) -> None:
    """S0-01, S0-95 to S0-98: a chip a step and a button a step, of which the next alone can be pressed."""
    id = asked(site, QUESTION)
    page.goto("/rag")
    page.get_by_label("Workflow").fill("half-typ")
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=str(id), exact=True))
    for at in range(len(STEPS)):
        buttons = [row.get_by_role("button", name=f"{one} query {id}") for one in STEPS]
        expect(buttons[at]).to_be_enabled()
        for other in buttons[:at] + buttons[at + 1 :]:
            expect(other).to_be_disabled()
        buttons[at].click()
        expect(page.get_by_role("status")).to_contain_text(f"#{id}")
        expect(row).to_contain_text(f"✓ {('embedded', 'retrieved', 'consolidated')[at]}")
    expect(row.get_by_role("link", name="Answer")).to_be_visible()
    expect(page.get_by_label("Workflow")).to_have_value("half-typ")  # what was drawn anew took nothing from it


def test_a_step_that_takes_long_says_what_it_does_and_is_taken_once(page: Page, site: str) -> None:
    id = asked(site, QUESTION, "embed")
    held: list[Route] = []
    page.route("**/retrieve", lambda route: held.append(route))
    page.goto(f"/rag/{id}")
    with page.expect_request("**/retrieve"):
        press(page, "Retrieve")
    expect(step(page, "Retrieve").get_by_role("status")).to_contain_text("Searching")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Consolidate", exact=True)).to_be_disabled()
    assert len(held) == 1
    held[0].continue_()
    expect(step(page, "Retrieve").get_by_role("status")).to_contain_text("Retrieved")


def test_an_expansion_and_an_answer_can_be_pasted(page: Page) -> None:
    """S0-07, S0-08: both boxes, with no model asked."""
    written(page)
    page.get_by_role("textbox", name="Response", exact=True).fill(PASTED)
    press(page, "Save response")
    expect(step(page, "Expand")).to_contain_text("How is the meaning of words remembered?")
    expect(step(page, "Expand")).to_contain_text("MECHANISM")
    taken(page)
    page.get_by_role("textbox", name="Or paste a response").fill(
        "The encoding of words and their meaning is known as semantic encoding. Cats fly."
    )
    press(page, "Save response")
    answer = page.get_by_role("region", name="Latest answer")
    expect(answer).to_contain_text("Pasted response")
    expect(answer).to_contain_text("1 sentence verified")
    expect(answer).to_contain_text("1 sentence not supported")


def test_a_press_counts_while_the_prompt_is_loading(page: Page, site: str) -> None:
    """S0-08: a button that moved away between the press and the release was not pressed at all."""
    held: list[Route] = []
    page.route("**/augment/prompt?*", lambda route: held.append(route))
    with page.expect_request("**/augment/prompt?*"):
        page.goto(f"/rag/{asked(site, QUESTION, *EVERY)}")
    page.get_by_role("textbox", name="Or paste a response").fill("Cats fly.")
    page.get_by_role("button", name="Save response", exact=True).hover()
    page.mouse.down()
    held[0].continue_()
    expect(page.get_by_label("Augmented prompt")).to_be_visible()
    page.mouse.up()
    expect(page.get_by_role("region", name="Latest answer")).to_contain_text("Pasted response")


def test_what_is_typed_while_the_documents_are_quoted_stays(page: Page, site: str) -> None:
    page.goto(f"/rag/{asked(site, QUESTION, *EVERY)}")
    held: list[Route] = []
    page.route("**/augment/run", lambda route: held.append(route))
    with page.expect_request("**/augment/run"):
        press(page, "Quote the documents")
    box = page.get_by_role("textbox", name="Or paste a response")
    box.fill("Cats fly.")
    held[0].continue_()
    expect(page.get_by_role("region", name="Latest answer")).to_contain_text("verified")
    expect(box).to_have_value("Cats fly.")


def test_a_pasted_expansion_that_says_nothing_is_refused_on_the_page(open_page: Open, site: str) -> None:
    page = open_page(site, refusals=(400,))
    written(page)
    page.get_by_role("textbox", name="Response", exact=True).fill("{}")
    press(page, "Save response")
    expect(page.get_by_role("alert")).to_contain_text("llm_response")


def test_the_prompt_follows_the_number_of_contexts(page: Page, site: str) -> None:
    """S0-08: loaded with the page, and again when top_n changes."""
    id = asked(site, QUESTION, *EVERY[:2])
    page.goto(f"/rag/{id}")
    section = step(page, "Answer")
    expect(section).to_contain_text("· 5 contexts")
    with page.expect_response(re.compile(r"augment/prompt\?.*top_n=2")):
        page.get_by_label("Contexts in the prompt").fill("2")
    expect(section).to_contain_text("· 2 contexts")


def test_the_prompt_can_be_copied(page: Page, site: str) -> None:
    """S0-07: as it is sent, to be given to another model by hand."""
    written(page)
    press(page, "Copy prompt")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert QUESTION in page.evaluate("navigator.clipboard.readText()")


def test_an_edit_says_what_it_takes_back_and_takes_it_back(page: Page, site: str) -> None:
    """S0-08, S0-18, S0-100: the question's own words are embedded, so all that was done is to be done again."""
    id = asked(site, QUESTION, *EVERY)
    page.goto(f"/rag/{id}")
    press(page, "Edit these fields")
    page.get_by_label("Intent").fill("COMPARISON")
    expect(page.get_by_role("status").last).to_contain_text(
        "Saving discards the retrieved passages and the consolidated groups"
    )
    page.get_by_label("Query text", exact=True).fill("What is acoustic encoding?")
    expect(page.get_by_role("status").last).to_contain_text(
        "the embeddings, the retrieved passages and the consolidated groups"
    )
    press(page, "Save changes")
    expect(page.get_by_role("heading", level=1)).to_have_text("What is acoustic encoding?")
    expect(page.get_by_role("main")).to_contain_text("embed again")
    expect(page.get_by_role("button", name="Embed", exact=True)).to_be_enabled()
    expect(page.get_by_role("button", name="Retrieve", exact=True)).to_be_disabled()


@pytest.fixture
def wordless(tmp_path: Path) -> Iterator[str]:
    """The app without an embedder."""
    with run_service(Settings(data_dir=tmp_path / "data", models_dir=tmp_path)) as url:
        yield url


def test_an_edit_after_a_failed_embedding_says_that_it_can_be_tried_again(open_page: Open, wordless: str) -> None:
    page = open_page(wordless, refusals=(503,))
    page.goto(f"/rag/{asked(wordless, QUESTION)}")
    press(page, "Embed")
    expect(page.get_by_role("alert")).to_contain_text("RAG_MODELS_DIR")
    page.reload()
    expect(step(page, "Embed")).to_contain_text("The last attempt failed")
    press(page, "Edit these fields")
    expect(page.get_by_label("Query text", exact=True)).to_be_focused()
    page.get_by_label("Query text", exact=True).fill("What is acoustic encoding?")
    expect(step(page, "Expand").get_by_role("status")).to_contain_text("retry the embedding that failed")
    press(page, "Cancel")
    expect(page.get_by_role("button", name="Edit these fields")).to_be_focused()


def test_a_question_in_another_script_is_embedded_by_its_words_and_says_so(page: Page, site: str) -> None:
    page.goto(f"/rag/{asked(site, 'ما معنى الرمز؟')}")
    press(page, "Embed")  # the local model reads English
    expect(step(page, "Embed")).to_contain_text("another script")
    expect(page.get_by_role("button", name="Retrieve", exact=True)).to_be_enabled()


def test_an_answer_that_was_kept_is_shown_with_its_verdicts(page: Page, site: str) -> None:
    """What `ask` was told is kept as it was told, and nothing is asked again."""
    asked_again: list[str] = []
    page.on("request", lambda request: asked_again.append(request.url) if request.method == "POST" else None)
    call(site, "POST", "api/rag/ask", query="Where is semantic encoding?", preset="standard")
    kept = next(one for one in call(site, "GET", "rag/queries?limit=5")["queries"] if one["origin"] != "workbench")
    result = call(site, "GET", f"rag/queries/{kept['id']}/results")["results"][0]
    page.goto(f"/rag/{kept['id']}/results/{result['id']}")
    expect(page.get_by_role("article")).to_contain_text("verified")
    expect(page.locator(".source a").first).to_have_attribute("href", re.compile("lines="))
    assert asked_again == []


def test_what_the_answer_says_of_its_prompt_is_not_said_again_beside_the_prompt(page: Page, site: str) -> None:
    id = asked(site, QUESTION, *EVERY, "augment/run")
    page.goto(f"/rag/{id}")
    expect(page.get_by_label("Augmented prompt")).to_contain_text(QUESTION)
    expect(page.get_by_text("cut to 4000 tokens")).to_have_count(1)


def test_a_step_whose_turn_has_not_come_is_refused_by_the_server_and_said(open_page: Open, site: str) -> None:
    """S0-42: a page that is behind the record shows the server's own words."""
    id = asked(site, QUESTION, "embed")
    page = open_page(site, refusals=(409,))
    page.goto(f"/rag/{id}")
    expect(page.get_by_role("button", name="Retrieve", exact=True)).to_be_enabled()
    call(site, "PATCH", f"rag/queries/{id}", original_query="Another question?")
    press(page, "Retrieve")
    expect(page.get_by_role("alert")).to_contain_text("embed the query first")
    expect(page.get_by_role("button", name="Embed", exact=True)).to_be_enabled()


def test_all_that_is_kept_is_shown_and_replayed_under_another_preset(page: Page, site: str) -> None:
    """S0-04: expansion, contexts, steps and numbers; and the two rankings with a line from place to place."""
    id = asked(site, QUESTION, *EVERY)
    page.goto(f"/rag/{id}/inspect")
    expect(page.get_by_role("region", name="Saved query")).to_contain_text("workbench")
    expect(page.get_by_role("region", name="Steps")).to_contain_text("dimensions")
    expect(page.get_by_role("region", name="Preset", exact=True)).to_contain_text("RRF k")
    page.get_by_role("combobox", name="Preset").select_option("standard")
    press(page, "Replay")
    replay = page.get_by_role("region", name="Replay with another preset")
    expect(replay).to_contain_text("Overlap of the first ten")
    expect(replay.locator("svg path").first).to_be_attached()


def test_sources_are_linked_to_their_lines(page: Page, site: str) -> None:
    id = asked(site, QUESTION, *EVERY[:2])
    page.goto(f"/rag/{id}")
    link = step(page, "Retrieve").get_by_role("link", name="How memory functions").first
    expect(link).to_have_attribute("href", re.compile(r"^/rag/documents/how-memory-functions\.md\?lines=\d+-\d+$"))


def test_an_address_with_a_slash_at_its_end_is_the_same_page(page: Page) -> None:
    page.goto("/rag/new/")
    expect(page.get_by_role("heading", level=1)).to_have_text("New query")


def test_a_passage_that_another_preset_ranks_elsewhere_says_where_it_was(page: Page, site: str) -> None:
    """In words: the lines between the rankings are not drawn on narrow screens, nor read out."""
    page.goto(f"/rag/{asked(site, QUESTION, *EVERY[:2])}/inspect")
    page.get_by_role("combobox", name="Preset").select_option("pages")
    press(page, "Replay")
    expect(page.locator(".ranking").last).to_contain_text(re.compile(r"was rank \d+"))
    expect(page.locator(".ranking a").first).to_have_attribute("href", re.compile("lines="))


def test_what_is_not_there_is_said_and_not_shown_empty(open_page: Open, site: str) -> None:
    page = open_page(site, refusals=(404,))
    for path in ("/rag/999999", "/rag/999999/inspect", "/rag/999999/results", "/rag/999999/results/1"):
        page.goto(path)
        expect(page.get_by_role("alert")).to_contain_text("Not found")


def test_a_question_is_of_its_workflow_and_its_links_stay_there(open_page: Open, site: str) -> None:
    """Isolation, as a reader meets it: the same number in another workflow is nobody's."""
    id = asked(site, QUESTION)
    page = open_page(site, refusals=(404,))
    page.goto("/rag?workflow_id=other")
    expect(page.get_by_role("main")).to_contain_text("There are no queries in this workflow")
    page.goto(f"/rag/{id}")
    expect(page).to_have_url(re.compile("workflow_id=other"))
    expect(page.get_by_role("alert")).to_contain_text("Not found")
    page.get_by_label("Workflow").fill("default")
    page.get_by_label("Workflow").press("Enter")
    expect(page.get_by_role("table")).to_contain_text(QUESTION)


@contextmanager
def keyed(folder: Path) -> Iterator[str]:
    with run_service(Settings(data_dir=folder), key="open sesame") as url:
        yield url


def test_the_key_is_asked_for_until_it_is_right(open_page: Open, tmp_path: Path) -> None:
    with keyed(tmp_path) as url:
        page = open_page(url, refusals=(401,))
        page.goto("/rag")
        dialog = page.get_by_role("dialog", name="This server requires a function key")
        dialog.get_by_label("Function key").fill("wrong")
        dialog.get_by_role("button", name="Use this key").click()
        expect(dialog.get_by_role("alert")).to_have_text("The server rejected this key.")
        dialog.get_by_label("Function key").fill("open sesame")
        dialog.get_by_role("button", name="Use this key").click()
        expect(page.get_by_role("main")).to_contain_text("There are no queries")
        page.goto("/rag/new")
        page.get_by_label("Question").fill(QUESTION)
        expect(page.get_by_label("Expansion prompt")).to_contain_text(QUESTION)


def test_who_gives_no_key_is_told_and_can_try_again(open_page: Open, tmp_path: Path) -> None:
    with keyed(tmp_path) as url:
        page = open_page(url, refusals=(401,))
        page.goto("/rag")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("alert")).to_contain_text("this server requires its function key")
        press(page, "Try again")
        expect(page.get_by_role("dialog")).to_be_visible()


def test_a_server_that_is_gone_is_said_on_the_page(page: Page, site: str) -> None:
    page.goto("/rag")
    expect(page.get_by_role("table").or_(page.get_by_text("There are no queries"))).to_be_visible()
    page.context.route("**/rag/queries**", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("the server does not respond")


def test_an_archive_that_is_down_is_said_and_not_shown_as_empty(open_page: Open) -> None:
    """A failure is never an empty list."""
    with run_service(Settings(data_dir=None, archive_url="postgresql://nobody@127.0.0.1:1/none")) as url:
        page = open_page(url, refusals=(503,))
        page.goto("/rag")
        expect(page.get_by_role("alert")).to_contain_text("the archive: its database does not answer")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()
        expect(page.get_by_text("There are no queries")).to_have_count(0)


def test_nothing_of_a_page_is_wider_than_a_telephone(open_page: Open, site: str) -> None:
    id = asked(site, QUESTION, *EVERY)
    page = open_page(site, viewport={"width": 360, "height": 740})
    for path in ("/rag", "/rag/new", f"/rag/{id}", f"/rag/{id}/inspect", f"/rag/{id}/results"):
        page.goto(path)
        page.locator("h1").wait_for()
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path


def test_what_goes_wrong_in_a_page_is_seen(chromium: Browser, site: str) -> None:
    """The watch over every page of these tests finds what is planted, so that it can fail them."""
    watch = Watch(site, frozenset())
    context = chromium.new_context(base_url=site)
    watch.over(context)
    page = context.new_page()
    page.goto("/rag")
    page.evaluate("console.error('planted'); setTimeout(() => { throw Error('thrown') })")
    page.evaluate("fetch('/rag/static/none.js').then((reply) => reply.text())")
    with page.expect_event("requestfailed"):
        page.evaluate("location.assign('https://example.org/')")
    context.close()
    told = " ".join(watch.faults)
    assert all(word in told for word in ("404 GET", "planted", "thrown", "elsewhere: https://example.org/"))


@pytest.fixture
def modelled(tmp_path: Path) -> Iterator[str]:
    """The app with its cross-encoder and a chat model whose first reply is an expansion, and whose second an answer."""
    replies = (PASTED, "The encoding of words and their meaning is known as semantic encoding. [e1]")
    with hosted.running(*replies) as models, run_service(hosted.configure(tmp_path, models)) as url:
        index(url, "how-memory-functions.md")
        yield url


def test_a_chat_model_expands_and_answers_and_its_cost_is_shown(open_page: Open, modelled: str) -> None:
    """S0-09 with a model: its rewordings, its answer and that it is verified, its name, its tokens."""
    page = open_page(modelled)
    written(page)
    press(page, "Run Expansion")
    expect(step(page, "Expand")).to_contain_text("How is the meaning of words remembered?")
    expect(step(page, "Expand")).to_contain_text("tokens in")
    taken(page)
    page.get_by_label("Use the full model").check()
    press(page, "Run LLM")
    answer = page.get_by_role("region", name="Latest answer")
    expect(answer).to_contain_text("The encoding of words and their meaning is known as semantic encoding.")
    expect(answer).to_contain_text("verified")
    expect(step(page, "Answer")).to_contain_text("tokens in")
