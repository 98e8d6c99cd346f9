"""Another embedding model: built beside, switched to in one step, and back."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from rag_core.core.contextual_vectors import list_sent_texts
from rag_core.core.errors import Conflict, Misconfigured, Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Scope, Vector
from rag_core.core.ports import Probe
from rag_core.ingestion.plan import BudgetSpent, EmbeddingMeter, Tariff
from rag_core.ingestion.reindex import REINDEX_BATCH_TEXTS, build_new_index, switch_to_new_index
from rag_core.stores.embedded import EmbeddedStore, current_index
from rag_core.stores.embedded.current_index import IndexLocation, IndexLocations
from rag_core.stores.embedded.rebuild import NEW_VECTORS_FILE, EmbeddedRebuild, choose_rebuild_folder
from tests.faults import child_reindexer
from tests.faults.test_kill9 import PROCESSES
from tests.stores.sample import SCOPE, find, put, vector

OWNER = Scope("manuals", user_id="ann")
NEW = IndexLocation("spaces/other-8-1", "openai", "other")


class Other:
    """Another model: its vectors have half the width."""

    space = "other-8"
    dimensions = 8

    def __init__(self) -> None:
        self.given: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        return vector(text)[:8]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.given += texts
        return [await self.embed_query(text) for text in texts]


async def filled(folder: Path) -> None:
    """A shared document, one of an owner, one that was deleted; a passage of the first stands in the last, too."""
    store = EmbeddedStore(folder)
    await put(store, "shared", ["pump P0700", "valve", *(f"row {i}" for i in range(REINDEX_BATCH_TEXTS))])
    await put(store, "own", ["fuse"], OWNER, groups=("garage",))
    await put(store, "gone", ["pump P0700", "lamp"])
    await store.delete("gone", SCOPE)
    await store.save_summary("shared", "On pumps.", SCOPE)
    await store.close()


def rows(folder: Path) -> dict[str, list[object]]:
    """All that an index holds but its vectors and its own name."""
    with closing(sqlite3.connect(folder / "index.sqlite")) as db:
        tables = ("workflows", "documents", "readers", "chunks", "facts", "gone")
        held = {table: list(db.execute(f"select * from {table} order by 1, 2, 3")) for table in tables}  # noqa: S608
        held["deleted"] = list(db.execute("select id, deleted_at, user_id, chunks, content_hash from deleted"))
        held["deleted_chunks"] = list(db.execute("select id, content, spans from deleted_chunks order by 1"))
    return held


def everything(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "index.sqlite")) as db:
        return list(db.iterdump())


def left(data: Path) -> set[str]:
    """The files below a folder, without journals."""
    files = (path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file())
    return {file for file in files if not file.endswith(("-wal", "-shm"))}


def rebuild(data: Path) -> EmbeddedRebuild:
    return EmbeddedRebuild(
        data / current_index.read_index_locations(data).current.folder, data / NEW.folder, Other.space, Other.dimensions
    )


async def reindexed(data: Path) -> Other:
    embedder, made = Other(), rebuild(data)
    await build_new_index(made, embedder)
    await switch_to_new_index(made, embedder, partial(current_index.switch_current_index, data, NEW))
    await made.close()
    return embedder


async def test_the_new_index_holds_all_of_the_old_one_with_vectors_of_the_other_model(tmp_path: Path) -> None:
    """S3-13, C05: ids, owners, summaries and what was deleted; each text is embedded once, and the old one stays."""
    await filled(tmp_path)
    before = everything(tmp_path)
    embedder = await reindexed(tmp_path)
    assert everything(tmp_path) == before
    assert rows(tmp_path / NEW.folder) == rows(tmp_path)
    assert len(embedder.given) == len(set(embedder.given)) == REINDEX_BATCH_TEXTS + 4
    store = EmbeddedStore(tmp_path / NEW.folder)
    assert (await store.load_embedding_space(), (await store.describe()).dimensions) == ("other-8", 8)
    probe = Probe("original", "fuse", await embedder.embed_query("fuse"))
    for scope, seen in ((OWNER, True), (SCOPE, False)):
        (ranking,) = await Index(store, embedder).search([probe], scope, limit=5)
        assert ("own" in {hit.chunk.document_id for hit in ranking}) is seen
    assert await store.restore("gone", SCOPE)
    assert {len(v) for v in (await store.load_vectors("gone", SCOPE)).values()} == {8}
    assert (await find(store, "lamp", how="words"))[0].chunk.document_id == "gone"
    await store.close()


async def test_what_was_remembered_of_the_old_index_is_not_taken_for_the_new_ones(tmp_path: Path) -> None:
    """C23: they have the same documents, but not the same version."""
    await filled(tmp_path)
    await reindexed(tmp_path)
    old, new = EmbeddedStore(tmp_path), EmbeddedStore(tmp_path / NEW.folder)
    assert await old.load_corpus_version(SCOPE) != await new.load_corpus_version(SCOPE)
    await old.close()
    await new.close()


async def test_what_is_written_while_it_builds_is_in_the_new_index_too(tmp_path: Path) -> None:
    """S3-13: and only that is embedded once more."""
    await filled(tmp_path)
    embedder, made, store = Other(), rebuild(tmp_path), EmbeddedStore(tmp_path)
    await build_new_index(made, embedder)
    await put(store, "late", ["spark"])
    await switch_to_new_index(made, embedder, partial(current_index.switch_current_index, tmp_path, NEW))
    assert embedder.given[-1:] == ["spark"]
    assert embedder.given.count("valve") == 1
    assert rows(tmp_path / NEW.folder) == rows(tmp_path)
    await made.close()
    await store.close()


async def test_nothing_is_switched_while_others_never_stop_writing(tmp_path: Path) -> None:
    await filled(tmp_path)
    store = EmbeddedStore(tmp_path)

    class Busy(Other):
        async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
            made = await super().embed_documents(texts)
            await put(store, "busy", [f"spark {len(self.given)}"])
            return made

    embedder, made = Busy(), rebuild(tmp_path)
    original = made.copy_index

    async def copy() -> None:
        await original()
        await put(store, "busy", [f"copy {len(embedder.given)}"])

    made.copy_index = copy  # type: ignore[method-assign]
    await build_new_index(made, embedder)
    with pytest.raises(Unavailable):
        await switch_to_new_index(made, embedder, partial(current_index.switch_current_index, tmp_path, NEW))
    assert current_index.read_index_locations(tmp_path) == IndexLocations()
    await made.close()
    await store.close()


async def test_a_budget_ends_the_build_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """S3-13: what was paid for is kept, the old index stays the current one."""
    await filled(tmp_path)
    made = rebuild(tmp_path)
    texts = list_sent_texts(list((await made.load_missing_texts()).values()))
    tariff = Tariff("other", 1_000_000.0)  # a dollar a token
    with pytest.raises(BudgetSpent):
        await build_new_index(
            made, EmbeddingMeter(Other(), tariff, float(tariff.count_tokens(texts[:REINDEX_BATCH_TEXTS])))
        )
    await made.close()
    assert current_index.read_index_locations(tmp_path) == IndexLocations()
    assert sorted((await reindexed(tmp_path)).given) == sorted(texts[REINDEX_BATCH_TEXTS:])


async def test_a_look_at_what_is_missing_writes_nothing(tmp_path: Path) -> None:
    await filled(tmp_path)
    made = rebuild(tmp_path)
    assert len(await made.load_missing_texts()) == REINDEX_BATCH_TEXTS + 4
    await made.close()
    assert not (tmp_path / "spaces").exists()


@pytest.mark.parametrize("moment", ["embedding", "copied", "switching", "switched"])
def test_a_kill_leaves_the_one_index_or_the_other_and_nothing_is_paid_for_twice(tmp_path: Path, moment: str) -> None:
    """S3-13, C05, C56: killed at each step; the old one is untouched, and the same again finishes."""
    asyncio.run(filled(tmp_path))
    before = everything(tmp_path)
    child = PROCESSES.Process(target=child_reindexer.reindex, args=(tmp_path, moment))
    child.start()
    child.join()
    assert child.exitcode == -9
    assert everything(tmp_path) == before
    switched = current_index.read_index_locations(tmp_path).current == NEW
    assert switched is (moment == "switched")
    if not switched:
        texts = asyncio.run(reindexed(tmp_path)).given
        assert len(texts) == (4 if moment == "embedding" else 0)
    assert current_index.read_index_locations(tmp_path) == IndexLocations(NEW, IndexLocation())
    assert rows(tmp_path / NEW.folder) == rows(tmp_path)


async def test_a_rollback_goes_back_and_once_more_forward_again(tmp_path: Path) -> None:
    """S3-13, C05."""
    await filled(tmp_path)
    await reindexed(tmp_path)
    assert current_index.roll_back_current_index(tmp_path) == IndexLocations(IndexLocation(), NEW)
    assert current_index.roll_back_current_index(tmp_path) == IndexLocations(NEW, IndexLocation())


async def test_the_others_can_be_dropped_so_that_a_purge_leaves_no_byte(tmp_path: Path) -> None:
    """S3-16: after a switch the previous index has the text, too, and nothing that is purged reaches it."""
    await filled(tmp_path)
    await reindexed(tmp_path)
    (tmp_path / "spaces/begun-1").mkdir()
    assert current_index.remove_other_indexes(tmp_path) == IndexLocations(NEW)
    assert left(tmp_path) == {current_index.POINTER_FILE, f"{NEW.folder}/index.sqlite"}
    assert not (tmp_path / "spaces/begun-1").exists()
    with pytest.raises(Conflict):
        current_index.roll_back_current_index(tmp_path)


def test_there_is_nothing_to_go_back_to_before_the_first_switch(tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="no previous index"):
        current_index.roll_back_current_index(tmp_path)


@pytest.mark.parametrize(
    "said", ["", "[]", "{}", json.dumps({"current": {"folder": "spaces/none-1"}, "previous": None})]
)
def test_a_damaged_pointer_is_no_reason_to_begin_an_empty_index(tmp_path: Path, said: str) -> None:
    (tmp_path / current_index.POINTER_FILE).write_text(said)
    with pytest.raises(Misconfigured) as refused:
        current_index.read_index_locations(tmp_path)
    assert refused.value.code == "storage_damaged"


def test_an_index_in_the_making_is_gone_on_with_and_one_in_use_is_not_built_over(tmp_path: Path) -> None:
    place = partial(choose_rebuild_folder, "Other;8;", tmp_path)
    first, second = place(()), place(()).removesuffix("1") + "2"
    (tmp_path / first).mkdir(parents=True)
    assert place(()) == second
    (tmp_path / first / NEW_VECTORS_FILE).touch()
    assert place(()) == first
    assert place((first,)) == second


def test_spaces_that_read_alike_do_not_share_their_vectors(tmp_path: Path) -> None:
    assert choose_rebuild_folder("other:8", tmp_path, ()) != choose_rebuild_folder("other;8", tmp_path, ())
