"""Filters held to an independent reader: the local service's OData parser, which shares no code with the builder."""

import json
import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from local_emulator.search_service.expressions import And, FieldComparison, In, Or, matches_filter
from local_emulator.search_service.filter_syntax import parse_filter
from local_emulator.search_service.schema import parse_schema
from rag_core.core.model import Chunk, Document, Entity, Filter, Scope
from rag_core.stores.azure_search import odata
from rag_core.stores.azure_search.field_value_codec import decode_field_value, encode_field_value
from rag_core.stores.azure_search.records import build_chunk_record
from rag_core.stores.azure_search.schema import build_index_definition

SCHEMA = parse_schema(build_index_definition("filters", 0))
SYNTAX = "'\"|,() \x1f\x1e\x1d=\\/%&+;:{}[]"
ATTACKS = [
    "x' or 1 eq 1 or 'a' eq 'a",
    "'",
    "''",
    "')) or (kind ne '",
    "a|b",
    "\x1f",
    " ",
    "",
    "x') or true or ('",
    "live",
]
hostile = st.text(st.sampled_from(SYNTAX + "aé\ud800\x00") | st.characters(), max_size=12) | st.sampled_from(ATTACKS)


def sent(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def read_back(values: list[str]) -> set[str]:
    """What the parser takes the builder's membership test of `values` for."""
    parsed = parse_filter(odata.build_odata_membership_filter("document_id", values), SCHEMA)
    parts = parsed.parts if isinstance(parsed, Or) else (parsed,)
    return {value for part in parts for value in _values(part)}


def _values(part: object) -> Iterator[str]:
    if isinstance(part, In):
        yield from part.values
    else:
        assert isinstance(part, FieldComparison)
        assert (part.operator, part.path.names) == ("eq", ("document_id",))
        yield str(part.value)


@settings(max_examples=2_000)
@given(st.lists(hostile, min_size=1, max_size=4))
@example(["a|b\x1fc\x1ed\x1d", "x"])
def test_a_literal_is_read_back_as_what_it_was(values: list[str]) -> None:
    """C15, C16, G10: neither quotes nor delimiters get out of a value."""
    assert read_back(values) == {sent(value) for value in values}


@pytest.mark.soak
def test_a_hundred_thousand_hostile_strings_are_read_back() -> None:
    """G10."""
    draw = random.Random(10)
    for _ in range(100_000):
        values = ["".join(draw.choices(SYNTAX + "ab'", k=draw.randrange(12))) for _ in range(draw.randrange(1, 4))]
        assert read_back(values) == {sent(value) for value in values}


names = st.sampled_from(["ann", "bob", "*", "user:ann", "x'y", "a|b"])
scopes = st.builds(
    Scope,
    workflow_id=st.sampled_from(["w", "w' or true or '", "v"]),
    user_id=st.none() | names,
    groups=st.lists(names, max_size=2).map(tuple),
    document_ids=st.lists(st.sampled_from(["doc", "doc' or 'a", "other|doc"]), max_size=2).map(tuple),
)


@settings(max_examples=1_000)
@given(mine=scopes, asking=scopes, id=st.sampled_from(["doc", "doc' or 'a", "other|doc"]))
def test_a_scope_lets_through_what_is_its_own_and_nothing_else(mine: Scope, asking: Scope, id: str) -> None:
    """C13, C15, C17."""
    document = Document(id, mine.workflow_id, "t", "s", "h", "x", user_id=mine.user_id, groups=mine.groups)
    kept = build_chunk_record(document, Chunk("c", id, 0, "text", "t", "s", "h"), None, version="1", space="") | {
        "live": True
    }
    owned = mine.user_id is not None or bool(mine.groups)
    seen = (
        mine.workflow_id == asking.workflow_id
        and (not asking.document_ids or id in asking.document_ids)
        and (
            not owned
            or (mine.user_id is not None and mine.user_id == asking.user_id)
            or bool({*mine.groups} & {*asking.groups})
        )
    )
    assert matches_filter(parse_filter(odata.build_visible_chunks_filter(asking), SCHEMA), kept) is seen
    assert not matches_filter(parse_filter(odata.build_visible_chunks_filter(asking), SCHEMA), kept | {"live": False})


values = hostile | st.integers(-5, 5) | st.booleans() | st.floats(-5, 5)


@settings(max_examples=1_000)
@given(field=hostile, name=hostile, value=values, other=values)
def test_a_fact_says_one_field_and_one_value(field: str, name: str, value: object, other: object) -> None:
    """A name may hold "=" and quotes: it is still not taken for another field's value."""
    assert decode_field_value(field, encode_field_value(field, value)) == value  # type: ignore[arg-type]
    if name != field:
        assert decode_field_value(name, encode_field_value(field, value)) is None  # type: ignore[arg-type]
    kinds = [bool if isinstance(v, bool) else str if isinstance(v, str) else float for v in (value, other)]
    same = kinds[0] is kinds[1] and value == other
    assert (encode_field_value(field, value) == encode_field_value(field, other)) is same  # type: ignore[arg-type]


@pytest.mark.parametrize("op", ["eq", "ne", "gt", "ge", "lt", "le", "in"])
@pytest.mark.parametrize("given_", [2, 2.0, 1.5, -1, 2**40, float("inf"), True, "2"])
def test_a_page_is_compared_as_a_number(op: str, given_: object) -> None:
    """Pages are whole, what they are compared with need not be; a text or a truth value is no number."""
    condition = Filter("page", op, (given_,) if op == "in" else given_)  # type: ignore[arg-type]
    parsed = parse_filter(odata.build_odata_filter(condition), SCHEMA)
    number = not isinstance(given_, str | bool)
    compare = {
        "eq": "__eq__",
        "in": "__eq__",
        "ne": "__ne__",
        "gt": "__gt__",
        "ge": "__ge__",
        "lt": "__lt__",
        "le": "__le__",
    }
    for page in (1, 2, 3):
        expected = bool(getattr(float(page), compare[op])(float(given_))) if number else op == "ne"  # type: ignore[arg-type]
        assert matches_filter(parsed, {"page_number": page}) is expected
    assert not matches_filter(parsed, {"page_number": None})


def test_a_long_list_of_ids_is_one_call_of_the_service() -> None:
    """`search.in` is what the service is quick at; a chain of `or` has a limit."""
    parsed = parse_filter(
        odata.join_odata_with_and("live", odata.build_odata_membership_filter("id", [f"id{i}" for i in range(500)])),
        SCHEMA,
    )
    assert isinstance(parsed, And)
    assert any(isinstance(part, In) and len(part.values) == 500 for part in parsed.parts)


def test_entities_are_facts_of_their_type_and_codes_of_any() -> None:
    """S1-32, S1-33."""
    chunk = Chunk("c", "doc", 0, "x", "t", "s", "h", entities=(Entity("dtc", "P0700"), Entity("title", "no field")))
    kept = build_chunk_record(Document("doc", "w", "t", "s", "h", "x"), chunk, None, version="1", space="")
    assert kept["entity_codes"] == ["P0700", "no field"]
    assert kept["facts"] == ['dtc="P0700"']
    assert json.loads(kept["entities"])[0] == {"type": "dtc", "value": "P0700"}
