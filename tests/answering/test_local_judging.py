"""Facts, words and a small model beside them, where no judge has judged: whose word counts when they disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.model import Claim
from rag_core.core.ports import PassageScores
from rag_core.rag import RAG
from tests.fakes import SCOPE, chunk, filled, kit

PASSAGE = (
    "The ferry leaves Holm at 7:40 and takes 50 minutes to the island. Cars need a reservation, which costs 12 euros. "
    "Dogs travel below deck. In January there is no service because the ship is in dock."
)
OWN_WORDS = "During its yearly overhaul nobody is carried across."


@dataclass(frozen=True)
class Scorer:
    """A small model that says the same of every passage."""

    support: float
    contradiction: float = 0.0

    async def score_claim(self, claim: str, passages: Sequence[str]) -> list[PassageScores]:
        return [PassageScores(self.support, self.contradiction) for _ in passages]

    async def score_answers(self, question: str, passages: Sequence[str]) -> list[float]:
        return [self.support for _ in passages]


class BrokenScorer(Scorer):
    async def score_claim(self, claim: str, passages: Sequence[str]) -> list[PassageScores]:
        raise Unavailable("the model is not there")


async def judge(text: str, scorer: Scorer | None) -> Claim:
    parts = replace(kit(await filled(chunk("ferry", PASSAGE))), entailment_scorer=scorer)
    (claim,) = await RAG(parts).cite(text, scope=SCOPE)
    return claim


async def test_a_claim_in_own_words_is_supported_where_the_model_is_sure() -> None:
    claim = await judge(OWN_WORDS, Scorer(0.99))
    assert claim.verdict == "verified"
    assert claim.judgement
    assert claim.judgement.judge == "local entailment model"
    assert claim.citations[0].quote in PASSAGE


async def test_it_is_not_supported_where_the_model_is_not_sure_or_there_is_none() -> None:
    found = [await judge(OWN_WORDS, scorer) for scorer in (Scorer(0.6), Scorer(0.05), None)]
    assert "verified" not in [claim.verdict for claim in found]


async def test_less_certainty_supports_a_claim_whose_words_nearly_do() -> None:
    """A number of the passage that it leaves out is no other one; "all" is not in the passage, however near it is."""
    near = [await judge("To the island the ferry takes 50 minutes.", scorer) for scorer in (Scorer(0.85), Scorer(0.6))]
    assert [claim.verdict for claim in near] == ["verified", "partial"]
    others = ("All dogs travel below deck.", "To the island the ferry takes 12 minutes.", OWN_WORDS)
    assert "verified" not in [(await judge(text, Scorer(0.85))).verdict for text in others]


@pytest.mark.parametrize("changed", ["A reservation for a car costs 15 euros.", "The island is reached in 40 minutes."])
async def test_no_certainty_of_the_model_supports_another_number(changed: str) -> None:
    claim = await judge(changed, Scorer(0.999))
    assert claim.judgement
    assert claim.judgement.finding != "supported"


async def test_a_sure_denial_contradicts_and_says_so() -> None:
    claim = await judge("Travellers with animals are turned away at the pier.", Scorer(0.01, 0.98))
    assert claim.judgement
    assert claim.judgement.finding == "contradicted"
    assert claim.reasons == ("contradicted: the passage says otherwise",)


async def test_another_fact_contradicts_whatever_the_model_says() -> None:
    text = "The ferry leaves Holm at 7:50 and takes 50 minutes to the island."
    found = [(await judge(text, scorer)).judgement for scorer in (None, Scorer(0.2), Scorer(0.99))]
    assert [judgement.finding for judgement in found if judgement] == ["contradicted"] * 3


async def test_without_the_model_that_failed_words_decide() -> None:
    text = "Below deck dogs travel."
    assert (await judge(text, BrokenScorer(0.0))).verdict == (await judge(text, None)).verdict
