"""A data folder is checked, repaired, backed up while it is used, and made again from a backup."""

import asyncio
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from rag_core.cli import main
from rag_core.composition.data_folder import back_up_data_folder, check_data_folder, restore_backup
from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, NotFound, Unavailable
from rag_core.ingestion import reading
from rag_core.stores.embedded import EmbeddedStore, check, current_index
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
    assert "document long of workflow manuals cannot be read whole" in capsys.readouterr().out
    assert await asyncio.to_thread(main, ["check", "--repair", "--data", str(folder)]) == 0
    assert "left out: document long of workflow manuals" in capsys.readouterr().out
    assert check_data_folder(folder).damages == ()
    repaired = open_current(folder)
    assert ids(await find(repaired, "torque converter", how="words")) == before == ["manual:000"]
    assert await repaired.restore("gone", SCOPE) is True
    assert [document.id for document in await repaired.list_documents(SCOPE)] == ["gone", "manual"]
    assert current_index.read_index_locations(folder).previous == current_index.IndexLocation()
    await repaired.close()


async def test_no_repair_begins_while_somebody_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other process commits after the copy was made would not be in the index that takes its place."""
    monkeypatch.setattr(check, "SQLITE_BUSY_TIMEOUT_MS", 1)
    spoil(folder / "index.sqlite", b"and so on and so on")
    with closing(apsw.Connection(str(folder / "index.sqlite"))) as writer:
        writer.execute("begin immediate")
        with pytest.raises(Unavailable, match="another process is writing"):
            check.repair_database(folder)
    assert current_index.read_index_locations(folder).current == current_index.IndexLocation()


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
