"""The second lock on workflows in PostgreSQL: what a statement reaches whose condition was forgotten."""

# ruff: noqa: S608 - the SQL is built from constants of this module

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from rag_core.cli import doctor
from rag_core.core.model import Scope
from rag_core.stores.postgres import PostgresStore, reads, row_security, schema, search, writes
from rag_core.stores.postgres.conditions import PostgresCondition
from tests.postgres import empty_database, empty_store, run, server
from tests.stores.sample import SCOPE, find, ids, put

OTHERS = Scope("others")
TEXTS = ["replace the torque converter", "bleed the brake line"]
TABLES = ("rag_documents", "document_chunks", "rag_workflows")
VIEWS = ("rag_scoped_documents", "rag_scoped_chunks", "rag_scoped_workflows", "llamaindex_proposal_vectors")
NAME_MANUALS = "select set_config('rag.workflow_id', 'manuals', false)"
GRANTS = "grant select, insert, update, delete on all tables in schema public to teller"


def as_teller(address: str) -> str:
    return address.replace("postgres:@", "teller@").replace("postgres@", "teller@")


@pytest.fixture
async def store() -> AsyncIterator[PostgresStore]:
    """The store with the same two texts in two workflows, for an account that every lock of the server lets pass."""
    made = empty_store()
    await put(made, "mine", TEXTS, SCOPE, proposal_id="p1")
    await put(made, "theirs", TEXTS, OTHERS, proposal_id="p1")
    yield made
    await made.close()


@pytest.fixture
def teller() -> Iterator[str]:
    """The address of the same database for an account that only reads and writes rows."""
    run(server(), "drop role if exists teller", "create role teller login", GRANTS)
    yield as_teller(server())
    run(server(), "drop owned by teller", "drop role teller")


async def test_what_forgets_its_condition_reaches_the_workflow_of_its_scope_alone(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is signed in: the tests' account is a superuser."""

    def forget(*_: object, **__: object) -> PostgresCondition:
        return PostgresCondition("true", ())

    for module in (reads, search):
        monkeypatch.setattr(module, "build_visible_chunks_condition", forget)
    monkeypatch.setattr(reads, "build_visible_documents_condition", forget)
    assert [document.id for document in await store.list_documents(SCOPE)] == ["mine"]
    assert {chunk.document_id for chunk in await store.select(SCOPE, limit=9)} == {"mine"}
    for how in ("words", "meaning", "both"):
        assert sorted(ids(await find(store, "brake torque", how=how))) == ["mine:000", "mine:001"]
    (facet,) = await store.count_facets(["document_id"], SCOPE, limit=9)
    assert [bucket.value for bucket in facet.buckets] == ["mine"]
    assert len(await store.select(Scope("nobody's"), limit=9)) == 0


async def test_what_forgets_its_condition_changes_the_workflow_of_its_scope_alone(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forget(db: psycopg.AsyncConnection[tuple[object, ...]], *_: object) -> list[str]:
        await db.execute(f"delete from {row_security.CHUNKS_VIEW}")
        await db.execute(f"delete from {row_security.DOCUMENTS_VIEW}")
        return []

    monkeypatch.setattr(writes, "_remove_postgres_document", forget)
    await store.purge("mine", SCOPE)
    assert not await store.list_documents(SCOPE)
    assert len(await store.select(OTHERS, limit=9)) == 2


@pytest.mark.parametrize("relation", [*TABLES, *VIEWS])
@pytest.mark.usefixtures("store")
def test_an_account_that_names_no_workflow_sees_and_changes_nothing(teller: str, relation: str) -> None:
    count = f"select count(*) from {relation}"
    assert run(teller, count) == [(0,)]
    assert run(teller, NAME_MANUALS, "select set_config('rag.workflow_id', '', false)", count) == [(0,)]
    seen = run(teller, NAME_MANUALS, f"select distinct collection from {relation}")
    assert seen == [("manuals",)]
    if relation not in VIEWS[3:]:
        assert run(teller, f"delete from {relation} returning 1") == []
        assert run(teller, f"update {relation} set collection = 'x' returning 1") == []
    assert run(server(), "select count(*) from document_chunks") == [(4,)]


@pytest.mark.parametrize("relation", ["rag_workflows", "rag_scoped_workflows"])
@pytest.mark.usefixtures("store")
def test_no_row_can_be_written_into_a_workflow_that_was_not_named(teller: str, relation: str) -> None:
    for name in ("select", NAME_MANUALS):
        with pytest.raises(psycopg.errors.Error, match=r"row-level security|check option"):
            run(teller, name, f"insert into {relation} values ('a third', gen_random_uuid())")
    run(
        teller, NAME_MANUALS, f"delete from {relation}", f"insert into {relation} values ('manuals', gen_random_uuid())"
    )


async def test_the_service_needs_no_more_than_to_read_and_write_rows(store: PostgresStore, teller: str) -> None:
    served = PostgresStore(teller)
    await put(served, "new", TEXTS)
    assert len(await find(served, "brake line")) == 4
    assert await served.delete("new", SCOPE)
    assert await served.restore("new", SCOPE)
    assert await served.purge("new", SCOPE)
    described = await served.describe()
    assert (described.documents, described.chunks) == (2, 4)  # of all workflows: health and `rag doctor` show counts
    assert described.space == await store.load_embedding_space()
    assert described.details["row security"] == "in force"
    assert str((await store.describe()).details["row security"]).startswith("bypassed by this account")
    await served.close()


async def test_doctor_says_whether_the_policies_bind_the_account(store: PostgresStore, teller: str) -> None:
    served = PostgresStore(teller)
    (bound,) = doctor._check_row_security(await served.describe())
    (exempt,) = doctor._check_row_security(await store.describe())
    assert (bound.state, bound.note) == ("ok", "in force")
    assert exempt.state == "missing"
    assert "give the service one that reads and writes rows only" in exempt.note
    await served.close()


async def test_setup_locks_tables_of_an_earlier_version_and_keeps_what_was_granted() -> None:
    """An upgrade asks nothing of the administrator; vectors of another width neither."""
    address = empty_database("earlier")
    unlocked_view = row_security._LLAMAINDEX_VIEW_SQL.replace(
        f"and c.collection = {row_security._NAMED_WORKFLOW_SQL}", ""
    )
    run(address, "create extension vector", schema.POSTGRES_TABLES_SQL, schema.TEXT_SEARCH_CONFIGURATION_SQL)
    run(address, unlocked_view, "drop role if exists teller", "create role teller login", GRANTS)
    run(address, "insert into rag_workflows values ('manuals', gen_random_uuid())")
    assert run(as_teller(address), "select count(*) from rag_workflows") == [(1,)]
    for width in (16, 24):
        owned = PostgresStore(address, dimensions=width)
        await owned.setup()
        await owned.close()
        assert run(as_teller(address), "select count(*) from rag_workflows") == [(0,)]
        assert run(as_teller(address), "select count(*) from llamaindex_proposal_vectors") == [(0,)]
    served = PostgresStore(as_teller(address))
    assert await served.load_corpus_version(SCOPE)
    assert not await served.list_documents(SCOPE)
    await served.close()
    run(address, "drop owned by teller", "drop role teller")


async def test_setup_fits_the_column_though_deleted_documents_have_vectors_of_another_width() -> None:
    address = empty_database("narrower")
    store = PostgresStore(address, dimensions=16)
    await store.setup()
    await put(store, "d", TEXTS)
    await store.delete("d", SCOPE)
    other = PostgresStore(address, dimensions=8)
    await other.setup()
    assert await other.restore("d", SCOPE)
    assert len(await find(other, "brake line", how="meaning")) == 2
    await store.close()
    await other.close()


async def test_a_search_by_words_uses_their_index_through_the_view_and_could_not_under_the_policy(
    store: PostgresStore, teller: str
) -> None:
    await put(store, "long", ["a common text"] * 300 + ["a caliper"])
    run(server(), "analyze document_chunks")
    for relation, is_used in (("rag_scoped_chunks", True), ("document_chunks", False)):
        plan = run(teller, NAME_MANUALS, f"explain select 1 from {relation} where words @@ 'caliper'::tsquery")
        assert ("Bitmap Index Scan on document_chunks_by_words" in str(plan)) is is_used
