"""A disk without room, and a folder that may only be read: what is stored can be searched all the same.

Each promise is tested on a disk of its own where this process may mount one, and everywhere by a limit on the size of
files or by permissions.
"""

import os
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from rag_core.core.errors import Misconfigured, RagError, StorageFull
from rag_core.stores.embedded import EmbeddedStore
from rag_core.stores.embedded.disk_reserve import RESERVE_BYTES, make_disk_reserve
from rag_core.stores.embedded.row_checksums import CHECKED_COLUMNS
from tests.faults.small_disks import WHY_NO_MOUNT, fill_disk, make_read_only, mounted_disk
from tests.stores.sample import SCOPE, find, ids, put

HOWS = ("words", "meaning", "both")
LARGE = ["word " * 2_000] * 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk", 4096) as folder:
        if folder is None:
            pytest.skip(WHY_NO_MOUNT)
        yield folder


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file can grow beyond `size` within the block: the write fails as on a full disk, for this process alone."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


async def fill(folder: Path) -> EmbeddedStore:
    """A store with a document that was searched, and one that no word index has yet."""
    store = EmbeddedStore(folder)
    await put(store, "manual", ["the torque converter", "the brake line"])
    await put(store, "large", LARGE)
    await find(store, "torque")
    await put(store, "late", ["a late torque wrench"])
    return store


def word_files(folder: Path) -> dict[str, int]:
    """The files of the word index by their name, with the moment of their last change."""
    return {p.name: p.stat().st_mtime_ns for p in (folder / "words").rglob("*") if p.is_file() and "lock" not in p.name}


async def test_on_a_full_disk_reading_goes_on_by_words_too_and_the_good_index_stays(disk: Path) -> None:
    await (await fill(disk / "data")).close()
    before = word_files(disk / "data")
    fill_disk(disk)
    for _ in range(2):
        store = EmbeddedStore(disk / "data")
        for how in HOWS:
            found = ids(await find(store, "torque", how=how))
            assert {"manual:000", "late:000"} <= set(found), how
        assert (await store.describe()).damage == ("disk_full",)
        await store.close()
    assert word_files(disk / "data") == before


async def test_on_a_full_disk_a_write_is_refused_and_a_purge_makes_room_for_it(disk: Path) -> None:
    store = await fill(disk / "data")
    fill_disk(disk)
    with pytest.raises(StorageFull):
        await put(store, "more", LARGE * 20)
    try:
        await store.purge("large", SCOPE)
    except StorageFull:  # it is out of the index; its bytes are not yet overwritten
        assert "large" not in {document.id for document in await store.list_documents(SCOPE)}
    await put(store, "small", ["a small torque spanner"])
    assert "small:000" in ids(await find(store, "spanner", how="words"))
    await store.close()


async def test_a_word_index_that_may_not_grow_is_held_in_memory_meanwhile(tmp_path: Path) -> None:
    store = await fill(tmp_path)
    before = word_files(tmp_path)
    with file_size_limit(1):
        for how in HOWS:
            assert {"manual:000", "late:000"} <= set(ids(await find(store, "torque", how=how))), how
        assert (await store.describe()).damage == ("index_in_memory",)
    assert word_files(tmp_path) == before
    await store.close()


async def test_a_database_that_may_not_grow_refuses_writes_and_lets_a_document_be_deleted(tmp_path: Path) -> None:
    store = await fill(tmp_path)
    for db in store._get_database_and_search()[0]._idle.queue:
        db.pragma("max_page_count", db.pragma("page_count"))
    with pytest.raises(StorageFull):
        await put(store, "more", LARGE)
    assert "manual:000" in ids(await find(store, "torque", how="words"))
    assert await store.purge("large", SCOPE) is True
    await put(store, "more", LARGE[:3])
    assert "more:000" in ids(await find(store, "word", how="words"))
    await store.close()


async def check_reading(folder: Path) -> None:
    """Everything can be read, and every write is refused with the reason."""
    store = EmbeddedStore(folder)
    for how in HOWS:
        assert {"manual:000", "late:000"} <= set(ids(await find(store, "torque", how=how))), how
    assert len(await store.list_documents(SCOPE)) == 3
    for writing in (put(store, "more", ["more"]), store.delete("manual", SCOPE), store.purge("manual", SCOPE)):
        with pytest.raises(Misconfigured) as refused:
            await writing
        assert refused.value.code == "storage_read_only"
    assert (await store.describe()).damage == ()
    await store.close()


async def test_a_read_only_disk_can_be_searched(disk: Path) -> None:
    await (await fill(disk / "data")).close()
    make_read_only(disk)
    await check_reading(disk / "data")


@pytest.fixture
def bound_user() -> None:
    """A user whom permissions bind, as they do not bind root."""
    if os.geteuid() == 0:
        pytest.skip("root is bound by no permission: the test on a read-only disk stands for this one")


async def test_a_folder_without_the_right_to_write_can_be_searched(tmp_path: Path, bound_user: None) -> None:
    folder = tmp_path / "data"
    await (await fill(folder)).close()
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
    try:
        await check_reading(folder)
    finally:
        for path in paths:
            path.chmod(0o700)


async def test_a_read_only_folder_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a mount and for root as well: the system says that the folder may not be written to."""
    folder = tmp_path / "data"
    await (await fill(folder)).close()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    monkeypatch.setattr("rag_core.stores.embedded.database.os.access", lambda *_: False)
    await check_reading(folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


async def test_an_index_of_an_older_version_is_read_on_a_full_disk(tmp_path: Path, disk: Path) -> None:
    """There is no room to give every page its checksum; that is done at the first opening with room."""
    folder = disk / "data"
    store = EmbeddedStore(folder)
    await put(store, "manual", ["the torque converter"])
    await store.close()
    db = apsw.Connection(str(folder / "index.sqlite"))
    db.execute("alter table store drop column changes")
    for table in CHECKED_COLUMNS:
        db.execute(f"alter table {table} drop column checksum")
    db.reserve_bytes("main", 0)
    db.execute("vacuum")
    db.pragma("user_version", 2)
    db.close()
    (folder / "index.changes").unlink()
    ballast = fill_disk(disk)
    try:
        store = EmbeddedStore(folder)
        assert ids(await find(store, "torque", how="meaning")) == ["manual:000"]
        await store.close()
    except RagError as error:
        raise AssertionError(error.message) from error
    ballast.unlink()
    store = EmbeddedStore(folder)
    await put(store, "late", ["a late torque wrench"])
    await store.close()
    db = apsw.Connection(str(folder / "index.sqlite"))
    assert (db.pragma("user_version"), db.reserve_bytes()) == (3, 8)
    db.close()


def test_a_reserve_that_had_no_room_is_made_once_there_is_some(tmp_path: Path) -> None:
    """A file of nothing holds no room: without this no document could be deleted from the full disk that comes next."""
    with file_size_limit(RESERVE_BYTES // 2):
        make_disk_reserve(tmp_path)
    make_disk_reserve(tmp_path)
    (reserve,) = tmp_path.iterdir()
    assert reserve.stat().st_size == RESERVE_BYTES
