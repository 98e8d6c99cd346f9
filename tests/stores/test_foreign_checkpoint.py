"""A program without page checksums that moves the journal of a killed service damages no text, and hides no damage."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from rag_core.composition.data_folder import check_data_folder
from rag_core.core.errors import Misconfigured, RagError
from rag_core.core.run import Run
from rag_core.stores.embedded import EmbeddedStore, current_index
from rag_core.stores.embedded.page_checksums import PAGE_BYTES, has_pages_without_checksum
from tests.stores.sample import SCOPE, find, ids, put

pytestmark = pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the shell sqlite3 is not installed")

TEXTS = {f"manual-{number}": [f"the torque converter {number}", f"valve {number} opens " * 40] for number in range(6)}
WRITE_AND_DIE = """
import asyncio, os, sys
from pathlib import Path
from rag_core.stores.embedded import EmbeddedStore
from tests.stores.sample import put
from tests.stores.test_foreign_checkpoint import TEXTS

async def write() -> None:
    store = EmbeddedStore(Path(sys.argv[1]))
    for document_id, texts in TEXTS.items():
        await put(store, document_id, texts)
    await put(store, "gone", ["a deleted pump"])
    await store.delete("gone", SCOPE)
    os._exit(9)

from tests.stores.sample import SCOPE
asyncio.run(write())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose service was killed, after somebody has looked into it with the shell."""
    folder = tmp_path_factory.mktemp("foreign") / "data"
    killed = subprocess.run(
        [sys.executable, "-c", WRITE_AND_DIE, str(folder)], cwd=Path(__file__).parents[2], check=False
    )
    file = folder / "index.sqlite"
    assert killed.returncode == 9
    assert Path(f"{file}-wal").stat().st_size
    assert not has_pages_without_checksum(file)
    count = subprocess.run(["sqlite3", str(file), "select count(*) from chunks"], capture_output=True, check=True)
    assert count.stdout.strip() == b"12"
    assert not Path(f"{file}-wal").exists()
    assert has_pages_without_checksum(file)
    return folder


async def read_all(folder: Path) -> tuple[dict[str, list[str]], str]:
    """Every text that a scope is given, by document, and the warnings of the request."""
    store, run = EmbeddedStore(folder), Run()
    try:
        documents = await run.step("documents", store.list_documents(SCOPE))
        chunks = await run.step("chunks", store.select(SCOPE, limit=1000))
    finally:
        await store.close()
    texts: dict[str, list[str]] = {document.id: [] for document in documents}
    for chunk in chunks:
        texts[chunk.document_id].append(chunk.content)
    return texts, " ".join(f"{warning.code}: {warning.message}" for warning in run.warnings)


async def test_all_is_read_by_the_checksums_of_the_rows_and_repaired(folder: Path, tmp_path: Path) -> None:
    """It is said what has happened, and that nothing is lost; nothing is written until the repair."""
    data = tmp_path / "data"
    shutil.copytree(folder, data)
    texts, warnings = await read_all(data)
    assert texts == TEXTS
    assert "index_rebuilt: another program, such as the shell sqlite3" in warnings
    store = EmbeddedStore(data)
    assert ids(await find(store, "torque converter 3", limit=1)) == ["manual-3:000"]
    with pytest.raises(Misconfigured):
        await put(store, "new", ["new"])
    await store.close()
    (said,) = check_data_folder(data).damages
    assert said.startswith("another program, such as the shell sqlite3")
    assert said.endswith("7 documents are whole")
    repaired = check_data_folder(data, repair=True)
    assert (repaired.remaining, repaired.repairs[0][:29]) == ((), "7 documents were copied whole")
    assert check_data_folder(data).damages == ()
    assert await read_all(data / current_index.read_index_locations(data).current.folder) == (TEXTS, "")


async def test_a_flipped_bit_in_a_page_without_checksum_is_never_read_as_text(folder: Path, tmp_path: Path) -> None:
    """Wherever it is: what is served is as it was written, under its workflow, and what is not served is told of."""
    draw, original = Random(7), (folder / "index.sqlite").read_bytes()
    places = [draw.randrange(PAGE_BYTES, len(original)) for _ in range(40)]
    in_text = [original.rindex(words) for words in (b"converter 2", b"valve 4 opens", b"manual-5", b"manuals")]
    lost = 0
    for number, place in enumerate([*places, *in_text]):
        data = tmp_path / str(number)
        shutil.copytree(folder, data)
        altered = bytearray(original)
        altered[place] ^= 1 << draw.randrange(8)
        (data / "index.sqlite").write_bytes(altered)
        try:
            texts, warnings = await read_all(data)
        except Misconfigured:
            lost += 1
            continue
        missing = TEXTS.keys() - texts.keys()
        assert all(TEXTS[document_id] == held for document_id, held in texts.items())
        assert not missing or "documents_damaged" in warnings
        lost += bool(missing)
    assert 2 <= lost < len(places)


async def test_the_name_of_a_workflow_that_was_altered_gives_its_documents_to_nobody_else(
    folder: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(folder, data)
    with closing(sqlite3.connect(data / "index.sqlite")) as db:  # without the extension, as the shell
        (root,) = db.execute("select rootpage from sqlite_master where name = 'workflows'").fetchone()
    pages = bytearray((data / "index.sqlite").read_bytes())
    name = pages.index(SCOPE.workflow_id.encode(), (root - 1) * PAGE_BYTES, root * PAGE_BYTES)
    pages[name] ^= 1
    (data / "index.sqlite").write_bytes(pages)
    with pytest.raises(RagError, match="damaged"):
        await read_all(data)
