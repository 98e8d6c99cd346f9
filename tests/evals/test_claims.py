import asyncio
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from evals import claims
from evals.claim_kinds import FALSE, HELD_BACK, NEGATIONS, NUMBERS, SUPPORTED, Source
from evals.claims import LabelledClaim
from rag_core.core.model import Claim
from rag_core.evaluation.metrics import compute_wilson_interval


class Convinced:
    """Finds everything relevant: only the words are left to tell true from false."""

    name = "convinced"

    async def score_passages(self, text: str, passages: Sequence[str]) -> list[float]:
        return [0.99] * len(passages)


Judged = list[tuple[LabelledClaim, Claim]]


@pytest.fixture(scope="module")
def judged() -> Judged:
    return asyncio.run(_judged())


async def _judged() -> Judged:
    index = await claims.load_claim_index(claims.SLICE)
    made = await claims.make_claims(index, final=True, count=4) + await claims.make_claims(index, final=False, count=4)
    verdicts = await claims.judge_claims(made, Convinced())
    await index.store.close()
    return list(zip(made, verdicts, strict=True))


def share_verified(judged: Judged, kinds: frozenset[str]) -> float:
    verdicts = Counter(claim.verdict for one, claim in judged if one.kind in kinds)
    assert verdicts.total() > 20
    return verdicts["verified"] / verdicts.total()


def test_of_altered_numbers_and_negations_at_most_one_in_twenty_is_verified(judged: Judged) -> None:
    """S4-27, S1-59: even when the ranker is taken in; held back kinds among them."""
    assert share_verified(judged, NUMBERS) <= 0.05
    assert share_verified(judged, NEGATIONS) <= 0.05


def test_of_other_false_claims_at_most_one_in_ten_is_verified(judged: Judged) -> None:
    """S4-27: names exchanged or in each other's place, quantifiers, modals, sentences run together."""
    assert share_verified(judged, frozenset(FALSE) - NUMBERS - NEGATIONS) <= 0.1


def test_of_true_claims_at_least_85_in_100_are_verified(judged: Judged) -> None:
    """S4-27: else refusing everything would do."""
    assert share_verified(judged, frozenset(SUPPORTED)) >= 0.85


def test_a_claim_is_made_the_same_every_time() -> None:
    async def texts() -> list[str]:
        index = await claims.load_claim_index(claims.SLICE)
        made = [one.text for one in await claims.make_claims(index, final=False, count=1)]
        await index.store.close()
        return made

    assert asyncio.run(texts()) == asyncio.run(texts())


def test_held_back_kinds_are_half_of_the_false_ones_with_numbers_and_negations_among_them() -> None:
    assert FALSE.keys() | SUPPORTED.keys() >= HELD_BACK
    assert len(HELD_BACK & FALSE.keys()) * 2 >= len(FALSE) - 1
    assert HELD_BACK & NUMBERS
    assert HELD_BACK & NEGATIONS


@pytest.mark.parametrize(
    ("kind", "text", "made"),
    [
        ("adjunct_dropped", "Then, the plant (north) closed.", {"Then, the plant closed."}),
        ("clauses_reordered", "In May 2020, the northern plant closed.", {"The northern plant closed in May 2020."}),
        ("number_format", "It has 1,000 rooms.", {"It has 1000 rooms."}),
        ("date_format", "It closed in June 2020.", {"It closed in June of 2020.", "It closed in Jun 2020."}),
        ("abbreviation", "It left the United Kingdom.", {"It left the UK."}),
        ("number_scaled", "It cost 3 million.", {"It cost 3 billion."}),
        ("number_swapped", "It has 3 pumps of 5 bar.", {"It has 5 pumps of 3 bar."}),
        ("unit", "It takes 3 days.", {"It takes 3 weeks."}),
        ("roles", "Then old Ann Lee met Bob.", {"Then old Bob met Ann Lee."}),
        ("not_inserted", "It is red.", {"It is not red."}),
        ("not_removed", "It is not red.", {"It is red."}),
        ("no_inserted", "It has a pump.", {"It has no pump."}),
        ("antonym", "Fees increase.", {"Fees decrease."}),
        ("quantifier", "It needs at least two.", {"It needs at most two."}),
        ("modality", "It may run.", {"It must run."}),
        ("unit", "It is red.", {None}),
    ],
)  # fmt: skip
def test_a_kind_changes_what_it_says(kind: str, text: str, made: set[str | None]) -> None:
    assert {**SUPPORTED, **FALSE}[kind](Source(text, "", text), Random(1)) in made


def test_a_question_with_its_answer_is_a_statement() -> None:
    assert claims.state_answer("Who led the Panthers?", "Ann Lee.") == "Ann Lee led the Panthers."
    assert claims.state_answer("What was the score?", "23–16") == "The score was 23–16."
    assert claims.state_answer("Who did they beat?", "Ann Lee") is None


def test_the_interval_of_a_share_is_wilson_s() -> None:
    """By hand: 0 of 20 is at most 16.1 %."""
    assert compute_wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert compute_wilson_interval(10, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)
