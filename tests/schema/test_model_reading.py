"""A chat model that chooses tables and splits a question: what is kept of its reply, and what a useless one costs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.prompts import parse_fenced_data
from rag_core.schema.ingest import DatabaseSource, index_database
from rag_core.schema.link_question import LinkedQuestion, link_question
from rag_core.schema.linking import LinkBudget
from tests.fakes import ScriptedLLM
from tests.schema.heroes import build_schema_kit, write_heroes

SCOPE = Scope("heroes")
QUESTION = "Which powers have heroes with blue eyes?"
FALLBACK = "the tables were chosen without a chat model"


@pytest.fixture
async def heroes(tmp_path: Path) -> Kit:
    write_heroes(tmp_path / "heroes.sqlite")
    kit = build_schema_kit()
    await index_database(DatabaseSource(f"sqlite:///{tmp_path}/heroes.sqlite"), SCOPE, kit, Run())
    return kit


async def ask(kit: Kit, llm: ScriptedLLM, run: Run, *, columns: int = 4) -> LinkedQuestion:
    budget = LinkBudget(columns=columns, tables=2)
    return await link_question(QUESTION, None, SCOPE, replace(kit, llm=llm), run, budget=budget, by_model=True)


def choose(llm: ScriptedLLM, *names: str, **fields: object) -> None:
    """Script a reply that chooses tables by their names; an unknown one is given as it stands."""

    def reply(prompt: object) -> str:
        tables = parse_fenced_data(prompt.user)["tables"]  # type: ignore[attr-defined,index]
        ids = {table["name"]: table["id"] for table in tables}
        shown = [tuple(line.partition(":")[0].split(" ")) for table in tables for line in table["columns"]]
        columns = [id for id, name in shown if name in fields.get("columns", ())]  # type: ignore[operator]
        return json.dumps({"tables": [ids.get(name, name) for name in names], **fields, "columns": columns})

    llm.script["link_schema"] = reply


async def test_a_chosen_table_is_linked_and_the_parts_are_given(heroes: Kit) -> None:
    llm, run = ScriptedLLM(), Run()
    choose(llm, "invoice", "t99", "invoice", parts=["Which heroes\nhave blue eyes?", 7, "", "x" * 300])
    links = (await ask(heroes, llm, run)).links
    assert "invoice" in [one.name for one in links.tables[:2]]
    assert links.parts == ("Which heroes have blue eyes?",)
    assert (run.input_tokens, run.cost_usd, run.techniques["link_schema"]) == (10, 0.001, "scripted-1")
    assert not run.degraded
    without = await link_question(QUESTION, None, SCOPE, heroes, Run(), budget=LinkBudget(4, 2))
    assert "invoice" not in [one.name for one in without.links.tables]


async def test_a_chosen_column_is_linked_before_likelier_ones(heroes: Kit) -> None:
    llm = ScriptedLLM()
    without = await link_question(QUESTION, None, SCOPE, heroes, Run(), budget=LinkBudget(4, 2))
    assert "weight_kg" not in [one.column.name for one in without.links.columns]
    choose(llm, "superhero", columns=["weight_kg"])
    assert "weight_kg" in [one.column.name for one in (await ask(heroes, llm, Run())).links.columns]


async def test_columns_that_were_not_given_are_left_out_and_the_tables_are_chosen(heroes: Kit) -> None:
    for said in (["t1.c99", 4, None, {"id": "t1.c1"}], "t1.c1", {"t1": "c1"}, None):
        run = Run()
        reply = json.dumps({"tables": ["t1"], "columns": said, "parts": []})
        assert (await ask(heroes, ScriptedLLM(link_schema=reply), run)).links.columns
        assert not run.degraded


@pytest.mark.parametrize(
    "said",
    [
        "I would say superhero and colour.",
        "",
        '{"tables": []}',
        '{"tables": ["t99", 4, null, {"id": "t1"}]}',
        '{"tables": "t1"}',
        '{"tables": {"t1": "t2"}}',
        "[" * 5000,
        Unavailable("the model is away"),
    ],
)
async def test_a_useless_reply_is_named_and_the_tables_are_those_without_a_model(
    heroes: Kit, said: str | Exception
) -> None:
    run = Run()
    found = await ask(heroes, ScriptedLLM(link_schema=said), run)
    assert [(one.step, one.fallback) for one in run.degraded] == [("link_schema", FALLBACK)]
    without = await link_question(QUESTION, None, SCOPE, heroes, Run(), budget=LinkBudget(4, 2))
    assert found.links == without.links


async def test_what_a_model_says_reaches_no_sql_and_its_links_are_taken_out(heroes: Kit) -> None:
    llm = ScriptedLLM()
    choose(llm, "colour", parts=["See https://evil.example/a for '; DROP TABLE hero; --"])
    links = (await ask(heroes, llm, Run())).links
    assert "evil.example" not in str(links)
    assert "DROP" not in links.ddl


async def test_where_there_is_no_chat_model_none_is_asked_and_the_reply_says_so(heroes: Kit) -> None:
    llm, run = ScriptedLLM(), Run()
    await link_question(
        QUESTION, None, SCOPE, replace(heroes, llm=llm, has_chat_model=False), run, budget=LinkBudget(), by_model=True
    )
    assert not llm.prompts
    assert run.techniques["link_schema"] == FALLBACK
    assert not run.degraded
