"""Analyzers, tokenizers, filters and normalizers of an index's own, as Lucene's documentation has them."""

import unicodedata
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import Client, TestResponse

from local_emulator.search_service import SearchService
from local_emulator.search_service.analysis import fold_to_ascii
from tests.adversarial.growth import find_excess
from tests.adversarial.shapes import repeat

VERSION = "api-version=2026-04-01"
KEY = {"api-key": "k"}
TYPE = "#Microsoft.Azure.Search."
NAME = {"name": "made"}
UNCOMPARED = dict.fromkeys(("filterable", "sortable", "facetable"), False)


def define(fields: list[dict[str, Any]] | None = None, **parts: Any) -> tuple[Client, TestResponse]:
    client = Client(SearchService(None, keys={"k"}))
    key = {"name": "id", "type": "Edm.String", "key": True}
    body = {"name": "docs", "fields": [key, *(fields or [])], **parts}
    return client, client.post(f"/indexes?{VERSION}", json=body, headers=KEY)


def analyze(client: Client, **asked: Any) -> list[dict[str, Any]]:
    reply = client.post(f"/indexes/docs/analyze?{VERSION}", json=asked, headers=KEY)
    assert reply.status_code == 200, reply.text
    tokens: list[dict[str, Any]] = reply.get_json()["tokens"]
    return tokens


def list_terms(tokens: list[dict[str, Any]]) -> list[str]:
    return [each["token"] for each in tokens]


def search(client: Client, **asked: Any) -> list[dict[str, Any]]:
    reply = client.post(f"/indexes/docs/docs/search?{VERSION}", json=asked, headers=KEY)
    assert reply.status_code == 200, reply.text
    hits: list[dict[str, Any]] = reply.get_json()["value"]
    return hits


def upload(client: Client, *documents: dict[str, Any]) -> None:
    body = {"value": [{"@search.action": "upload", **each} for each in documents]}
    assert client.post(f"/indexes/docs/docs/index?{VERSION}", json=body, headers=KEY).status_code == 200


@pytest.mark.parametrize(
    ("settings", "term", "wanted"),
    [
        ({"kind": "EdgeNGramTokenFilterV2", "minGram": 2, "maxGram": 4}, "motor", ["mo", "mot", "moto"]),
        ({"kind": "EdgeNGramTokenFilterV2", "minGram": 2, "maxGram": 9, "side": "back"}, "abc", ["bc", "abc"]),
        ({"kind": "NGramTokenFilterV2", "minGram": 2, "maxGram": 3}, "abcd", ["ab", "abc", "bc", "bcd", "cd"]),
        ({"kind": "EdgeNGramTokenFilterV2", "minGram": 3, "maxGram": 4}, "ab", []),
        ({"kind": "AsciiFoldingTokenFilter"}, "café", ["cafe"]),
        ({"kind": "AsciiFoldingTokenFilter", "preserveOriginal": True}, "café", ["cafe", "café"]),
        ({"kind": "StopwordsTokenFilter", "stopwords": ["The"]}, "the", ["the"]),
        ({"kind": "StopwordsTokenFilter", "stopwords": ["The"], "ignoreCase": True}, "the", []),
        ({"kind": "StopwordsTokenFilter"}, "the", []),
        ({"kind": "LengthTokenFilter", "min": 2, "max": 3}, "four", []),
        ({"kind": "TruncateTokenFilter", "length": 3}, "truncate", ["tru"]),
        ({"kind": "PatternReplaceTokenFilter", "pattern": r"(\d)-(\d)", "replacement": "$2$1"}, "a1-2", ["a21"]),
        ({"kind": "PatternCaptureTokenFilter", "patterns": [r"(\d+)", "([a-z]+)"]}, "ab12", ["ab12", "12", "ab"]),
        ({"kind": "ElisionTokenFilter", "articles": ["l"]}, "l'avion", ["avion"]),
        ({"kind": "SnowballTokenFilter", "language": "german"}, "häuser", ["haus"]),
    ],
)
def test_a_token_filter_gives_what_lucenes_gives(settings: dict[str, Any], term: str, wanted: list[str]) -> None:
    own = {"@odata.type": TYPE + settings.pop("kind"), **NAME, **settings}
    client, reply = define(tokenFilters=[own])
    assert reply.status_code == 201
    assert list_terms(analyze(client, text=term, tokenizer="whitespace", tokenFilters=["made"])) == wanted


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("lowercase", "Ab C", ["ab", "c"]),
        ("uppercase", "Ab", ["AB"]),
        ("reverse", "abc", ["cba"]),
        ("apostrophe", "Ali'nin", ["Ali"]),
        ("unique", "a b a", ["a", "b"]),
        ("limit", "a b", ["a"]),
        ("shingle", "one two three", ["one", "one two", "two", "two three", "three"]),
    ],
)
def test_a_token_filter_of_the_service_is_used_by_its_name(name: str, text: str, wanted: list[str]) -> None:
    assert list_terms(analyze(define()[0], text=text, tokenizer="whitespace", tokenFilters=[name])) == wanted


@pytest.mark.parametrize(
    ("settings", "text", "wanted"),
    [
        ({"kind": "PatternTokenizer", "pattern": "-"}, "a-b--c", [("a", 0, 0), ("b", 2, 1), ("c", 5, 2)]),
        ({"kind": "PatternTokenizer", "pattern": "'([^']+)'", "group": 1}, "x 'a' 'b'", [("a", 3, 0), ("b", 7, 1)]),
        ({"kind": "StandardTokenizerV2", "maxTokenLength": 3}, "abcde f", [("abc", 0, 0), ("de", 3, 1), ("f", 6, 2)]),
        (
            {"kind": "EdgeNGramTokenizer", "minGram": 2, "maxGram": 3, "tokenChars": ["letter", "digit"]},
            "abc-d1",
            [("ab", 0, 0), ("abc", 0, 1), ("d1", 4, 2)],
        ),
        ({"kind": "NGramTokenizer", "minGram": 2, "maxGram": 2}, "abc", [("ab", 0, 0), ("bc", 1, 1)]),
        ({"kind": "PathHierarchyTokenizerV2"}, "/a/b", [("/a", 0, 0), ("/a/b", 0, 0)]),
        ({"kind": "PathHierarchyTokenizerV2", "skip": 1}, "a/b/c", [("/b", 1, 0), ("/b/c", 1, 0)]),
        (
            {"kind": "PathHierarchyTokenizerV2", "delimiter": ".", "replacement": ".", "reverse": True},
            "a.b.c",
            [("a.b.c", 0, 0), ("b.c", 2, 0), ("c", 4, 0)],
        ),
        (
            {"kind": "PathHierarchyTokenizerV2", "delimiter": ".", "replacement": ".", "reverse": True, "skip": 1},
            "a.b.c",
            [("a.b.", 0, 0), ("b.", 2, 0)],
        ),
    ],
)
def test_a_tokenizer_says_where_each_token_stands(
    settings: dict[str, Any], text: str, wanted: list[tuple[str, int, int]]
) -> None:
    own = {"@odata.type": TYPE + settings.pop("kind"), **NAME, **settings}
    client, reply = define(tokenizers=[own])
    assert reply.status_code == 201
    found = analyze(client, text=text, tokenizer="made")
    assert [(each["token"], each["startOffset"], each["position"]) for each in found] == wanted


@pytest.mark.parametrize(
    ("settings", "text", "wanted"),
    [
        (
            {"kind": "MappingCharFilter", "mappings": ["-=>_", "&=> and "]},
            "a-b&c",
            [("a_b", 0, 3), ("and", 3, 3), ("c", 4, 5)],  # Lucene gives what was made longer its last place
        ),
        ({"kind": "MappingCharFilter", "mappings": ["\\u0020=>"]}, "a b", [("ab", 0, 3)]),
        (
            {"kind": "PatternReplaceCharFilter", "pattern": r"(\d+)\s+(km)", "replacement": "$1$2"},
            "10   km on",
            [("10km", 0, 7), ("on", 8, 10)],
        ),
    ],
)
def test_a_token_of_a_filtered_text_has_its_place_in_the_text_that_was_given(
    settings: dict[str, Any], text: str, wanted: list[tuple[str, int, int]]
) -> None:
    own = {"@odata.type": TYPE + settings.pop("kind"), **NAME, **settings}
    client, reply = define(charFilters=[own])
    assert reply.status_code == 201
    found = analyze(client, text=text, tokenizer="whitespace", charFilters=["made"])
    assert [(each["token"], each["startOffset"], each["endOffset"]) for each in found] == wanted


def test_markup_is_taken_out_and_blocks_part_words() -> None:
    text = "<p>One</p><p>t<b>w</b>o &amp; <!-- no --> three<script>x < 1</script> 1 < 2 <unclosed"
    found = list_terms(analyze(define()[0], text=text, tokenizer="whitespace", charFilters=["html_strip"]))
    assert found == ["One", "two", "&", "three", "1", "<", "2", "<unclosed"]


CODES = {
    "analyzers": [
        {
            "@odata.type": TYPE + "CustomAnalyzer",
            "name": "beginnings",
            "tokenizer": "whitespace",
            "tokenFilters": ["lowercase", "asciifolding", "edges"],
            "charFilters": ["dashes"],
        },
        {
            "@odata.type": TYPE + "CustomAnalyzer",
            "name": "codes",
            "tokenizer": "keyword_v2",
            "tokenFilters": ["lowercase"],
            "charFilters": ["dashes"],
        },
    ],
    "tokenFilters": [{"@odata.type": TYPE + "EdgeNGramTokenFilterV2", "name": "edges", "minGram": 2, "maxGram": 8}],
    "charFilters": [{"@odata.type": TYPE + "MappingCharFilter", "name": "dashes", "mappings": ["-=>"]}],
}


def test_a_field_is_searched_by_an_analyzer_of_its_index() -> None:
    """Microsoft's documentation makes beginnings of words findable so: grams in the index, none in the query."""
    fields = [
        {"name": "part", "type": "Edm.String", "indexAnalyzer": "beginnings", "searchAnalyzer": "codes"},
        {"name": "code", "type": "Edm.String", "analyzer": "codes"},
    ]
    client, reply = define(fields, **CODES)
    assert reply.status_code == 201, reply.text
    upload(client, {"id": "1", "part": "Électro-Motor", "code": "AB-12"}, {"id": "2", "part": "Brake", "code": "AB-13"})
    assert [hit["id"] for hit in search(client, search="Elec", searchFields="part")] == ["1"]
    assert search(client, search="lect", searchFields="part") == []
    assert [hit["id"] for hit in search(client, search="ab13", searchFields="code")] == ["2"]
    marked = search(client, search="electro", searchFields="part", highlight="part")[0]
    assert marked["@search.highlights"] == {"part": ["<em>Électro-Motor</em>"]}


def test_grams_of_a_query_at_one_place_stand_for_each_other() -> None:
    client, _ = define([{"name": "part", "type": "Edm.String", "analyzer": "beginnings"}], **CODES)
    upload(client, {"id": "1", "part": "motor"}, {"id": "2", "part": "motel"}, {"id": "3", "part": "brake"})
    assert [hit["id"] for hit in search(client, search="motor", searchMode="all")] == ["1", "2"]


@pytest.mark.parametrize(
    ("own", "text", "wanted"),
    [
        ({"kind": "PatternAnalyzer", "pattern": ","}, "A,b", ["a", "b"]),
        ({"kind": "PatternAnalyzer", "pattern": ",", "lowercase": False, "stopwords": ["b"]}, "A,b", ["A"]),
        ({"kind": "StopAnalyzer"}, "the Quick fox", ["quick", "fox"]),
        ({"kind": "StopAnalyzer", "stopwords": ["fox"]}, "the fox", ["the"]),
        ({"kind": "StandardAnalyzer", "stopwords": ["the"]}, "The fox", ["fox"]),
    ],
)
def test_an_analyzer_of_the_service_is_configured(own: dict[str, Any], text: str, wanted: list[str]) -> None:
    client, reply = define(analyzers=[{"@odata.type": TYPE + own.pop("kind"), **NAME, **own}])
    assert reply.status_code == 201
    assert list_terms(analyze(client, text=text, analyzer="made")) == wanted


@pytest.mark.parametrize(
    ("parts", "used", "status"),
    [
        ({"tokenizer": "standard_v2", "tokenFilters": ["lowercas"]}, False, 400),
        ({"tokenizer": "nothing"}, False, 400),
        ({"tokenizer": "standard_v2", "charFilters": ["nothing"]}, False, 400),
        ({"tokenizer": "standard_v2", "tokenFilters": ["phonetic"]}, False, 201),  # kept, as long as nothing uses it
        ({"tokenizer": "standard_v2", "tokenFilters": ["phonetic"]}, True, 501),
        ({"tokenizer": "standard_v2", "tokenFilters": ["lowercase"]}, True, 201),
    ],
)
def test_an_analyzer_is_made_of_what_is_there(parts: dict[str, Any], used: bool, status: int) -> None:
    field = {"name": "text", "type": "Edm.String", **({"analyzer": "made"} if used else {})}
    _, reply = define([field], analyzers=[{"@odata.type": TYPE + "CustomAnalyzer", **NAME, **parts}])
    assert reply.status_code == status, reply.text


def test_filters_are_asked_for_with_a_tokenizer_only() -> None:
    client, _ = define()
    asked = {"text": "a", "analyzer": "simple", "tokenFilters": ["lowercase"]}
    assert client.post(f"/indexes/docs/analyze?{VERSION}", json=asked, headers=KEY).status_code == 400


def test_a_field_with_a_normalizer_is_filtered_sorted_and_counted_by_it() -> None:
    """Recorded of the service: `address/city eq 'New york'` finds New York where the city is written in lower case."""
    own = {"@odata.type": TYPE + "CustomNormalizer", **NAME, "tokenFilters": ["lowercase", "asciifolding"]}
    fields = [
        {"name": "city", "type": "Edm.String", "normalizer": "made"},
        {"name": "tags", "type": "Collection(Edm.String)", "normalizer": "lowercase"},
    ]
    client, reply = define(fields, normalizers=[own])
    assert reply.status_code == 201, reply.text
    cities = (("1", "Orléans"), ("2", "ORLEANS"), ("3", "new york"), ("4", "Bonn"))
    upload(client, *({"id": key, "city": city, "tags": [city]} for key, city in cities))
    assert [hit["id"] for hit in search(client, filter="city eq 'Orleans'", orderby="id")] == ["1", "2"]
    assert [hit["id"] for hit in search(client, filter="search.in(city, 'New York|bonn', '|')")] == ["3", "4"]
    assert [hit["id"] for hit in search(client, filter="tags/any(t: t eq 'NEW YORK')")] == ["3"]
    assert [hit["id"] for hit in search(client, orderby="city, id")] == ["4", "3", "1", "2"]
    reply = client.post(f"/indexes/docs/docs/search?{VERSION}", json={"facets": ["city,sort:value"]}, headers=KEY)
    counted = [(each["value"], each["count"]) for each in reply.get_json()["@search.facets"]["city"]]
    assert counted == [("bonn", 1), ("new york", 1), ("orleans", 2)]
    assert search(client, filter="id eq '1'")[0]["city"] == "Orléans", "what is shown is what was given"


@pytest.mark.parametrize(
    ("field", "status"),
    [
        ({"type": "Edm.String", "normalizer": "nothing"}, 400),
        ({"type": "Edm.Int32", "normalizer": "lowercase"}, 400),
        ({"type": "Edm.String", "normalizer": "lowercase", "filterable": True}, 201),
        ({"type": "Edm.String", "normalizer": "lowercase", **UNCOMPARED}, 400),
    ],
)
def test_a_normalizer_is_for_texts_that_are_compared(field: dict[str, Any], status: int) -> None:
    assert define([{"name": "city", **field}])[1].status_code == status


@given(st.text(max_size=40))
def test_letters_are_folded_as_by_the_normal_form_of_the_whole_text(text: str) -> None:
    normal = unicodedata.normalize("NFKD", text)
    assert fold_to_ascii(text) == "".join(part for part in normal if not unicodedata.combining(part))


@pytest.mark.parametrize("marks", ["\u0301\u0327", "\u0f73", "\uff9e\u0301"])
def test_folding_a_run_of_marks_out_of_order_takes_linear_time(marks: str) -> None:
    assert find_excess(fold_to_ascii, partial(repeat, marks), chars=1_000, floor_s=0.002, max_s=0.05) is None
