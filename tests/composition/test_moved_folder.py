"""A data folder that is moved, deleted or replaced under a running service: nothing is written where none finds it."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from rag_core.composition.assembly import KitHolder
from rag_core.composition.data_folder import back_up_data_folder, restore_backup
from rag_core.core.errors import Unavailable
from rag_core.core.settings import Settings
from rag_core.stores.embedded import EmbeddedStore
from rag_core.stores.embedded.database import IndexDatabase, connect_to_index_database
from tests.faults.test_load import server
from tests.stores.sample import SCOPE, find, put

LONG_TEXT = "\n\n".join(f"Chapter {n}. " + f"The pump of car {n} is checked at {n} bar. " * 30 for n in range(90))


class Service:
    """A service in a process of its own over a folder, and what it answers."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder

    def call(self, method: str, path: str, **fields: Any) -> tuple[int, Any]:
        connection = HTTPConnection(self.address, timeout=120)
        with closing(connection):
            connection.request(method, f"/api/{path}", json.dumps(fields), {"content-type": "application/json"})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())

    def index(self, document_id: str, content: str = "", **fields: Any) -> tuple[int, Any]:
        content = content or f"P0700 of {document_id} is stored by the TCM."
        described = {"document_id": document_id, "title": document_id, "content": content}
        return self.call("POST", "index_document", **described, **fields)

    def find(self) -> set[str]:
        """The titles, which are the ids, of the documents that a lexical search finds."""
        fields = {"query": "P0700", "preset": "pages", "search_type": "keyword", "top_k": 50}
        status, reply = self.call("POST", "consult_rag", **fields)
        assert status == 200, reply
        return {document["title"] for document in reply["documents"]}

    def list_refusals(self) -> set[tuple[int, str, bool]]:
        """What reading, writing and health are refused with."""
        replies = [
            self.call("POST", "consult_rag", query="P0700", preset="pages", search_type="keyword"),
            self.index("refused"),
            self.call("GET", "documents"),
            self.call("GET", "health"),
        ]
        return {
            (status, *(reply.get("error", {}).get(key) for key in ("code", "retryable"))) for status, reply in replies
        }


MOVED = {(503, "store_moved", True)}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Over an index with one document, of which there is a backup, and a later one."""
    with server(tmp_path / "data") as (address, _):
        running = Service(address, tmp_path / "data")
        assert running.index("kept")[0] == 200
        back_up_data_folder(running.folder, tmp_path / "backup")
        assert running.index("later")[0] == 200
        assert running.find() == {"kept", "later"}
        yield running


def list_documents(folder: Path) -> set[str]:
    """List them as the service does: another SQLite would move the journal into the file without checksums."""
    with closing(connect_to_index_database(folder)) as db:
        return {id for (id,) in db.execute("select id from documents")}


def move_whole(folder: Path, to: Path) -> None:
    folder.rename(to)


def move_files_one_by_one(folder: Path, to: Path) -> None:
    to.mkdir()
    for path in sorted(folder.iterdir()):
        path.rename(to / path.name)


@pytest.mark.parametrize("move", [move_whole, move_files_one_by_one])
def test_a_restore_in_place_of_a_folder_that_was_moved_is_served_at_once(
    service: Service, tmp_path: Path, move: Callable[[Path, Path], None]
) -> None:
    """C36: without a restart; the folder that was moved keeps what it had, and gets nothing more."""
    move(service.folder, tmp_path / "moved")
    assert service.list_refusals() == MOVED
    assert not service.folder.exists() or not list(service.folder.iterdir())
    restore_backup(tmp_path / "backup", service.folder)
    assert service.find() == {"kept"}
    assert service.index("new")[0] == 200
    assert service.find() == {"kept", "new"}
    assert service.call("GET", "health")[0] == 200
    assert list_documents(service.folder) == {"kept", "new"}
    assert list_documents(tmp_path / "moved") == {"kept", "later"}
    with closing(sqlite3.connect(tmp_path / "data" / "jobs.sqlite3")) as db:
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_a_folder_that_is_put_back_is_served_as_it_was(service: Service, tmp_path: Path) -> None:
    service.folder.rename(tmp_path / "moved")
    assert service.list_refusals() == MOVED
    (tmp_path / "moved").rename(service.folder)
    assert service.find() == {"kept", "later"}
    assert service.index("new")[0] == 200
    assert list_documents(service.folder) == {"kept", "later", "new"}


def test_a_folder_that_is_deleted_is_missed_until_a_backup_is_in_its_place(service: Service, tmp_path: Path) -> None:
    """C36: an empty index in its place would say that nothing was found."""
    shutil.rmtree(service.folder)
    assert service.list_refusals() == MOVED
    time.sleep(2.5)  # the worker looks for jobs each second
    assert not service.folder.exists()
    restore_backup(tmp_path / "backup", service.folder)
    assert service.find() == {"kept"}
    assert service.index("new")[0] == 200
    assert list_documents(service.folder) == {"kept", "new"}


def test_a_link_to_the_data_folder_is_followed_when_it_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    link = tmp_path / "data"
    link.symlink_to(tmp_path / "first")
    with server(link) as (address, _):
        service = Service(address, link)
        assert service.index("kept")[0] == 200
        back_up_data_folder(link, tmp_path / "backup")
        restore_backup(tmp_path / "backup", tmp_path / "second")
        assert service.index("later")[0] == 200
        lead(link, tmp_path / "nowhere")
        assert service.list_refusals() == MOVED
        lead(link, tmp_path / "second")
        assert service.find() == {"kept"}
        assert service.index("new")[0] == 200
    assert list_documents(tmp_path / "first") == {"kept", "later"}
    assert list_documents(tmp_path / "second") == {"kept", "new"}


def lead(link: Path, to: Path) -> None:
    new_link = link.with_suffix(".new")
    new_link.symlink_to(to)
    new_link.replace(link)


def test_a_job_under_way_stays_open_in_the_folder_that_it_began_in(service: Service, tmp_path: Path) -> None:
    """C17, C36: nothing of it comes to the restored folder."""
    status, reply = service.index("long", LONG_TEXT, **{"async": True})
    assert status == 202, reply
    wait_for_job(service, reply["job_id"], lambda job: job["status"] == "running")
    service.folder.rename(tmp_path / "moved")
    restore_backup(tmp_path / "backup", service.folder)
    assert service.find() == {"kept"}
    assert service.call("GET", f"index_jobs/{reply['job_id']}")[0] == 404
    time.sleep(3.0)
    assert list_documents(service.folder) == {"kept"}
    assert list_documents(tmp_path / "moved") == {"kept", "later"}
    with closing(sqlite3.connect(f"file:{tmp_path}/moved/jobs.sqlite3?mode=ro", uri=True)) as db:
        ((state,),) = db.execute("select state from index_jobs where id = ?", (reply["job_id"],)).fetchall()
    assert state in ("queued", "running", "writing")


def wait_for_job(service: Service, id: str, is_reached: Callable[[Any], bool]) -> None:
    until = time.monotonic() + 480
    while not is_reached(job := service.call("GET", f"index_jobs/{id}")[1]):
        assert job["status"] not in ("failed", "done"), job["error"]
        assert time.monotonic() < until
        time.sleep(0.05)


async def test_a_write_during_which_the_folder_is_moved_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C36: what was committed to the folder that was moved is whole there, and its caller is told to repeat it."""
    store = EmbeddedStore(tmp_path / "data")
    await put(store, "kept", ["spark"])
    open_transaction = IndexDatabase.write_transaction

    @contextmanager
    def move_before_the_commit(database: IndexDatabase) -> Iterator[Any]:
        with open_transaction(database) as db:
            yield db
            (tmp_path / "data").rename(tmp_path / "moved")

    monkeypatch.setattr(IndexDatabase, "write_transaction", move_before_the_commit)
    with pytest.raises(Unavailable) as refused:
        await put(store, "late", ["spark"])
    assert (refused.value.code, refused.value.retryable) == ("store_moved", True)
    assert not (tmp_path / "data").exists()
    monkeypatch.undo()
    with pytest.raises(Unavailable):
        await find(store, "spark", how="words")
    (tmp_path / "moved").rename(tmp_path / "data")
    assert {hit.chunk.document_id for hit in await find(store, "spark", how="words")} == {"kept", "late"}
    await store.close()


async def test_what_was_kept_of_one_index_is_not_taken_for_what_another_in_its_place_says(tmp_path: Path) -> None:
    """S3-09: a restored index counts the same changes again."""
    store = EmbeddedStore(tmp_path / "data")
    await put(store, "kept", ["spark"])
    back_up_data_folder(tmp_path / "data", tmp_path / "backup")
    await put(store, "one", ["spark"])
    before = await store.load_corpus_version(SCOPE)
    (tmp_path / "data").rename(tmp_path / "moved")
    restore_backup(tmp_path / "backup", tmp_path / "data")
    await put(store, "other", ["spark"])
    assert await store.load_corpus_version(SCOPE) != before
    assert {hit.chunk.document_id for hit in await find(store, "spark", how="words")} == {"kept", "other"}
    await store.close()


async def test_no_part_of_a_running_request_makes_a_folder_that_was_moved_away_anew(tmp_path: Path) -> None:
    """C36: a file of theirs in the empty place would be in the way of the backup."""
    holder = KitHolder(lambda: Settings(data_dir=tmp_path / "data"))
    kit = holder()
    await kit.index.store.describe()
    assert holder() is kit
    await kit.jobs.claim()
    await kit.archive.load_edited_presets()
    await kit.cache.set("key", b"value", ttl_s=60.0)
    (tmp_path / "data").rename(tmp_path / "moved")
    for use in (kit.index.store.describe, kit.jobs.claim, kit.archive.load_edited_presets):
        with pytest.raises(Unavailable) as refused:
            await use()
        assert refused.value.code == "store_moved"
    with pytest.raises(Unavailable):
        holder()
    assert await kit.cache.get("key") is None
    await kit.cache.set("key", b"value", ttl_s=60.0)
    assert not (tmp_path / "data").exists()
    (tmp_path / "moved").rename(tmp_path / "data")
    assert await kit.jobs.claim() is None
    assert await holder().cache.get("key") == b"value"
    await holder.close()
