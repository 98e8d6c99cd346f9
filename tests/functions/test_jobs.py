"""A document answered with 202: its owner can see how far it is, and the emulator's worker brings it to its end."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

import function_app
from functions import job_runner, principal
from local_emulator import host
from local_emulator.host import Host
from rag_core.composition import assembly
from rag_core.core.errors import Conflict, Unavailable
from rag_core.core.kit import EnrichmentModel, Kit
from rag_core.core.model import Job, Scope
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.jobs import job_rows
from rag_core.jobs.indexer import Indexer
from rag_core.jobs.sqlite_jobs import SqliteLease
from rag_core.rag import RAG
from tests.fakes import ScriptedLLM
from tests.functions.contract import check_reply
from tests.functions.test_functions import NOTES
from tests.ingestion.test_model_enrichment import describe

LATER = {"document_id": "notes", "content": NOTES, "async": True}


def signed_in(user: str, **claims: str) -> dict[str, str]:
    said = [{"typ": "oid", "val": user}, *({"typ": typ, "val": val} for typ, val in claims.items())]
    return {principal.PRINCIPAL_HEADER: base64.b64encode(json.dumps({"claims": said}).encode()).decode()}


def read(reply: TestResponse, model: str, status: int) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(reply.data)
    assert reply.status_code == status, body
    check_reply(model, body)
    return body


class Served:
    """An app whose worker works when it is told to."""

    def __init__(self, settings: Settings, **parts: Any) -> None:
        self.settings, self.kit = settings, replace(assembly.build_kit(settings), **parts)
        self.host = Host(function_app.build_app(lambda: settings, lambda: self.kit), on_close=self.kit.close)
        self.client = Client(self.host)

    def post(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> TestResponse:
        return self.client.post("/api/index_document", json=body, headers=headers)

    def taken_on(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        return read(self.post(body, headers), "AcceptedReply", 202)

    async def drain(self) -> None:
        await job_runner.run_pending_jobs(self.settings, self.kit, within_s=30.0)


@pytest.fixture(scope="module")
def no_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("no-models")


@pytest.fixture
def served(no_models: Path, tmp_path: Path) -> Iterator[Served]:
    settings = Settings(data_dir=tmp_path, models_dir=no_models, trust_principal=True, workflow_claim=None)
    served = Served(settings)
    yield served
    served.host.close()


async def test_long_work_is_answered_with_202_and_told_of_until_it_is_done(served: Served) -> None:
    """S1-57, C56 (RELIABILITY): taken on, then queued, then done with the result that a 200 would have had."""
    taken = served.taken_on(LATER)
    assert (taken["status"], taken["document_id"], taken["workflow_id"]) == ("queued", "notes", "default")
    waiting = read(served.client.get(taken["status_url"]), "JobReply", 200)
    assert (waiting["status"], waiting["result"], waiting["error"]) == ("queued", None, None)
    await served.drain()
    done = read(served.client.get(taken["status_url"]), "JobReply", 200)
    assert (done["status"], done["result"]["chunks"]) == ("done", 1)
    assert [lesser["code"] for lesser in done["degraded"]] == ["embedding_unavailable"]
    again = read(served.post({**LATER, "async": False}), "IndexReply", 200)
    assert again["unchanged"] == 1


async def test_a_finished_job_says_what_it_cost_as_the_reply_at_once_does(no_models: Path, tmp_path: Path) -> None:
    """The chat model that describes its passages is paid all the same."""
    llm = ScriptedLLM(enrichment=describe, summary="Notes on P0700.")
    model = EnrichmentModel("mini", 1.0, 1.0, 0, budget_usd=1.0)
    served = Served(Settings(tmp_path, no_models), llm=llm, enrichment=model)
    at_once = read(served.post({**LATER, "document_id": "other", "async": False}), "IndexReply", 200)["usage"]
    taken = served.taken_on(LATER)
    await served.drain()
    done = read(served.client.get(taken["status_url"]), "JobReply", 200)
    served.host.close()
    assert (done["status"], done["usage"]) == ("done", at_once)
    assert at_once["cost_usd"] > 0


def test_short_work_is_answered_with_200(served: Served) -> None:
    """S1-57: always within the request when nobody asks otherwise."""
    read(served.post({**LATER, "async": False}), "IndexReply", 200)


def test_the_standard_header_asks_for_it_too(served: Served) -> None:
    served.taken_on({"content": NOTES}, {"Prefer": 'respond-async, wait=10; foo="bar"'})
    assert served.taken_on({"content": NOTES, "async": True})["document_id"] is None


def test_a_job_is_there_for_its_owner_only(served: Served) -> None:
    """C13, C14 (RELIABILITY): another's job cannot be told from none."""
    url = served.taken_on(LATER, signed_in("ann"))["status_url"]
    read(served.client.get(url, headers=signed_in("ann")), "JobReply", 200)
    strangers = [served.client.get(url, headers=headers) for headers in (signed_in("bob"), {})]
    nobodys = served.client.get("/api/index_jobs/unknown", headers=signed_in("ann"))
    bodies = [read(reply, "Refusal", 404)["error"] for reply in (*strangers, nobodys)]
    assert bodies[0] == bodies[1] == bodies[2]


def test_a_job_of_a_workflow_that_its_owner_lost_is_there_no_more(no_models: Path, tmp_path: Path) -> None:
    served = Served(Settings(tmp_path, no_models, trust_principal=True, workflow_claim="workflow"))
    url = served.taken_on({**LATER, "workflow_id": "a"}, signed_in("ann", workflow="a"))["status_url"]
    read(served.client.get(url, headers=signed_in("ann", workflow="b")), "Refusal", 404)
    served.host.close()


def test_a_job_is_named_with_its_workflow_as_documents_are(served: Served) -> None:
    """It is another workflow's job, and so none, where the address names another one; without a name it is found."""
    url = served.taken_on({**LATER, "workflow_id": "a"})["status_url"]
    for of_caller in ("", "?workflow_id=a"):
        assert read(served.client.get(url + of_caller), "JobReply", 200)["workflow_id"] == "a"
    for ask in (served.client.get, served.client.delete):
        assert read(ask(f"{url}?workflow_id=b"), "Refusal", 404)["error"]["code"] == "job_not_found"
    assert read(served.client.delete(f"{url}?workflow_id=a"), "JobReply", 200)["status"] == "failed"


@pytest.mark.parametrize("where", ["header", "field"])
def test_the_same_key_is_answered_with_the_first_result(served: Served, where: str) -> None:
    """C35 (RELIABILITY): by header or field; with another document it is refused."""
    headers = {"Idempotency-Key": '"k-1"'} if where == "header" else {}
    key = {} if where == "header" else {"idempotency_key": "k-1"}
    first, second = (
        read(served.post({"content": NOTES, "document_id": "n", **key}, headers), "IndexReply", 200) for _ in range(2)
    )
    assert (second["chunks"], second["unchanged"]) == (first["chunks"], 0)
    other = read(served.post({"content": "Another.", "document_id": "n", **key}, headers), "Refusal", 409)
    assert other["error"]["code"] == "idempotency_key_reused"


def test_a_key_that_no_header_should_hold_is_refused(served: Served) -> None:
    read(served.post({"content": NOTES}, {"Idempotency-Key": "k" * 129}), "Refusal", 400)


async def test_a_deleted_document_is_not_brought_back_by_a_job(served: Served) -> None:
    """C21, S3-16: what is under way for it ends."""
    read(served.post({**LATER, "async": False}), "IndexReply", 200)
    url = served.taken_on(LATER)["status_url"]
    read(served.client.post("/api/delete_document", json={"document_id": "notes"}), "DeleteReply", 200)
    await served.drain()
    ended = read(served.client.get(url), "JobReply", 200)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "superseded")


@pytest.mark.parametrize("purge", [False, True])
async def test_what_was_accepted_and_is_not_indexed_yet_can_be_deleted(served: Served, purge: bool) -> None:
    """S3-16: the upload was acknowledged, so its deletion is too, and the document does not come later."""
    url = served.taken_on(LATER)["status_url"]
    deletion = {"document_id": "notes", "purge": purge}
    read(served.client.post("/api/delete_document", json=deletion), "DeleteReply", 200)
    await served.drain()
    ended = read(served.client.get(url), "JobReply", 200)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "superseded")
    assert await served.kit.index.store.load_document("notes", Scope("default")) is None
    read(served.client.post("/api/delete_document", json=deletion), "Refusal", 404)


def test_a_deletion_by_another_leaves_the_job_as_it_was(served: Served) -> None:
    """S3-15, S3-16: to another user the document that is still to come is not there."""
    url = served.taken_on(LATER, signed_in("ann"))["status_url"]
    deletion = {"document_id": "notes"}
    read(served.client.post("/api/delete_document", json=deletion, headers=signed_in("bob")), "Refusal", 404)
    assert read(served.client.get(url, headers=signed_in("ann")), "JobReply", 200)["status"] == "queued"


async def test_a_job_is_cancelled_by_its_owner(served: Served) -> None:
    url = served.taken_on(LATER, signed_in("ann"))["status_url"]
    read(served.client.delete(url, headers=signed_in("bob")), "Refusal", 404)
    for _ in range(2):  # the second changes nothing
        cancelled = read(served.client.delete(url, headers=signed_in("ann")), "JobReply", 200)
        assert (cancelled["status"], cancelled["error"]["code"]) == ("failed", "cancelled")
    await served.drain()
    assert await served.kit.index.store.load_document("notes", Scope("default", "ann")) is None


@pytest.mark.parametrize("is_there_before", [False, True])
@pytest.mark.parametrize("state", ["queued", "running", "writing", "failed", "done"])
async def test_a_cancelled_job_leaves_the_document_as_it_was(
    served: Served, monkeypatch: pytest.MonkeyPatch, state: str, is_there_before: bool
) -> None:
    """C21: in each state of the job; while its worker writes the document, and once it is there, it is refused."""
    monkeypatch.setattr(job_rows, "WRITE_WAIT_S", 0.1)
    if is_there_before:
        read(served.post({**LATER, "content": "An earlier text.", "async": False}), "IndexReply", 200)
    url, lease = served.taken_on(LATER)["status_url"], None
    if state == "done":
        await served.drain()
    elif state != "queued":
        lease = await served.kit.jobs.claim()
        assert lease
        if state == "writing":
            await lease.claim_document("notes")
        elif state == "failed":
            await lease.fail(Unavailable("no more", code="model_down"), {})
    outcome = {"writing": (503, "document_being_indexed"), "done": (409, "job_done")}.get(state)
    reply = served.client.delete(url)
    if outcome:
        assert (reply.status_code, read(reply, "Refusal", outcome[0])["error"]["code"]) == outcome
    else:
        code = read(reply, "JobReply", 200)["error"]["code"]
        assert code == ("model_down" if state == "failed" else "cancelled")
    if state == "writing" and lease:
        await lease.release({})
    await served.drain()
    chunks = await served.kit.index.store.select(Scope("default"), limit=9)
    earlier = ["An earlier text."] if is_there_before else []
    assert ([chunk.content for chunk in chunks] == earlier) is (outcome is None)
    ended = read(served.client.get(url), "JobReply", 200)
    assert ended["status"] == ("done" if outcome else "failed")


async def test_a_job_that_is_done_is_not_cancelled(served: Served) -> None:
    url = served.taken_on(LATER)["status_url"]
    await served.drain()
    refused = read(served.client.delete(url), "Refusal", 409)
    assert refused["error"]["code"] == "job_done"


async def test_a_delete_that_fails_leaves_the_job_as_it_was(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """C36 (RELIABILITY): the caller is told to try again, and what was acknowledged before is kept."""
    read(served.post({**LATER, "async": False}), "IndexReply", 200)
    url = served.taken_on(LATER)["status_url"]

    async def down(*_: object) -> bool:
        raise Unavailable("the store is down", code="store_down")

    monkeypatch.setattr(served.kit.index.store, "delete", down)
    read(served.client.post("/api/delete_document", json={"document_id": "notes"}), "Refusal", 503)
    await served.drain()
    assert read(served.client.get(url), "JobReply", 200)["status"] == "done"


@pytest.mark.parametrize("purge", [False, True])
async def test_a_job_that_would_end_during_the_delete_does_not_bring_the_document_back(
    served: Served, monkeypatch: pytest.MonkeyPatch, purge: bool
) -> None:
    """C21, S3-16: its worker has all the vectors, and is about to write when the delete is under way."""
    read(served.post({**LATER, "async": False}), "IndexReply", 200)
    url = served.taken_on(LATER)["status_url"]
    lease = await served.kit.jobs.claim()
    assert lease
    store, way = served.kit.index.store, "purge" if purge else "delete"
    goes = getattr(store, way)

    async def with_a_worker_at_it(document_id: str, scope: Scope) -> Any:
        gone = await goes(document_id, scope)
        with pytest.raises(Conflict):
            await Indexer(served.kit, Run(), RAG(served.kit, served.settings).indexing_policy).run_job(lease)
        await served.drain()
        return gone

    monkeypatch.setattr(store, way, with_a_worker_at_it)
    read(served.client.post("/api/delete_document", json={"document_id": "notes", "purge": purge}), "DeleteReply", 200)
    await served.drain()
    assert await store.load_document("notes", Scope("default")) is None
    assert read(served.client.get(url), "JobReply", 200)["error"]["code"] == "superseded"


async def test_the_emulator_goes_on_working_when_a_job_meets_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also the fault is logged; the job's lease runs out, and it is tried again."""
    turns: list[int] = []

    async def broken(settings: Settings, kit: Kit, *, within_s: float) -> None:
        turns.append(len(turns))
        if len(turns) == 1:
            raise ZeroDivisionError
        worker.cancel()

    monkeypatch.setattr(job_runner, "run_pending_jobs", broken)
    monkeypatch.setattr(host, "JOB_POLL_S", 0.0)
    settings = Settings(data_dir=None)
    worker = asyncio.ensure_future(host.work_on_jobs(settings, assembly.KitHolder(lambda: settings)))
    with pytest.raises(asyncio.CancelledError):
        await worker
    assert len(turns) == 2
    assert "the job worker failed" in caplog.text


def test_the_emulator_does_jobs_by_itself(no_models: Path) -> None:
    """C56 (RELIABILITY): nobody has to ask again."""
    done = threading.Event()
    settings = Settings(data_dir=None, models_dir=no_models)
    kit = assembly.build_kit(settings)
    finish = SqliteLease.finish

    async def told(*args: Any) -> Job:
        job = await finish(*args)
        done.set()
        return job

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteLease, "finish", told)
        patch.setattr(host, "JOB_POLL_S", 0.01)
        app = function_app.build_app(lambda: settings, lambda: kit)
        served = Host(app, background_work=partial(host.work_on_jobs, settings, lambda: kit), on_close=kit.close)
        taken = read(Client(served).post("/api/index_document", json=LATER), "AcceptedReply", 202)
        assert done.wait(30)
        assert read(Client(served).get(taken["status_url"]), "JobReply", 200)["status"] == "done"
        served.close()
