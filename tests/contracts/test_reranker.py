"""What every reranker promises."""

from collections.abc import Callable

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.ports import Reranker
from rag_core.providers.null_models import NoReranker
from tests import local

RERANKERS: dict[str, Callable[[], Reranker]] = {"local": local.reranker}
QUESTION = "how often are the signing keys rotated?"
PASSAGES = [
    "Bananas are yellow.",
    "Signing keys are rotated every 90 days by the platform team.",
    "",
    "The keys that sign releases are kept in a vault.",
]


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest) -> Reranker:
    return RERANKERS[request.param]()


async def test_the_answer_is_first_then_what_is_near_it_then_what_is_not(reranker: Reranker) -> None:
    """S1-03, C08: one relevance a passage, in order, on a scale of its own from 0 to 1."""
    scores = await reranker.score_passages(QUESTION, PASSAGES)
    assert all(0 <= score <= 1 for score in scores)
    assert scores[1] > scores[3] > max(scores[0], scores[2])


async def test_a_passage_has_the_same_score_alone_as_among_others(reranker: Reranker) -> None:
    among = await reranker.score_passages(QUESTION, PASSAGES)
    assert [(await reranker.score_passages(QUESTION, [passage]))[0] for passage in PASSAGES] == list(among)


async def test_a_passage_of_the_code_asked_for_is_before_those_of_its_neighbours(reranker: Reranker) -> None:
    """C28: codes that differ in a digit are different."""
    passages = [f"P07{n} Transmission fluid temperature sensor fault of the A circuit" for n in range(10, 20)]
    scores = await reranker.score_passages("What does trouble code P0714 mean?", passages)
    assert max(range(10), key=lambda place: scores[place]) == 4


async def test_no_passages_get_no_scores(reranker: Reranker) -> None:
    assert list(await reranker.score_passages(QUESTION, [])) == []


async def test_a_very_long_question_still_tells_passages_apart(reranker: Reranker) -> None:
    scores = await reranker.score_passages(QUESTION * 200, PASSAGES)
    assert scores[1] > scores[0]


async def test_broken_characters_are_judged_like_any_other(reranker: Reranker) -> None:
    assert 0 <= (await reranker.score_passages("\ud800?", ["a \udfff passage\0"]))[0] <= 1


async def test_the_reranker_has_a_name_for_the_reader(reranker: Reranker) -> None:
    assert reranker.name


async def test_the_absent_reranker_says_what_would_change_that() -> None:
    absent: Reranker = NoReranker("install the models")
    with pytest.raises(Unavailable, match="install the models") as refused:
        await absent.score_passages("x", ["y"])
    assert refused.value.code == "reranker_unavailable"
