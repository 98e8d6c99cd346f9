"""The switches of the emulated search service: faults, delays and limits that a client must live with."""

from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.search.documents import SearchClient
from werkzeug.test import Client

from local_emulator.search_service import Fault, Faults, SearchService, WordRanker, documents, run_search_service
from local_emulator.search_service.faults import parse_fault
from tests.local_emulator.test_search_service import DOCUMENTS, INDEX, KEY, VERSION, asked, changed


def served(*faults: Fault, delay_s: float = 0.0) -> Client:
    switches = Faults()
    service = SearchService(None, keys=["k"], reranker=WordRanker(), faults=switches, delay_s=delay_s)
    client = Client(service)
    assert client.post(f"/indexes?{VERSION}", json=INDEX, headers=KEY).status_code == 201
    assert changed(client, DOCUMENTS)[0] == 200
    switches.set_faults(faults)
    return client


@pytest.mark.parametrize("status", [402, 403, 429, 500, 503])
def test_a_fault_strikes_its_operation_and_no_other(status: int) -> None:
    client = served(Fault("search", status, retry_after_s=7, code="Planted"))
    response = client.post(f"/indexes/docs/docs/search?{VERSION}", json={}, headers=KEY)
    assert (response.status_code, response.json["error"]["code"]) == (status, "Planted")
    assert response.headers["Retry-After"] == "7"
    assert client.get(f"/indexes/docs/docs/$count?{VERSION}", headers=KEY).text == "4"
    assert changed(client, [{"id": "n"}])[0] == 200


def test_a_quota_of_the_ranker_strikes_semantic_queries_only() -> None:
    client = served(Fault("semantic", 402))
    assert asked(client, search="engine")[0] == 200
    assert asked(client, search="engine", queryType="semantic")[0] == 402


def test_a_fault_that_strikes_twice_is_over_then() -> None:
    client = served(Fault("any", 503, times=2))
    assert [asked(client, search="engine")[0] for _ in range(4)] == [503, 503, 200, 200]


def test_the_same_seed_fails_the_same_requests() -> None:
    runs = [[asked(client, search="x")[0] for _ in range(20)] for client in (served(Fault("any", 503, 0.5)),) * 1]
    again = [asked(client, search="x")[0] for client in [served(Fault("any", 503, 0.5))] for _ in range(20)]
    assert runs[0] == again
    assert set(again) == {200, 503}


def test_a_part_of_a_batch_fails_and_the_rest_is_written() -> None:
    client = served(Fault("index", 207, times=1))
    status, answer = changed(client, [{"id": "n1"}, {"id": "n2"}])
    assert status == 207
    assert [(one["status"], one["statusCode"]) for one in answer["value"]] == [(False, 503), (True, 201)]
    assert client.get(f"/indexes/docs/docs/$count?{VERSION}", headers=KEY).text == "5"


def test_what_is_written_is_fetched_at_once_and_found_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(documents, "time", SimpleNamespace(monotonic=lambda: clock.now))
    client = served(delay_s=0.3)
    changed(client, [{"id": "late", "title": "zebra"}])
    assert client.get(f"/indexes/docs/docs/late?{VERSION}", headers=KEY).json["title"] == "zebra"
    assert asked(client, search="zebra")[1]["value"] == []
    changed(client, [{"id": "late", "@search.action": "merge", "page": 7}])
    clock.now = 0.4
    assert [hit["page"] for hit in asked(client, search="zebra")[1]["value"]] == [7]


def test_faults_are_switched_while_the_service_runs() -> None:
    client = served()
    fault = {"operation": "search", "status": 429, "times": 1}
    assert client.put("/emulator/faults", json={"faults": [fault]}, headers=KEY).status_code == 204
    assert [asked(client, search="x")[0] for _ in range(2)] == [429, 200]


@pytest.mark.parametrize(
    "body", [{}, {"faults": {}}, {"faults": [{"operation": "tea", "status": 503}]}, {"faults": [{"status": 503}]}]
)
def test_a_switch_that_is_not_one_is_400(body: Any) -> None:
    assert served().put("/emulator/faults", json=body, headers=KEY).status_code == 400


@pytest.mark.parametrize(("text", "share"), [("search:503", 1.0), ("index:207:0.25", 0.25)])
def test_the_command_line_writes_a_fault_short(text: str, share: float) -> None:
    assert parse_fault(text).share == share


@pytest.mark.parametrize("text", ["search", "tea:503", "search:much", "search:503:0.1:x"])
def test_a_fault_that_cannot_be_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_fault(text)


def test_the_sdk_retries_what_the_service_says_is_temporary() -> None:
    faults = Faults([Fault("lookup", 503, times=1)])
    service = SearchService(None, keys=["k"], faults=faults)
    Client(service).post(f"/indexes?{VERSION}", json=INDEX, headers=KEY)
    with run_search_service(service) as url, SearchClient(url, "docs", AzureKeyCredential("k")) as client:
        assert client.get_document_count() == 0
        faults.set_faults([Fault("lookup", 403)])
        with pytest.raises(HttpResponseError):
            client.get_document_count()


@pytest.mark.parametrize(("letters", "code"), [(32_766, 200), (32_767, 400), (16_384, 400)])
def test_a_term_of_a_filterable_field_has_at_most_32766_bytes(letters: int, code: int) -> None:
    text = ("é" if letters == 16_384 else "x") * letters
    definition = INDEX | {"name": "terms", "fields": [{"name": "id", "type": "Edm.String", "key": True}]}
    definition["fields"] = [*definition["fields"], {"name": "whole", "type": "Edm.String", "filterable": True}]
    client = Client(SearchService(None, keys=["k"]))
    plain = {name: definition[name] for name in ("name", "fields")}
    client.post(f"/indexes?{VERSION}", json=plain, headers=KEY)
    body = {"value": [{"id": "fine"}, {"id": "long", "whole": text}]}
    answer = client.post(f"/indexes/terms/docs/index?{VERSION}", json=body, headers=KEY)
    assert answer.status_code == (200 if code == 200 else 207)
    assert answer.json["value"][1]["statusCode"] == (201 if code == 200 else code)
    found = client.get(f"/indexes/terms/docs/$count?{VERSION}", headers=KEY).text
    assert found == ("2" if code == 200 else "1")
