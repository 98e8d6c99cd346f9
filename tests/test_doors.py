"""Every door answers the same question in the same way: preset, ranking, warnings, degradations, saved run."""

import asyncio
import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

import rag_core
from function_app import build_app
from rag_core import client
from rag_core.agent import RAGRetrievalAgent
from rag_core.cli import main as run_cli
from rag_core.core.errors import RagError, TooLarge
from rag_core.core.settings import Settings, load_settings
from rag_core.engine import RAGEngine
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG

QUESTION = "What does P0700 mean?"
TEXT = "P0700 means that the transmission control module asks for the lamp.\n\nP0715 is the input speed sensor."
ENVIRONMENT = {  # none of it is a default, and each changes the ranking, the warnings or what is saved
    "RAG_KEEP_RUNS": "1",
    "MIN_CHUNK_RELEVANCE": "0.9",
    "MULTI_QUERY_ENABLED": "1",
    "SKIP_CONTEXT_EXPANSION": "0",
    "RAG_MAX_UPLOAD_BYTES": "2000",
}
Door = Callable[[Settings, str], Mapping[str, Any]]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings that no default has, in the environment too, over a folder with one document."""
    environment = {**ENVIRONMENT, "RAG_DATA_DIR": str(tmp_path_factory.mktemp("doors"))}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in environment.items():
            patched.setenv(name, value)
        asyncio.run(index_one_document(load_settings()))
        yield load_settings()


async def index_one_document(settings: Settings) -> None:
    async with rag_core.open(settings) as rag:
        await rag.index(Upload(content=TEXT, document_id="manual"), title="The manual")


def search_by_the_front_door(settings: Settings, preset: str) -> Mapping[str, Any]:
    async def search() -> Mapping[str, Any]:
        async with rag_core.open(settings) as rag:
            return (await rag.search(QUESTION, preset=preset, top_k=5, enable_hyde=True)).to_json()

    return asyncio.run(search())


def search_over_http(settings: Settings, preset: str) -> Mapping[str, Any]:
    return call_function(settings, "consult_rag", {"preset": preset})


def search_over_mcp(settings: Settings, preset: str) -> Mapping[str, Any]:
    arguments = {"query": QUESTION, "top_k": 5, "preset": preset, "enable_hyde": True, "format": "full"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    reply = post(settings, "mcp", message | {"params": {"name": "consult_rag", "arguments": arguments}})
    structured: Mapping[str, Any] = reply["result"]["structuredContent"]
    return structured


def search_by_the_agent(settings: Settings, preset: str) -> Mapping[str, Any]:
    async def search() -> Mapping[str, Any]:
        async with rag_core.open(settings) as rag:
            return await RAGRetrievalAgent(rag).search(QUESTION, preset=preset, top_k=5, enable_hyde=True)

    return asyncio.run(search())


def search_by_the_client(settings: Settings, preset: str) -> Mapping[str, Any]:
    pipeline = "standard" if preset == "standard" else "classical"
    return asyncio.run(
        client.consult_rag(query=QUESTION, pipeline=pipeline, top_k=5, enable_hyde=True, chosen=settings)
    )


def answer_by_the_front_door(settings: Settings, preset: str) -> Mapping[str, Any]:
    async def answer() -> Mapping[str, Any]:
        async with rag_core.open(settings) as rag:
            return (await rag.answer(QUESTION, preset=preset)).to_json("numbers")

    return asyncio.run(answer())


def answer_over_http(settings: Settings, preset: str) -> Mapping[str, Any]:
    return post(settings, "ask", {"query": QUESTION, "preset": preset, "style": "numbers"})


def answer_on_the_command_line(settings: Settings, preset: str) -> Mapping[str, Any]:
    return run_command("ask", "--preset", preset, "--style", "numbers")


def answer_by_the_client(settings: Settings, preset: str) -> Mapping[str, Any]:
    return asyncio.run(client.ask(query=QUESTION, preset=preset, style="numbers", chosen=settings))


def answer_by_the_agent(settings: Settings, preset: str) -> Mapping[str, Any]:
    async def answer() -> Mapping[str, Any]:
        async with rag_core.open(settings) as rag:
            return await RAGRetrievalAgent(rag).answer(QUESTION, preset=preset, style="numbers")

    return asyncio.run(answer())


def call_function(settings: Settings, name: str, more: Mapping[str, Any]) -> Mapping[str, Any]:
    return post(settings, name, {"query": QUESTION, "top_k": 5, "enable_hyde": True, **more})


def post(settings: Settings, name: str, body: Mapping[str, Any]) -> Any:
    [function] = [f for f in build_app(lambda: settings).get_functions() if f.get_function_name() == name]
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = func.HttpRequest(method="POST", url="http://x", body=json.dumps(body).encode(), headers=headers)
    reply = asyncio.run(function.get_user_function()(req=request))
    assert reply.status_code == 200, reply.get_body()
    return json.loads(reply.get_body())


def run_command(command: str, *options: str) -> Mapping[str, Any]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run_cli([command, QUESTION, "--json", *options]) == 0
    reply: Mapping[str, Any] = json.loads(printed.getvalue())
    return reply


SEARCH_DOORS: Mapping[str, Door] = {
    "http": search_over_http,
    "mcp": search_over_mcp,
    "agent": search_by_the_agent,
    "client": search_by_the_client,
}
ANSWER_DOORS: Mapping[str, Door] = {
    "http": answer_over_http,
    "cli": answer_on_the_command_line,
    "client": answer_by_the_client,
    "agent": answer_by_the_agent,
}


def summarize(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what two doors must agree on."""
    return {
        "preset": reply["preset"],
        "ranking": [(hit["id"], hit["score"]) for hit in reply.get("documents", ())],
        "answer": {name: reply.get(name) for name in ("answer", "status", "claims", "confidence", "contexts", "style")},
        "warnings": reply["warnings"],
        "degraded": reply["degraded"],
        "is_saved": isinstance(reply.get("kept", "not said"), int),
        "fields": set(reply) - {"served_by"},
    }


@pytest.mark.parametrize("preset", ["classical", "standard"])
@pytest.mark.parametrize("door", SEARCH_DOORS)
def test_a_search_is_the_same_through_every_door(settings: Settings, door: str, preset: str) -> None:
    """S1-34 to S1-36: a fallback from the function to the agent changes neither ranking nor warnings."""
    expected = summarize(search_by_the_front_door(settings, preset))
    assert summarize(SEARCH_DOORS[door](settings, preset)) == expected
    assert [warning["code"] for warning in expected["warnings"]][:1] == ["no_effect"]
    assert expected["is_saved"] == (preset == "standard")


@pytest.mark.parametrize("preset", ["classical", "standard"])
@pytest.mark.parametrize("door", ANSWER_DOORS)
def test_an_answer_is_the_same_through_every_door(settings: Settings, door: str, preset: str) -> None:
    expected = summarize(answer_by_the_front_door(settings, preset))
    assert summarize(ANSWER_DOORS[door](settings, preset)) == expected
    if preset == "classical":
        numbers = expected["preset"]
        assert (numbers["relevance_min"], numbers["rewordings"], numbers["neighbours"]) == (0.9, 2, 1)
    else:
        assert expected["is_saved"]


def test_the_command_line_searches_as_the_front_door_does(settings: Settings) -> None:
    """S1-34: `rag query` has no flags, so nothing to warn of."""
    reply = summarize(run_command("query", "--pipeline", "standard"))
    expected = summarize(search_by_the_front_door(settings, "standard"))
    assert {**reply, "warnings": expected["warnings"]} == expected
    assert reply["warnings"] == []


def test_the_engine_and_the_agent_work_without_any_argument(tmp_path: Path) -> None:
    """S3-19, S3-20: over a store in memory, and the answer prints as its text."""

    async def ask() -> tuple[str, str]:
        agent = RAGRetrievalAgent()
        path = tmp_path / "manual.md"
        path.write_text(TEXT)
        await agent.index_document(path, title="The manual")
        found = await agent.consult_rag_tool(QUESTION)
        return found["documents"][0]["title"], str(await RAGEngine(agent.rag).query(QUESTION))

    title, answer = asyncio.run(ask())
    assert title == "The manual"
    assert "transmission control module" in answer


@pytest.mark.parametrize("door", ["front", "engine", "agent"])
def test_the_limit_of_an_upload_holds_at_every_door(settings: Settings, door: str) -> None:
    async def index() -> None:
        async with rag_core.open(settings) as rag:
            upload = Upload(content="word " * 1000, document_id="long")
            if door == "engine":
                block = rag_core.TextBlock("word " * 1000, "paragraph", 1, 1)
                await RAGEngine(rag).index_document("long", [block])
            elif door == "agent":
                await RAGRetrievalAgent(rag).index_document(upload)
            else:
                await rag.index(upload)

    with pytest.raises(TooLarge):
        asyncio.run(index())


def test_the_time_limit_of_the_settings_ends_a_call(settings: Settings) -> None:
    assert RAG(settings=load_settings({"RAG_TIMEOUT_S": "7"})).start_run().within_s == 7


def test_the_documented_names_are_importable_from_the_package() -> None:
    for name in rag_core.__all__:
        assert getattr(rag_core, name) is not None
    assert rag_core.RagError is RagError
    with pytest.raises(AttributeError):
        rag_core.nothing  # noqa: B018
