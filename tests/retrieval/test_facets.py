import csv
import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Entity, Filter
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.pipelines import PIPELINES
from tests.fakes import Down, chunk, filled, kit, query

facets = PIPELINES["facets"]
DTC = Path(__file__).parents[1] / "data" / "dtc" / "dtc_codes.csv.gz"
INDEXED = (
    chunk("a", "one", "P0700", "P0300", metadata={"product": "Pump"}),
    chunk("b", "two", "P0700", metadata={"product": "Valve"}),
    chunk("c", "three", "P0420", document="other", metadata={"product": "Pump"}),
)


async def counted(question: Query, run: Run) -> dict[str, tuple[int, dict[object, int]]]:
    index = await filled(*INDEXED)
    parts = kit(index, llm=Down(), reranker=Down())  # type: ignore[arg-type]
    result = await facets(question, parts, run)
    assert result.hits == ()
    assert result.variants == ()
    return {f.field: (f.total, {b.value: b.count for b in f.buckets}) for f in result.facets}


@pytest.mark.parametrize(
    ("question", "field", "values"),
    [
        ("How many unique DTC codes?", "dtc", {"P0700": 2, "P0300": 1, "P0420": 1}),
        ("List all product names", "metadata.product", {"Pump": 2, "Valve": 1}),
        ("Which documents are there?", "title", {"The manual": 2, "The other": 1}),
    ],
)
async def test_a_question_is_answered_by_unique_values_and_counts(
    question: str, field: str, values: dict[object, int]
) -> None:
    """S1-10, C11: no documents are retrieved, no model is asked, and the field taken is named."""
    run = Run()
    assert await counted(query(question, "facets"), run) == {field: (len(values), values)}
    assert [(w.code, field in w.message) for w in run.warnings] == [("facet_field_chosen", True)]
    assert run.degraded == []


async def test_a_question_that_names_no_field_counts_every_entity_and_says_so() -> None:
    run = Run()
    assert await counted(query("How many?", "facets"), run) == {
        "entity_codes": (3, {"P0700": 2, "P0300": 1, "P0420": 1})
    }
    assert [w.code for w in run.warnings] == ["facet_field_default"]


async def test_fields_asked_for_are_counted_whatever_the_question() -> None:
    run = Run()
    asked = replace(query("How many DTC codes?", "facets"), facets=("product", "title"))
    assert list(await counted(asked, run)) == ["metadata.product", "title"]
    assert run.warnings == []


async def test_an_unknown_field_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match=r"facets must be among .*dtc"):
        await counted(replace(query("", "facets"), facets=("colour",)), Run())


async def test_the_total_is_exact_beyond_the_limit_of_values() -> None:
    """S1-10: most frequent first, ties by value."""
    [facet] = (await facets(query("dtc", "facets", facet_limit=1), kit(await filled(*INDEXED)), Run())).facets
    assert (facet.total, [(b.value, b.count) for b in facet.buckets]) == (3, [("P0700", 2)])


async def test_filters_come_before_counting() -> None:
    asked = replace(query("dtc", "facets"), filters=(Filter("document_id", "eq", "other"),))
    assert await counted(asked, Run()) == {"dtc": (1, {"P0420": 1})}


async def test_unique_codes_are_counted_as_a_set_counts_them() -> None:
    """S1-10: over 18,805 real definitions, exact beyond the values listed."""
    with gzip.open(DTC, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = [chunk(f"{n}", f"row {n}", row["code"], ordinal=n) for n, row in enumerate(rows)]
    [facet] = (await facets(query("How many unique DTC codes?", "facets"), kit(await filled(*table)), Run())).facets
    assert (facet.field, facet.total) == ("dtc", len({row["code"] for row in rows}))
    assert [(b.value, b.count) for b in facet.buckets] == sorted(
        Counter(row["code"] for row in rows).items(), key=lambda item: (-item[1], item[0])
    )[:100]


SUPPLIES = tuple(
    chunk(
        str(n),
        f"{product}; {supplier}",
        ordinal=n,
        metadata={"product": product, "supplier": supplier, "buyer": buyer, "year": 2020 + n},
    )
    for n, (product, supplier, buyer) in enumerate(
        [("Valve", "Acme Ltd", "Globex"), ("Pump", "Acme Ltd", "Initech"), ("Hose", "Globex", "Initech")]
    )
)


async def ask_facets(question: str, run: Run) -> dict[str, list[str]]:
    parts = kit(await filled(*SUPPLIES), llm=Down(), reranker=Down())  # type: ignore[arg-type]
    result = await facets(query(question, "facets"), parts, run)
    return {f.field: [f"{b.value}@{b.chunk.id if b.chunk else ''}" for b in f.buckets] for f in result.facets}


@pytest.mark.parametrize(
    ("question", "counted", "condition"),
    [
        ("How many products does Acme supply?", ["Pump@1", "Valve@0"], "metadata.supplier is Acme Ltd"),
        ("List the products of acme ltd", ["Pump@1", "Valve@0"], "metadata.supplier is Acme Ltd"),
        ("How many products does Globex supply?", ["Hose@2"], "metadata.supplier is Globex"),
        ("Which products have the buyer Globex?", ["Valve@0"], "metadata.buyer is Globex"),
        ("How many products in 2021?", ["Pump@1"], "metadata.year is 2021"),
        ("How many products do Acme supply to the buyer Initech?", ["Pump@1"], "metadata.buyer is Initech"),
    ],
)
async def test_a_question_is_counted_under_its_condition(question: str, counted: list[str], condition: str) -> None:
    """S1-10: two of three products are Acme's; each is cited, and the reader is told what was counted."""
    run = Run()
    assert await ask_facets(question, run) == {"metadata.product": counted}
    assert f"counted only where {condition}" in [w.message for w in run.warnings if w.code == "facet_condition"]


async def test_a_value_of_two_fields_is_counted_under_one_and_the_other_is_named() -> None:
    run = Run()
    await ask_facets("How many products of Globex?", run)
    assert any("metadata.supplier has it, too" in w.message for w in run.warnings)


@pytest.mark.parametrize(
    "question",
    ["How many products?", "List the top 10 products", "How many different products are there in all documents?"],
)
async def test_a_question_without_a_condition_counts_everything(question: str) -> None:
    run = Run()
    assert await ask_facets(question, run) == {"metadata.product": ["Hose@2", "Pump@1", "Valve@0"]}
    assert [w.code for w in run.warnings] == ["facet_field_chosen"]


@pytest.mark.parametrize(
    "question", ["How many unique DTC codes?", "How many trouble codes are there?", "How many unique fault codes?"]
)
async def test_words_that_name_what_is_counted_are_no_condition(question: str) -> None:
    """The demo counted 2 of 195 codes: those whose passages have the acronym DTC."""
    table = [
        chunk(
            "1", "A DTC is stored", title="Trouble codes", entities=(Entity("dtc", "P0700"), Entity("acronym", "DTC"))
        ),
        chunk("2", "Misfire", "P0300"),
        chunk("3", "Catalyst", "P0420"),
    ]
    run = Run()
    [facet] = (await facets(query(question, "facets"), kit(await filled(*table)), run)).facets
    assert (facet.field, facet.total) == ("dtc", 3)
    assert [w.code for w in run.warnings] == ["facet_field_chosen"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How many products does Umbrella supply?", "Umbrella"),
        ("how many products does umbrella supply?", "umbrella"),
        ("How many products for diesel engines?", "diesel engines"),
        ("How many products does Acme supply in 1999?", "1999"),
    ],
)
async def test_a_condition_that_no_document_has_is_told_and_nothing_is_counted(question: str, words: str) -> None:
    """S1-10: a count of everything would be taken for the answer."""
    run = Run()
    assert await ask_facets(question, run) == {}
    assert [words in w.message for w in run.warnings if w.code == "facet_condition_unknown"] == [True]
