import sqlite3
from pathlib import Path

from sqlalchemy import Engine, create_engine

from rag_core.stores.archive import ArchiveDatabase
from tests.remembered_archive import remember_tables


def make_engine(path: Path) -> Engine:
    return create_engine(f"sqlite:///{path}")


def test_a_copy_has_the_tables_that_the_first_one_was_given(tmp_path: Path) -> None:
    calls = []

    def upgrade(engine: Engine) -> None:
        calls.append(engine)
        with engine.begin() as db:
            db.exec_driver_sql("create table notes (id integer primary key, said text unique)")
            db.exec_driver_sql("insert into notes values (1, 'kept')")

    remembering = remember_tables(upgrade)
    dumps = []
    for name in ("first", "second"):
        engine = make_engine(tmp_path / name)
        remembering(engine)
        engine.dispose()
        with sqlite3.connect(tmp_path / name) as db:
            dumps.append(list(db.iterdump()))
        db.close()
    assert dumps[0] == dumps[1]
    assert len(calls) == 1


def test_a_database_with_tables_is_migrated_as_ever(tmp_path: Path) -> None:
    calls: list[Engine] = []
    engine = make_engine(tmp_path / "old")
    with engine.begin() as db:
        db.exec_driver_sql("create table notes (id integer primary key)")
    remember_tables(calls.append)(engine)
    assert calls == [engine]
    engine.dispose()


def test_what_cannot_be_copied_is_told_by_the_archive_itself(tmp_path: Path) -> None:
    calls: list[Engine] = []

    def upgrade(engine: Engine) -> None:
        calls.append(engine)
        if len(calls) == 1:
            with engine.begin() as db:
                db.exec_driver_sql("create table notes (id integer primary key)")

    remembering = remember_tables(upgrade)
    for name in ("first", "held"):
        engine = create_engine(f"sqlite:///{tmp_path / name}", connect_args={"timeout": 0})
        with sqlite3.connect(tmp_path / "held") as other:
            other.execute("begin exclusive")
            remembering(engine)
        other.close()
        engine.dispose()
    assert len(calls) == 2


async def test_an_archive_in_a_file_and_one_in_memory_have_the_same_tables(tmp_path: Path) -> None:
    tables = []
    for location in (None, tmp_path / "archive.sqlite"):
        archive = ArchiveDatabase(location)
        tables.append(await archive.read(lambda db: db.exec_driver_sql("select sql from sqlite_master").fetchall()))
        await archive.close()
    assert tables[0] == tables[1]
    assert any("alembic_version" in sql for (sql,) in tables[0] if sql)
