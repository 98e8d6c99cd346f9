import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.retrieval.facet_fields import infer_facet_field, resolve_facet_fields

FIELDS = ["acronym", "dtc", "entity_codes", "metadata.make", "metadata.product_name", "code", "source", "title"]


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("How many unique DTC codes?", "dtc"),
        ("List all product names", "metadata.product_name"),
        ("which makes are there", "metadata.make"),
        ("count the acronyms", "acronym"),
        ("every part number, please", "code"),
        ("List all documents", "title"),
        ("which files?", "source"),
        ("what trouble codes do you know?", "dtc"),
        ("How many entities?", "entity_codes"),
        ("How many of them?", None),
        ("", None),
    ],
)
def test_a_question_names_the_field_it_counts(question: str, field: str | None) -> None:
    """S1-10: "How many unique DTC codes?", "List all product names"."""
    assert infer_facet_field(question, FIELDS) == field


def test_a_whole_name_wins_over_a_part_of_a_longer_one() -> None:
    assert infer_facet_field("how many names", ["metadata.product_name", "metadata.name"]) == "metadata.name"


def test_a_metadata_field_may_be_asked_for_by_its_short_name() -> None:
    assert resolve_facet_fields(["make", "dtc", "metadata.make"], FIELDS) == ["metadata.make", "dtc"]


def test_what_every_document_has_can_be_counted_in_an_empty_index() -> None:
    assert resolve_facet_fields(["entity_codes", "title", "source"], []) == ["entity_codes", "title", "source"]


def test_an_unknown_field_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="facets must be among acronym, dtc, entity_codes") as refused:
        resolve_facet_fields(["dtc", "colour"], FIELDS)
    assert refused.value.field == "facets"
