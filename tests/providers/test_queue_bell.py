"""A job's message goes through Microsoft's own emulator of Storage queues, and what it wakes does the job."""

import shutil
import socket
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import azure.functions as func
import pytest
from azure.storage.queue import QueueClient

import function_app
from functions.triggers import QUEUE
from rag_core import bootstrap
from rag_core.errors import Unavailable
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload
from rag_core.ingestion.uploads import encoded
from rag_core.kit import Kit
from rag_core.model import Scope
from rag_core.providers import queue_bell
from rag_core.providers.queue_bell import QueueBell
from rag_core.settings import Settings

NODE_MODULES = Path(__file__).parents[2] / ".cache" / "azurite" / "node_modules"
AZURITE = NODE_MODULES / "azurite" / "dist" / "src" / "queue" / "main.js"
NEEDED = "node and `npm install --prefix .cache/azurite azurite@3.35.0` are needed (186 MB)"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # Azurite's, public
SCOPE = Scope("garage")


def at(port: int) -> str:
    return (
        "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
        f"AccountKey={KEY};QueueEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
    )


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.fixture(scope="module")
def storage() -> Iterator[str]:
    """A connection string of an Azurite that serves queues, in memory."""
    node = shutil.which("node")
    if node is None or not AZURITE.exists():
        pytest.skip(NEEDED)
    port = free_port()
    said = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--queuePort", str(port)]
    child = subprocess.Popen([node, str(AZURITE), *said], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert any("successfully listen" in line for line in child.stdout)
    yield at(port)
    child.terminate()
    child.communicate()


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    kit = bootstrap.build(Settings(data_dir=tmp_path, models_dir=tmp_path))
    yield kit
    await kit.close()


def received(storage: str) -> list[bytes]:
    """The messages as the Functions host hands them on: their base64 read."""
    with QueueClient.from_connection_string(storage, QUEUE) as client:
        messages = list(client.receive_messages())
        for message in messages:
            client.delete_message(message)
    return [b64decode(message.content) for message in messages]


async def woken(kit: Kit, body: bytes) -> None:
    """What the host does with a message."""
    app = function_app.build(lambda: Settings(), lambda: kit)
    function = next(f for f in app.get_functions() if f.get_function_name() == "index_jobs_woken")
    trigger = function.get_trigger()
    assert (trigger.queue_name, trigger.connection) == (QUEUE, "AzureWebJobsStorage")
    await function.get_user_function()(message=func.QueueMessage(body=body))


async def test_a_message_wakes_the_worker_and_holds_the_jobs_id_only(storage: str, kit: Kit) -> None:
    """S1-57, C56 (RELIABILITY): the queue says that there is work, the table says what."""
    work = encoded(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await kit.jobs.add(work, SCOPE, document_id="notes")
    bell = QueueBell(storage)
    await bell.ring(job.id)
    await bell.close()
    (body,) = received(storage)
    assert body == job.id.encode()
    await woken(kit, body)
    done = await kit.jobs.get(job.id, None)
    assert done
    assert done.state == "done"


async def test_a_message_that_comes_twice_or_lies_does_nothing_twice(storage: str, kit: Kit) -> None:
    work = encoded(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await kit.jobs.add(work, SCOPE, document_id="notes")
    for body in (b"no such job", job.id.encode(), job.id.encode()):
        await woken(kit, body)
    done = await kit.jobs.get(job.id, None)
    assert done
    assert (done.state, done.attempts) == ("done", 1)


async def test_the_timer_does_what_a_lost_message_would_have(kit: Kit) -> None:
    """C56 (RELIABILITY): losing the message loses nothing."""
    work = encoded(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
    job, _ = await kit.jobs.add(work, SCOPE, document_id="notes")
    app = function_app.build(lambda: Settings(), lambda: kit)
    function = next(f for f in app.get_functions() if f.get_function_name() == "index_jobs_timed")
    await function.get_user_function()(timer=None)
    done = await kit.jobs.get(job.id, None)
    assert done
    assert done.state == "done"


@pytest.mark.parametrize("storage", ["nonsense", at(9)])
async def test_a_queue_that_is_not_there_is_unavailable_within_its_time(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port 9 is discard: nobody listens."""
    monkeypatch.setattr(queue_bell, "WITHIN_S", 0.5)
    bell = QueueBell(storage)
    with pytest.raises(Unavailable):
        await bell.ring("job")
    await bell.close()
