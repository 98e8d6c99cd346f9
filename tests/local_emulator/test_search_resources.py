"""The definitions beside indexes: synonym maps, aliases, knowledge sources and bases, data sources and skillsets."""

import json
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from local_emulator.search_service import SearchService, WordRanker
from tests.local_emulator.test_search_service import DOCUMENTS, INDEX, KEY, VERSION

PREVIEW = "api-version=2025-11-01-preview"
MAP = {"name": "cars", "synonyms": "motor, engine\nstop device => brakes\n# nothing\n"}
SOURCE = {"name": "ks", "kind": "searchIndex", "searchIndexParameters": {"searchIndexName": "docs"}}
BLOBS = {"name": "blobs", "type": "azureblob", "container": {"name": "c"}}
INDEXER = {"name": "ix", "dataSourceName": "blobs", "targetIndexName": "docs"}
BASE = {"name": "kb", "knowledgeSources": [{"name": "ks"}]}


def filled(folder: Path | None = None, *, ranker: WordRanker | None = None, index: dict[str, Any] = INDEX) -> Client:
    client = Client(SearchService(folder, keys=["k"], reranker=ranker or WordRanker()))
    assert put(client, "/synonymmaps", MAP).status_code == 201
    assert put(client, "/indexes", index).status_code == 201
    path = f"/indexes/docs/docs/index?{VERSION}"
    assert client.post(path, json={"value": DOCUMENTS}, headers=KEY).status_code == 200
    return client


def put(client: Client, path: str, body: Any, **headers: str) -> Any:
    named = f"{path}('{body['name']}')" if "name" in body else path
    return client.put(f"{named}?{VERSION}", json=body, headers=KEY | headers)


def ids(client: Client, index: str = "docs", **body: Any) -> list[str]:
    answer = client.post(f"/indexes/{index}/docs/search?{VERSION}", json=body, headers=KEY)
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json["value"]]


def with_maps(*maps: str) -> dict[str, Any]:
    fields = [one | {"synonymMaps": list(maps)} if one["name"] == "title" else one for one in INDEX["fields"]]
    return INDEX | {"fields": fields}


@pytest.mark.parametrize(
    ("collection", "body"),
    [
        ("synonymmaps", {"name": "m", "synonyms": "a, b"}),
        ("aliases", {"name": "al", "indexes": ["docs"]}),
        ("knowledgesources", SOURCE),
        ("datasources", {"name": "ds", "type": "azureblob", "container": {"name": "c"}}),
        ("skillsets", {"name": "sk", "skills": []}),
        ("indexers", INDEXER),
    ],
)
def test_a_definition_is_made_changed_and_removed_under_its_etag(collection: str, body: Any) -> None:
    client, path = filled(), f"/{collection}('{body['name']}')?{VERSION}"
    put(client, "/datasources", BLOBS)
    made = client.post(f"/{collection}?{VERSION}", json=body, headers=KEY)
    assert (made.status_code, made.headers["ETag"]) == (201, made.json["@odata.etag"])
    assert client.post(f"/{collection}?{VERSION}", json=body, headers=KEY).status_code == 409
    stale = KEY | {"If-Match": '"0x1"'}
    assert client.put(path, json=body, headers=stale).status_code == 412
    assert client.delete(path, headers=stale).status_code == 412
    changed = client.put(path, json=body, headers=KEY | {"If-Match": made.headers["ETag"]})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != made.headers["ETag"]
    listed = client.get(f"/{collection}?{VERSION}&$select=name", headers=KEY).json["value"]
    assert {"name": body["name"]} in listed
    assert client.delete(path, headers=KEY).status_code == 204
    assert client.get(path, headers=KEY).status_code == 404
    assert client.delete(path, headers=KEY).status_code == 404
    assert client.delete(path, headers=KEY | {"If-Match": "*"}).status_code == 412


@pytest.mark.parametrize(
    ("collection", "body", "status"),
    [
        ("synonymmaps", {"name": "m", "format": "wordnet"}, 400),
        ("knowledgesources", {"name": "k", "kind": "file", "fileParameters": {}}, 501),
        ("synonymmaps", {"name": "m", "synonyms": "a => b => c"}, 400),
        ("synonymmaps", {"name": "m", "synonyms": "=> b"}, 400),
        ("synonymmaps", {"name": "Not A Name"}, 400),
        ("synonymmaps", {"name": "m", "unheard": 1}, 400),
        ("synonymmaps", {"name": "m", "encryptionKey": {"keyVaultKeyName": "k"}}, 501),
        ("aliases", {"name": "al", "indexes": ["docs", "more"]}, 400),
        ("aliases", {"name": "al", "indexes": ["nowhere"]}, 404),
        ("aliases", {"name": "docs", "indexes": ["docs"]}, 409),
        ("knowledgesources", {"name": "s", "kind": "searchIndex"}, 400),
        ("knowledgesources", {"name": "s", "kind": "carrierPigeon"}, 501),
        ("knowledgesources", SOURCE | {"searchIndexParameters": {"searchIndexName": "nowhere"}}, 404),
        ("knowledgebases", {"name": "b"}, 400),
        ("knowledgebases", BASE, 404),
        ("datasources", {"name": "d", "type": "azureblob"}, 400),
    ],
    ids=str,
)
def test_a_definition_is_checked(collection: str, body: Any, status: int) -> None:
    assert filled().post(f"/{collection}?{VERSION}", json=body, headers=KEY).status_code == status


def test_a_secret_of_a_data_source_is_taken_and_never_answered() -> None:
    body = {"name": "ds", "type": "azureblob", "container": {"name": "c"}, "credentials": {"connectionString": "pass"}}
    client = filled()
    assert "pass" not in client.post(f"/datasources?{VERSION}", json=body, headers=KEY).text
    assert client.get(f"/datasources/ds?{VERSION}", headers=KEY).json["credentials"] == {"connectionString": None}


def test_synonyms_are_searched_in_the_fields_that_have_the_map() -> None:
    plain, mapped = filled(), filled(index=with_maps("cars"))
    assert ids(plain, search="motor") == []
    assert sorted(ids(mapped, search="motor")) == ["b", "c"]
    assert ids(mapped, search='"stop device"') == ["d"]
    assert ids(mapped, search="brakes") == ["d"]


def test_a_changed_map_counts_for_the_next_search() -> None:
    client = filled(index=with_maps("cars"))
    put(client, "/synonymmaps", {"name": "cars", "synonyms": "motor, gearbox"})
    assert ids(client, search="motor") == ["a"]
    assert client.delete(f"/synonymmaps/cars?{VERSION}", headers=KEY).status_code == 204
    assert ids(client, search="motor") == []


def test_an_index_cannot_name_a_map_that_is_not_there() -> None:
    assert put(filled(), "/indexes", with_maps("nobody")).status_code == 400


def test_documents_are_reached_by_an_alias_that_protects_its_index() -> None:
    client = filled()
    put(client, "/aliases", {"name": "current", "indexes": ["docs"]})
    assert ids(client, "current", search="brakes") == ["d"]
    assert client.get(f"/indexes/current?{VERSION}", headers=KEY).json["name"] == "docs"
    assert client.get(f"/indexes/current/stats?{VERSION}", headers=KEY).status_code == 404
    assert client.delete(f"/indexes/docs?{VERSION}", headers=KEY).status_code == 400
    assert put(client, "/indexes", INDEX | {"name": "current"}).status_code in (400, 409)


def test_definitions_outlive_the_service(tmp_path: Path) -> None:
    put(filled(tmp_path, index=with_maps("cars")), "/aliases", {"name": "current", "indexes": ["docs"]})
    again = Client(SearchService(tmp_path, keys=["k"]))
    assert sorted(ids(again, "current", search="motor")) == ["b", "c"]


def based(**source: Any) -> Client:
    client = filled()
    parameters = {"searchIndexName": "docs", **source}
    assert put(client, "/knowledgesources", SOURCE | {"searchIndexParameters": parameters}).status_code == 201
    assert put(client, "/knowledgebases", BASE).status_code == 201
    return client


def retrieved(client: Client, **body: Any) -> tuple[int, Any]:
    answer = client.post(f"/knowledgebases('kb')/retrieve?{VERSION}", json=body, headers=KEY)
    return answer.status_code, answer.json


def intents(*texts: str) -> list[dict[str, str]]:
    return [{"type": "semantic", "search": text} for text in texts]


def test_a_knowledge_base_answers_with_passages_and_where_they_come_from() -> None:
    options = {"knowledgeSourceName": "ks", "kind": "searchIndex", "includeReferenceSourceData": True}
    status, answer = retrieved(based(), intents=intents("engine misfires"), knowledgeSourceParams=[options])
    passages = json.loads(answer["response"][0]["content"][0]["text"])
    assert status == 200
    assert passages[0] == {"ref_id": 0, "title": "Engine", "content": "Misfires. The engine misfires when cold."}
    first = answer["references"][0]
    assert (first["id"], first["docKey"], first["activitySource"]) == ("0", "b", 0)
    assert first["sourceData"].keys() == {"title", "content", "id"}
    assert [one["type"] for one in answer["activity"]] == ["searchIndex", "agenticReasoning"]


def test_a_retrieval_is_told_by_events_to_a_client_that_asks_for_them() -> None:
    path = f"/knowledgebases('kb')/retrieve?{VERSION}"
    headers = KEY | {"Accept": "text/event-stream"}
    told = based().post(path, json={"intents": intents("engine misfires")}, headers=headers)
    events = [block.split("\n") for block in told.text.strip().split("\n\n")]
    assert [lines[0].removeprefix("event: ") for lines in events] == [
        "retrieval.started",
        *["activity.completed"] * 2,
        "references.completed",
        "response.completed",
    ]
    completed = json.loads(events[-1][1].removeprefix("data: "))
    assert completed["response"]["references"] == json.loads(events[-2][1].removeprefix("data: "))


def test_two_intents_tell_a_document_once() -> None:
    _, answer = retrieved(based(), intents=intents("engine misfires", "cold engine"))
    keys = [one["docKey"] for one in answer["references"]]
    assert sorted(keys) == sorted(set(keys))
    assert len(answer["activity"]) == 3


def test_nothing_found_is_an_empty_list_and_a_threshold_and_a_filter_narrow() -> None:
    _, nothing = retrieved(based(), intents=intents("zebra"))
    assert nothing["response"][0]["content"][0]["text"] == "[]"
    options = {"knowledgeSourceName": "ks", "filterAddOn": "page eq 2", "rerankerThreshold": 1.0}
    _, narrowed = retrieved(based(), intents=intents("engine"), knowledgeSourceParams=[options])
    assert [one["docKey"] for one in narrowed["references"]] == ["b"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"intents": []}, 400),
        ({"intents": intents("x"), "unheard": 1}, 400),
        ({"messages": [{"role": "user"}]}, 501),
        ({"intents": intents("x"), "retrievalReasoningEffort": {"kind": "medium"}}, 501),
        ({"intents": intents("x"), "outputMode": "answerSynthesis"}, 501),
    ],
)
def test_what_needs_a_model_is_501(body: Any, status: int) -> None:
    assert retrieved(based(), **body)[0] == status


def test_a_source_in_use_cannot_be_removed_and_tells_its_status() -> None:
    client = based()
    assert client.delete(f"/knowledgesources/ks?{VERSION}", headers=KEY).status_code == 400
    status = client.get(f"/knowledgesources('ks')/status?{VERSION}", headers=KEY).json
    assert (status["kind"], status["synchronizationStatus"]) == ("searchIndex", "active")
    assert "kind" not in client.get(f"/knowledgesources('ks')/status?{PREVIEW}", headers=KEY).json


def test_a_preview_shows_what_a_stable_version_does_not() -> None:
    client = based()
    stable = client.get(f"/knowledgebases/kb?{VERSION}", headers=KEY).json
    preview = client.get(f"/knowledgebases/kb?{PREVIEW}", headers=KEY).json
    added = {"retrievalInstructions", "answerInstructions", "outputMode", "retrievalReasoningEffort"}
    assert preview.keys() - stable.keys() == added


def test_a_skill_is_answered_with_what_it_left_out_and_only_a_shaper_nests_its_inputs() -> None:
    client, one = filled(), {"name": "text", "source": "/document/content"}
    skill = {"@odata.type": "#Microsoft.Skills.Text.SentimentSkill", "inputs": [one], "outputs": [{"name": "score"}]}
    made = put(client, "/skillsets", {"name": "sk", "skills": [skill]})
    inputs = [one | {"sourceContext": None, "inputs": []}]
    whole = {"name": None, "description": None, "context": None, "defaultLanguageCode": None, "inputs": inputs}
    assert made.json["skills"] == [skill | whole]
    nested = skill | {"inputs": [one | {"inputs": [one]}]}
    assert put(client, "/skillsets", {"name": "sk", "skills": [nested]}).status_code == 400
    shaper = nested | {"@odata.type": "#Microsoft.Skills.Util.ShaperSkill"}
    assert put(client, "/skillsets", {"name": "sk", "skills": [shaper]}).status_code == 200


def test_an_indexer_is_answered_with_what_it_left_out() -> None:
    """As recorded: a schedule begins at the beginning of time, and a mapping function has its parameters."""
    client = filled()
    put(client, "/datasources", BLOBS)
    mapping = {"sourceFieldName": "a", "targetFieldName": "title", "mappingFunction": {"name": "urlEncode"}}
    given = INDEXER | {"schedule": {"interval": "P1D"}, "fieldMappings": [mapping], "parameters": {"batchSize": 5}}
    made = put(client, "/indexers", given).json
    assert made["schedule"] == {"interval": "P1D", "startTime": "0001-01-01T00:00:00Z"}
    assert made["fieldMappings"] == [mapping | {"mappingFunction": {"name": "urlEncode", "parameters": None}}]
    parameters = {"batchSize": 5, **dict.fromkeys(("maxFailedItems", "maxFailedItemsPerBatch", "base64EncodeKeys"))}
    assert made["parameters"] == parameters | {"configuration": {}}
    assert (made["outputFieldMappings"], made["skillsetName"], "cache" in made) == ([], None, False)
    assert client.get(f"/servicestats?{VERSION}", headers=KEY).json["counters"]["indexersCount"]["usage"] == 1


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"dataSourceName": "none"}, "a data source 'none'"),
        ({"targetIndexName": "none"}, "an index 'none'"),
        ({"skillsetName": "none"}, "a skillset 'none'"),
    ],
)
def test_what_an_indexer_names_must_be_there(change: dict[str, str], missing: str) -> None:
    client = filled()
    put(client, "/datasources", BLOBS)
    refused = put(client, "/indexers", INDEXER | change)
    assert (refused.status_code, refused.json["error"]["message"]) == (
        400,
        f"This indexer refers to {missing} that doesn't exist",
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/indexers('ix')/search.run"),
        ("POST", "/indexers/ix/run"),
        ("POST", "/indexers/ix/reset"),
        ("GET", "/indexers('ix')/search.status"),
        ("GET", "/indexers/ix/status"),
    ],
)
def test_an_indexer_does_not_run_and_says_so(method: str, path: str) -> None:
    """A client that waits for its documents is told at once."""
    client = filled()
    put(client, "/datasources", BLOBS)
    put(client, "/indexers", INDEXER)
    refused = client.open(f"{path}?{VERSION}", method=method, headers=KEY)
    assert (refused.status_code, refused.json["error"]["code"]) == (501, "NotImplemented")
    assert "of indexers, which read from other services" in refused.json["error"]["message"]
    absent = client.open(f"{path}?{VERSION}".replace("ix", "none"), method=method, headers=KEY)
    assert absent.status_code == 404
