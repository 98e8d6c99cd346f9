"""The archive's database: made once, by whoever comes first; and what becomes of it when things go wrong."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, text

from rag_core.composition import assembly
from rag_core.core.errors import InvalidRequest, RagError, StorageFull, Unavailable
from rag_core.core.model import Original, SavedQuery, Scope
from rag_core.core.presets import PRESETS
from rag_core.core.settings import Settings
from rag_core.prompts import load_packaged_template
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.archive.migrations import FOLDER
from rag_core.stores.archive.tables import ARCHIVE_METADATA, NEWEST_REVISION, RAG_CONFIG
from tests import postgres

WARD = Scope("ward")
ROOT = Path(__file__).parents[2]
QUOTE = {"document_id": "m", "content": "opens at 7 bar"}
QUESTION = SavedQuery(0, "", "At what pressure?", retrieved_context=(QUOTE,))
NULLABLE = {
    "queries": {
        *("user_id", "expanded_queries", "hyde_answer", "intent", "entities", "embedding_original", "embeddings_mqe"),
        *("embedding_hyde", "retrieved_context", "clean_retrieval_context", "space", "preset", "steps"),
    },
    "results": {"model", "details"},
    "rag_config": {"description", "edited"},
    "prompt_meta": set[str](),
    "works": set[str](),
    "queries_log": {"query", "workflow_id", "user_id", "preset", "status", "confidence"},
}
DOCUMENTED = {
    "queries": {
        *("id", "original_query", "expanded_queries", "hyde_answer", "intent", "entities", "embedding_original"),
        *("embeddings_mqe", "embedding_hyde", "vector_status", "retrieved_context", "clean_retrieval_context"),
        *("created_at", "updated_at"),
    },
    "results": {"id", "query_id", "response_text", "created_at"},
    "rag_config": {"id", "preset_name", "config", "description", "created_at", "updated_at"},
    "prompt_meta": {"id", "function_tag"},
    "works": {"id", "title", "data"},
    "queries_log": {"id", "query", "metrics", "created_at"},
}
OPENING = """
import asyncio, sys
from pathlib import Path
from rag_core.core.model import SavedQuery, Scope
from rag_core.stores.archive import ArchiveDatabase, SqlArchive

where = sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1])
{before}
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(SqlArchive(ArchiveDatabase(where)).add_query(SavedQuery(0, "", "from a child"), Scope("ward")))
"""
KILLED = """
import os, signal
from sqlalchemy import Engine, event

def kill(db, cursor, statement, *_):
    if statement.strip().lower().startswith({statement!r}):
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(Engine, "before_cursor_execute", kill)
"""


def place(kind: str, folder: Path) -> Path | str:
    return postgres.empty_database("archive") if kind == "postgres" else folder / "data" / "archive.sqlite3"


def child(where: Path | str, before: str = "") -> "subprocess.Popen[str]":
    code = OPENING.format(before=before)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(where)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_the_migrations_make_the_tables_that_the_statements_are_written_for(kind: str, tmp_path: Path) -> None:
    """S0-86, S0-88, S0-90 to S0-93: with their documented columns, what may be NULL, indexes and keys."""
    database = ArchiveDatabase(place(kind, tmp_path))

    def differences(db: object) -> object:
        context = MigrationContext.configure(db, opts={"compare_type": True})  # type: ignore[arg-type]
        return compare_metadata(context, ARCHIVE_METADATA)

    assert await database.read(differences) == []
    tables = await database.read(lambda db: {name: inspect(db).get_columns(name) for name in NULLABLE})
    for name, columns in tables.items():
        assert {column["name"] for column in columns} >= DOCUMENTED[name]
        assert {column["name"] for column in columns if column["nullable"]} == NULLABLE[name]
    indexed = await database.read(lambda db: [index["column_names"] for index in inspect(db).get_indexes("queries")])
    assert {("intent",), ("vector_status",)} <= {tuple(names) for names in indexed}
    (key,) = await database.read(lambda db: inspect(db).get_foreign_keys("results"))
    assert (key["constrained_columns"], key["referred_table"]) == (["query_id"], "queries")
    unique = await database.read(lambda db: inspect(db).get_unique_constraints("rag_config"))
    assert [constraint["column_names"] for constraint in unique] == [["preset_name"]]
    await database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_the_documents_own_statements_find_the_shipped_presets_and_prompts(kind: str, tmp_path: Path) -> None:
    """S0-84, S0-85, S0-91, S0-92: before anything is edited, with the edit, and after it is taken back."""
    database = ArchiveDatabase(place(kind, tmp_path))
    archive = SqlArchive(database)

    def config_of(name: str) -> Callable[[Connection], dict[str, object]]:
        statement = select(RAG_CONFIG.c.config).where(text(f"preset_name = '{name}'"))
        return lambda db: dict(db.execute(statement).scalar_one())

    shipped = PRESETS["workbench"].list_numbers()
    assert await database.read(config_of("default")) == await database.read(config_of("workbench")) == shipped
    assert await database.read(config_of("classical")) == PRESETS["classical"].list_numbers()
    wordings = text("select wording from prompt_meta where function_tag = 'query_expansion'")
    found = await database.read(lambda db: db.execute(wordings).scalars().all())
    assert found == [load_packaged_template("query_expansion")]
    assert (await archive.load_edited_presets(), await archive.load_edited_prompts()) == ({}, {})
    await archive.save_edited_preset("workbench", {"top_k": 3}, "narrow")
    assert await database.read(config_of("default")) == {**shipped, "top_k": 3}
    await archive.save_edited_preset("workbench", None)
    assert await database.read(config_of("default")) == shipped
    await archive.close()


async def test_what_a_new_version_ships_takes_effect_beside_the_edits(tmp_path: Path) -> None:
    """S0-90, S0-92: and an archive of the first revision, which has edits only, keeps them."""
    path = tmp_path / "archive.sqlite3"
    first = SqlArchive(ArchiveDatabase(path))
    await first.save_edited_preset("standard", {"top_k": 7}, "narrow")
    await first.save_edited_prompt("query_expansion", "Expand: {query}")
    await first.close()
    with sqlite3.connect(path) as db:  # as the first revision left it
        db.executescript(
            "drop table row_checksums; drop table answer_logs;"
            "delete from rag_config where edited is null; update rag_config set config = edited;"
            "delete from prompt_meta where not edited; alter table rag_config drop column edited;"
            "alter table prompt_meta drop column edited; update alembic_version set version_num = '0001';"
        )
    database = ArchiveDatabase(path)
    archive = SqlArchive(database)
    assert await archive.load_edited_presets() == {"standard": {"top_k": 7}}
    assert await archive.load_preset_descriptions() == {"standard": "narrow"}
    assert await archive.load_edited_prompts() == {"query_expansion": "Expand: {query}"}
    older = text("update rag_config set config = '{\"top_k\": 1}'")
    await database.write(lambda db: db.execute(older))
    await archive.close()
    statement = select(RAG_CONFIG.c.preset_name, RAG_CONFIG.c.config)
    configs = await database.read(lambda db: dict(db.execute(statement).all()))
    assert configs["standard"] == {**PRESETS["standard"].list_numbers(), "top_k": 7}
    assert configs["default"] == PRESETS["workbench"].list_numbers()
    await database.close()


def test_the_newest_revision_is_the_one_that_is_looked_for() -> None:
    """Without it Alembic would be loaded, and the lock taken, at each start."""
    assert ScriptDirectory(str(FOLDER)).get_heads() == [NEWEST_REVISION]


def test_a_database_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    """Its import would cost each start a tenth of a second and more."""
    at_exit = "import atexit; atexit.register(lambda: print('alembic' in sys.modules))"
    told = [child(tmp_path / "archive.sqlite3", at_exit).communicate("\n") for _ in range(2)]
    assert told == [("ready\nTrue\n", ""), ("ready\nFalse\n", "")]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_two_processes_open_an_empty_database_at_once(kind: str, tmp_path: Path) -> None:
    """One makes the tables, the other waits for it."""
    where = place(kind, tmp_path)
    children = [child(where) for _ in range(2)]
    assert [one.stdout and one.stdout.readline() for one in children] == ["ready\n"] * 2
    for one in children:
        assert one.stdin
        one.stdin.write("\n")
        one.stdin.flush()
    ended = [(one.communicate()[1], one.returncode) for one in children]
    assert ended == [("", 0)] * 2
    archive = SqlArchive(ArchiveDatabase(where))
    assert await archive.count_queries(WARD) == 2
    await archive.close()


@pytest.mark.parametrize("statement", ["create table works", "insert into alembic_version", "insert into queries"])
async def test_a_process_that_is_killed_meanwhile_leaves_the_archive_usable(statement: str, tmp_path: Path) -> None:
    """In the middle of the migration, right before its end, and in the middle of a write."""
    path = tmp_path / "archive.sqlite3"
    killed = child(path, KILLED.format(statement=statement))
    killed.communicate("\n")
    assert killed.returncode == -signal.SIGKILL
    archive = SqlArchive(ArchiveDatabase(path))
    assert await archive.list_queries(WARD, limit=9) == []
    kept = await archive.add_query(QUESTION, WARD)
    assert await archive.load_query(kept.id, WARD) == kept
    await archive.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_database_of_a_newer_program_is_refused_in_words(kind: str, tmp_path: Path) -> None:
    where = place(kind, tmp_path)
    database = ArchiveDatabase(where)
    await database.write(lambda db: db.execute(text("update alembic_version set version_num = '9999'")))
    await database.close()
    with pytest.raises(Unavailable, match="revision 9999 by a newer version of this program") as refused:
        await SqlArchive(ArchiveDatabase(where)).count_queries(WARD)
    assert refused.value.code == "archive_unavailable"


async def test_the_file_and_its_folder_are_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "archive.sqlite3"
    archive = SqlArchive(ArchiveDatabase(path))
    assert await archive.load_edited_presets() == {}
    await archive.close()
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_many_at_once_in_one_process_do_not_get_in_each_others_way(kind: str, tmp_path: Path) -> None:
    archive = SqlArchive(ArchiveDatabase(place(kind, tmp_path)))
    await asyncio.gather(*(archive.add_query(QUESTION, WARD) for _ in range(20)))
    assert [query.id for query in await archive.list_queries(WARD, limit=99)] == list(range(20, 0, -1))
    await archive.close()


async def test_another_archive_on_the_same_file_reads_what_was_written(tmp_path: Path) -> None:
    one, other = (SqlArchive(ArchiveDatabase(tmp_path / "archive.sqlite3")) for _ in range(2))
    kept = await one.add_query(QUESTION, WARD)
    changed = await other.update_query(replace(kept, intent="DEFINITION"), WARD)
    assert await one.load_query(kept.id, WARD) == changed
    await one.close()
    await other.close()


def not_a_database(path: Path) -> None:
    path.write_bytes(b"This is no database at all." * 1000)


def half_a_database(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


def damaged_json(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("update queries set retrieved_context = '[{]'")
    db.commit()
    db.close()


def damaged_time(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("update queries set created_at = 'yesterday'")
    db.commit()
    db.close()


@pytest.mark.parametrize("damage", [not_a_database, half_a_database, damaged_json, damaged_time])
async def test_what_is_damaged_is_unavailable_never_empty(damage: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite3"
    archive = SqlArchive(ArchiveDatabase(path))
    kept = await archive.add_query(QUESTION, WARD)
    await archive.close()
    damage(path)
    for broken in (archive.load_query(kept.id, WARD), archive.load_query(kept.id, WARD)):
        with pytest.raises(Unavailable) as told:
            await broken
        assert told.value.code == "archive_unavailable"
    await archive.close()


async def test_a_full_disk_is_told_as_such_and_what_was_kept_can_be_read(tmp_path: Path) -> None:
    """(RELIABILITY 3.1)."""
    database = ArchiveDatabase(tmp_path / "archive.sqlite3")
    archive = SqlArchive(database)
    kept = await archive.add_query(QUESTION, WARD)
    await database.write(lambda db: db.execute(text("pragma max_page_count = 40")))
    with pytest.raises(StorageFull):
        await archive.save_original(Original("m", "ward", "Manual", "manual.pdf", "pdf", "h", bytes(1_000_000)))
    assert await archive.load_query(kept.id, WARD) == kept
    assert await archive.load_original("m", "ward") is None
    await archive.close()


async def test_a_file_that_another_process_holds_is_unavailable_and_then_is_not(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite3"
    archive = SqlArchive(ArchiveDatabase(path, busy_s=0.05))
    kept = await archive.add_query(QUESTION, WARD)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    with pytest.raises(Unavailable, match="locked"):
        await archive.load_query(kept.id, WARD)
    other.execute("rollback")
    other.close()
    assert await archive.load_query(kept.id, WARD) == kept
    await archive.close()


async def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable) as told:
        await SqlArchive(ArchiveDatabase(tmp_path / "file" / "archive.sqlite3")).load_edited_prompts()
    assert told.value.code == "archive_unavailable"


async def test_a_server_that_is_not_there_is_unavailable_and_no_password_is_told() -> None:
    archive = SqlArchive(ArchiveDatabase("postgresql://ann:hunter2@127.0.0.1:1/archive"))
    with pytest.raises(Unavailable) as told:
        await archive.count_queries(WARD)
    assert told.value.code == "archive_unavailable"
    assert "hunter2" not in str(told.value)
    await archive.close()


async def test_a_server_that_ended_the_connection_is_asked_anew() -> None:
    where = postgres.empty_database("archive")
    archive = SqlArchive(ArchiveDatabase(where))
    kept = await archive.add_query(QUESTION, WARD)
    ended = "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'archive'"
    postgres.run(postgres.server(), ended)
    assert await archive.load_query(kept.id, WARD) == kept
    await archive.close()


@pytest.mark.parametrize(("kind", "words"), [("sqlite", "\ud800"), ("postgres", "\ud800"), ("postgres", "a\x00b")])
async def test_a_text_that_cannot_be_kept_is_the_callers_to_put_right(kind: str, words: str, tmp_path: Path) -> None:
    archive = SqlArchive(ArchiveDatabase(place(kind, tmp_path)))
    with pytest.raises(InvalidRequest):
        await archive.add_query(replace(QUESTION, original_query=words), WARD)
    assert await archive.count_queries(WARD) == 0
    await archive.close()


async def test_no_byte_of_what_was_forgotten_is_left_in_the_file(tmp_path: Path) -> None:
    """(RELIABILITY C21)."""
    path = tmp_path / "archive.sqlite3"
    archive = SqlArchive(ArchiveDatabase(path))
    for _ in range(20):
        await archive.add_query(QUESTION, WARD)
    await archive.save_original(
        Original("m", "ward", "Manual", "manual.md", "markdown", "h", b"It opens at 7 bar." * 1000)
    )
    assert b"opens at 7 bar" in path.read_bytes()
    await archive.purge_document("m", "ward")
    assert b"opens at 7 bar" not in path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["archive.made", path.name]
    await archive.close()


async def test_the_archive_and_the_log_are_one_database_that_is_closed_with_the_kit(tmp_path: Path) -> None:
    """S4-31."""
    kit = assembly.build_kit(Settings(data_dir=tmp_path / "data"))
    kept = await kit.archive.add_query(QUESTION, WARD)
    await kit.query_log.record({"query": "what?"})
    await kit.close()
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["archive.made", "archive.sqlite3"]
    again = assembly.build_kit(Settings(data_dir=tmp_path / "data"))
    assert await again.archive.load_query(kept.id, WARD) == kept
    assert [entry["query"] for entry in await again.query_log.list_latest(9)] == ["what?"]
    await again.close()


async def test_the_archive_is_in_postgresql_where_the_settings_name_one(tmp_path: Path) -> None:
    kit = assembly.build_kit(Settings(data_dir=tmp_path / "data", archive_url=postgres.empty_database("archive")))
    assert kit.archive.name == "PostgreSQL"
    kept = await kit.archive.add_query(QUESTION, WARD)
    await kit.query_log.record({"query": "what?"})
    assert await kit.archive.load_query(kept.id, WARD) == kept
    await kit.close()
    await kit.close()
    assert not (tmp_path / "data").exists()


async def test_in_memory_nothing_is_shared_and_nothing_outlives(tmp_path: Path) -> None:
    one, other = (
        assembly.build_in_memory_kit(),
        assembly.build_in_memory_kit(Settings(archive_url="postgresql:///elsewhere")),
    )
    await one.archive.add_query(QUESTION, WARD)
    assert (await one.archive.count_queries(WARD), await other.archive.count_queries(WARD)) == (1, 0)
    await one.close()
    await other.close()


async def test_without_an_archive_whoever_wants_something_kept_is_told() -> None:
    from rag_core.core.kit import NoArchive

    archive = NoArchive()
    for refused in (
        archive.add_query(QUESTION, WARD),
        archive.list_queries(WARD, limit=1),
        archive.save_edited_preset("default", {}),
    ):
        with pytest.raises(RagError) as told:
            await refused
        assert told.value.code == "archive_unavailable"
    assert (
        await archive.load_edited_presets(),
        await archive.load_edited_prompts(),
        await archive.load_original("m", "ward"),
    ) == ({}, {}, None)
    await archive.purge_document("m", "ward")
