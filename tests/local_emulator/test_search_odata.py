"""Filters and orders are read whole, as OData, or refused."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_emulator.search_service.expressions import matches_filter
from local_emulator.search_service.filter_syntax import parse_filter
from local_emulator.search_service.orderby import parse_orderby
from local_emulator.search_service.refusals import ServiceRefusal
from local_emulator.search_service.schema import parse_schema

FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "Edm.String", "key": True},
    {"name": "name", "type": "Edm.String"},
    {"name": "secret", "type": "Edm.String", "filterable": False, "sortable": False},
    {"name": "tags", "type": "Collection(Edm.String)"},
    {"name": "rating", "type": "Edm.Int32"},
    {"name": "ratings", "type": "Collection(Edm.Int32)"},
    {"name": "price", "type": "Edm.Double"},
    {"name": "open", "type": "Edm.Boolean"},
    {"name": "built", "type": "Edm.DateTimeOffset"},
    {"name": "place", "type": "Edm.GeographyPoint"},
    {"name": "address", "type": "Edm.ComplexType", "fields": [{"name": "city", "type": "Edm.String"}]},
    {
        "name": "rooms",
        "type": "Collection(Edm.ComplexType)",
        "fields": [{"name": "beds", "type": "Edm.Int32"}, {"name": "extras", "type": "Collection(Edm.String)"}],
    },
]
SCHEMA = parse_schema({"name": "docs", "fields": FIELDS})
DOCUMENT: dict[str, Any] = {
    "id": "1",
    "name": "O'Hara, 'the' inn",
    "tags": ["pool", "wifi"],
    "rating": 4,
    "ratings": [3, 5],
    "price": 9.5,
    "open": True,
    "built": "2010-06-27T00:00:00Z",
    "address": {"city": "Bonn"},
    "rooms": [{"beds": 1, "extras": ["tv"]}, {"beds": 3, "extras": []}],
}


def holds(text: str, **changes: Any) -> bool:
    return matches_filter(parse_filter(text, SCHEMA), DOCUMENT | changes)


@pytest.mark.parametrize(
    "text",
    [
        "rating eq 4",
        "4 eq rating",
        "3 lt rating and rating le 4",
        "price gt 9 and price lt 1e1",
        "rating gt -5",
        "name eq 'O''Hara, ''the'' inn'",
        "open",
        "open and not (rating eq 5)",
        "not open or rating ge 4",
        "rating eq 5 or rating eq 4 and open",  # `and` binds more closely
        "built gt 2000-01-01T00:00:00Z",
        "built eq 2010-06-27T02:00:00+02:00",
        "address/city eq 'Bonn'",
        "address ne null",
        "tags/any()",
        "tags/any(t: t eq 'pool')",
        "tags/any(t: t eq 'x' or search.in(t, 'wifi|y', '|'))",
        "tags/all(t: t ne 'spa')",
        "tags/all(t: not search.in(t, 'spa, gym'))",
        "not tags/any(t: t eq 'spa')",
        "ratings/any(r: r gt 4)",
        "ratings/all(r: r ge 3 and r le 5)",
        "rooms/any(r: r/beds gt 2)",
        "rooms/any(r: r/beds eq 1 and r/extras/any(e: e eq 'tv'))",
        "rooms/all(room: room/beds lt 4)",
        "search.in(name, 'a|O''Hara, ''the'' inn', '|')",
        "search.in(id, '0 1,2')",
        "true",
        "rating ne null",
    ],
)
def test_a_filter_that_holds(text: str) -> None:
    assert holds(text)
    assert not holds(f"not ({text})")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("rating eq null", True),
        ("rating ne 4", True),
        ("rating lt 5", False),
        ("rating ge 0", False),
        ("not (rating lt 5)", True),
    ],
)
def test_null_equals_null_and_is_neither_more_nor_less(text: str, held: bool) -> None:
    assert holds(text, rating=None) is held


def test_any_of_nothing_is_false_and_all_of_nothing_is_true() -> None:
    assert not holds("tags/any(t: t eq 'pool')", tags=[])
    assert holds("tags/all(t: t ne 'pool')", tags=[])
    assert not holds("tags/any()", tags=[])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rating eq", "Expression expected at position 9"),
        ("rating eq 4)", "Syntax error at position 12"),
        ("name eq 'open", "Syntax error at position 9"),
        ("rating = 4", "Syntax error at position 8"),
        ("nope eq 4", "Could not find a property named 'nope'"),
        ("secret eq 'x'", "'secret' is not a filterable field"),
        ("rating eq '4'", "incompatible types"),
        ("name gt 4", "incompatible types"),
        ("open gt true", "incompatible types"),
        ("rating eq true", "incompatible types"),
        ("tags eq 'pool'", "A collection cannot be compared"),
        ("rooms/beds gt 2", "not a single value"),
        ("name/any(n: n eq 'x')", "can be applied to collections only"),
        ("tags/any(t: t ne 'pool')", "unsupported combination"),
        ("tags/any(t: t eq 'a' and t eq 'b')", "unsupported combination"),
        ("tags/all(t: t eq 'a')", "unsupported combination"),
        ("tags/any(t: tags/any(t: t eq 'a'))", "already been declared"),
        ("soundex(name) eq 'x'", "unknown function"),
        ("built eq 2010-02-30T00:00:00Z", "Syntax error"),
        ("(" * 300 + "open" + ")" * 300, "nested too deeply"),
    ],
)
def test_a_wrong_filter_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(ServiceRefusal, match=r"^Invalid expression: ") as refusal:
        holds(text)
    assert refusal.value.status == 400
    assert why in refusal.value.message
    assert refusal.value.message.endswith("\r\nParameter name: $filter")


@pytest.mark.parametrize(
    "text",
    [
        "geo.intersects(place, geography'POLYGON((0 0, 1 0, 1 1, 0 0))')",
        "search.ismatch('x')",
        "search.ismatchscoring('x', 'name')",
    ],
)
def test_what_a_filter_cannot_do_here_is_501(text: str) -> None:
    with pytest.raises(ServiceRefusal) as refusal:
        holds(text)
    assert refusal.value.status == 501


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_one_literal_once_its_quotes_are_doubled(text: str) -> None:
    literal = "'" + text.replace("'", "''") + "'"
    assert holds(f"name eq {literal}", name=text)
    assert not holds(f"name eq {literal}", name=f"{text}x")


@given(st.text(st.sampled_from("()'/,: aortseqn.inl01-:Tnot\x00é")) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ServiceRefusal):
        holds(text)


def test_an_order_is_a_list_of_sortable_fields() -> None:
    orders = parse_orderby("rating desc, address/city,search.score() asc", SCHEMA)
    assert [(order.path, order.descending) for order in orders] == [
        ("rating", True),
        ("address/city", False),
        ("", False),
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("secret", 400),
        ("tags", 400),
        ("nope", 400),
        ("rating upwards", 400),
        ("", 400),
        ("geo.distance(rating, geography'POINT(0 0)')", 400),
        ("geo.distance(place, geography'POINT(0 91)')", 400),
        ("geo.distance(place, 5)", 501),
    ],
)
def test_a_wrong_order_is_refused(text: str, status: int) -> None:
    with pytest.raises(ServiceRefusal) as refusal:
        parse_orderby(text, SCHEMA)
    assert refusal.value.status == status


PARIS = {"type": "Point", "coordinates": [2.3522, 48.8566]}
LONDON = "geography'POINT(-0.1276 51.5072)'"  # 343.6 km from Paris


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"geo.distance(place, {LONDON}) lt 350", True),
        (f"geo.distance({LONDON}, place) le 340", False),
        (f"geo.distance(place, {LONDON}) gt 340.5 and rating eq 4", True),
        (f"not (geo.distance(place, {LONDON}) ge 350)", True),
    ],
)
def test_a_distance_is_compared_in_kilometres(text: str, found: bool) -> None:
    assert holds(text, place=PARIS, rating=4) is found


def test_a_document_without_a_place_is_at_no_distance() -> None:
    assert not holds(f"geo.distance(place, {LONDON}) lt 99999")


@pytest.mark.parametrize(
    "text",
    [
        f"geo.distance(rating, {LONDON}) lt 5",
        f"geo.distance(place, {LONDON}) eq 5",
        f"geo.distance(place, {LONDON}) lt 'far'",
        "geo.distance(place, geography'POINT(200 0)') lt 5",
        f"geo.distance(place {LONDON}) lt 5",
        f"geo.distance(place, {LONDON})",
    ],
)
def test_a_wrong_distance_is_400(text: str) -> None:
    with pytest.raises(ServiceRefusal) as refusal:
        holds(text)
    assert refusal.value.status == 400


def test_an_order_by_distance_puts_the_nearest_first_and_no_place_before_all() -> None:
    (clause,) = parse_orderby(f"geo.distance(place, {LONDON}) asc", SCHEMA)
    near: dict[str, object] = {"type": "Point", "coordinates": [0.0, 51.0]}
    documents = [{"place": PARIS}, {"place": near}, {}]
    assert sorted(documents, key=clause.get_key) == [{}, {"place": near}, {"place": PARIS}]
