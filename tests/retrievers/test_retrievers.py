"""Retrievers of other libraries, with the libraries themselves: `python -m evals.agent_doors` makes environments that
have them and runs this file in each; in the one of the project, which has none, each is skipped."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_core.cli import main
from rag_core.core.errors import InvalidRequest

NOTES = "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor."
OPTIONS = {"top_k": 3, "pipeline": "standard"}


@pytest.fixture(autouse=True)
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that the settings name, without models, with a document in a workflow of its own."""
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    (tmp_path / "notes.txt").write_text(NOTES)
    assert main(["index", "--workflow", "garage", str(tmp_path / "notes.txt")]) == 0


def require(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"wants {library}, which `python -m evals.agent_doors` installs into an environment of its own")


@pytest.fixture(params=["langchain_core", "llama_index", "haystack"])
def retrieve(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Ask a library's retriever as its users do; of each passage text, score, lines and title."""
    require(request.param)
    return {"langchain_core": ask_langchain, "llama_index": ask_llamaindex, "haystack": ask_haystack}[request.param]


def ask_langchain(query: str, workflow_id: str, options: dict[str, Any]) -> list[tuple[str, float, Any, str]]:
    from rag_core.retrievers.langchain import RagRetriever

    found = RagRetriever(workflow_id=workflow_id, options=options).invoke(query)
    return [(d.page_content, d.metadata["score"], d.metadata["lines"], d.metadata["title"]) for d in found]


def ask_llamaindex(query: str, workflow_id: str, options: dict[str, Any]) -> list[tuple[str, float, Any, str]]:
    from rag_core.retrievers.llamaindex import RagRetriever

    found = RagRetriever(workflow_id, options).retrieve(query)
    return [(n.node.text, n.score, n.metadata["lines"], n.metadata["title"]) for n in found]


def ask_haystack(query: str, workflow_id: str, options: dict[str, Any]) -> list[tuple[str, float, Any, str]]:
    from haystack import Pipeline

    from rag_core.retrievers.haystack import RagRetriever

    pipeline = Pipeline()
    pipeline.add_component("rag", RagRetriever(workflow_id, options))
    loaded = Pipeline.from_dict(
        pipeline.to_dict(), allowed_modules=[RagRetriever.__module__]
    )  # as it is saved with an application
    found = loaded.run({"rag": {"query": query}})["rag"]["documents"]
    return [(d.content, d.score, d.meta["lines"], d.meta["title"]) for d in found]


def test_a_retriever_finds_the_passages_of_its_workflow_with_their_places(retrieve: Callable[..., Any]) -> None:
    ((text, score, lines, title),) = retrieve("What stores P0700?", "garage", OPTIONS)
    assert (text, list(lines), title, score > 0) == (NOTES, [1, 1], "notes", True)
    assert retrieve("What stores P0700?", "default", OPTIONS) == []


def test_a_failure_is_raised_and_is_not_an_empty_list(retrieve: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match="pipeline") as failed:
        retrieve("What stores P0700?", "garage", {"pipeline": "nonsense"})
    causes = [failed.value, failed.value.__cause__]
    assert any(isinstance(cause, InvalidRequest) for cause in causes)


@pytest.mark.parametrize("toolkit", ["langchain", "llamaindex", "haystack"])
def test_without_its_toolkit_a_retriever_says_what_to_install(toolkit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"rag_core.retrievers.{toolkit}"
    for absent in ("langchain_core.callbacks", "llama_index.core.retrievers", "haystack"):
        monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'azure-rag\[{toolkit}\]'"):
        importlib.import_module(name)


async def test_langchain_is_answered_in_the_callers_loop_too() -> None:
    require("langchain_core")
    from rag_core.retrievers.langchain import RagRetriever

    retriever = RagRetriever(workflow_id="garage", options=OPTIONS)
    assert [document.page_content for document in await retriever.ainvoke("What stores P0700?")] == [NOTES]
    assert [document.page_content for document in retriever.invoke("What stores P0700?")] == [NOTES]


async def test_llamaindex_is_answered_in_the_callers_loop_too() -> None:
    require("llama_index")
    from rag_core.retrievers.llamaindex import RagRetriever

    assert [node.text for node in await RagRetriever("garage", OPTIONS).aretrieve("What stores P0700?")] == [NOTES]
