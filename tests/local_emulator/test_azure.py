"""The neighbours of the production path, on loopback: started, pointed at, and closed again."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.azure import describe_addresses, serve_azure_services
from local_emulator.chat_techniques import write_standalone_question
from local_emulator.host import Host
from rag_core.cli import main
from rag_core.composition import assembly, index_assembly
from rag_core.composition.choices import list_adapter_choices
from rag_core.core import settings
from rag_core.core.hosted_models import DEFAULT_CHAT_MODEL
from rag_core.core.model import Scope
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.pipelines import search_with_pipeline as consult

TEXT = "P0700 means that the transmission control module has stored a fault of its own."


async def asked(pointed: Settings) -> tuple[list[str], Run]:
    """What the production path finds of a text that went in by it."""
    kit = assembly.build_kit(pointed)
    run, scope = Run(), Scope("garage")
    try:
        upload = Upload(content=TEXT, document_id="notes", source="notes.txt")
        await index_document(upload, scope, kit, run, chunking=Chunking(), limits=UploadLimits(10**6, 10))
        found = await consult(
            resolve_preset("advanced").build_query("What does P0700 mean?", scope), kit, run, pipeline="advanced"
        )
        return [hit.chunk.content for hit in found.hits], run
    finally:
        await kit.close()


def test_what_goes_in_by_the_production_path_is_found_by_it(tmp_path: Path) -> None:
    """S1-23, S3-10, C33, C40: the same pipelines by configuration alone, with the real clients and nothing degraded."""
    with serve_azure_services(replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path)) as pointed:
        embedding = index_assembly.choose_embedding_provider(pointed)
        assert [choice.adapter for choice in list_adapter_choices(pointed, embedding)] == [
            "Azure AI Search",
            "Document Intelligence",
            "local agent",
            "Azure OpenAI",  # the chat model
            "Azure OpenAI",  # the embedder
            "chat model",  # the judge
        ]
        found, run = asyncio.run(asked(pointed))
    assert found == [TEXT]
    assert run.degraded == []


def test_a_follow_up_over_http_is_written_to_stand_alone_and_nothing_is_degraded(tmp_path: Path) -> None:
    """The emulated chat model takes the task as it takes the others; codes of the turns stay."""
    with serve_azure_services(replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path)) as pointed:
        kit = assembly.build_kit(pointed)
        host = Host(function_app.build_app(lambda: pointed, lambda: kit), on_close=kit.close)
        client = Client(host)
        uploaded = client.post("/api/index_document", json={"document_id": "notes", "content": TEXT})
        assert uploaded.status_code == 200
        turns = [
            {"role": "user", "content": "What does P0700 mean?"},
            {"role": "assistant", "content": "A fault was stored."},
        ]
        asked = {"query": "And which module stores it?", "history": turns, "pipeline": "standard"}
        reply = json.loads(client.post("/api/rag/ask", json=asked).data)
        host.close()
    assert reply["degraded"] == []
    assert reply["question"] == "What does P0700 mean, and which module stores it?"
    assert reply["techniques"]["standalone_question"] == "local: the words of the turns"


@pytest.mark.parametrize(
    ("question", "turns", "written"),
    [
        ("And in winter?", ["How often is the oil changed?"], "How often is the oil changed, and in winter?"),
        ("What about it?", ["Why?", "Explain P0700 codes.", "Why?"], "Explain P0700 codes, and it?"),
        ("Who signs it?", ["How long is the notice?", "And for it?"], "Who signs it, and How long is the notice?"),
        ("Where is the spare key kept?", ["How long is the notice?"], "Where is the spare key kept?"),
        ("And?", ["Why?"], "Why?"),
    ],
)
def test_what_the_emulated_chat_model_makes_of_a_follow_up(question: str, turns: list[str], written: str) -> None:
    said = [{"role": "user", "content": turn} for turn in turns]
    assert write_standalone_question({"question": question, "turns": said}) == written


def test_tokens_are_free_unless_they_are_to_have_the_prices_of_the_models_asked_for(tmp_path: Path) -> None:
    """The techniques cost nothing; under a model's name their tokens cost what they would cost on Azure."""
    costs = []
    for priced in (False, True):
        folder = tmp_path / str(priced)
        with serve_azure_services(replace(settings.DEFAULT_SETTINGS, data_dir=folder), priced=priced) as pointed:
            found, run = asyncio.run(asked(pointed))
        assert found == [TEXT]
        costs.append(run.cost_usd)
    most = (run.input_tokens + run.output_tokens) * DEFAULT_CHAT_MODEL.output_usd / 1_000_000
    free, cost = costs
    assert free == 0.0
    assert cost is not None
    assert 0.0 < cost < most


def test_an_index_outlives_its_service(tmp_path: Path) -> None:
    here = replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path)
    with serve_azure_services(here) as pointed:
        asyncio.run(asked(pointed))
    with serve_azure_services(here) as pointed:
        kit = assembly.build_kit(pointed)

        async def held() -> int:
            try:
                return (await kit.index.store.describe()).chunks
            finally:
                await kit.close()

        assert asyncio.run(held()) == 1


def test_setup_creates_the_index_and_may_be_repeated(tmp_path: Path) -> None:
    """S1-23..33: `rag setup` is done when the neighbours are; again it upgrades."""
    with serve_azure_services(replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path)) as pointed:
        assert (
            asyncio.run(assembly.set_up_stores(pointed))
            == f"{pointed.azure_search_endpoint}, index rag-chunks: unchanged; its knowledge base is ready"
        )


def test_serve_azure_says_where_they_are_and_stops_when_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rag_core.cli", "serve", "--azure", "--port", "0", "--data", str(tmp_path)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=os.environ) as server:
        assert server.stdout
        told = [server.stdout.readline() for _ in range(3)]
        for line in server.stdout:
            if "Ctrl-C" in line:
                server.send_signal(signal.SIGINT)
    assert [line.split()[0] for line in told] == ["azure_search", "azure_openai", "doc_intelligence"]
    assert server.returncode == 0


def test_the_keys_are_not_in_what_is_printed(tmp_path: Path) -> None:
    with serve_azure_services(replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path)) as pointed:
        assert pointed.azure_search_key
        assert pointed.azure_search_key not in describe_addresses(pointed)


def test_setup_without_a_service_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_SEARCH_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", "key")
    assert main(["setup"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rag: Azure AI Search did not answer")
    assert err.count("\n") == 1
