"""A damage is told to whom it concerns, and to nobody else."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.run import Run
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.embedded import EmbeddedStore
from rag_core.stores.embedded.lexical_index import LexicalIndex
from tests.composition.test_data_folder import spoil
from tests.stores.sample import SCOPE, find, ids, put
from tests.stores.test_archive import QUESTION, WARD

ANN, BOB = replace(SCOPE, user_id="ann"), replace(SCOPE, user_id="bob")


async def warn_of(store: EmbeddedStore, scope: object) -> tuple[list[str], str]:
    """The documents that a scope sees, and the warnings of its request in one text."""
    run = Run()
    documents = await run.step("documents", store.list_documents(scope))  # type: ignore[arg-type]
    return [document.id for document in documents], " ".join(f"{w.code}: {w.message}" for w in run.warnings)


async def test_a_damaged_document_is_named_to_its_owner_alone_and_the_others_are_served(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    await put(store, "diary", ["a crocodile at the river"], ANN)
    await put(store, "manual", ["the torque converter"])
    await find(store, "torque")
    await store.close()
    spoil(tmp_path / "index.sqlite", b"crocodile at")
    store = EmbeddedStore(tmp_path)
    assert ids(await find(store, "torque", how="words")) == ["manual:000"]
    for scope, is_named in ((ANN, True), (BOB, False), (replace(ANN, workflow_id="other"), False)):
        _, warnings = await warn_of(store, scope)
        assert ("diary" in warnings) is is_named, warnings
    assert (await warn_of(store, BOB))[0] == ["manual"]
    with pytest.raises(Misconfigured) as refused:
        await put(store, "new", ["new"])
    assert refused.value.code == "storage_damaged"
    assert "documents_damaged" in (await store.describe()).damage
    await store.close()


async def test_a_panic_of_the_word_index_is_a_damage_that_is_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """As pyo3 names it; its own class cannot be imported."""

    store, search = EmbeddedStore(tmp_path), LexicalIndex._search_with_ties
    await put(store, "manual", ["the torque converter"])
    panics = [PanicException("range end index 9 out of range")]

    def panic_once(self: LexicalIndex, *arguments: object) -> object:
        if panics:
            raise panics.pop()
        return search(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LexicalIndex, "_search_with_ties", panic_once)
    run = Run()
    assert ids(await run.step("search", find(store, "torque", how="words"))) == ["manual:000"]
    assert [warning.code for warning in run.warnings] == ["index_rebuilt"]
    await store.close()


async def test_an_altered_row_of_the_archive_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    archive = SqlArchive(ArchiveDatabase(tmp_path / "archive.sqlite3"))
    kept = [await archive.add_query(replace(QUESTION, original_query=f"crocodile {n}?"), WARD) for n in range(2)]
    await archive.close()
    await asyncio.to_thread(spoil, tmp_path / "archive.sqlite3", b"crocodile 1?")
    archive = SqlArchive(ArchiveDatabase(tmp_path / "archive.sqlite3"))
    assert await archive.load_query(kept[0].id, WARD) == kept[0]
    with pytest.raises(Unavailable) as refused:
        await archive.load_query(kept[1].id, WARD)
    assert refused.value.code == "archive_damaged"
    await archive.close()


async def test_a_lost_archive_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    file = tmp_path / "archive.sqlite3"
    archive = SqlArchive(ArchiveDatabase(file))
    await archive.add_query(QUESTION, WARD)
    await archive.close()
    file.unlink()
    archive = SqlArchive(ArchiveDatabase(file))
    with pytest.raises(Unavailable) as refused:
        await archive.count_queries(WARD)
    assert refused.value.code == "archive_damaged"
    assert "archive.made" in refused.value.message
