"""A job's message goes through Microsoft's own emulator of Storage queues, and what it wakes does the job."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import azure.functions as func
import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueClient

import function_app
from functions.triggers import JOB_QUEUE_TRIGGER_NAME
from rag_core.composition import assembly
from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.settings import Settings
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.jobs import azure_queue
from rag_core.jobs.azure_queue import AzureQueueNotifier
from rag_core.jobs.upload_codec import encode_upload
from tests import azurite

SCOPE = Scope("garage")


@pytest.fixture
def storage() -> str:
    """An account whose queue is empty."""
    address = azurite.emptied()
    with QueueClient.from_connection_string(address, JOB_QUEUE_TRIGGER_NAME) as client, suppress(ResourceNotFoundError):
        client.clear_messages()
    return address


def instance(folder: Path, storage: str | None = None) -> Kit:
    return assembly.build_kit(Settings(data_dir=folder, models_dir=folder, jobs_storage=storage))


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    kit = instance(tmp_path)
    yield kit
    await kit.close()


def received(storage: str) -> list[bytes]:
    """The messages as the Functions host hands them on: their base64 read."""
    with QueueClient.from_connection_string(storage, JOB_QUEUE_TRIGGER_NAME) as client:
        messages = list(client.receive_messages())
        for message in messages:
            client.delete_message(message)
    return [b64decode(message.content) for message in messages]


async def woken(kit: Kit, body: bytes) -> None:
    """What the host does with a message."""
    app = function_app.build_app(lambda: Settings(), lambda: kit)
    function = next(f for f in app.get_functions() if f.get_function_name() == "index_jobs_woken")
    trigger = function.get_trigger()
    assert (trigger.queue_name, trigger.connection) == (JOB_QUEUE_TRIGGER_NAME, "AzureWebJobsStorage")
    await function.get_user_function()(message=func.QueueMessage(body=body))


async def test_a_job_that_one_instance_took_on_is_done_by_another_that_its_message_wakes(
    storage: str, tmp_path: Path
) -> None:
    """S1-57, C56 (RELIABILITY): the queue says that there is work, the table in the same account says what."""
    asked, woken_up = instance(tmp_path / "asked", storage), instance(tmp_path / "woken up", storage)
    work = encode_upload(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await asked.jobs.add(work, SCOPE, document_id="notes")
    await asked.job_notifier.notify(job.id)
    (body,) = received(storage)
    assert body == job.id.encode()
    await woken(woken_up, body)
    done = await asked.jobs.get(job.id, None)
    assert done
    assert done.state == "done"
    for kit in (asked, woken_up):
        await kit.close()


async def test_a_bell_for_later_is_heard_later(storage: str) -> None:
    """S1-57: a job that is put off is not due before."""
    bell = AzureQueueNotifier(storage)
    await bell.notify("at once")
    await bell.notify("in an hour", after_s=3599.5)
    await bell.close()
    assert received(storage) == [b"at once"]


async def test_a_message_that_comes_twice_or_lies_does_nothing_twice(kit: Kit) -> None:
    work = encode_upload(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await kit.jobs.add(work, SCOPE, document_id="notes")
    for body in (b"no such job", job.id.encode(), job.id.encode()):
        await woken(kit, body)
    done = await kit.jobs.get(job.id, None)
    assert done
    assert (done.state, done.attempts) == ("done", 1)


async def test_a_message_that_wakes_two_instances_at_the_same_time_has_its_job_done_by_one(
    storage: str, tmp_path: Path
) -> None:
    """C56 (RELIABILITY): the queue delivers at least once; the document is paid for once."""
    instances = instance(tmp_path / "one", storage), instance(tmp_path / "other", storage)
    work = encode_upload(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await instances[0].jobs.add(work, SCOPE, document_id="notes")
    await asyncio.gather(*(woken(kit, job.id.encode()) for kit in instances))
    done = await instances[1].jobs.get(job.id, None)
    assert done
    assert (done.state, done.attempts) == ("done", 1)
    held = [len(await kit.index.store.list_documents(SCOPE)) for kit in instances]
    assert sorted(held) == [0, 1]
    for kit in instances:
        await kit.close()


async def test_the_timer_does_what_a_lost_message_would_have(kit: Kit) -> None:
    """C56 (RELIABILITY): losing the message loses nothing."""
    work = encode_upload(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await kit.jobs.add(work, SCOPE, document_id="notes")
    app = function_app.build_app(lambda: Settings(), lambda: kit)
    function = next(f for f in app.get_functions() if f.get_function_name() == "index_jobs_timed")
    await function.get_user_function()(timer=None)
    done = await kit.jobs.get(job.id, None)
    assert done
    assert done.state == "done"


NOBODY = azurite.account({"Queue": "http://127.0.0.1:9/devstoreaccount1"})  # port 9 is discard


@pytest.mark.parametrize("address", ["nonsense", NOBODY])
async def test_a_queue_that_is_not_there_is_unavailable_within_its_time(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure_queue, "SEND_TIMEOUT_S", 0.5)
    bell = AzureQueueNotifier(address)
    with pytest.raises(Unavailable):
        await bell.notify("job")
    await bell.close()
