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
    "Sales of rolls rose in March and sales of cakes fell in April. "
    "The filter is cleaned by the baker, but only a technician may replace the seal."
)
PARAPHRASES = [
    "On weekdays the bakery closes at 6 p.m.",
    "The oven is cleaned with vinegar every Friday.",
    "The owner pays the landlord the rent.",
]
CONTRADICTIONS = [
    ("Wheat bread is baked before rye bread.", "order"),
    ("The landlord pays the rent to the owner.", "order"),
    ("The baker may replace the seal, but only a technician cleans the filter.", "order"),
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


HOUSE = (
    "Illness in the first ten days of the policy is excluded; accidents are covered from day one. "
    "The committee granted the appeal of the tenant after the hearing. The tram stops at the harbour every year. "
    "The school was founded in 1920 and moved to the harbour in 1955. Tenants under 25 pay a deposit of 300 euros. "
    "Until the roof is repaired, the attic stays closed. The widow rents the house to a captain."
)
SAME = [
    "The committee allowed the tenant's appeal after the hearing.",
    "On a yearly basis the tram stops at the harbour.",
    "The attic stays closed until the roof is repaired.",
]
ANOTHER_FACT = [
    ("The committee denied the appeal of the tenant after the hearing.", "direction"),
    ("The school was founded in 1955.", "date"),
    ("Tenants over 25 pay a deposit of 300 euros.", "direction"),
    ("Accidents are excluded from day one.", "direction"),
]
ELSEWHERE = [
    "Illness is covered from day one; accidents in the first ten days are excluded.",
    "It was founded in 1920.",
    "The attic stays closed.",
]
CODES = "P0562,GENERIC,System Voltage Low\nP0563,GENERIC,System Voltage High\nP0564,OPEL,Cruise Control Input"


class Broken:
    """A comparer that is down."""

    async def compare_words(self, first: LocatedWords, others: object) -> list[list[list[float]]]:
        raise Unavailable("the model is not there")


async def judge(*sentences: str, comparer: object = None, passage: str = PASSAGE) -> list[Claim]:
    parts = replace(kit(await filled(chunk("bakery", passage))), word_comparer=comparer)  # type: ignore[arg-type]
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


@pytest.mark.parametrize("has_model", [True, False])
async def test_synonyms_and_moved_clauses_are_a_light_paraphrase(has_model: bool) -> None:
    claims = await judge(*SAME, comparer=local.embedder() if has_model else None, passage=HOUSE)
    assert [claim.verdict for claim in claims] == ["verified"] * len(SAME)


@pytest.mark.parametrize("has_model", [True, False])
async def test_another_fact_in_the_clause_on_the_same_is_contradicted_though_others_have_it(has_model: bool) -> None:
    claims = await judge(
        *(text for text, _ in ANOTHER_FACT), comparer=local.embedder() if has_model else None, passage=HOUSE
    )
    found = [(c.judgement.finding, c.reasons[0].split(":")[0]) for c in claims if c.judgement]
    assert found == [("contradicted", kind) for _, kind in ANOTHER_FACT]


@pytest.mark.parametrize("has_model", [True, False])
async def test_words_of_two_clauses_an_open_pronoun_and_a_dropped_condition_are_not_supported(has_model: bool) -> None:
    claims = await judge(*ELSEWHERE, comparer=local.embedder() if has_model else None, passage=HOUSE)
    assert "supported" not in [claim.judgement.finding for claim in claims if claim.judgement]


async def test_a_code_of_a_list_is_compared_with_its_own_record() -> None:
    claims = await judge("P0563 is System Voltage Low.", "For Opel, P0562 is System Voltage Low.", passage=CODES)
    first, second = (claim.judgement.finding for claim in claims if claim.judgement)
    assert first == "contradicted"
    assert second != "supported"


LISTS = (
    "Of the eleven wells, 3 of the 11 ran dry in July. The mayor signed the contract. The pump stops after 250 ms. "
    "Each tenant has one key, and no tenant may hand it on. The ferry, which holds 40 cars, is slower than the train. "
    "The shop (opened in 1920) sells bread and is closed on Mondays."
)
LIST_CONTRADICTIONS = [
    ("All of the eleven wells ran dry in July.", "quantity"),
    ("The mayor refused to sign the contract.", "negation"),
    ("The pump stops after 250 seconds.", "unit"),
]
LIST_PARAPHRASES = ["Every tenant has one key.", "Bread is sold by the shop."]


async def test_a_part_a_refusal_and_another_unit_contradict_what_is_said_of_all() -> None:
    claims = await judge(*(text for text, _ in LIST_CONTRADICTIONS), passage=LISTS)
    found = [(c.judgement.finding, c.reasons[0].split(":")[0]) for c in claims if c.judgement]
    assert found == [("contradicted", kind) for _, kind in LIST_CONTRADICTIONS]


async def test_the_negation_of_another_clause_and_a_number_in_parentheses_do_not_concern_a_claim() -> None:
    claims = await judge(*LIST_PARAPHRASES, passage=LISTS)
    assert [claim.judgement.finding for claim in claims if claim.judgement] == ["supported"] * len(LIST_PARAPHRASES)
