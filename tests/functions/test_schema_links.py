"""link_schema over HTTP: what of a database a question needs, within the caller's scope."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.host import Host
from rag_core.core.settings import Settings
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource
from tests.functions.test_functions import Caller
from tests.schema.heroes import RULES, build_schema_kit, write_heroes

QUESTION = "What is the average height of villains with blue eyes?"


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    """An app whose workflow `heroes` has a database and its rules."""
    write_heroes(tmp_path / "heroes.sqlite")
    (tmp_path / "rules.md").write_text(RULES)
    rag = RAG(build_schema_kit())

    async def fill() -> None:
        await rag.index_database(DatabaseSource(f"sqlite:///{tmp_path}/heroes.sqlite"), scope="heroes")
        await rag.index(tmp_path / "rules.md", scope="heroes")

    asyncio.run(fill())
    host = Host(function_app.build_app(lambda: Settings(data_dir=None), lambda: rag.kit))
    yield Caller(Client(host))
    host.close()


def test_a_question_is_given_columns_joins_values_rules_and_ddl(call: Caller) -> None:
    """S1-53..55: and the rules are cited: each passage has its document and place."""
    reply = call.ok("link_schema", query=QUESTION, workflow_id="heroes")
    columns = {f"{one['table']}.{one['column']}" for one in reply["columns"]}
    assert columns >= {"superhero.height_cm", "superhero.alignment_id", "alignment.alignment", "colour.colour"}
    assert {one["condition"] for one in reply["value_matches"]} >= {
        "colour.colour = 'Blue'",
        "alignment.alignment = 'Bad'",
    }
    assert reply["rules"][0]["title"] == "Rules of the hero database"
    assert reply["rules"][0]["metadata"]["lines"]
    assert not any(rule["metadata"]["source"].startswith("database:") for rule in reply["rules"])
    assert 0 < reply["ddl_tokens"] <= 1500


def test_the_limits_of_the_request_are_kept(call: Caller) -> None:
    reply = call.ok("link_schema", query=QUESTION, workflow_id="heroes", max_columns=3, max_tables=2, max_tokens=60)
    assert len(reply["columns"]) == 3
    assert reply["ddl_tokens"] <= 60


def test_another_workflow_has_no_database(call: Caller) -> None:
    status, error = call.refused("link_schema", query=QUESTION, workflow_id="garage")
    assert (status, error["field"]) == (404, "database")


def test_a_deleted_table_is_linked_no_more(call: Caller) -> None:
    documents = call.ok("documents", workflow_id="heroes")["documents"]
    colour = next(one["document_id"] for one in documents if one["title"] == "heroes: colour")
    call.ok("delete_document", document_id=colour, workflow_id="heroes")
    reply = call.ok("link_schema", query=QUESTION, workflow_id="heroes")
    assert "colour" not in {one["name"] for one in reply["tables"]}
