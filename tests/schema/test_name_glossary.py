"""Names of a schema that a document of the workflow explains."""

import sqlite3
from pathlib import Path

import pytest

from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource, index_database
from rag_core.schema.link_question import LinkedQuestion, link_question
from rag_core.schema.linking import LinkBudget
from rag_core.schema.model import Column, Database, SchemaLinks, Table
from rag_core.schema.name_glossary import list_unexplained_names, read_meanings
from rag_core.schema_reply import SchemaReply
from tests.schema.heroes import build_schema_kit

NAMES = ["zqx", "zqx_lvl", "status", "name", "oh"]


@pytest.mark.parametrize(
    ("line", "meanings"),
    [
        ("zqx_lvl: how far it was filled", {"zqx_lvl": "how far it was filled"}),
        ("| `ZQX_LVL` | filled by half |", {"zqx_lvl": "filled by half"}),
        ("- **oh**: on hand", {"oh": "on hand"}),
        ("zqx = zaqux, whatever that is", {"zqx": "zaqux, whatever that is"}),
        ("oh – on hand", {"oh": "on hand"}),
        ("oh | on-hand stock of a warehouse", {"oh": "on-hand stock of a warehouse"}),
        ("oh: !", {}),
        ("status: sold", {}),  # of some record: no letter of it is left out
        ("name: Nora Anna Mae", {}),  # of one word, and no abbreviation of what follows
        ("zqx_lvl: half\n\nzqx_lvl: full", {}),  # the rows of a table that was exported
        ("zqx_lvl: half full\n\nzqx_lvl: half full", {"zqx_lvl": "half full"}),
        ("zqx_lvl", {}),
        ("zqx_lvl:", {}),
        ("zqx_lvl: " + "so " * 100, {}),
        ("other_lvl: not of this schema", {}),
    ],
)
def test_a_line_that_explains_a_name_is_read(line: str, meanings: dict[str, str]) -> None:
    assert read_meanings(NAMES, [f"Words\n\n{line}"]) == meanings


def test_names_are_looked_up_only_where_nobody_described_them() -> None:
    said = Table("a_b", (Column("c_d", description="said"),))
    assert list_unexplained_names(Database("d", (said,))) == []
    named = Table("e_f", (Column("gHi"), Column("j"), Column("k", description="said")))
    assert list_unexplained_names(Database("d", (said, named))) == ["e_f", "ghi", "hi"]


def score_level(links: SchemaLinks) -> float:
    return next(one.score for one in links.columns if one.column.name == "zqx_lvl")


async def test_a_document_of_the_workflow_and_of_no_other_explains_names(tmp_path: Path) -> None:
    """`zqx_lvl` is in no list: only the document says what it is, after it was indexed, and to those who see it."""
    with sqlite3.connect(tmp_path / "d.sqlite") as db:
        db.execute("create table zqx (zqx_id integer primary key, zqx_lvl integer, kpf integer)")
        db.execute("create table vvt (vvt_id integer primary key, vvt_kind text, vvt_sum real)")
    db.close()
    kit = build_schema_kit()
    glossary = tmp_path / "glossary.md"
    glossary.write_text("# Our names\n\nzqx: zinc quencher xylograph\nzqx_lvl: liquid left inside\n")

    async def link(scope: str) -> SchemaLinks:
        asked = "Which quencher has least liquid inside?"
        return (await link_question(asked, None, Scope(scope), kit, Run(), budget=LinkBudget())).links

    for scope in ("here", "elsewhere"):
        await index_database(DatabaseSource(f"sqlite:///{tmp_path}/d.sqlite"), Scope(scope), kit, Run())
    before = await link("here")
    await RAG(kit).index(glossary, scope="here")
    after = await link("here")
    assert set(before.unknown_words) == {"quencher", "liquid", "inside"}
    assert not after.unknown_words
    assert "zqx_lvl INTEGER, -- liquid left inside" in after.ddl
    reply = SchemaReply(LinkedQuestion(after, (), ()), Run(), "here").to_json()
    assert "liquid left inside" in {one["description"] for one in reply["columns"]}
    assert score_level(after) > 2 * score_level(before)
    assert await link("elsewhere") == before
