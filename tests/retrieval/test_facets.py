import csv
import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import FacetBucket, Filter
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
    assert (facet.total, facet.buckets) == (3, (FacetBucket("P0700", 2),))


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
