from typing import Any

import pytest

from rag_core.providers.bert import BertModel
from rag_core.providers.cross_encoder import MAX_QUERY_TOKENS
from tests import local


async def test_scores_keep_the_order_of_near_certain_passages_apart() -> None:
    """float32 would round both to 1."""
    question = "how often are the signing keys rotated?"
    passages = ["Signing keys are rotated every 90 days.", "The signing keys are rotated every 90 days by the team."]
    one, other = await local.reranker().score_passages(question, passages)
    assert one != other
    assert min(one, other) > 0.999


def test_a_name_says_that_the_model_is_local() -> None:
    assert local.reranker().name == "ms-marco-MiniLM-L-12-v2 int8 (local)"


async def test_a_period_costs_no_passage_that_spells_it_otherwise() -> None:
    """FY2022 was taken for a part number: a passage without the token kept a tenth of its score."""
    passages = ["Operating income was $212 million in fiscal 2022.", "Operating income was $212 million in FY22."]
    for question in ("What was the operating income in FY2022?", "What was the operating income in fiscal 2022?"):
        assert min(await local.reranker().score_passages(question, passages)) > 0.99
    [code] = await local.reranker().score_passages("What does P0700 mean?", ["P0701 means that the gearbox is hot."])
    assert code < 0.1


async def test_a_question_of_8000_characters_is_scored_by_its_beginning_and_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It cost seven times the CPU of a short one: each of its tokens was read again with each window."""
    read: list[int] = []
    run = BertModel.run
    monkeypatch.setattr(
        BertModel, "run", lambda self, first, second: read.append(len(first)) or run(self, first, second)
    )
    pasted = " ".join(
        f"In {year} the river flooded the lower town for the {year % 97}th time." for year in range(1800, 1940)
    )
    scores = await local.reranker().score_passages(
        f"How often are the signing keys rotated? {pasted}",
        ["Signing keys are rotated every 90 days.", "The cafeteria opens at eight."],
    )
    assert scores[0] > 2 * scores[1]
    assert set(read) == {MAX_QUERY_TOKENS}


async def test_a_second_window_is_read_only_where_the_first_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """All five took three times as long and ranked no better, both always half as long again."""
    read: list[Any] = []
    run = BertModel.run
    monkeypatch.setattr(BertModel, "run", lambda model, *tokens: (read.append(tokens), run(model, *tokens))[1])
    filler = "The harvest of barley went well and the mill was closed for repairs. " * 20
    stated = "The signing keys are rotated every 90 days, and signing keys of the mill are rotated as often."
    passage = filler + stated + filler
    [sure] = await local.reranker().score_passages("how often are the signing keys rotated?", [passage])
    assert sure > 0.98
    assert len(read) == 1
    read.clear()
    asked = f"{filler}Ask the team how often signing keys are rotated. {filler}A key is new after 90 days. {filler}"
    [unsure] = await local.reranker().score_passages("how often are the signing keys rotated?", [asked])
    assert unsure > 0.9
    assert len(read) == 2
    [empty] = await local.reranker().score_passages("how often are the signing keys rotated?", [""])
    assert empty < 0.1


async def test_each_window_is_read_under_the_title_of_its_passage() -> None:
    """The figure of one company stands in a window far from its name, and all companies have such a window."""
    filler = "The harvest of barley went well and the mill was closed for repairs. " * 20
    stated = f"{filler}Revenue was 12 million, more than the year before. {filler}"
    asked, other = await local.reranker().score_passages(
        "What was the revenue of Tarnmoor?",
        [f"Tarnmoor annual report\n\n{stated}", f"Oakhollow annual report\n\n{stated}"],
    )
    assert asked > 0.5 > other
