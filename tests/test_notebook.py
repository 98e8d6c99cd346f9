"""The documented Python names over the same steps, as a notebook calls them."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from inspect import signature

import pytest

from rag_core import notebook
from rag_core.background_loop import wait_for_result
from rag_core.core.errors import InvalidRequest, NotFound, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from tests.fakes import ScriptedLLM
from tests.workbench.sessions import EXPANSION, IMAGINED, QUESTION, SAID, bench

HERE = {"workflow_id": "garage"}


@pytest.fixture
def kit() -> Iterator[Kit]:
    llm = ScriptedLLM(query_expansion=json.dumps(EXPANSION), chat="Hello.")
    made = wait_for_result(bench(llm=llm)).kit
    wait_for_result(made.archive.save_edited_preset("workbench", {"context_min_chars": 20}))
    yield made
    wait_for_result(made.close())


async def test_the_whole_flow_by_its_documented_names(kit: Kit) -> None:
    """S0-74, S0-78, S0-79, S0-80, S0-81: also where a loop is running, as in a notebook."""
    assert asyncio.get_running_loop().is_running()
    made = notebook.expand_query(QUESTION, kit=kit, **HERE)
    assert (made.expanded_queries, made.hyde_answer, made.intent) == (
        tuple(EXPANSION["queries"]),
        IMAGINED,
        "DEFINITION",
    )
    embedded = notebook.vectorize_query(made.query_id, kit=kit, **HERE)
    assert (embedded.vector_status, embedded.embeddings) == ("vec", 4)
    found = notebook.retrieve(made.query_id, kit=kit, **HERE)
    assert found.chunks[0]["content"].startswith(SAID)
    groups = notebook.consolidate_context(made.query_id, kit=kit, **HERE)
    assert (groups.original_count, groups.consolidated_count) == (len(found.chunks), len(groups.groups))
    prompt = notebook.generate_augmented_prompt(made.query_id, 1, kit=kit, **HERE)
    assert prompt.startswith("You are an expert")
    assert SAID in prompt


def test_an_expansion_had_elsewhere_is_read_and_kept(kit: Kit) -> None:
    """S0-75, S0-76, S0-77."""
    assert QUESTION in notebook.generate_expansion_prompt(QUESTION, kit=kit, **HERE)
    parsed = notebook.parse_expansion_response("MQE queries:\n1. one\n\nIntent: CAUSE\nEntities: a, b")
    assert parsed == notebook.ParsedExpansion(("one",), "", "CAUSE", ("a", "b"))
    id = notebook.save_expansion_to_db(QUESTION, parsed, kit=kit, **HERE)
    assert notebook.vectorize_query(id, kit=kit, **HERE).embeddings == 2
    with pytest.raises(InvalidRequest):
        notebook.parse_expansion_response("nothing")


def test_verbose_says_what_was_done(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    """S0-74."""
    notebook.expand_query(QUESTION, verbose=True, kit=kit, **HERE)
    assert "'query_expansion': 'scripted-1'" in capsys.readouterr().out


def test_models_are_had_by_the_factory_s_names(kit: Kit) -> None:
    """S0-82: `llm.chat.invoke(prompt)` as the documented code has it."""
    llm = notebook.create_langchain_chat(kit=kit)
    assert (llm.invoke("Hi").content, llm.chat.invoke("Hi").content) == ("Hello.", "Hello.")
    embeddings = notebook.create_embeddings(kit=kit)
    assert list(embeddings.embed_documents(["gearbox"])) == [embeddings.embed_query("gearbox")]


def test_a_chat_without_a_model_is_unavailable_and_says_so() -> None:
    """S0-82: a local technique is never passed off as one."""
    from rag_core.composition import assembly
    from rag_core.core.settings import Settings

    with pytest.raises(Unavailable, match="needs a chat model"):
        notebook.create_langchain_chat(kit=assembly.build_in_memory_kit(Settings(data_dir=None))).invoke("Hi")


def test_a_template_is_the_edited_one_or_ours(kit: Kit) -> None:
    """S0-83."""
    assert notebook.load_template("rag_augmentation", kit).startswith("You are an expert")
    wait_for_result(kit.archive.save_edited_prompt("rag_augmentation", "Say {query} {contexts}"))
    assert notebook.load_template("rag_augmentation", kit) == "Say {query} {contexts}"
    with pytest.raises(NotFound, match="query_expansion, rag_augmentation"):
        notebook.load_template("magic", kit)


def test_a_config_has_the_numbers_of_the_workbench_or_of_a_named_preset(kit: Kit) -> None:
    """S0-84, S0-85, S0-91: the default preset, with its edits."""
    config = notebook.get_default_config(kit)
    assert (config["top_k"], config["line_gap"], config["coverage_min"]) == (15, 7, 0.5)
    assert config["context_min_chars"] == 20
    assert config == notebook.get_config_by_name("workbench", kit)
    assert notebook.get_config_by_name("classical", kit)["top_k"] == 3
    with pytest.raises(InvalidRequest):
        notebook.get_config_by_name("magic", kit)


@pytest.mark.parametrize(("said", "full"), [({}, True), ({"use_full_model": False}, False)])
def test_the_full_model_expands_unless_the_light_one_is_wanted(kit: Kit, said: dict[str, bool], full: bool) -> None:
    """S0-74: and what it made is given back, part by part."""
    larger = ScriptedLLM(query_expansion=json.dumps(EXPANSION))
    made = notebook.expand_query(QUESTION, kit=replace(kit, full_llm_or_none=larger), **said, **HERE)
    assert bool(larger.prompts) is full
    assert (made.original_query, made.entities) == (QUESTION, tuple(EXPANSION["entities"]))


def test_five_contexts_are_put_before_a_model_unless_said_otherwise() -> None:
    """S0-63, S0-81."""
    assert signature(notebook.generate_augmented_prompt).parameters["top_n"].default == 5


def test_an_intent_that_is_no_word_is_cut_as_a_models_is(kit: Kit) -> None:
    """S0-77, S0-86."""
    said = notebook.ParsedExpansion(("And so?",), "", "definition " * 9, ())
    id = notebook.save_expansion_to_db(QUESTION, said, kit=kit, **HERE)
    kept = wait_for_result(kit.archive.load_query(id, Scope("garage")))
    assert kept is not None
    assert kept.intent == ("definition " * 9)[:50]
