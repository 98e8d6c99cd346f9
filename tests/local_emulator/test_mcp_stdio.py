"""`rag mcp`: the printed configuration, the real client of the library, and nothing but the protocol on its output."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from rag_core.cli import main
from rag_core.core.settings import Settings
from rag_core.ingestion.upload import Upload
from rag_core.rag import open

NOTES = "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor."
SECRET = "P0815 is what the garage keeps to itself."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def indexed(data: Path) -> Path:
    """A data folder with a document in each of two workflows, and no models, which each reply has a note about."""

    async def index() -> None:
        async with open(Settings(data_dir=data, models_dir=data / "none")) as rag:
            await rag.index(Upload(NOTES, document_id="notes", title="Notes"))
            await rag.index(Upload(SECRET, document_id="secret", title="Secret"), scope="garage")

    asyncio.run(index())
    return data


def print_configuration(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("RAG_MODELS_DIR", str(data / "none"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    assert main(["mcp", "--data", str(data), "--print-config"]) == 0
    printed = capsys.readouterr()
    assert "sk-of-nobody" not in printed.out + printed.err
    assert "OPENAI_API_KEY" in printed.err
    return json.loads(printed.out)["mcpServers"]["rag"]


async def test_a_real_client_with_the_printed_configuration_uses_tools_and_documents_of_one_workflow(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Started with the few variables that a desktop client passes on; no call leaves the workflow."""
    configured = print_configuration(indexed, monkeypatch, capsys)
    async with Client(StdioServerParameters(**configured, cwd="/")) as client:
        assert "call ask" in (client.instructions or "")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"ask", "consult_rag", "list_documents", "read_document", "link_schema"} <= set(tools)
        assert not any("workflow_id" in tool.input_schema["properties"] for tool in tools.values())
        asked = await client.call_tool("ask", {"query": "What stores P0700?", "pipeline": "standard"})
        assert "[A0]" in asked.structured_content["answer"]
        assert json.loads(asked.content[0].text) == asked.structured_content  # type: ignore[union-attr]
        assert any("fell back" in note for note in asked.structured_content["notes"])
        listed = await client.call_tool("list_documents")
        assert [line.split()[0] for line in listed.structured_content["documents"]] == ["notes"]
        refused = await client.call_tool("read_document", {"document_id": "secret"})
        assert (refused.is_error, refused.structured_content["error"]["code"]) == (True, "document_not_found")
        assert [resource.uri for resource in (await client.list_resources()).resources] == [
            "rag://documents/default/notes"
        ]
        (read,) = (await client.read_resource("rag://documents/default/notes")).contents
        assert read.text == NOTES  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="for the workflow default alone"):
            await client.call_tool("read_document", {"document_id": "secret", "workflow_id": "garage"})
        with pytest.raises(MCPError, match="for the workflow default alone"):
            await client.read_resource("rag://documents/garage/secret")
        with pytest.raises(MCPError, match="there is no tool"):
            await client.call_tool("delete_document", {"document_id": "notes"})


HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
NOISY = """\
import runpy, sys, warnings
from rag_core.rag import RAG
answer = RAG.answer
async def noisy(*args, **options):
    print("a library that talks")
    warnings.warn("a library that warns")
    sys.__stdout__.write("another, to the first stream\\n")
    return await answer(*args, **options)
RAG.answer = noisy
from rag_core.cli import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def start(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], text=True, encoding="utf-8", **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_nothing_but_the_protocol_is_written_to_its_output(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a library prints, a warning is shown, and a line is no message."""
    monkeypatch.setenv("RAG_MODELS_DIR", str(indexed / "none"))
    call = {"name": "ask", "arguments": {"query": "What stores P0700? Ünïcode ✓"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with start(NOISY, "mcp", "--data", str(indexed)) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("no message\n" + "".join(json.dumps(line) + "\n" for line in lines))
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline())]
        while replies[-1].get("id") != 2:
            replies.append(json.loads(process.stdout.readline()))
        rest, told = process.communicate(timeout=60)
    assert all(reply["jsonrpc"] == "2.0" for reply in replies)
    assert rest == ""
    assert replies[-1]["result"]["structuredContent"]["success"]
    assert all(noise in told for noise in ("library that talks", "library that warns", "to the first stream"))
    assert process.returncode == 0


def test_a_folder_without_an_index_is_named_and_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--data", str(tmp_path / "nothing")]) == 2
    printed = capsys.readouterr()
    assert f"there is no index in {tmp_path / 'nothing'}" in printed.err
    assert printed.out == ""
    assert not (tmp_path / "nothing").exists()


def test_without_the_library_it_says_what_to_install(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "index.sqlite").touch()
    monkeypatch.delitem(sys.modules, "local_emulator.mcp_stdio", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    assert main(["mcp", "--data", str(data)]) == 2
    assert "pip install 'azure-rag[mcp]'" in capsys.readouterr().err
