"""Documents that arrive together are committed together, and refused one by one."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest

from rag_core.core.errors import Conflict, NotFound, StorageFull
from rag_core.core.model import Scope
from rag_core.core.ports import ReplacementResult
from rag_core.stores.embedded import EmbeddedStore, group_commit
from rag_core.stores.embedded.change_mark import read_change_mark
from tests.stores.sample import SCOPE, find, put


async def gather_waiting(store: EmbeddedStore, puts: Sequence[Awaitable[ReplacementResult]]) -> list[object]:
    """Let all wait for the same turn, and return what came of each."""
    with store._group_commit._turn:
        tasks = [asyncio.ensure_future(one) for one in puts]
        await asyncio.sleep(0)  # each runs up to where it waits
    return list(await asyncio.gather(*tasks, return_exceptions=True))


def count_transactions(folder: Path) -> int:
    mark = read_change_mark(folder)
    return mark.changes if mark else 0


async def list_ids(folder: Path, scope: Scope = SCOPE) -> list[str]:
    store = EmbeddedStore(folder)
    documents = await store.list_documents(scope)
    await store.close()
    return [document.id for document in documents]


async def test_documents_that_arrive_together_share_a_transaction(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    await gather_waiting(store, [put(store, f"d{n:02}", [f"line {n}"]) for n in range(40)])
    assert count_transactions(tmp_path) == 1
    assert await list_ids(tmp_path) == [f"d{n:02}" for n in range(40)]
    for how in ("words", "meaning"):
        assert len(await find(store, "line", how=how, limit=99)) == 40


async def test_each_is_told_what_its_own_document_replaced(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    await put(store, "d0", ["a", "b"])
    results = await gather_waiting(store, [put(store, "d0", ["b"]), put(store, "d1", ["c"]), put(store, "d0", ["b"])])
    assert results == [ReplacementResult(0, 1, 1), ReplacementResult(1, 0, 0), ReplacementResult(0, 1, 0)]


async def test_what_is_refused_holds_up_none_of_its_group(tmp_path: Path) -> None:
    store, stranger = EmbeddedStore(tmp_path), Scope(SCOPE.workflow_id, "somebody")
    await put(store, "mine", ["line"])
    mixed = [
        put(store, "before", ["line"]),
        put(store, "mine", ["line of somebody else"], stranger),
        put(store, "other space", ["line"], space="another"),
        put(store, "after", ["line"]),
    ]
    before, mine, other_space, after = await gather_waiting(store, mixed)
    assert isinstance(before, ReplacementResult)
    assert isinstance(after, ReplacementResult)
    assert isinstance(mine, NotFound)
    assert isinstance(other_space, Conflict)
    assert await list_ids(tmp_path) == ["after", "before", "mine"]


async def test_a_group_for_which_the_disk_is_full_leaves_nothing_behind(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    await put(store, "there", ["line"])
    with store._get_opened().database.write_transaction() as db:
        pages = db.pragma("page_count")
    for _ in range(4):  # connections
        with store._get_opened().database._borrow_connection() as db:
            db.pragma("max_page_count", pages)
    results = await gather_waiting(store, [put(store, f"d{n}", ["line " * 9000]) for n in range(3)])
    assert [type(result) for result in results] == [StorageFull] * 3
    assert await list_ids(tmp_path) == ["there"]


async def test_a_group_ends_where_it_would_keep_other_processes_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "MAX_GROUP_CHUNKS", 4)
    store = EmbeddedStore(tmp_path)
    await gather_waiting(store, [put(store, f"d{n}", ["one", "two"]) for n in range(6)])
    assert count_transactions(tmp_path) == 3


async def test_who_gives_up_before_its_turn_leaves_the_queue(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    with store._group_commit._turn:
        waiting = [asyncio.ensure_future(put(store, f"d{n}", ["line"])) for n in range(2)]
        await asyncio.sleep(0)
        assert len(store._group_commit._waiting) == 2
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
        assert len(store._group_commit._waiting) == 1
    await waiting[1]
    assert "d1" in await list_ids(tmp_path)
