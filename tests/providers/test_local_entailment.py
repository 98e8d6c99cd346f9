"""The small model that ships with the package, on texts of no evaluation set."""

import pytest

from rag_core.composition.model_assembly import build_entailment_scorer
from rag_core.core.ports import EntailmentScorer
from rag_core.core.settings import Settings

PASSAGE = (
    "The pool is open from May to September. Children under eight swim only with an adult. A season ticket costs 45 "
    "euros and is not refunded when the weather is bad. In 2021 the slide was replaced by a diving tower."
)
SUPPORTED = [
    "Bad weather does not entitle anyone to their money back.",
    "Someone of seven cannot swim on their own.",
    "It is shut in December.",
]
NOT_STATED = [
    "The kiosk beside the gate sells coffee.",
    "A day ticket costs 4 euros.",
    "The water is heated by the sun.",
    "Dogs are not allowed on the lawn.",
]
CONTRADICTED = [
    "A season ticket is refunded when the weather is bad.",
    "A season ticket costs 60 euros.",
    "The pool is open from October to December.",
]


@pytest.fixture(scope="module")
def scorer() -> EntailmentScorer:
    built = build_entailment_scorer(Settings())
    assert built
    return built


async def test_what_is_stated_in_other_words_scores_above_what_is_not_stated(scorer: EntailmentScorer) -> None:
    stated = [(await scorer.score_claim(claim, [PASSAGE]))[0].support for claim in SUPPORTED]
    unstated = [(await scorer.score_claim(claim, [PASSAGE]))[0].support for claim in NOT_STATED]
    assert min(stated) > max(unstated)


@pytest.mark.parametrize("claim", CONTRADICTED)
async def test_what_the_passage_says_otherwise_is_more_contradicted_than_what_it_says(
    scorer: EntailmentScorer, claim: str
) -> None:
    (denied,) = await scorer.score_claim(claim, [PASSAGE])
    assert denied.contradiction > max(
        [(await scorer.score_claim(stated, [PASSAGE]))[0].contradiction for stated in SUPPORTED]
    )


async def test_a_passage_answers_what_it_says_and_not_what_it_only_mentions(scorer: EntailmentScorer) -> None:
    (answered,) = await scorer.score_answers("what do i pay for the whole season", [PASSAGE])
    (unanswered,) = await scorer.score_answers("How high is the diving tower?", [PASSAGE])
    assert answered > 0.5 > unanswered


async def test_what_a_long_passage_says_at_its_end_is_found(scorer: EntailmentScorer) -> None:
    long = "The hall is heated with wood chips from the region. " * 40 + PASSAGE
    (scores,) = await scorer.score_claim(SUPPORTED[0], [long])
    assert scores.support > 0.5
