"""What `rag ask` and `rag cite` print of sentences that are not verified, over a scripted model and judge."""

import json
from dataclasses import replace

import pytest

from rag_core.cli import terminal_output
from rag_core.cli.terminal_layout import fold_citation_marks, shorten_for_terminal
from rag_core.core.model import Judgement, SearchResult
from rag_core.core.run import Run
from rag_core.rag import RAG
from tests.fakes import SCOPE, ScriptedJudge, ScriptedLLM, chunk, filled, hit, kit

FACT = "The signing keys are rotated every 90 days by the platform team."
COPY = "A copy of each key is kept in the vault."
JUDGE = ScriptedJudge(
    quarter=Judgement("contradicted", 0.04, 0, "rotated every 90 days", judge="chat model m"),
    paper=Judgement("not_stated", 0.03, judge="chat model m"),
    safe=Judgement("unclear", 0.4, 0, COPY, judge="chat model m"),
)
UNCLEAR = "A copy of some key is somewhere safe."


async def open_rag(*sentences: str) -> RAG:
    """A service over two facts, with a model that answers in these sentences."""
    answer = {"answerable": True, "sentences": [{"text": text, "evidence": ["e1"]} for text in sentences]}
    parts = kit(await filled(chunk("keys", f"{FACT} {COPY}")), llm=ScriptedLLM(answer=json.dumps(answer)))
    return RAG(replace(parts, judge=JUDGE))


def read_printed(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, with a space for each line break: where lines are wrapped is not of interest."""
    return " ".join(capsys.readouterr().out.split())


async def print_cited(sentence: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `rag cite` prints for a sentence."""
    for claim in await (await open_rag()).cite(sentence, scope=SCOPE):
        terminal_output.print_claim(claim)
    return read_printed(capsys)


async def test_below_a_contradicted_sentence_are_the_reason_the_deciding_words_and_the_passage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "Each quarter brings other signing keys."
    assert (await print_cited(said, capsys)).startswith(
        f"✗ unsupported: {said} Why: the passage says otherwise (judged by chat model m). "
        f"Nearest words: “rotated every 90 days” “{FACT} {COPY}” — The manual · p. 1, line 1"
    )


async def test_below_a_sentence_that_is_not_stated_are_the_reason_and_the_nearest_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "A printed key copy is kept on paper."
    assert await print_cited(said, capsys) == (
        f"✗ unsupported: {said} Why: no passage says this (judged by chat model m). Nearest words: “{COPY}”"
    )


async def test_a_passage_that_is_the_nearest_words_is_printed_once_with_its_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And a sentence that the judge leaves out is explained by its facts."""
    said = "The signing keys are rotated every 75 days by the platform team."
    assert await print_cited(said, capsys) == (
        f"✗ unsupported: {said} Why: says 75 days; the passage says 90 days. "
        f"Nearest words: “{FACT}” — The manual · p. 1, line 1 · manual.txt (0.02)"
    )


async def test_an_answer_lists_its_sentences_that_are_not_verified_before_its_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply = await (await open_rag(FACT, UNCLEAR)).answer("How are keys kept?", scope=SCOPE, pipeline="standard")
    terminal_output.print_answer_support(reply.answer)
    doubts, sources = read_printed(capsys).partition("Not verified ")[2].split(" Sources ")
    why = "Why: a passage is related, but may not say all of this (judged by chat model m)."
    assert doubts.startswith(f"~ partial: {UNCLEAR} {why} Nearest words: “{COPY}” — The manual")
    assert "~ partial · The manual" in sources


async def test_an_answer_whose_sentences_are_all_verified_lists_none(capsys: pytest.CaptureFixture[str]) -> None:
    reply = await (await open_rag(FACT)).answer("How are keys kept?", scope=SCOPE, pipeline="standard")
    terminal_output.print_answer_support(reply.answer)
    out = read_printed(capsys)
    assert ("Not verified" in out, "Why:" in out, "✓ verified" in out) == (False, False, True)


def test_a_hit_says_how_many_more_are_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    hits = (replace(hit("a", content=FACT), similar_count=81), hit("b", content=COPY))
    terminal_output.print_search_result(SearchResult(hits=hits), "standard", Run())
    printed = read_printed(capsys)
    assert printed.count("more like this") == printed.count(" · 81 more like this") == 1


def test_a_long_run_of_citations_is_folded_to_its_ends() -> None:
    marks = " ".join(f"[{number}]" for number in range(1, 101))
    assert fold_citation_marks(f"Highest of 100 rows. {marks}\nNext. [1] [2]") == (
        "Highest of 100 rows. [1]–[100]\nNext. [1] [2]"
    )


def test_the_cells_of_a_row_are_kept_apart_in_an_excerpt() -> None:
    assert shorten_for_terminal("City: Oslo\nSeats: 45") == "City: Oslo · Seats: 45"
    assert shorten_for_terminal("A heading: the text\nthat follows") == "A heading: the text that follows"
