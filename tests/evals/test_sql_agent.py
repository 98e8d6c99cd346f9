"""A writer of SQL has all that it needs in what is linked, and its SQL changes nothing."""

import sqlite3
from pathlib import Path

import pytest

from evals import sql_agent
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource
from tests.fakes import ScriptedLLM
from tests.schema.heroes import RULES, build_schema_kit, write_heroes


@pytest.fixture
async def rag(tmp_path: Path) -> RAG:
    write_heroes(tmp_path / "heroes.sqlite")
    (tmp_path / "rules.md").write_text(RULES)
    rag = RAG(build_schema_kit())
    await rag.index_database(DatabaseSource(f"sqlite:///{tmp_path}/heroes.sqlite"), scope="heroes")
    await rag.index(tmp_path / "rules.md", scope="heroes")
    return rag


async def test_sql_is_written_from_the_linked_schema_and_its_rules_and_run(rag: RAG, tmp_path: Path) -> None:
    """The one villain with blue eyes is 181 cm tall; the first attempt fails and the model is told why."""
    file = tmp_path / "heroes.sqlite"
    run = await sql_agent.answer_by_sql(sql_agent.QUESTION, file, rag, sql_agent.ParaphrasingLLM(), scope="heroes")
    assert run.rows == [(181.0,)]
    assert [part in run.sql for part in ("'Bad'", "'Blue'", "> 0", "'Good'")] == [True, True, True, False]
    assert run.errors == ["no such column: a.height_cms"]


@pytest.mark.parametrize("sql", ["DROP TABLE superhero", "I cannot tell.", "DELETE FROM superhero"])
async def test_sql_that_writes_or_is_none_fails_and_changes_nothing(rag: RAG, tmp_path: Path, sql: str) -> None:
    file = tmp_path / "heroes.sqlite"
    before = file.read_bytes()
    llm = ScriptedLLM(sql=sql)
    with pytest.raises(sqlite3.Error):
        await sql_agent.answer_by_sql(sql_agent.QUESTION, file, rag, llm, scope="heroes")
    assert (len(llm.prompts), file.read_bytes()) == (sql_agent.MAX_ATTEMPTS, before)
