"""host.json and local.settings.json.example: whether the .NET host can load what the app binds to.

The Python worker lists a function with a binding that the host does not know, and the host then never starts it:
nothing in Python sees that. So the bindings of the app are compared with those that the host's configuration brings.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import function_app
from functions.triggers import DRAIN_WITHIN_S, STORAGE_CONNECTION
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.jobs.upload_codec import encode_upload
from tests import azurite
from tests.jobs.test_azure_queue import received

ROOT = Path(__file__).parents[2]
HOST: dict[str, Any] = json.loads((ROOT / "host.json").read_text("utf-8"))
EXAMPLE: dict[str, Any] = json.loads((ROOT / "local.settings.json.example").read_text("utf-8"))
# learn.microsoft.com/azure/azure-functions/functions-bindings-register: these need no extension, the others do
BUILT_IN = {"httptrigger", "http", "timertrigger", "warmuptrigger"}
# what is in the bundle from its version 4 on, as far as an app of ours might bind to it
BUNDLED = {4: {"queuetrigger", "queue", "blobtrigger", "blob", "table", "eventgridtrigger", "servicebustrigger"}}
BUNDLE = "Microsoft.Azure.Functions.ExtensionBundle"
AS_DEPLOYED: Mapping[str, str] = {"AzureWebJobsStorage__accountName": "ragdata"}


def bindings(app: Any) -> set[str]:
    """The types of all bindings of an app, as the host is told of them."""
    raw = [json.loads(binding) for function in app.get_functions() for binding in function.get_raw_bindings()]
    return {binding["type"].lower() for binding in raw}


def loadable(host: Mapping[str, Any]) -> set[str]:
    """The types of bindings that a host with this configuration can load."""
    bundle = host.get("extensionBundle", {})
    if bundle.get("id") != BUNDLE:
        return BUILT_IN
    lowest, _, highest = bundle["version"].strip("[]()").partition(",")
    assert int(lowest.partition(".")[0]) + 1 == int(highest.partition(".")[0]), "one major version at a time"
    return BUILT_IN | BUNDLED.get(int(lowest.partition(".")[0]), set())


def app() -> Any:
    return function_app.build_app(lambda: settings.DEFAULT_SETTINGS)


def test_the_host_can_load_every_binding_of_the_app() -> None:
    assert {"httptrigger", "http", "timertrigger", "queuetrigger"} <= bindings(app())
    assert bindings(app()) - loadable(HOST) == set()


@pytest.mark.parametrize("bundle", [None, {"id": "Another", "version": "[4.*, 5.0.0)"}])
def test_without_the_bundle_the_queue_would_wake_nobody(bundle: Any) -> None:
    """Long work would then wait for the timer of five minutes."""
    assert bindings(app()) - loadable(HOST | {"extensionBundle": bundle or {}}) == {"queuetrigger"}


def test_traces_of_the_host_and_of_the_app_are_of_one_kind() -> None:
    """The host then ignores `logging.applicationInsights`, which had its own sampling."""
    assert HOST["telemetryMode"] == "OpenTelemetry"
    assert "applicationInsights" not in HOST["logging"]


def test_a_function_ends_before_the_host_ends_it() -> None:
    hours, minutes, seconds = map(int, HOST["functionTimeout"].split(":"))
    assert hours * 3600 + minutes * 60 + seconds > DRAIN_WITHIN_S


def test_the_queue_is_told_of_in_the_encoding_that_we_send() -> None:
    assert HOST["extensions"]["queues"] == {"batchSize": 1, "messageEncoding": "base64"}


def test_the_example_is_read_and_names_the_storage_of_the_triggers() -> None:
    values = EXAMPLE["Values"]
    assert values["FUNCTIONS_WORKER_RUNTIME"] == "python"
    read = settings.load_settings(values)
    assert read.jobs_storage == settings.AZURITE_CONNECTION_STRING
    assert STORAGE_CONNECTION in values


@pytest.fixture
def example_over_azurite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> settings.Settings:
    """The example's settings, with Azurite at ports of its own."""
    monkeypatch.setattr(settings, "AZURITE_CONNECTION_STRING", azurite.emptied())
    return settings.load_settings(EXAMPLE["Values"] | {"RAG_DATA_DIR": str(tmp_path), "RAG_LLM_PROVIDER": "local"})


async def test_with_the_example_a_job_reaches_queue_and_timer(example_over_azurite: settings.Settings) -> None:
    kit = assembly.build_kit(example_over_azurite)
    try:
        work = encode_upload(Upload(content="P0700 is stored by the TCM.", document_id="notes"), Chunking())
        job, _ = await kit.jobs.add(work, Scope("garage"), document_id="notes")
        await kit.job_notifier.notify(job.id)
        assert job.id.encode() in received(example_over_azurite.jobs_storage or "")
        await run_timer(kit, example_over_azurite)
        done = await kit.jobs.get(job.id, None)
        assert done
        assert done.state == "done"
    finally:
        await kit.close()


async def run_timer(kit: Kit, given: settings.Settings) -> None:
    """What the host does every five minutes."""
    built = function_app.build_app(lambda: given, lambda: kit)
    timed = next(function for function in built.get_functions() if function.get_function_name() == "index_jobs_timed")
    await timed.get_user_function()(timer=None)
