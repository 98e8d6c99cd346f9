"""A data folder is checked, repaired, backed up while it is used, and made again from a backup."""

import asyncio
import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from rag_core.cli import main
from rag_core.composition import data_folder
from rag_core.composition.assembly import KitHolder
from rag_core.composition.data_folder import back_up_data_folder, check_data_folder, restore_backup
from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, NotFound, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Job
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.ingestion import reading
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.lifecycle import delete_document
from rag_core.ingestion.upload import Upload
from rag_core.jobs.indexer import Indexer, run_due_jobs
from rag_core.jobs.sqlite_jobs import JOBS_SCHEMA
from rag_core.stores.embedded import EmbeddedStore, check, current_index, lexical_checksums
from tests.faults import child_worker
from tests.faults.child_worker import TERMS, Paid
from tests.stores.sample import SCOPE, find, ids, put

LONG = ["crocodile " + "and so on " * 2000]


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Three documents, one of which fills pages of its own, and one that was deleted."""
    store = EmbeddedStore(tmp_path / "data")
    await put(store, "manual", ["the torque converter", "P0700 of the brake line"])
    await put(store, "long", LONG)
    await put(store, "gone", ["a deleted pump"])
    await store.delete("gone", SCOPE)
    await find(store, "torque")
    await store.close()
    return tmp_path / "data"


def spoil(file: Path, words: bytes) -> None:
    """Flip a bit at every place where these words stand."""
    data = file.read_bytes()
    assert words in data
    file.write_bytes(data.replace(words, bytes([words[0] ^ 1]) + words[1:]))


def open_current(folder: Path) -> EmbeddedStore:
    return EmbeddedStore(folder / current_index.read_index_locations(folder).current.folder)


def test_a_whole_folder_has_no_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--data", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "No damage was found." in said
    assert "every page of the database" in said


async def test_documents_of_an_older_reading_are_named_until_they_are_indexed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no damage, nothing is forced, and the command that is named does it."""
    folder, notes = tmp_path / "data", tmp_path / "notes.txt"
    notes.write_text("The depot opens at six.")
    index, checking = ["index", "--data", str(folder), str(notes)], ["check", "--data", str(folder)]
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(reading, "READING_VERSION", reading.READING_VERSION - 1)
        assert await asyncio.to_thread(main, index) == 0
    capsys.readouterr()
    assert await asyncio.to_thread(main, checking) == 0
    said = capsys.readouterr().out
    assert "1 document read by an older version" in said
    assert "notes.txt (" in said
    assert "of workflow default" in said
    assert "rag index PATH" in said
    assert await asyncio.to_thread(main, index) == 0
    assert check_data_folder(folder).outdated == ()


@pytest.mark.parametrize(
    ("extractor", "outdated"),
    [("pdf (pdfium)", True), (f"pdf, reading {reading.READING_VERSION}", False), ("pdf, reading 1", True)],
)
def test_a_document_without_a_version_of_the_reading_is_older_than_all(extractor: str, outdated: bool) -> None:
    assert reading.is_outdated(extractor) is outdated


async def test_a_damaged_document_is_named_and_left_out_and_the_others_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other documents are the same after the repair, the deleted one can be restored, and the old index is kept."""
    store = EmbeddedStore(folder)
    before = ids(await find(store, "torque converter", how="words"))
    await store.close()
    spoil(folder / "index.sqlite", b"and so on and so on")
    assert await asyncio.to_thread(main, ["check", "--data", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "document long.pdf (Manual long), id long, of workflow manuals cannot be read whole" in said
    assert "What to do: rag check --repair" in said
    assert await asyncio.to_thread(main, ["check", "--repair", "--data", str(folder)]) == 0
    assert "left out: document long.pdf (Manual long), id long, of workflow manuals" in capsys.readouterr().out
    assert check_data_folder(folder).damages == ()
    repaired = open_current(folder)
    assert ids(await find(repaired, "torque converter", how="words")) == before == ["manual:000"]
    assert await repaired.restore("gone", SCOPE) is True
    assert [document.id for document in await repaired.list_documents(SCOPE)] == ["gone", "manual"]
    assert current_index.read_index_locations(folder).previous == current_index.IndexLocation()
    await repaired.close()


async def test_a_damaged_document_is_named_by_its_file_and_title(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id is a number to whoever indexed a file. The name is found even where the document's own row is damaged."""
    folder, manual = tmp_path / "data", tmp_path / "pump-manual.md"
    manual.write_text("# The pump\n\n" + "The crocodile valve is tight. " * 900 + "The valve is loose.")
    (tmp_path / "other.txt").write_text("The depot opens at six. " * 400)
    for path in (manual, tmp_path / "other.txt"):
        assert await asyncio.to_thread(main, ["index", "--data", str(folder), str(path)]) == 0
    with closing(apsw.Connection(str(folder / "index.sqlite"))) as db:
        (document_id,) = db.execute("select id from documents where title = 'The pump'").fetchone()
    for words, lost in ((b"valve is loose", "a passage"), (b"markdown (utf-8)", "its own row"), (b"crocodile", "both")):
        damaged = tmp_path / lost
        shutil.copytree(folder, damaged)
        spoil(damaged / "index.sqlite", words)
        capsys.readouterr()
        assert await asyncio.to_thread(main, ["check", "--data", str(damaged)]) == 1
        said = capsys.readouterr().out
        hedge = ", as far as it can be read" if lost == "both" else ""
        named = f"document {manual} (The pump){hedge}, id {document_id}, of workflow default cannot be read whole"
        assert named in said
        assert "other.txt" not in said
        assert "then index the files of the others again (rag index PATH)" in said
        assert await asyncio.to_thread(main, ["check", "--repair", "--data", str(damaged)]) == 0
        said = capsys.readouterr().out
        assert f"left out: document {manual} (The pump)" in said
        assert "What to do" not in said


async def test_no_repair_begins_while_somebody_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other process commits after the copy was made would not be in the index that takes its place."""
    monkeypatch.setattr(check, "SQLITE_BUSY_TIMEOUT_MS", 1)
    spoil(folder / "index.sqlite", b"and so on and so on")
    with closing(apsw.Connection(str(folder / "index.sqlite"))) as writer:
        writer.execute("begin immediate")
        with pytest.raises(Unavailable, match="another process is writing"):
            check.repair_database(folder)
    assert current_index.read_index_locations(folder).current == current_index.IndexLocation()


CUT_OFF_WRITER = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("create table if not exists cut_off (text)")
db.execute("pragma cache_size = 1")
db.execute("begin immediate")
for _ in range(200):
    db.execute("insert into cut_off values (randomblob(4000))")
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("name", ["jobs.sqlite3", "archive.sqlite3"])
def test_a_folder_whose_writer_was_killed_is_whole_and_can_be_backed_up(
    folder: Path, tmp_path: Path, name: str
) -> None:
    """The transaction that was cut off was told as damage, with the advice to remove the file and its jobs."""
    with closing(sqlite3.connect(folder / name)) as db:
        db.executescript(JOBS_SCHEMA if name == "jobs.sqlite3" else "")
    killed = subprocess.run([sys.executable, "-c", CUT_OFF_WRITER, folder / name], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (folder / f"{name}-journal").stat().st_size > 0
    assert check_data_folder(folder).damages == ()
    with closing(sqlite3.connect(folder / name)) as db:
        assert db.execute("select count(*) from cut_off").fetchone() == (0,)
    subprocess.run([sys.executable, "-c", CUT_OFF_WRITER, folder / name], check=False)
    assert name in back_up_data_folder(folder, tmp_path / "backup")


async def test_a_word_index_whose_update_was_cut_off_is_no_damage_and_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the commit of tantivy and the checksums of its files."""

    def kill(_: Path) -> None:
        raise KeyboardInterrupt

    store = open_current(folder)
    await put(store, "more", ["another torque wrench"])
    with monkeypatch.context() as killing:
        killing.setattr(lexical_checksums, "write_lexical_checksums", kill)
        with pytest.raises(KeyboardInterrupt):
            await find(store, "torque", how="words")
    await store.close()
    assert check_data_folder(folder).damages == ()
    again = open_current(folder)
    assert ids(await find(again, "torque", how="words")) == ids(await find(again, "torque", how="words"))
    assert {hit.chunk.document_id for hit in await find(again, "torque", how="words")} == {"manual", "more"}
    await again.close()
    assert lexical_checksums.UPDATE_MARK not in [name for _, _, names in os.walk(folder) for name in names]


async def test_a_damaged_word_index_is_repaired_where_it_lies(folder: Path) -> None:
    for file in (folder / "words").rglob("*.idx"):
        file.write_bytes(b"no index")
    assert "word index of workflow manuals: a file is not as it was written" in check_data_folder(folder).damages[0]
    assert "built again" in check_data_folder(folder, repair=True).repairs[0]
    assert check_data_folder(folder).damages == ()
    store = EmbeddedStore(folder)
    assert ids(await find(store, "torque", how="words")) == ["manual:000"]
    assert (await store.describe()).damage == ()
    await store.close()


async def test_an_earlier_state_is_told_until_it_is_accepted(folder: Path, tmp_path: Path) -> None:
    earlier = (folder / "index.sqlite").read_bytes()
    store = EmbeddedStore(folder)
    await put(store, "later", ["a later pump"])
    await store.close()
    (folder / "index.sqlite").write_bytes(earlier)
    for _ in range(2):  # writing does not hide it
        store = EmbeddedStore(folder)
        for _ in range(3):
            await put(store, "new", ["a new pump"])
        assert "index_earlier" in (await store.describe()).damage
        await store.close()
    assert "earlier state" in check_data_folder(folder).damages[0]
    check_data_folder(folder, repair=True)
    assert check_data_folder(folder).damages == ()


async def test_a_backup_is_made_while_the_folder_is_written_and_holds_every_acknowledged_document(
    folder: Path, tmp_path: Path
) -> None:
    store, stop = EmbeddedStore(folder), asyncio.Event()

    async def write() -> int:
        turn = 0
        while not stop.is_set():
            await put(store, f"doc{turn}", [f"turn {turn}"] * 3)
            turn += 1
        return turn

    writing = asyncio.create_task(write())
    while len(await store.list_documents(SCOPE)) < 5:
        pass
    acknowledged = {document.id for document in await store.list_documents(SCOPE)}
    await asyncio.to_thread(back_up_data_folder, folder, tmp_path / "backup")
    stop.set()
    assert await writing >= 3
    await store.close()
    assert "index.sqlite" in restore_backup(tmp_path / "backup", tmp_path / "again")
    assert restore_backup(tmp_path / "backup", tmp_path / "twice")
    again = EmbeddedStore(tmp_path / "again")
    documents = await again.list_documents(SCOPE)
    assert acknowledged <= {document.id for document in documents}
    chunks = await again.select(SCOPE, limit=10_000)
    assert all(sum(c.document_id == d.id for c in chunks) == 3 for d in documents if d.id.startswith("doc"))
    assert ids(await find(again, "torque", how="words")) == ["manual:000"]
    assert (await again.describe()).damage == ()
    await again.close()


Change = Callable[[Kit, Job], Awaitable[None]]


async def run_jobs(parts: Kit, _: Job) -> None:
    assert await run_due_jobs(parts, TERMS, within_s=30.0)


async def purge(parts: Kit, job: Job) -> None:
    await delete_document(str(job.document_id), SCOPE, parts, Run(30.0), purge=True)


async def run_and_purge(parts: Kit, job: Job) -> None:
    await run_jobs(parts, job)
    await purge(parts, job)


async def run_and_replace(parts: Kit, job: Job) -> None:
    await run_jobs(parts, job)
    await put(parts.index.store, str(job.document_id), ["a later text"])


async def cancel(parts: Kit, job: Job) -> None:
    await parts.jobs.cancel(job.id, None)


async def change_nothing(parts: Kit, job: Job) -> None:
    """The job is still open at the end of the backup."""


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (change_nothing, "a secret pump"),
        (run_jobs, "a secret pump"),
        (run_and_replace, "a later text"),
        (purge, None),
        (run_and_purge, None),
        (cancel, None),
    ],
)
@pytest.mark.parametrize("is_there_before", [False, True])
async def test_jobs_and_index_of_a_backup_are_of_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, text: str | None, is_there_before: bool
) -> None:
    """S3-16, C36: what happens between the two copies neither loses a document nor brings one back."""
    data, parts = tmp_path / "data", child_worker.parts(tmp_path / "data", Paid())
    await put(parts.index.store, "manual", ["the torque converter"])
    if is_there_before:
        await put(parts.index.store, "pump", ["an earlier text"])
    upload = Upload(content="a secret pump", document_id="pump")
    job = await Indexer(parts, Run(30.0), TERMS).index(upload, SCOPE, chunking=Chunking(), as_job=True)
    assert isinstance(job, Job)
    copy_file = data_folder._copy_sqlite_file

    def copy_and_change(source: Path, target: Path) -> None:
        copy_file(source, target)
        if source.name == "jobs.sqlite3":
            asyncio.run_coroutine_threadsafe(change(parts, job), loop).result()

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(data_folder, "_copy_sqlite_file", copy_and_change)
    await asyncio.to_thread(back_up_data_folder, data, tmp_path / "backup")
    if text is None and change is not cancel:
        held = b"".join(path.read_bytes() for path in (tmp_path / "backup").rglob("*") if path.is_file())
        assert b"a secret pump" not in held
    restore_backup(tmp_path / "backup", tmp_path / "again")
    again = child_worker.parts(tmp_path / "again", Paid())
    await run_due_jobs(again, TERMS, within_s=30.0)
    live, found = await parts.jobs.get(job.id, None), await again.jobs.get(job.id, None)
    kept = "an earlier text" if change is cancel and is_there_before else text
    chunks = await again.index.store.select(SCOPE, limit=100)
    assert [chunk.content for chunk in chunks if chunk.document_id == "pump"] == ([kept] if kept else [])
    assert live
    assert found
    assert found.state == ("done" if live.state == "queued" else live.state)
    for kit in (parts, again):
        await kit.close()


def test_two_backups_to_one_name_at_once_are_one_backup(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is refused by name, wherever the first is, and takes nothing of it away."""
    refused: list[str] = []
    steps = ("_copy_sqlite_file", "_copy_index", "_hash_file", "_require_whole", "_sync_files")
    with monkeypatch.context() as patched:
        for name in steps:
            patched.setattr(data_folder, name, _begin_another_before(name, folder, tmp_path / "backup", refused))
        back_up_data_folder(folder, tmp_path / "backup")
    assert set(refused) == {"backup_running"}
    assert len(refused) >= len(steps)
    restore_backup(tmp_path / "backup", tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "backup", "data"]


def _begin_another_before(step: str, folder: Path, target: Path, refused: list[str]) -> Callable[..., Any]:
    run_step = getattr(data_folder, step)

    def run(*arguments: Any) -> Any:
        with pytest.raises(Conflict) as refusal:
            back_up_data_folder(folder, target)
        refused.append(refusal.value.code)
        return run_step(*arguments)

    return run


KILLED_AT_A_RENAME = """
import os, signal, sys
from pathlib import Path
from rag_core.composition import data_folder
from rag_core.composition.assembly import KitHolder
from rag_core.composition.data_folder import back_up_data_folder, restore_backup

command, source, target, turn, is_after = sys.argv[1:]
left, replace = [int(turn)], os.replace

def replace_until_killed(old, new):
    left[0] -= 1
    if not left[0] and is_after == "True":
        replace(old, new)
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(old, new)

os.replace = replace_until_killed
{"backup": back_up_data_folder, "restore": restore_backup}[command](Path(source), Path(target))
"""


def run_killed(command: str, source: Path, target: Path, turn: int, is_after: bool) -> bool:
    """Run a backup or a restore that is killed at one of its renames; return whether it came to that one."""
    arguments = [command, str(source), str(target), str(turn), str(is_after)]
    ended = subprocess.run([sys.executable, "-c", KILLED_AT_A_RENAME, *arguments], check=False)
    assert ended.returncode in (0, -signal.SIGKILL)
    return ended.returncode != 0


@pytest.mark.parametrize("is_after", [False, True])
def test_a_restore_that_is_killed_at_a_rename_leaves_the_old_folder_or_the_new_one(
    folder: Path, tmp_path: Path, is_after: bool
) -> None:
    """C36: no service opens what is between the two, and the command can be repeated."""
    with closing(sqlite3.connect(folder / "archive.sqlite3")) as db:
        db.executescript("create table kept(text);")
    with closing(sqlite3.connect(folder / "jobs.sqlite3")) as db:
        db.executescript(JOBS_SCHEMA)
    back_up_data_folder(folder, tmp_path / "backup")
    turns = 0
    while run_killed("restore", tmp_path / "backup", again := tmp_path / f"again{turns}", turns + 1, is_after):
        turns += 1
        is_whole = not (again / "restore.unfinished").exists()
        if is_whole:
            assert {path.name for path in again.iterdir()} >= {"archive.sqlite3", "jobs.sqlite3", "index.sqlite"}
        else:
            with pytest.raises(Unavailable) as refused:
                KitHolder(lambda folder=again: Settings(data_dir=folder))()
            assert refused.value.code == "restore_unfinished"
            restore_backup(tmp_path / "backup", again)
        assert check_data_folder(again).damages == ()
        assert not (again / "restore.unfinished").exists()
    assert turns == 5  # its list, three files, and the end


@pytest.mark.parametrize("is_after", [False, True])
def test_a_backup_that_is_killed_at_its_rename_is_there_or_is_not(folder: Path, tmp_path: Path, is_after: bool) -> None:
    assert run_killed("backup", folder, tmp_path / "backup", 1, is_after)
    assert (tmp_path / "backup").exists() is is_after
    if not is_after:
        back_up_data_folder(folder, tmp_path / "backup")
    restore_backup(tmp_path / "backup", tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "backup", "data"]


def test_two_restores_into_one_folder_at_once_are_one_restore(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up_data_folder(folder, tmp_path / "backup")
    replace = os.replace

    def restore_another_and_replace(source: Path, target: Path) -> None:
        with pytest.raises(Conflict):
            restore_backup(tmp_path / "backup", tmp_path / "again")
        replace(source, target)

    monkeypatch.setattr(os, "replace", restore_another_and_replace)
    restore_backup(tmp_path / "backup", tmp_path / "again")
    assert check_data_folder(tmp_path / "again").damages == ()


def test_a_damaged_backup_is_refused(folder: Path, tmp_path: Path) -> None:
    back_up_data_folder(folder, tmp_path / "backup")
    spoil(tmp_path / "backup" / "index.sqlite", b"torque")
    with pytest.raises(Misconfigured) as refused:
        restore_backup(tmp_path / "backup", tmp_path / "again")
    assert refused.value.code == "backup_damaged"
    assert not (tmp_path / "again").exists()


def test_a_damaged_index_is_not_backed_up_as_if_it_were_whole(folder: Path, tmp_path: Path) -> None:
    spoil(folder / "index.sqlite", b"torque")
    with pytest.raises(Misconfigured) as refused:
        back_up_data_folder(folder, tmp_path / "backup")
    assert refused.value.code == "storage_damaged"
    assert not (tmp_path / "backup").exists()


def test_nothing_is_written_over(folder: Path, tmp_path: Path) -> None:
    back_up_data_folder(folder, tmp_path / "backup")
    with pytest.raises(Conflict):
        back_up_data_folder(folder, tmp_path / "backup")
    with pytest.raises(Conflict):
        restore_backup(tmp_path / "backup", folder)
    with pytest.raises(InvalidRequest):
        restore_backup(folder, tmp_path / "again")
    with pytest.raises(NotFound):
        check_data_folder(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "words/../../outside", "link"])
def test_a_backup_reaches_no_file_outside_of_its_folder(folder: Path, tmp_path: Path, name: str) -> None:
    """Its list of files comes from another machine; a forged name neither reads nor writes elsewhere."""
    backup, outside = tmp_path / "backup", tmp_path / "outside"
    back_up_data_folder(folder, backup)
    outside.write_text("of another service")
    (backup / "link").symlink_to(outside)
    content = json.loads((backup / "backup.json").read_bytes())
    (backup / "backup.json").write_text(json.dumps({**content, "files": {**content["files"], name: "0"}}))
    with pytest.raises(InvalidRequest, match="files of its own"):
        restore_backup(backup, tmp_path / "again")
    assert outside.read_text() == "of another service"


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"format": 2}, "of another version"), ({"files": {}}, "is not listed"), ({"files": 1}, "cannot be read")],
)
def test_a_backup_of_another_version_or_without_its_index_is_refused(
    folder: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    back_up_data_folder(folder, tmp_path / "backup")
    content = json.loads((tmp_path / "backup" / "backup.json").read_bytes())
    (tmp_path / "backup" / "backup.json").write_text(json.dumps({**content, **changes}))
    with pytest.raises(InvalidRequest, match=message):
        restore_backup(tmp_path / "backup", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_restore_that_failed_or_was_killed_can_be_repeated(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the second file: no half folder is left that a service would begin with."""
    backup, again = tmp_path / "backup", tmp_path / "again"
    back_up_data_folder(folder, backup)
    copied: list[Path] = []

    def copy_until_full(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        copied.append(target)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(shutil, "copyfile", copy_until_full)
        with pytest.raises(Unavailable, match="No space left"):
            restore_backup(backup, again)
    assert copied
    assert list(again.iterdir()) == []
    (again / "restore.unfinished").mkdir()
    (again / "restore.unfinished" / "index.sqlite").write_bytes(b"half")
    restore_backup(backup, again)
    assert check_data_folder(again).damages == ()
    assert not (again / "restore.unfinished").exists()


def test_a_backup_that_finds_the_disk_full_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_to_full_disk(file: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write_to_full_disk)
    with pytest.raises(Unavailable, match="No space left"):
        back_up_data_folder(folder, tmp_path / "backup")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_repair_does_not_hide_a_damage_that_it_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The word index is built again, the job table is not: the exit code is that of a damage."""
    for file in (folder / "words").rglob("*.idx"):
        file.write_bytes(b"no index")
    (folder / "jobs.sqlite3").write_bytes(b"no database" * 100)
    assert main(["check", "--repair", "--data", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "Repaired: the word index" in said
    assert "Not repaired: jobs.sqlite3" in said
