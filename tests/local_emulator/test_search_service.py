"""The emulated search service through the Azure SDK and over plain REST."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents import SearchClient
from azure.search.documents.aio import SearchClient as AsyncSearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import SearchIndex
from azure.search.documents.models import VectorizedQuery
from werkzeug.test import Client

from local_emulator.search_service import (
    RankerUnavailable,
    Rewriter,
    RewriterUnavailable,
    SearchService,
    WordRewriter,
    run_search_service,
)

VERSION = "api-version=2026-04-01"
KEY = {"api-key": "k"}
DOCS = "/indexes('docs')/docs/"
INDEX: dict[str, Any] = {
    "name": "docs",
    "fields": [
        {"name": "id", "type": "Edm.String", "key": True, "searchable": False},
        {"name": "title", "type": "Edm.String"},
        {"name": "content", "type": "Edm.String", "analyzer": "en.lucene"},
        {"name": "tags", "type": "Collection(Edm.String)"},
        {"name": "page", "type": "Edm.Int32"},
        {"name": "vector", "type": "Collection(Edm.Single)", "dimensions": 2, "vectorSearchProfile": "p"},
    ],
    "vectorSearch": {
        "algorithms": [{"name": "a", "kind": "exhaustiveKnn"}],
        "profiles": [{"name": "p", "algorithm": "a"}],
    },
    "semantic": {
        "defaultConfiguration": "s",
        "configurations": [
            {
                "name": "s",
                "prioritizedFields": {
                    "titleField": {"fieldName": "title"},
                    "prioritizedContentFields": [{"fieldName": "content"}],
                },
            }
        ],
    },
}
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "a", "title": "Gearbox", "content": "The gearbox shifts late.", "page": 1, "vector": [1, 0], "tags": ["x"]},
    {"id": "b", "title": "Engine", "content": "Misfires. The engine misfires when cold.", "page": 2, "vector": [0, 1]},
    {"id": "c", "title": "Engine mount", "content": "A shifting engine.", "vector": [1, 1], "tags": ["x", "y"]},
    {"id": "d", "title": "Brakes", "content": "Pads wear out.", "page": 3},
]


class Judge:
    """A reranker by the share of the question's words; it can be out of order."""

    name = "judge"

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure

    async def score_passages(self, text: str, passages: Sequence[str]) -> list[float]:
        if self.failure:
            raise self.failure
        words = text.lower().split()
        return [sum(word in passage.lower() for word in words) / len(words) for passage in passages]


def service(folder: Path | None = None, *, reranker: Judge | None = None) -> Client:
    return Client(SearchService(folder, keys={"k", "other"}, reranker=reranker))


def filled(reranker: Judge | None = None) -> Client:
    client = service(reranker=reranker)
    assert client.post(f"/indexes?{VERSION}", json=INDEX, headers=KEY).status_code == 201
    assert changed(client, DOCUMENTS)[0] == 200
    return client


def changed(client: Client, actions: Sequence[dict[str, Any]]) -> tuple[int, Any]:
    response = client.post(f"{DOCS}search.index?{VERSION}", json={"value": actions}, headers=KEY)
    return response.status_code, response.json


def asked(client: Client, **body: Any) -> tuple[int, Any]:
    response = client.post(f"{DOCS}search.post.search?{VERSION}", json=body, headers=KEY)
    return response.status_code, response.json


def ids(client: Client, **body: Any) -> list[str]:
    status, answer = asked(client, **body)
    assert status == 200, answer
    return [hit["id"] for hit in answer["value"]]


def near(vector: list[float], k: int = 3, **more: Any) -> dict[str, Any]:
    return {"kind": "vector", "vector": vector, "k": k, "fields": "vector", **more}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_search_service(SearchService(None, keys={"k"}, reranker=Judge())) as address:
        SearchIndexClient(address, AzureKeyCredential("k")).create_index(SearchIndex(INDEX))
        SearchClient(address, "docs", AzureKeyCredential("k")).upload_documents(DOCUMENTS)
        yield address


def test_the_sync_sdk_works_against_it(url: str) -> None:
    """S1-23: the index lives in Azure AI Search, here behind the vendor's own client."""
    with SearchClient(url, "docs", AzureKeyCredential("k")) as client:
        found = client.search(
            "engine misfires",
            filter="page ge 1",
            facets=["tags"],
            include_total_count=True,
            query_type="semantic",
            query_caption="extractive",
            query_answer="extractive|count-1,threshold-0.5",
            vector_queries=[VectorizedQuery(vector=[0, 1], k_nearest_neighbors=2, fields="vector")],
        )
        hits = list(found)
        assert [hit["id"] for hit in hits] == ["b", "a"]
        assert hits[0]["@search.reranker_score"] == 4.0
        assert hits[0]["@search.captions"][0].text == "Misfires. The engine misfires when cold."
        assert found.get_answers()[0].key == "b"
        assert found.get_count() == 2
        assert found.get_facets() == {"tags": [{"value": "x", "count": 1}]}
        with pytest.raises(ResourceNotFoundError):
            client.get_document("nobody")


async def test_the_async_sdk_works_against_it(url: str) -> None:
    async with AsyncSearchClient(url, "docs", AzureKeyCredential("k")) as client:
        found = await client.search("gearbox OR brakes", select=["id"], search_mode="any")
        assert [hit["id"] async for hit in found] == ["a", "d"]
        assert await client.get_document_count() == len(DOCUMENTS)
        with pytest.raises(HttpResponseError, match="scoringProfile"):
            await anext(await client.search("x", scoring_profile="p"))


async def test_the_async_sdk_pages_through_more_than_a_page(url: str) -> None:
    SearchIndexClient(url, AzureKeyCredential("k")).create_index(SearchIndex(INDEX | {"name": "many"}))
    async with AsyncSearchClient(url, "many", AzureKeyCredential("k")) as client:
        await client.upload_documents([{"id": f"{i:03}"} for i in range(120)])
        found = [hit["id"] async for hit in await client.search("*", order_by=["id"])]
    assert found == [f"{i:03}" for i in range(120)]


@pytest.mark.parametrize(("headers", "status"), [({}, 401), ({"api-key": "wrong"}, 403), ({"api-key": "other"}, 200)])
def test_a_request_needs_one_of_the_keys(headers: dict[str, str], status: int) -> None:
    assert service().get(f"/indexes?{VERSION}", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/indexes('docs')/docs/search.permissions"),
        ("POST", f"{DOCS}anything"),
    ],
)
def test_an_operation_that_is_not_there_is_501(method: str, path: str) -> None:
    assert service().open(f"{path}?{VERSION}", method=method, headers=KEY, json={}).status_code == 501


@pytest.mark.parametrize(
    "body",
    [
        {"debug": "innerHits"},
        {"queryType": "full", "search": "title:[a TO b]"},
        {"hybridSearch": {"countAndFacetMode": "countAllResults"}},
        {"filter": "search.ismatch('x')"},
        {"facets": ["page > tags"]},
        {"facets": ["page,timeoffset:+01:00"]},
        {"vectorQueries": [{"kind": "imageUrl", "url": "https://localhost/x.png", "fields": "vector"}]},
        {"vectorQueries": [near([1, 0], filterOverride="page eq 1")]},
    ],
    ids=lambda body: next(iter(body)),
)
def test_a_parameter_that_is_not_implemented_is_501_and_never_ignored(body: dict[str, Any]) -> None:
    status, answer = asked(filled(), **{"search": "engine"} | body)
    assert (status, answer["error"]["code"]) == (501, "NotImplemented")


@pytest.mark.parametrize(
    "body",
    [
        {"unheard": 1},
        {"top": -1},
        {"top": "5"},
        {"top": True},
        {"top": 2.5},
        {"skip": 100_001},
        {"searchMode": "some"},
        {"searchFields": "page"},
        {"searchFields": "nobody"},
        {"select": "nobody"},
        {"highlight": "page"},
        {"facets": ["nobody"]},
        {"facets": ["page,count:x"]},
        {"facets": ["page,values:1|2,interval:3"]},
        {"facets": ["title,values:1|2"]},
        {"answers": "extractive"},
        {"vectorQueries": [near([1, 0, 0])]},
        {"vectorQueries": [near([1, 0], k=0)]},
        {"vectorQueries": [near([1, 0], weight=0)]},
        {"vectorQueries": [near([1, 0]) | {"fields": "title"}]},
        {"vectorQueries": [near([1, 0], oversampling=2)]},
        {"vectorQueries": [{"kind": "text", "text": "x", "fields": "vector"}]},
        {"scoringProfile": "nobody"},
        {"speller": "good"},
        {"queryType": "semantic", "semanticConfiguration": "nobody"},
        {"queryType": "semantic", "orderby": "page"},
        {"queryType": "semantic", "semanticMaxWaitInMilliseconds": 5},
    ],
    ids=str,
)
def test_a_wrong_parameter_is_400(body: dict[str, Any]) -> None:
    status, answer = asked(filled(Judge()), search="engine", **body)
    assert status == 400
    assert answer["error"]["message"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": "Bad Name"}, 400),
        ({"fields": []}, 400),
        ({"fields": [{"name": "id", "type": "Edm.String"}]}, 400),
        ({"fields": [{"name": "id", "type": "Edm.Text", "key": True}]}, 400),
        ({"fields": [*INDEX["fields"], {"name": "ID", "type": "Edm.String"}]}, 400),
        ({"semantic": {"configurations": [{"name": "s"}]}}, 400),
        (
            {"semantic": {"configurations": [{"name": "s", "prioritizedFields": {"titleField": {"fieldName": "q"}}}]}},
            400,
        ),
        ({"vectorSearch": {"algorithms": [], "profiles": []}}, 400),
        ({"vectorSearch": {"compressions": [{"name": "c"}]}}, 501),
        ({"fields": [*INDEX["fields"], {"name": "t", "type": "Edm.String", "analyzer": "nothing"}]}, 400),
        ({"fields": [*INDEX["fields"], {"name": "t", "type": "Edm.String", "synonymMaps": ["m"]}]}, 400),
        ({"defaultScoringProfile": "p"}, 400),
        ({"purviewEnabled": True}, 201),
        ({"encryptionKey": {"keyVaultKeyName": "k"}}, 501),
        ({"fields": [*INDEX["fields"], {"name": "t", "type": "Edm.Int32", "normalizer": "lowercase"}]}, 400),
        ({"fields": [*INDEX["fields"], {"name": "t", "type": "Edm.String", "permissionFilter": "who"}]}, 400),
        ({"fields": [*INDEX["fields"], {"name": "t", "type": "Edm.String", "stored": False}]}, 400),
    ],
    ids=str,
)
def test_a_definition_is_checked_whole(change: dict[str, Any], status: int) -> None:
    assert service().post(f"/indexes?{VERSION}", json=INDEX | change, headers=KEY).status_code == status


def test_a_token_that_cannot_be_read_is_refused_also_where_the_index_has_no_permissions() -> None:
    headers = {**KEY, "x-ms-query-source-authorization": "token"}
    response = filled().post(f"{DOCS}search.post.search?{VERSION}", json={"search": "*"}, headers=headers)
    assert response.status_code == 400


def test_fields_may_be_added_to_an_index_but_not_taken_away() -> None:
    client, path = filled(), f"/indexes('docs')?{VERSION}"
    more = INDEX | {"fields": [*INDEX["fields"], {"name": "year", "type": "Edm.Int32"}]}
    assert client.put(path, json=more, headers=KEY).status_code == 200
    assert ids(client, search="engine", filter="year eq null") == ["c", "b"]
    assert client.put(path, json=INDEX, headers=KEY).status_code == 400


def test_a_batch_of_more_than_a_thousand_is_413_and_changes_nothing() -> None:
    client = filled()
    assert changed(client, [{"id": f"n{i}"} for i in range(1001)])[0] == 413
    assert client.get(f"{DOCS}$count?{VERSION}", headers=KEY).text == "4"


def test_a_body_of_more_than_16_mib_is_413() -> None:
    assert changed(filled(), [{"id": "big", "content": "x" * (16 * 1024 * 1024)}])[0] == 413


@pytest.mark.parametrize(
    "bad",
    [
        {"id": "not a key"},
        {"id": "_x"},
        {"id": ""},
        {"title": "no key"},
        {"id": "z", "nobody": 1},
        {"id": "z", "page": "1"},
        {"id": "z", "page": 2**31},
        {"id": "z", "tags": "x"},
        {"id": "z", "vector": [1]},
        {"id": "z", "@search.action": "replace"},
    ],
    ids=str,
)
def test_one_malformed_document_refuses_the_whole_batch(bad: dict[str, Any]) -> None:
    client = filled()
    assert changed(client, [{"id": "fine"}, bad])[0] == 400
    assert client.get(f"{DOCS}$count?{VERSION}", headers=KEY).text == "4"


@pytest.mark.parametrize("data", [b"{", b'{"value": NaN}', b"[" * 100_000, b'{"search": "\\ud800"}'])
def test_a_body_that_is_not_strict_json_is_400(data: bytes) -> None:
    assert filled().post(f"{DOCS}search.post.search?{VERSION}", data=data, headers=KEY).status_code == 400


def test_a_later_action_of_a_batch_sees_the_earlier_one() -> None:
    client = filled()
    actions = [{"id": "a", "@search.action": "delete"}, {"id": "a", "@search.action": "merge", "page": 5}]
    status, answer = changed(client, actions)
    assert status == 207
    assert [one["statusCode"] for one in answer["value"]] == [200, 404]


@pytest.mark.parametrize(
    ("text", "mode", "found"),
    [
        ("engine brakes", "any", ["d", "c", "b"]),
        ("engine misfires", "all", ["b"]),
        ("engine +misfires", "any", ["b"]),
        ("gearbox | brakes", "all", ["d", "a"]),
        ("engine -misfires", "all", ["c"]),
        ('"engine misfires"', "any", ["b"]),
        ('"misfires engine"', "any", []),
        ("gear*", "any", ["a"]),
        ("(gearbox | brakes) -pads", "all", ["a"]),
        ("shift", "any", ["c", "a"]),
        ("the", "any", []),
        ('" ( + | - ) "" *', "any", []),
        ("", "any", ["a", "b", "c", "d"]),
    ],
)
def test_the_simple_syntax(text: str, mode: str, found: list[str]) -> None:
    assert sorted(ids(filled(), search=text, searchMode=mode)) == sorted(found)


def test_search_fields_narrow_the_words() -> None:
    assert ids(filled(), search="engine", searchFields="title") == ["b", "c"]
    assert ids(filled(), search="misfires", searchFields="title") == []


def test_what_was_deleted_is_not_found_and_its_words_do_not_count() -> None:
    client = filled()
    before = asked(client, search="engine")[1]["value"]
    changed(client, [{"id": "new", "content": "engine " * 9}])
    assert "new" in ids(client, search="engine")
    changed(client, [{"id": "new", "@search.action": "delete"}])
    assert asked(client, search="engine")[1]["value"] == before


def test_vectors_are_ranked_exactly_by_one_over_one_plus_distance() -> None:
    hits = asked(filled(), vectorQueries=[near([1, 0])])[1]["value"]
    assert [(hit["id"], hit["@search.score"]) for hit in hits] == [
        ("a", 1.0),
        ("c", pytest.approx(1 / (2 - 2**-0.5), abs=1e-6)),
        ("b", 0.5),
    ]


@pytest.mark.parametrize(("mode", "found"), [("preFilter", ["b"]), ("postFilter", []), ("strictPostFilter", [])])
def test_a_filter_comes_before_or_after_the_nearest(mode: str, found: list[str]) -> None:
    assert ids(filled(), vectorQueries=[near([1, 0], k=1)], filter="page eq 2", vectorFilterMode=mode) == found


def test_words_and_vectors_are_fused_by_rank_and_weight() -> None:
    hits = asked(filled(), search="brakes", vectorQueries=[near([1, 0], k=2, weight=2.0)])[1]["value"]
    assert [(hit["id"], hit["@search.score"]) for hit in hits] == [
        ("a", pytest.approx(2 / 60)),
        ("c", pytest.approx(2 / 61)),
        ("d", pytest.approx(1 / 60)),
    ]


def test_debug_tells_what_each_leg_gave() -> None:
    hits = asked(filled(), search="brakes", vectorQueries=[near([1, 0], k=2)], debug="vector")[1]["value"]
    given = {hit["id"]: hit["@search.documentDebugInfo"]["vectors"]["subscores"] for hit in hits}
    assert given["a"] == {"text": None, "vectors": [{"vector": {"searchScore": 1.0, "vectorSimilarity": 1.0}}]}
    assert given["d"]["text"]["searchScore"] > 0


def test_without_a_ranker_a_semantic_query_is_refused_as_by_a_service_without() -> None:
    status, answer = asked(filled(), search="engine", queryType="semantic")
    assert (status, answer["error"]["code"]) == (400, "FeatureNotSupportedInService")


@pytest.mark.parametrize(
    ("failure", "status", "reason"),
    [(RankerUnavailable("no model"), 503, "transient"), (TimeoutError(), 408, "maxWaitExceeded")],
)
def test_a_ranker_that_fails_is_an_error_or_a_partial_answer_as_asked(
    failure: Exception, status: int, reason: str
) -> None:
    client = filled(Judge(failure))
    assert asked(client, search="engine", queryType="semantic")[0] == status
    partial, answer = asked(client, search="engine", queryType="semantic", semanticErrorHandling="partial")
    assert partial == 206
    assert answer["@search.semanticPartialResponseReason"] == reason
    assert [hit["id"] for hit in answer["value"]] == ["c", "b"]


def test_null_is_least_in_an_order() -> None:
    assert ids(filled(), search="*", orderby="page") == ["c", "a", "b", "d"]
    assert ids(filled(), search="*", orderby="page desc") == ["d", "b", "a", "c"]


def test_facets_of_numbers_by_interval() -> None:
    answer = asked(filled(), search="*", facets=["page,interval:2"])[1]
    assert answer["@search.facets"]["page"] == [{"value": 0, "count": 1}, {"value": 2, "count": 2}]


def test_indexes_and_documents_outlive_the_service(tmp_path: Path) -> None:
    with run_search_service(SearchService(tmp_path, keys={"k"})) as url:
        SearchIndexClient(url, AzureKeyCredential("k")).create_index(SearchIndex(INDEX))
        SearchClient(url, "docs", AzureKeyCredential("k")).upload_documents(DOCUMENTS)
    again = service(tmp_path)
    assert ids(again, search="engine") == ["c", "b"]
    assert ids(again, vectorQueries=[near([1, 0], k=1)]) == ["a"]


def test_batches_from_many_threads_are_all_there() -> None:
    client = filled()
    batches = [[{"id": f"{thread}-{i}", "content": "word"} for i in range(20)] for thread in range(8)]
    with ThreadPoolExecutor() as threads:
        statuses = list(threads.map(lambda batch: changed(client, batch)[0], batches))
    assert set(statuses) == {200}
    assert asked(client, search="word", count=True)[1]["@odata.count"] == 160


def test_semantic_scores_are_spread_as_those_recorded_of_the_service() -> None:
    """Recorded: 1.66 to 2.0 of 4 for weak hits, 3.5 for the best; a cross-encoder gives the weak ones 0.001 to 0.02."""

    class Bimodal(Judge):
        async def score_passages(self, text: str, passages: Sequence[str]) -> list[float]:
            return [0.99 if "gearbox" in each else 0.02 if "misfires" in each else 0.001 for each in passages]

    _, answer = asked(filled(Bimodal()), search="gearbox engine pads", queryType="semantic")
    best, *weak = [hit["@search.rerankerScore"] for hit in answer["value"]]
    assert 3.4 <= best <= 3.7
    assert len(weak) == 3
    assert all(1.66 <= score <= 2.0 for score in weak)


def test_a_merge_loses_a_vector_that_is_not_stored_and_says_nothing() -> None:
    """So it is documented: learn.microsoft.com/azure/search/vector-search-how-to-storage-options."""
    fields = [f | {"stored": False, "retrievable": False} if f["name"] == "vector" else f for f in INDEX["fields"]]
    client = service()
    assert client.post(f"/indexes?{VERSION}", json=INDEX | {"fields": fields}, headers=KEY).status_code == 201
    changed(client, DOCUMENTS)
    query = [{"kind": "vector", "vector": [1, 0], "k": 5, "fields": "vector"}]

    def find() -> set[str]:
        return {hit["id"] for hit in asked(client, vectorQueries=query)[1]["value"]}

    assert find() == {"a", "b", "c"}
    merged = [
        {"@search.action": "merge", "id": "a", "page": 7},
        {"@search.action": "merge", "id": "b", "vector": [1, 1]},
    ]
    assert changed(client, merged)[0] == 200
    assert find() == {"b", "c"}


def test_doubles_that_are_not_finite_are_kept_as_odata_writes_them() -> None:
    client = service()
    fields = [INDEX["fields"][0], {"name": "size", "type": "Edm.Double"}]
    assert client.post(f"/indexes?{VERSION}", json={"name": "docs", "fields": fields}, headers=KEY).status_code == 201
    sizes = ("NaN", "INF", "-INF", 1.5)
    assert changed(client, [{"id": str(i), "size": size} for i, size in enumerate(sizes)])[0] == 200
    hits = asked(client, orderby="id")[1]["value"]
    assert [hit["size"] for hit in hits] == list(sizes)
    assert ids(client, filter="size gt 2") == ["1"]
    assert changed(client, [{"id": "x", "size": "many"}])[0] == 400


@pytest.mark.parametrize(
    ("by", "name", "text", "tokens"),
    [
        (
            "analyzer",
            "hi.microsoft",
            "हिन्दी में लिखा। दूसरा",
            ["हिन्दी", "में", "लिखा", "दूसरा"],
        ),  # vowel signs belong to words
        ("analyzer", "fa.lucene", "می\u200cخواهم کتاب", ["می\u200cخواهم", "کتاب"]),
        ("analyzer", "th.lucene", "ไทย abc", ["ไ", "ท", "ย", "abc"]),
        ("analyzer", "ja.microsoft", "東京 Tower", ["東", "京", "tower"]),
        ("analyzer", "ko.lucene", "한국어 검색", ["한국어", "검색"]),
        ("analyzer", "pl.lucene", "Żółte domy", ["żółte", "domy"]),
        ("analyzer", "uk.microsoft", "Об'єкт Київ", ["об'єкт", "київ"]),
        ("analyzer", "standardasciifolding.lucene", "Café Zürich", ["cafe", "zurich"]),
        ("analyzer", "pattern", "A-b c", ["a", "b", "c"]),
        ("tokenizer", "pattern", "A-b c", ["A", "b", "c"]),
        ("tokenizer", "classic", "One two", ["One", "two"]),
        (
            "tokenizer",
            "uax_url_email",
            "a.b@c.de or http://x.org/y?z=1, now",
            ["a.b@c.de", "or", "http://x.org/y?z=1", "now"],
        ),
        ("tokenizer", "edgeNGram", "One two", ["O"]),
    ],
)
def test_a_text_is_analyzed_by_the_names_that_the_service_has(by: str, name: str, text: str, tokens: list[str]) -> None:
    client = filled()
    found = client.post(f"/indexes('docs')/search.analyze?{VERSION}", json={"text": text, by: name}, headers=KEY)
    assert [each["token"] for each in found.json["tokens"]] == tokens  # type: ignore[index]


def test_an_analyzer_is_added_to_an_index_only_with_leave_for_downtime() -> None:
    client = filled()
    analyzer = {"@odata.type": "#Microsoft.Azure.Search.StopAnalyzer", "name": "stops"}
    path, body = f"/indexes('docs')?{VERSION}", INDEX | {"analyzers": [analyzer]}
    refusal = client.put(path, json=body, headers=KEY)
    assert (refusal.status_code, refusal.json["error"]["code"]) == (400, "OperationNotAllowed")
    allowed = client.put(f"{path}&allowIndexDowntime=true", json=body, headers=KEY)
    assert allowed.json["analyzers"] == [analyzer | {"stopwords": []}]


def test_a_new_suggester_may_name_new_fields_only() -> None:
    client, path = filled(), f"/indexes('docs')?{VERSION}"
    suggester = {"name": "sg", "searchMode": "analyzingInfixMatching", "sourceFields": ["title"]}
    refusal = client.put(path, json=INDEX | {"suggesters": [suggester]}, headers=KEY)
    assert (refusal.status_code, "(title)" in refusal.json["error"]["message"]) == (400, True)
    fields = [*INDEX["fields"], {"name": "maker", "type": "Edm.String"}]
    body = INDEX | {"fields": fields, "suggesters": [suggester | {"sourceFields": ["maker"]}]}
    assert client.put(path, json=body, headers=KEY).status_code == 200


def test_an_older_version_is_answered_the_members_that_it_had() -> None:
    client = filled()
    old, new = (client.get(f"/indexes('docs')?api-version={v}", headers=KEY).json for v in ("2019-05-06", "2026-04-01"))
    assert old.keys() < new.keys()
    assert {"stored", "normalizer", "dimensions"} <= new["fields"][0].keys() - old["fields"][0].keys()


@pytest.mark.parametrize("accept", ["*/*", "application/json; odata.metadata=minimal"])
def test_replies_about_documents_have_a_context_unless_the_caller_wants_none(accept: str) -> None:
    client = filled()
    told = client.get(f"/indexes/docs/docs/a?{VERSION}", headers=KEY | {"Accept": accept}).json
    assert told["@odata.context"].endswith("/indexes('docs')/$metadata#docs(*)/$entity")
    none = KEY | {"Accept": "application/json;odata.metadata=none"}
    assert "@odata.context" not in client.get(f"/indexes/docs/docs/a?{VERSION}", headers=none).json


def test_an_empty_object_is_left_out_where_members_of_it_are_selected() -> None:
    client = service()
    rooms = {"name": "rooms", "type": "Collection(Edm.ComplexType)", "fields": [{"name": "kind", "type": "Edm.String"}]}
    body = {"name": "docs", "fields": [INDEX["fields"][0], rooms]}
    assert client.post(f"/indexes?{VERSION}", json=body, headers=KEY).status_code == 201
    assert changed(client, [{"id": "a", "rooms": [{}, {"kind": None}]}])[0] == 200
    shown = [asked(client, select=select)[1]["value"][0]["rooms"] for select in ("rooms", "rooms/kind")]
    assert list(map(len, shown)) == [2, 1]


REWRITING = {"search": "the late gearbox", "queryType": "semantic", "queryLanguage": "en-us"}


def rewriting(rewriter: Rewriter | None) -> Client:
    client = Client(SearchService(None, keys=["k"], reranker=Judge(), rewriter=rewriter))
    assert client.post(f"/indexes?{VERSION}", json=INDEX, headers=KEY).status_code == 201
    assert changed(client, DOCUMENTS)[0] == 200
    return client


def test_a_question_is_searched_in_other_wordings_too() -> None:
    class Engines:
        def rewrite_question(self, text: str, count: int) -> list[str]:
            return ["misfires when cold", "mount"][:count]

    client = rewriting(Engines())
    assert set(ids(client, **REWRITING)) == {"a"}
    assert set(ids(client, **REWRITING, queryRewrites="generative|count-1")) == {"a", "b"}
    _, told = asked(client, **REWRITING, queryRewrites="generative|count-2", debug="queryRewrites")
    assert told["@search.debug"]["queryRewrites"] == {
        "text": {"inputQuery": "the late gearbox", "rewrites": ["misfires when cold", "mount"]},
        "vectors": [],
    }
    assert WordRewriter().rewrite_question("the late gearbox", 2) == ["late gearbox", "gearbox"]


def test_a_rewriter_that_fails_leaves_the_question_and_the_answer_says_so() -> None:
    class Broken:
        def rewrite_question(self, text: str, count: int) -> list[str]:
            raise RewriterUnavailable

    _, told = asked(rewriting(Broken()), **REWRITING, queryRewrites="generative")
    assert told["@search.semanticQueryRewritesResultType"] == "originalQueryOnly"
    assert [hit["id"] for hit in told["value"]] == ["a"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"queryRewrites": "generative|count-11"}, 400),
        ({"queryRewrites": "creative"}, 400),
        ({"queryRewrites": "generative", "queryType": "simple"}, 400),
        ({"queryRewrites": "generative", "queryLanguage": None}, 400),
        ({"queryRewrites": "generative"}, 501),  # a service without a rewriter
        ({"queryRewrites": "none"}, 200),
    ],
)
def test_rewrites_are_checked(change: dict[str, Any], status: int) -> None:
    assert asked(rewriting(None), **REWRITING | change)[0] == status


def test_what_labels_guard_is_kept_and_not_read() -> None:
    """Recorded in February 2026: the definition is taken, and a token that cannot be read is 400."""
    client = service()
    label = {"name": "label", "type": "Edm.String", "sensitivityLabel": True}
    body = {"name": "docs", "fields": [INDEX["fields"][0], label], "purviewEnabled": True}
    made = client.put("/indexes('docs')?api-version=2025-11-01-preview", json=body, headers=KEY)
    assert (made.status_code, made.json["purviewEnabled"]) == (201, True)
    assert [field["sensitivityLabel"] for field in made.json["fields"]] == [None, True]
    assert changed(client, [{"id": "x", "label": "secret"}])[0] == 200
    assert (
        asked(client, search="*")[0]
        == client.get(f"/indexes('docs')/docs('x')?{VERSION}", headers=KEY).status_code
        == 501
    )
    wrong = KEY | {"x-ms-query-source-authorization": "Invalid token"}
    assert client.post(f"{DOCS}search.post.search?{VERSION}", json={"search": "*"}, headers=wrong).status_code == 400


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("Edm.Half", [0.1, 1], [0.099975586, 1.0]),
        ("Edm.Int16", [-32768, 5], [-32768.0, 5.0]),
        ("Edm.SByte", [-128, 127], [-128.0, 127.0]),
    ],
)
def test_a_narrow_vector_is_kept_as_its_type_holds_it(kind: str, given: list[float], kept: list[float]) -> None:
    client = service()
    field = INDEX["fields"][-1] | {"type": f"Collection({kind})", "retrievable": True}
    assert (
        client.post(
            f"/indexes?{VERSION}", json=INDEX | {"fields": [INDEX["fields"][0], field], "semantic": None}, headers=KEY
        ).status_code
        == 201
    )
    assert changed(client, [{"id": "a", "vector": given}, {"id": "b", "vector": [1, 1]}])[0] == 200
    assert asked(client, search="*", filter="id eq 'a'")[1]["value"][0]["vector"] == pytest.approx(kept)
    assert ids(client, vectorQueries=[near(given)])[0] == "a"
    if kind != "Edm.Half":
        assert (
            changed(client, [{"id": "c", "vector": [0.5, 1]}])[0]
            == changed(client, [{"id": "c", "vector": [40000, 1]}])[0]
            == 400
        )


def test_a_vector_is_retrievable_only_where_it_is_said() -> None:
    """Recorded: since 2024-03-01-preview a definition that leaves it open hides vectors."""
    for version, shown in (("2023-11-01", True), ("2024-03-01-preview", False), ("2026-04-01", False)):
        made = service().post(f"/indexes?api-version={version}", json=INDEX, headers=KEY)
        assert made.json["fields"][-1]["retrievable"] is shown
        assert all(field["retrievable"] for field in made.json["fields"][:-1])


def test_a_dot_product_scores_longer_vectors_higher() -> None:
    client = service()
    algorithm = {"name": "a", "kind": "hnsw", "hnswParameters": {"metric": "dotProduct"}}
    body = INDEX | {"vectorSearch": INDEX["vectorSearch"] | {"algorithms": [algorithm]}}
    made = client.post(f"/indexes?{VERSION}", json=body, headers=KEY)
    assert made.json["vectorSearch"]["algorithms"][0]["exhaustiveKnnParameters"] is None, "as recorded"
    vectors = {"a": [1, 0], "b": [3, 0], "c": [0, 1], "d": [-1, 0]}
    assert changed(client, [{"id": key, "vector": vector} for key, vector in vectors.items()])[0] == 200
    found = asked(client, vectorQueries=[near([1, 0], k=4)])[1]["value"]
    assert [(hit["id"], round(hit["@search.score"], 3)) for hit in found] == [
        ("b", 3.0),
        ("a", 1.0),
        ("c", 0.5),
        ("d", 0.333),
    ]


def test_a_semantic_query_tells_what_the_ranker_was_given() -> None:
    """Recorded in February 2026, with `debug` semantic; answers are an empty list where none were asked for."""
    _, answer = asked(filled(Judge()), search="gearbox", queryType="semantic", debug="semantic", select="id")
    assert answer["@search.answers"] == []
    (hit,) = answer["value"]
    assert hit.keys() == {"@search.score", "@search.rerankerScore", "@search.documentDebugInfo", "id"}
    assert hit["@search.documentDebugInfo"] == {
        "semantic": {
            "titleField": {"name": "title", "state": "used"},
            "contentFields": [{"name": "content", "state": "used"}],
            "keywordFields": [],
            "rerankerInput": {"title": "Gearbox", "content": "The gearbox shifts late.", "keywords": ""},
        },
        "vectors": None,
    }


def test_functions_of_a_scoring_profile_boost_the_ranker_where_its_configuration_says_so() -> None:
    """As documented: a boosted score is given with functions only, and then decides on the order."""
    boosts = {"fieldName": "page", "interpolation": "constant", "type": "magnitude", "boost": 10}
    boosts["magnitude"] = {"boostingRangeStart": 1, "boostingRangeEnd": 2}
    profiles = [{"name": "late", "functions": [boosts]}, {"name": "titles", "text": {"weights": {"title": 2}}}]
    client = service(reranker=Judge())
    assert (
        client.post(f"/indexes?{VERSION}", json=INDEX | {"scoringProfiles": profiles}, headers=KEY).status_code == 201
    )
    assert changed(client, DOCUMENTS)[0] == 200
    query = {"search": "gearbox engine", "queryType": "semantic", "top": 2}
    plain, boosted, weighed = (
        asked(client, **query, **by)[1]["value"]
        for by in ({}, {"scoringProfile": "late"}, {"scoringProfile": "titles"})
    )
    assert "@search.rerankerBoostedScore" not in {*plain[0], *weighed[0]}
    assert boosted[0]["id"] == "b"
    assert boosted[0]["@search.rerankerBoostedScore"] == pytest.approx(10 * boosted[0]["@search.rerankerScore"])
