"""A pair is scored once a request, whoever asks, and no score outlives its request."""

from rag_core.core.run import Run
from rag_core.retrieval.shared_scores import SharingReranker
from tests.fakes import OverlapReranker


async def test_a_pair_that_was_scored_in_a_request_is_not_scored_again_in_it() -> None:
    """Ranking, grading and answering ask about the same pairs."""
    scored, run = OverlapReranker(), Run()
    reranker = SharingReranker(scored)
    first = await run.step("semantic", reranker.score_passages("oil price", ["oil", "tyres", "oil"]))
    again = await run.step("relevance", reranker.score_passages("oil price", ["the price of oil", "oil"]))
    assert (first, again) == ([0.5, 0.0, 0.5], [1.0, 0.5])
    await run.step("verify", reranker.score_passages("tyres", ["oil"]))
    assert scored.calls == [["oil", "tyres"], ["the price of oil"], ["oil"]]


async def test_scores_are_not_shared_with_another_request_or_without_one() -> None:
    scored = OverlapReranker()
    for _ in range(2):
        await Run().step("semantic", SharingReranker(scored).score_passages("oil", ["oil"]))
        await SharingReranker(scored).score_passages("oil", ["oil"])
    assert scored.calls == [["oil"]] * 4


def test_the_name_is_that_of_who_scores() -> None:
    assert SharingReranker(OverlapReranker()).name == "overlap"
