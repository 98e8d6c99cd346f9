"""The parts as a running process asks for them: they follow the index that is the current one."""

import asyncio
import gc
import json
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from local_emulator.host import run_service
from rag_core.cli import main
from rag_core.composition.assembly import KitHolder
from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.settings import Settings
from rag_core.stores.embedded import current_index
from tests import hosted
from tests.ingestion.test_reindex import filled, reindexed
from tests.stores.sample import SCOPE, find, put


@pytest.fixture
async def parts(tmp_path: Path) -> KitHolder:
    """Over an index, without model files; the other model's service has a key, and is not asked."""
    await filled(tmp_path)
    return KitHolder(lambda: Settings(data_dir=tmp_path, models_dir=tmp_path, openai_api_key="key"))


async def test_the_next_request_gets_the_index_that_was_switched_to(tmp_path: Path, parts: KitHolder) -> None:
    """S3-13, C05: and after a rollback the one before; what does not change is not opened twice."""
    first = parts()
    assert parts() is first
    await reindexed(tmp_path)
    second = parts()
    assert parts() is second
    assert (
        await first.index.store.load_embedding_space() != await second.index.store.load_embedding_space() == "other-8"
    )
    assert second.index.embedder.space.startswith("other;")
    current_index.roll_back_current_index(tmp_path)
    assert await parts().index.store.load_embedding_space() == await first.index.store.load_embedding_space()
    assert parts().llm is first.llm
    for kit in (first, second, parts()):
        await kit.close()


async def test_a_request_under_way_finishes_on_the_index_that_it_began_with(tmp_path: Path, parts: KitHolder) -> None:
    """S3-13: also when the others have been dropped; it is closed when nobody holds it any more."""
    loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor()
    loop.set_default_executor(threads)
    under_way = parts()
    before = [hit.chunk.id for hit in await find(under_way.index.store, "fuse", how="words")]
    await reindexed(tmp_path)
    await parts().index.store.describe()
    current_index.remove_other_indexes(tmp_path)
    assert [hit.chunk.id for hit in await find(under_way.index.store, "fuse", how="words")] == before
    store = weakref.ref(under_way.index.store)
    del under_way
    threads.shutdown()  # a thread holds what it did last until it has gone on
    loop.set_default_executor(ThreadPoolExecutor())
    gc.collect()
    assert store() is None
    await parts.close()


async def test_nothing_is_written_where_nobody_would_find_it(tmp_path: Path, parts: KitHolder) -> None:
    """C56: a write that comes too late is refused and can be done again; it is not acknowledged and lost."""
    under_way = parts()
    await reindexed(tmp_path)
    with pytest.raises(Unavailable) as refused:
        await put(under_way.index.store, "late", ["spark"])
    assert (refused.value.code, refused.value.retryable) == ("index_replaced", True)
    with pytest.raises(Unavailable):
        await under_way.index.store.delete("shared", SCOPE)
    assert await parts().index.store.delete("shared", SCOPE)
    current_index.roll_back_current_index(tmp_path)
    await put(parts().index.store, "after", ["spark"])
    for kit in (under_way, parts()):
        await kit.close()


async def test_a_pointer_that_cannot_be_read_is_told_and_not_guessed(tmp_path: Path, parts: KitHolder) -> None:
    held = parts()
    (tmp_path / current_index.POINTER_FILE).write_text("")
    with pytest.raises(Misconfigured):
        parts()
    (tmp_path / current_index.POINTER_FILE).unlink()
    assert parts() is held
    await held.close()


def embedder(url: str) -> str:
    with urlopen(f"{url}/api/health") as reply:  # noqa: S310
        told: str = json.load(reply)["parts"]["embedder"]
    return told


def answers(url: str) -> list[str]:
    asked = json.dumps({"query": "hot gearbox", "pipeline": "standard", "search_type": "vector"}).encode()
    request = Request(f"{url}/api/consult_rag", asked, {"content-type": "application/json"})  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310
        told = json.load(reply)
    assert told["degraded"] == []
    return [document["title"] for document in told["documents"]]


def test_a_service_follows_rag_reindex_and_its_rollback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S3-13, C05: the command has parts of its own; the service asks by the right model without a restart."""
    (tmp_path / "gear.txt").write_text("The gearbox is hot after a long climb.")
    with hosted.running() as models:
        said = {"RAG_DATA_DIR": str(tmp_path / "data"), "RAG_LLM_PROVIDER": "local"}
        for name, value in (said | {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{models}/v1"}).items():
            monkeypatch.setenv(name, value)
        assert main(["index", str(tmp_path / "gear.txt")]) == 0
        service = Settings(
            data_dir=tmp_path / "data", llm_provider="local", openai_api_key="key", openai_base_url=f"{models}/v1"
        )
        with run_service(service) as url:
            local = embedder(url)
            assert answers(url) == ["gear"]
            assert main(["reindex", "--profile", "openai", "--dimensions", str(hosted.DIMENSIONS)]) == 0
            assert embedder(url) == f"text-embedding-3-small;{hosted.DIMENSIONS};"
            assert answers(url) == ["gear"]
            assert main(["reindex", "--rollback"]) == 0
            assert embedder(url) == local
            assert answers(url) == ["gear"]
    assert "restart" not in capsys.readouterr().out
