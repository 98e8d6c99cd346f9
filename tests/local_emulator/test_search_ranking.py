"""The full Lucene syntax, scoring profiles, vectorizers, compressions and permissions of the emulated search."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Request, Response

from local_emulator.search_service import SearchService
from local_emulator.search_service.postings import measure_edits
from local_emulator.search_service.serving import serve_wsgi
from tests.local_emulator.test_search_service import DOCUMENTS, INDEX, KEY, VERSION, asked, filled, near

NOW = datetime.now(UTC)


def ids(client: Client, **body: Any) -> list[str]:
    status, answer = asked(client, **body)
    assert status == 200, answer
    return [hit["id"] for hit in answer["value"]]


def served(definition: dict[str, Any], documents: list[dict[str, Any]]) -> Client:
    client = Client(SearchService(None, keys=["k"]))
    made = client.post(f"/indexes?{VERSION}", json=definition, headers=KEY)
    assert made.status_code == 201, made.text
    path = f"/indexes/{definition['name']}/docs/index?{VERSION}"
    assert client.post(path, json={"value": documents}, headers=KEY).status_code == 200
    return client


@pytest.mark.parametrize(
    ("text", "mode", "found"),
    [
        ("engine brakes", "any", "bcd"),
        ("engine brakes", "all", ""),
        ("engine AND misfires", "any", "b"),
        ("engine && misfires", "any", "b"),
        ("engine OR brakes", "all", "bcd"),
        ("engine || brakes", "all", "bcd"),
        ("engine NOT misfires", "any", "c"),
        ("engine -misfires", "any", "c"),
        ("+engine misfires", "any", "bc"),
        ("(gearbox OR brakes) AND shifts", "any", "a"),
        ("title:gearbox", "any", "a"),
        ("title:misfires", "any", ""),
        ("title:(gearbox brakes)", "any", "ad"),
        ('content:"engine misfires"', "any", "b"),
        ('"misfires cold"', "any", ""),
        ('"misfires cold"~1', "any", "b"),
        ('"engine cold"~1', "any", ""),
        ('"engine cold"~2', "any", "b"),
        ("gear*", "any", "a"),
        ("g?arbox", "any", "a"),
        ("*box", "any", "a"),
        ("gaerbox~1", "any", "a"),
        ("garbo~1", "any", ""),
        ("garbo~", "any", "a"),
        ("/gear[a-c]ox/", "any", "a"),
        ("/gear/", "any", ""),
        (r"gear\*", "any", ""),
        ("*", "all", "abcd"),
        ("*:*", "any", None),
        ("engine AND", "any", None),
        ("(engine", "any", None),
        ('"engine', "any", None),
        ("engine)", "any", None),
        ("/.*/.*/", "any", None),
        ("/[/", "any", None),
        ("page:1", "any", None),
        ("nobody:x", "any", None),
        ("(" * 200 + "x" + ")" * 200, "any", None),
    ],
)
def test_the_full_syntax(text: str, mode: str, found: str | None) -> None:
    status, answer = asked(filled(), search=text, searchMode=mode, queryType="full")
    if found is None:
        assert status == 400
    else:
        assert sorted(hit["id"] for hit in answer["value"]) == list(found)


def test_a_query_that_cannot_be_read_is_refused_as_recorded() -> None:
    """Azure/azure-sdk-assets, SearchTests/RegexSpecialCharsUnescapedThrows."""
    error = asked(filled(), search="/.*/.*/", queryType="full")[1]["error"]
    told = (
        "Failed to parse query string at line 1, column 8. See https://aka.ms/azure-search-full-query for supported "
        "syntax."
    )
    assert error == {
        "code": "InvalidRequestParameter",
        "message": told,
        "details": [{"code": "InvalidSearchSyntax", "message": told}],
    }


def test_a_boost_and_highlights_follow_the_syntax() -> None:
    client = filled()
    assert ids(client, search="gearbox^9 brakes", queryType="full") == ["a", "d"]
    assert ids(client, search="gearbox brakes^9", queryType="full") == ["d", "a"]
    hit = asked(client, search="g?arbox OR mis*", queryType="full", highlight="title,content")[1]["value"][0]
    assert "<em>" in json.dumps(hit["@search.highlights"])


@pytest.mark.parametrize(
    ("one", "other", "most", "edits"),
    [("engine", "engine", 2, 0), ("engin", "engine", 2, 1), ("egnine", "engine", 2, 1), ("engine", "brakes", 2, 3)],
)
def test_edits_are_counted_with_swapped_letters_as_one(one: str, other: str, most: int, edits: int) -> None:
    assert measure_edits(one, other, most) == edits


def profiled(**profile: Any) -> dict[str, Any]:
    return {
        "name": "docs",
        "fields": [
            {"name": "id", "type": "Edm.String", "key": True},
            {"name": "title", "type": "Edm.String"},
            {"name": "content", "type": "Edm.String"},
            {"name": "rating", "type": "Edm.Double"},
            {"name": "made", "type": "Edm.DateTimeOffset"},
            {"name": "tags", "type": "Collection(Edm.String)"},
            {"name": "place", "type": "Edm.GeographyPoint"},
        ],
        "scoringProfiles": [{"name": "p", **profile}],
    }


def point(east: float, north: float) -> dict[str, Any]:
    return {"type": "Point", "coordinates": [east, north]}


RATED: list[dict[str, Any]] = [
    {
        "id": "old",
        "title": "x",
        "content": "word",
        "rating": 1.0,
        "made": (NOW - timedelta(days=30)).isoformat(),
        "tags": ["a"],
        "place": point(2.35, 48.85),
    },
    {
        "id": "new",
        "title": "word",
        "content": "x",
        "rating": 5.0,
        "made": (NOW - timedelta(hours=1)).isoformat(),
        "tags": ["b", "c"],
        "place": point(-0.12, 51.5),
    },
]
MAGNITUDE = {"type": "magnitude", "fieldName": "rating", "boost": 3}
MAGNITUDE |= {"magnitude": {"boostingRangeStart": 0, "boostingRangeEnd": 5}}
FRESHNESS = {"type": "freshness", "fieldName": "made", "boost": 2, "freshness": {"boostingDuration": "P7D"}}
TAG = {"type": "tag", "fieldName": "tags", "boost": 4, "tag": {"tagsParameter": "mine"}}
DISTANCE: dict[str, Any] = {"type": "distance", "fieldName": "place", "boost": 5}
DISTANCE |= {"distance": {"referencePointParameter": "here", "boostingDistance": 50}}


@pytest.mark.parametrize(
    ("profile", "parameters", "first"),
    [
        ({"text": {"weights": {"content": 9}}}, [], "old"),
        ({"text": {"weights": {"title": 9}}}, [], "new"),
        ({"functions": [MAGNITUDE]}, [], "new"),
        ({"functions": [MAGNITUDE | {"interpolation": "logarithmic"}]}, [], "new"),
        ({"functions": [FRESHNESS]}, [], "new"),
        ({"functions": [TAG]}, ["mine-a"], "old"),
        ({"functions": [TAG]}, ["mine-b,c"], "new"),
        ({"functions": [DISTANCE]}, ["here-2.3,48.8"], "old"),
        ({"functions": [DISTANCE]}, ["here--0.1,51.4"], "new"),
        ({"functions": [MAGNITUDE, TAG], "functionAggregation": "product"}, ["mine-b"], "new"),
        ({"functions": [MAGNITUDE, TAG], "functionAggregation": "maximum"}, ["mine-a"], "old"),
    ],
)
def test_a_scoring_profile_puts_what_it_favours_first(profile: Any, parameters: list[str], first: str) -> None:
    client = served(profiled(**profile), RATED)
    assert ids(client, search="word", scoringProfile="p", scoringParameters=parameters)[0] == first


def test_a_default_profile_is_used_unless_another_is_named_and_a_missing_parameter_is_400() -> None:
    definition = profiled(functions=[TAG]) | {"defaultScoringProfile": "p"}
    client = served(definition, RATED)
    assert asked(client, search="word")[0] == 400
    assert ids(client, search="word", scoringParameters=["mine-a"])[0] == "old"


@pytest.mark.parametrize(
    "profile",
    [
        {"text": {"weights": {"rating": 2}}},
        {"functions": [MAGNITUDE | {"fieldName": "title"}]},
        {"functions": [MAGNITUDE | {"magnitude": {}}]},
        {"functions": [MAGNITUDE | {"boost": 1}]},
        {"functions": [MAGNITUDE | {"type": "luck"}]},
        {"functions": [MAGNITUDE | {"interpolation": "cubic"}]},
        {"functionAggregation": "median"},
    ],
    ids=str,
)
def test_a_scoring_profile_is_checked(profile: Any) -> None:
    client = Client(SearchService(None, keys=["k"]))
    assert client.post(f"/indexes?{VERSION}", json=profiled(**profile), headers=KEY).status_code == 400


def answer_embedding(environ: Any, start_response: Any) -> Any:
    """Stand in for Azure OpenAI and for a web API: texts with "gear" lie where document a lies."""
    request = Request(environ)
    body = json.loads(request.get_data())
    text = body["input"][0] if "input" in body else body["values"][0]["data"]["text"]
    vector = [1.0, 0.0] if "gear" in text else [0.0, 1.0]
    if request.path.startswith("/openai/") and request.headers.get("api-key") != "secret":
        return Response(status=401)(environ, start_response)
    answer = {"data": [{"embedding": vector}], "values": [{"data": {"vector": vector}}]}
    return Response(json.dumps(answer), content_type="application/json")(environ, start_response)


@pytest.fixture(scope="module")
def models() -> Iterator[str]:
    with serve_wsgi(answer_embedding) as url:
        yield url


def vectorized(url: str, **parameters: Any) -> dict[str, Any]:
    openai = {"resourceUri": url, "deploymentId": "embed", "modelName": "text-embedding-3-small", "apiKey": "secret"}
    vectorizer: dict[str, Any] = {"name": "v", "kind": "azureOpenAI", "azureOpenAIParameters": openai | parameters}
    if parameters.get("web"):
        vectorizer = {"name": "v", "kind": "customWebApi", "customWebApiParameters": {"uri": url}}
    search = INDEX["vectorSearch"]
    profile = search["profiles"][0] | {"vectorizer": "v", "compression": "c"}
    compression = {"name": "c", "kind": "scalarQuantization", "rescoringOptions": {"defaultOversampling": 4}}
    whole = {**search, "profiles": [profile], "vectorizers": [vectorizer], "compressions": [compression]}
    return INDEX | {"vectorSearch": whole}


@pytest.mark.parametrize("web", [False, True])
def test_a_text_is_made_a_vector_by_the_vectorizer_of_the_index(models: str, web: bool) -> None:
    client = served(vectorized(models, web=web), DOCUMENTS)
    query = {"kind": "text", "text": "gears", "k": 1, "fields": "vector", "oversampling": 8.0}
    assert ids(client, vectorQueries=[query]) == ["a"]


def test_a_vectorizer_that_refuses_is_told_and_is_no_empty_answer(models: str) -> None:
    client = served(vectorized(models, apiKey="wrong"), DOCUMENTS)
    status, answer = asked(client, vectorQueries=[{"kind": "text", "text": "gears", "k": 1, "fields": "vector"}])
    assert (status, answer["error"]["code"]) == (400, "VectorizationFailed")


def test_compressions_are_answered_with_their_defaults(models: str) -> None:
    client = served(vectorized(models), DOCUMENTS)
    held = client.get(f"/indexes/docs?{VERSION}", headers=KEY).json["vectorSearch"]["compressions"]
    assert held[0]["rescoringOptions"]["enableRescoring"] is True
    assert held[0]["scalarQuantizationParameters"] == {"quantizedDataType": "int8"}


def compressed(kind: str, truncation: int | None = None, **rescoring: Any) -> Client:
    """An index of vectors in four dimensions, where `coarse` is nearest to [1, 0.2, 0, 0] by signs, `near` in truth."""
    compression = {"name": "c", "kind": kind, "truncationDimension": truncation, "rescoringOptions": rescoring}
    search = INDEX["vectorSearch"]
    whole = {**search, "profiles": [search["profiles"][0] | {"compression": "c"}], "compressions": [compression]}
    vector = next(field for field in INDEX["fields"] if field["name"] == "vector")
    fields = [field for field in INDEX["fields"] if field is not vector] + [vector | {"dimensions": 4}]
    vectors = {"near": [0.9, -0.01, -0.01, -0.01], "coarse": [0.1, 0.9, -0.01, -0.01], "far": [-0.9, -0.1, 0.3, 0.1]}
    documents = [{"id": key, "vector": vector} for key, vector in vectors.items()]
    return served(INDEX | {"fields": fields, "vectorSearch": whole}, documents)


def nearest(client: Client, **query: Any) -> list[tuple[str, float]]:
    body = near([1, 0.2, -0.1, -0.1], **query)
    status, answer = asked(client, vectorQueries=[body])
    assert status == 200, answer
    return [(hit["id"], round(hit["@search.score"], 4)) for hit in answer["value"]]


def test_a_bit_for_each_number_misses_what_rescoring_finds() -> None:
    """One bit takes the coarse for the nearest; twice as many candidates, compared by the originals, put it right."""
    bits = {"enableRescoring": False}
    assert nearest(compressed("binaryQuantization", **bits), k=1) == [("coarse", 1.0)]
    assert nearest(compressed("binaryQuantization"), k=1)[0][0] == "coarse"  # one candidate, whatever it scores
    exact = nearest(compressed("scalarQuantization"), k=3)
    for client, more in (
        (compressed("binaryQuantization", defaultOversampling=2), {}),
        (compressed("binaryQuantization"), {"oversampling": 2}),
    ):
        assert nearest(client, k=1, **more) == exact[:1]
    assert [key for key, _ in exact] == ["near", "coarse", "far"]


def test_bytes_keep_the_order_but_only_originals_give_the_score() -> None:
    exact = nearest(compressed("scalarQuantization"), k=3)
    rough = nearest(compressed("scalarQuantization", enableRescoring=False), k=3)
    assert [key for key, _ in rough] == [key for key, _ in exact]
    assert rough != exact


def test_without_originals_rescoring_has_approximations_only() -> None:
    discarding = compressed("binaryQuantization", defaultOversampling=3, rescoreStorageMethod="discardOriginals")
    assert [key for key, _ in nearest(discarding, k=1)] == ["coarse"]


@pytest.mark.parametrize(
    ("kind", "truncation", "held"),
    [("scalarQuantization", None, 12), ("scalarQuantization", 2, 6), ("binaryQuantization", None, 3)],
)
def test_compressed_vectors_take_less_of_the_quota(kind: str, truncation: int | None, held: int) -> None:
    stats = compressed(kind, truncation).get(f"/indexes/docs/stats?{VERSION}", headers=KEY).json
    assert stats["vectorIndexSize"] == held


def test_the_first_dimensions_alone_choose_the_candidates() -> None:
    one = compressed("binaryQuantization", 1, enableRescoring=False)
    assert [key for key, _ in nearest(one, k=2)] == ["coarse", "near"]  # both have the sign of the first: by key


@pytest.mark.parametrize("value", [0, 0.5, "two"])
def test_an_oversampling_that_is_none_is_refused(value: object) -> None:
    status, _ = asked(compressed("binaryQuantization"), vectorQueries=[near([1, 0, 0, 0], oversampling=value)])
    assert status == 400


def test_the_compression_of_a_field_cannot_be_changed() -> None:
    client = compressed("binaryQuantization")
    definition = client.get(f"/indexes/docs?{VERSION}", headers=KEY).json
    definition["vectorSearch"]["profiles"][0]["compression"] = None
    answer = client.put(f"/indexes/docs?{VERSION}", json=definition, headers=KEY)
    assert (answer.status_code, answer.json["error"]["details"][0]["code"]) == (400, "CannotChangeExistingField")


def test_a_threshold_leaves_out_what_is_too_far() -> None:
    client = filled()
    least = {"kind": "vectorSimilarity", "value": 0.7}
    assert ids(client, vectorQueries=[near([1, 0], threshold=least)]) == ["a", "c"]
    assert ids(client, vectorQueries=[near([1, 0], threshold={"kind": "searchScore", "value": 0.9})]) == ["a"]


def token(**claims: Any) -> dict[str, str]:
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return KEY | {"x-ms-query-source-authorization": f"Bearer e30.{part}.x"}


GUARDED: dict[str, Any] = {
    "name": "docs",
    "permissionFilterOption": "enabled",
    "fields": [
        {"name": "id", "type": "Edm.String", "key": True},
        {"name": "title", "type": "Edm.String"},
        {"name": "users", "type": "Collection(Edm.String)", "permissionFilter": "userIds"},
        {"name": "groups", "type": "Collection(Edm.String)", "permissionFilter": "groupIds"},
    ],
}
SECRETS = [
    {"id": "ann", "title": "word", "users": ["ann"], "groups": ["none"]},
    {"id": "staff", "title": "word", "users": ["none"], "groups": ["staff"]},
    {"id": "open", "title": "word", "users": ["all"], "groups": ["none"]},
    {"id": "unsaid", "title": "word"},
]


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (token(oid="ann", groups=[]), ["ann", "open"]),
        (token(oid="bob", groups=["staff"]), ["open", "staff"]),
        (token(oid="bob"), ["open"]),
        (token(), ["open"]),
        (KEY, ["open"]),
        (KEY | {"x-ms-enable-elevated-read": "true"}, ["ann", "open", "staff", "unsaid"]),
    ],
)
def test_a_reader_finds_counts_and_fetches_only_what_they_may_read(headers: dict[str, str], found: list[str]) -> None:
    client = served(GUARDED, SECRETS)
    body = {"search": "word", "count": True, "facets": ["id"]}
    answer = client.post(f"/indexes/docs/docs/search?{VERSION}", json=body, headers=headers).json
    assert sorted(hit["id"] for hit in answer["value"]) == found
    assert answer["@odata.count"] == len(found)
    assert sorted(one["value"] for one in answer["@search.facets"]["id"]) == found
    fetched = [
        one["id"]
        for one in SECRETS
        if client.get(f"/indexes/docs/docs('{one['id']}')?{VERSION}", headers=headers).status_code == 200
    ]
    assert sorted(fetched) == found


@pytest.mark.parametrize("value", ["nonsense", "e30.not-json.x", "e30.W10.x"])
def test_a_token_that_cannot_be_read_is_refused_as_recorded_and_never_an_open_answer(value: str) -> None:
    headers = KEY | {"x-ms-query-source-authorization": value}
    path = f"/indexes/docs/docs/search?{VERSION}"
    refusal = served(GUARDED, SECRETS).post(path, json={}, headers=headers)
    assert refusal.status_code == 400
    assert refusal.json["error"] == {"code": "", "message": "Invalid header: 'x-ms-query-source-authorization'"}
