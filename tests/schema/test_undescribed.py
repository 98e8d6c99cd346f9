"""Databases that nobody described: abbreviated names are read in full, and less is believed of what names alone say."""

import sqlite3
from pathlib import Path

from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.schema.answerable import describe_columns, is_in_schema
from rag_core.schema.documents import format_column
from rag_core.schema.ingest import DatabaseSource, index_database
from rag_core.schema.link_question import link_question
from rag_core.schema.linking import LinkBudget
from rag_core.schema.model import Column, Database, LinkedColumn, SchemaLinks, Table, ValueMatch
from rag_core.schema.personal_values import find_personal_values
from rag_core.schema.schema_words import SchemaWords
from tests.schema.heroes import build_schema_kit

SCOPE = Scope("shop")
NAMED = Database("shop", (Table("cust", (Column("cust_nm", "TEXT"), Column("crt_dt", "TEXT"))),))
SAID = Database(
    "shop", (Table("cust", (Column("cust_nm", "TEXT", "who buys"), Column("crt_dt", "TEXT", "first order"))),)
)


def test_abbreviations_are_read_in_full_where_no_description_says_what_they_mean() -> None:
    ((named, name), _), ((said, described), _) = NAMED.iterate_columns(), SAID.iterate_columns()
    assert format_column(named, name, ()).splitlines()[0] == 'column: ["cust", "cust_nm"] customer customer name'
    assert format_column(said, described, ()).splitlines()[0] == 'column: ["cust", "cust_nm"] cust cust nm'
    assert SchemaWords(NAMED).by_column["cust", "cust_nm"].own == {"nam"}
    assert SchemaWords(NAMED).known_roots >= {"nm", "nam"}  # a question may say either
    assert SchemaWords(SAID).by_column["cust", "cust_nm"].own == {"nm"}


def test_the_model_that_reads_the_columns_is_given_names_in_full() -> None:
    table = NAMED.tables[0]
    linked = tuple(LinkedColumn("cust", column, 0.5) for column in table.columns)
    links = SchemaLinks("shop", (), linked, (), (ValueMatch("cust", "cust_nm", "Ada", "ada"),))
    assert describe_columns(links, NAMED) == (
        "shop: The table customer has customer name, crt date. Ada is a customer name."
    )


def test_a_mark_of_its_kind_is_no_part_of_the_name_of_a_table() -> None:
    for name, words in (("t_cust", "customer"), ("tblCust", "customer"), ("v_open_ord", "open order"), ("t", "t")):
        assert Table(name, ()).words == words
    assert Table("dim_cust", (), description="who buys").words == "cust"


def test_less_is_needed_to_be_in_a_schema_that_nobody_described() -> None:
    for chance, named, said in ((0.1, True, False), (0.05, False, False), (0.2, True, True)):
        assert is_in_schema(chance, NAMED, was_read=True) is named
        assert is_in_schema(chance, SAID, was_read=True) is said
    assert is_in_schema(0.1, SAID, was_read=False)


def test_values_below_an_abbreviated_header_of_personal_data_are_found() -> None:
    values = ["Laura", "Omar", "Hanna"]
    assert find_personal_values("fst_nm", values, RuleBasedRedactor()) == set(values)


async def test_a_question_finds_columns_by_what_their_names_abbreviate(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.sqlite") as db:
        db.execute("create table cust (cust_id integer primary key, cust_nm text, cr_lmt_amt real, zip_cd text)")
        db.execute("create table whs (whs_id integer primary key, whs_nm text, flr_no integer, mgr_nm text)")
        db.execute("insert into cust values (1, 'Elm Trading', 100, '10001')")
    db.close()
    kit = build_schema_kit()
    await index_database(DatabaseSource(f"sqlite:///{tmp_path}/shop.sqlite"), SCOPE, kit, Run())
    found = await link_question("Who is the manager of each warehouse?", None, SCOPE, kit, Run(), budget=LinkBudget(3))
    assert ("whs", "mgr_nm") in {(one.table, one.column.name) for one in found.links.columns}
    assert found.links.tables[0].name == "whs"
    assert not found.links.unknown_words
