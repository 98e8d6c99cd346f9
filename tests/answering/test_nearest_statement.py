"""What follows from the nearest statement of the evidence without a judge; none of the examples is of a set."""

from dataclasses import replace

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.model import Claim
from rag_core.core.ports import LocatedWords
from rag_core.rag import RAG
from tests import local
from tests.fakes import SCOPE, chunk, filled, kit

PASSAGE = (
    "The bakery closes at 6 p.m. on weekdays because few customers come later. Rye bread is baked before wheat bread. "
    "The owner pays the rent to the landlord. Cakes may be ordered two days ahead. "
    "Only regular customers can pay by invoice. The oven is cleaned every Friday with vinegar. "
    "Sales of rolls rose in March and sales of cakes fell in April."
)
PARAPHRASES = [
    "On weekdays the bakery closes at 6 p.m.",
    "The oven is cleaned with vinegar every Friday.",
    "The owner pays the landlord the rent.",
]
CONTRADICTIONS = [
    ("Wheat bread is baked before rye bread.", "order"),
    ("The landlord pays the rent to the owner.", "order"),
    ("The bakery closes at 8 p.m. on weekdays because few customers come later.", "number"),
    ("The oven is not cleaned every Friday with vinegar.", "negation"),
    ("All regular customers can pay by invoice.", "quantity"),
]
OTHERWISE = [
    "Sales of rolls fell in April.",
    "The oven is always cleaned with vinegar.",
    "The rent is cleaned every Friday.",
    "Cakes must be ordered two days ahead.",
]


class Broken:
    """A comparer that is down."""

    async def compare_words(self, first: LocatedWords, others: object) -> list[list[list[float]]]:
        raise Unavailable("the model is not there")


async def judge(*sentences: str, comparer: object = None) -> list[Claim]:
    parts = replace(kit(await filled(chunk("bakery", PASSAGE))), word_comparer=comparer)  # type: ignore[arg-type]
    return await RAG(parts).cite(" ".join(sentences), scope=SCOPE)


@pytest.mark.parametrize("has_model", [True, False])
async def test_a_sentence_in_another_order_is_supported_and_names_what_judged_it(has_model: bool) -> None:
    claims = await judge(*PARAPHRASES, comparer=local.embedder() if has_model else None)
    assert [claim.verdict for claim in claims] == ["verified"] * len(PARAPHRASES)
    assert {claim.judgement.judge for claim in claims if claim.judgement} <= {"aligned words", "copied words"}
    assert all(claim.citations for claim in claims)


@pytest.mark.parametrize("has_model", [True, False])
async def test_an_exchange_or_another_fact_is_contradicted_by_the_nearest_statement(has_model: bool) -> None:
    claims = await judge(*(text for text, _ in CONTRADICTIONS), comparer=local.embedder() if has_model else None)
    found = [(c.judgement.finding, c.reasons[0].split(":")[0]) for c in claims if c.judgement]
    assert found == [("contradicted", kind) for _, kind in CONTRADICTIONS]


@pytest.mark.parametrize("has_model", [True, False])
async def test_a_sentence_that_says_more_or_less_or_something_else_is_not_supported(has_model: bool) -> None:
    claims = await judge(*OTHERWISE, comparer=local.embedder() if has_model else None)
    assert "supported" not in [claim.judgement.finding for claim in claims if claim.judgement]


async def test_without_the_model_that_failed_the_same_words_decide() -> None:
    claims = await judge(PARAPHRASES[0], CONTRADICTIONS[0][0], comparer=Broken())
    assert [claim.judgement.finding for claim in claims if claim.judgement] == ["supported", "contradicted"]
