"""A claim that says what a field of one record says is supported, and one that says another value contradicted."""

import pytest

from rag_core.answering.claim_replies import ClaimReply, format_claims
from rag_core.composition.assembly import build_in_memory_kit
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG
from tests.fakes import SCOPE

ARTICLES = """Article,Description,Price EUR,Stock,Weight kg,Lead time (days),Offset
NP-310,Pump NP-310,2150,3,14.5,21,-4
NP-320,Pump NP-320,2650,0,17,28,6
"""
LOG = "Time;Sensor;Level cm\n2026-01-05 06:00;L-1;40\n2026-01-05 07:00;L-1;44\n2026-01-05 06:00;L-2;12\n"
SETTINGS = "# Settings\n\nretry_limit: 6\nidle_timeout_s: 45\nlisten_port = 8443\n"
PLANS = "Visits by plan:\n\n| Plan | Network | Copay |\n|---|---|---|\n| Plus | in | $75 |\n| Plus | out | none |\n"
PRICES = "Model,Price 2025 GBP,Price 2025 EUR,Price 2026 GBP,Price 2026 EUR\nNV-5,260,310,279,325\nNV-9,28,33,29,34\n"
YEAR = "Region,Revenue in million USD,Net profit (k€),Staff\nNorth,12.5,840,31\nSouth,9.8,410,24\n"
FILES = {
    "prices.csv": PRICES,
    "articles.csv": ARTICLES,
    "log.csv": LOG,
    "settings.md": SETTINGS,
    "plans.md": PLANS,
    "year.csv": YEAR,
}


async def judge(claim: str, name: str) -> ClaimReply:
    rag = RAG(build_in_memory_kit())
    await rag.index(Upload(data=FILES[name].encode(), filename=name), scope=SCOPE)
    [reply] = format_claims(await rag.cite(claim, scope=SCOPE), "numbers")
    return reply


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("articles.csv", "The NP-310 costs 2150 EUR."),
        ("articles.csv", "The pump NP-320 weighs 17 kg."),
        ("articles.csv", "The lead time of the NP-310 is 21 days."),
        ("log.csv", "At 2026-01-05 07:00 sensor L-1 measured a level of 44 cm."),
        ("prices.csv", "The NV-5 costs 325 EUR in 2026."),
        ("settings.md", "The idle timeout is 45 s."),
        ("settings.md", "The listen port is 8443."),
        ("year.csv", "The revenue of North was 12.5 million USD."),
        ("year.csv", "The revenue of North was $12,500,000."),
        ("year.csv", "The revenue of North in million USD is 12.5."),
        ("year.csv", "The net profit of South was 410 thousand EUR."),
    ],
)
async def test_the_value_of_the_named_field_supports_a_claim(name: str, claim: str) -> None:
    reply = await judge(claim, name)
    assert (reply["finding"], reply["judge"]) == ("supported", "a field of a record")


@pytest.mark.parametrize(
    ("name", "claim", "cell"),
    [
        ("articles.csv", "The NP-310 costs 2250 EUR.", "Price EUR: 2150"),
        ("articles.csv", "The NP-310 costs 2650 EUR.", "Price EUR: 2150"),
        ("articles.csv", "The offset of the NP-310 is 4.", "Offset: -4"),
        ("prices.csv", "The NV-5 costs 310 EUR in 2026.", "Price 2026 EUR: 325"),
        ("settings.md", "The retry limit is 45.", "retry_limit: 6"),
        ("year.csv", "The revenue of North was $12.5.", "Revenue in million USD: 12.5"),
        ("year.csv", "The revenue of North was 12.5 billion USD.", "Revenue in million USD: 12.5"),
        ("year.csv", "The net profit of South was 410 EUR.", "Net profit (k€): 410"),
    ],
)
async def test_another_value_of_its_kind_contradicts_a_claim_and_the_cell_is_named(
    name: str, claim: str, cell: str
) -> None:
    reply = await judge(claim, name)
    assert reply["finding"] == "contradicted"
    assert (reply["nearest"], cell in reply["reasons"][0]) == (cell, True)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("articles.csv", "The NP-310 does not cost 2150 EUR."),
        ("articles.csv", "The NP-310 costs more than 2150 EUR."),
        ("articles.csv", "The NP-310 costs 2150 USD."),
        ("articles.csv", "The NP-310 costs 2150 EUR in January."),
        ("articles.csv", "The NP-310 and the NP-320 cost 2150 EUR."),
        ("articles.csv", "The NP-310 costs 2650 EUR and the NP-320 costs 2150 EUR."),
        ("articles.csv", "The stock of the NP-310 is 21."),
        ("log.csv", "The level of L-1 is 44 cm."),
        ("plans.md", "The copay of Plus is $75."),
        ("year.csv", "The revenue of North was 12.5."),
    ],
)
async def test_no_claim_is_supported_that_says_more_or_that_another_row_may_say(name: str, claim: str) -> None:
    assert (await judge(claim, name))["finding"] != "supported"


async def test_a_row_that_may_come_again_at_another_time_contradicts_nothing() -> None:
    assert (await judge("The level of L-2 is 13 cm.", "log.csv"))["judge"] != "a field of a record"
