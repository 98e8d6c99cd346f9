import json

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.ports import Prompt
from rag_core.providers.local_techniques import LocalTechniques, expand_by_feedback, select_feedback_terms
from rag_core.providers.null_models import NoReranker

PASSAGES = [
    "P0700 is the transmission control system code; the TCM asked for the lamp.",
    "The TCM stores P0700 when the transmission reports a fault; the lamp is lit.",
    "Bananas are yellow, and the lamp is yellow.",
]


def _local() -> LocalTechniques:
    return LocalTechniques(NoReranker("no models"), lambda text, count: text.split(". ")[:count])


async def _complete(task: str, **inputs: object) -> str:
    return (await _local().complete(Prompt(task, "", "", inputs))).text


def test_new_wordings_are_the_question_with_words_of_the_passages_found_for_it() -> None:
    """S1-11: the question itself stands first in each, and codes stay as they are written."""
    wordings = expand_by_feedback("transmission warning", PASSAGES, count=2)
    assert all(wording.startswith("transmission warning ") for wording in wordings)
    assert "p0700" in wordings[0]
    assert "tcm" in wordings[0]
    assert len(wordings) == 2


def test_no_word_of_the_question_no_small_word_and_no_word_twice_is_added() -> None:
    terms = select_feedback_terms("Transmission lamp", PASSAGES, limit=100)
    assert len(terms) == len(set(terms))
    assert not {"transmission", "lamp", "the", "are", "when"} & set(terms)


def test_a_word_of_the_best_passages_comes_before_one_of_a_lesser() -> None:
    terms = select_feedback_terms("fault", PASSAGES, limit=100)
    assert terms.index("p0700") < terms.index("yellow")


def test_a_words_weight_is_its_share_of_each_passage_over_the_rank() -> None:
    """By hand: alpha 1/2, gamma 1/3 / 2, beta 1/2 + 1/3 / 2, delta 1/3 / 2."""
    assert select_feedback_terms("", ["alpha beta", "beta gamma delta"], limit=9) == ["beta", "alpha", "delta", "gamma"]


def test_only_the_first_five_passages_are_taken_for_relevant() -> None:
    assert select_feedback_terms("", ["one", *["six"] * 4, "last"], limit=9) == ["six", "one"]


def test_wordings_do_not_depend_on_chance() -> None:
    assert len({tuple(expand_by_feedback("warning", PASSAGES, count=3)) for _ in range(5)}) == 1


async def test_nothing_found_gives_no_wording_and_no_imagined_answer() -> None:
    said = json.loads(await _complete("query_expansion", query="x", passages=[], count=2, imagine=True))
    assert (said["queries"], said["hyde"]) == ([], "")


async def test_nothing_stands_in_for_an_imagined_answer() -> None:
    """The best passage did, and cost recall beyond chance on three collections of five."""
    said = await _complete("query_expansion", query="x", passages=PASSAGES, count=2, imagine=True)
    assert json.loads(said)["hyde"] == ""


async def test_the_intent_is_by_the_form_of_the_question_and_its_names_are_entities() -> None:
    """S0-71: without a chat model, too."""
    asked = "How does the TCM set P0700?"
    said = json.loads(await _complete("query_expansion", query=asked, passages=[], count=0, imagine=False))
    assert said["intent"] == "MECHANISM"
    assert {"P0700", "TCM"} <= set(said["entities"])


async def test_grading_without_a_cross_encoder_is_unavailable() -> None:
    with pytest.raises(Unavailable) as refused:
        await _complete("rerank", query="x", passages=PASSAGES)
    assert refused.value.code == "reranker_unavailable"


async def test_a_summary_is_made_of_the_documents_own_sentences() -> None:
    assert await _complete("summary", title="Keys", passages=["One. Two", "Three"]) == "One Two\n\nThree"


async def test_a_reply_names_its_technique() -> None:
    reply = await _local().complete(Prompt("summary", "", "", {"passages": PASSAGES}))
    assert (reply.model, reply.local) == ("local: key sentences", True)
