"""`rag migrate`, as a user types it, to PostgreSQL and to the emulated Azure AI Search."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import rag_core
from local_emulator.search_service import SearchService, run_search_service
from rag_core.cli import main
from rag_core.composition import migration_assembly
from rag_core.core.model import Scope
from rag_core.core.settings import Settings
from rag_core.ingestion import migration
from tests.postgres import empty_database, run

TEXTS = {
    "gear.txt": "The gearbox is hot after a long climb. P0700 is stored by the module.",
    "brake.txt": "The brake caliper sticks in winter.\n\nBleed the brake line afterwards.",
    "private.txt": "The salary of the foreman is 4,200 euros.",
}
OWNER = Scope("garage", "ann", ("payroll",))


@pytest.fixture(params=["postgres", "azure"])
def here(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder with documents of two workflows, an owner and a deletion, and an empty store of another kind."""
    settings = Settings(data_dir=tmp_path / "data")
    monkeypatch.setenv("RAG_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("RAG_LLM_PROVIDER", "local")
    asyncio.run(_fill(settings, tmp_path))
    if request.param == "postgres":
        monkeypatch.setenv("POSTGRES_URL", empty_database("migrated"))
        yield tmp_path
        return
    with run_search_service(SearchService(None, keys={"key"})) as url:
        monkeypatch.setenv("AZURE_SEARCH_ENDPOINT", url)
        monkeypatch.setenv("AZURE_SEARCH_API_KEY", "key")
        yield tmp_path


async def _fill(settings: Settings, folder: Path) -> None:
    async with rag_core.open(settings) as rag:
        for name, text in TEXTS.items():
            (folder / name).write_text(text)
            scope = OWNER if name == "private.txt" else Scope("garage" if name == "gear.txt" else "depot")
            await rag.index(folder / name, scope=scope)
        (folder / "old.txt").write_text("An old note.")
        old = await rag.index(folder / "old.txt", scope="garage")
        await rag.delete(old.document_id, scope="garage")


async def _ask_moved(text: str, scope: Scope) -> list[str]:
    async with rag_core.open() as rag:
        return [hit.chunk.content for hit in (await rag.search(text, scope=scope, preset="standard")).hits]


def test_an_index_is_moved_whole_with_its_owners_and_nothing_is_embedded(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice: the second copy continues what a first one may have left."""
    for _ in range(2):
        capsys.readouterr()
        assert main(["migrate"]) == 0
        said = capsys.readouterr().out
        assert "Copied 3 documents and 3 passages, 3 with their vectors; nothing was embedded." in said
        assert "Every document is the same. Of 100 questions 100 find the same five passages by vector" in said
        assert "Not moved: 1 deleted document;" in said
        assert "RAG_EMBEDDING_PROVIDER=local" in said
    monkeypatch.setenv("RAG_EMBEDDING_PROVIDER", "local")
    assert asyncio.run(_ask_moved("What does the foreman earn?", OWNER))[0] == TEXTS["private.txt"]
    assert asyncio.run(_ask_moved("What does the foreman earn?", Scope("garage"))) == [TEXTS["gear.txt"]]
    assert "brake" in asyncio.run(_ask_moved("What sticks in winter?", Scope("depot")))[0]


@pytest.mark.parametrize("here", ["postgres"], indirect=True)
def test_a_passage_that_is_not_the_same_afterwards_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flaw planted between the copy and the comparison."""
    copy = migration.copy_documents

    async def copy_and_damage(*arguments: object) -> migration.MovedContent:
        moved = await copy(*arguments)  # type: ignore[arg-type]
        address = str(rag_core.core.settings.load_settings().postgres_url)
        run(address, "update document_chunks set content = replace(content, 'hot', 'cold')")
        return moved

    monkeypatch.setattr(migration, "copy_documents", copy_and_damage)
    assert main(["migrate"]) == 1
    assert "Different or missing: 1 (garage/" in capsys.readouterr().out


def test_without_another_store_it_says_what_to_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path))
    assert main(["migrate"]) != 0
    assert "set AZURE_SEARCH_ENDPOINT or POSTGRES_URL" in capsys.readouterr().err


async def test_an_index_whose_model_is_absent_is_not_moved_without_its_vectors(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    await _fill(settings, tmp_path)
    without = replace(settings, models_dir=tmp_path / "no-models", postgres_url="postgresql://127.0.0.1:1/none")
    with pytest.raises(rag_core.core.errors.Misconfigured, match="is not available"):
        await migration_assembly.open_migration(without)
