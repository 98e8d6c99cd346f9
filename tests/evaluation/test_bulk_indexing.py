"""A measurement indexes everything that it judges, or stops; and leaves nothing behind where others index too."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rag_core.composition import assembly
from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Document, Scope, Vector
from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.evaluation import pipeline_evaluation
from rag_core.evaluation.bulk_indexing import MAX_CONCURRENT_DOCUMENTS, index_uploads
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.labelled_collection import load_labelled_collection
from rag_core.ingestion.upload import Upload
from rag_core.providers.null_models import NoEmbedder
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import kit

TINY = Path(__file__).parents[1] / "data" / "beir_tiny"
HERE = Scope("manuals")


def nothing(*_: object) -> None:
    """No progress is shown."""


class FirstFails:
    """An embedder that fails once all who may work are at work; who it keeps waiting says so when cancelled."""

    space = "fails"
    dimensions = 2

    def __init__(self) -> None:
        self.at_work = self.cancelled = 0
        self.all_there = asyncio.Event()

    async def embed_query(self, text: str) -> Vector:
        raise NotImplementedError

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.at_work += 1
        if self.at_work == MAX_CONCURRENT_DOCUMENTS:
            raise Unavailable("the model is down")
        try:
            await self.all_there.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("nobody lets it go on")


async def test_the_first_failure_is_raised_as_it_is_and_ends_all_other_work() -> None:
    embedder = FirstFails()
    uploads = [(HERE, Upload(content=f"Valve {n} is open.")) for n in range(2 * MAX_CONCURRENT_DOCUMENTS)]
    with pytest.raises(Unavailable, match="the model is down"):
        await index_uploads(uploads, kit(Index(EmbeddedStore(None), embedder)))
    assert (embedder.at_work, embedder.cancelled) == (MAX_CONCURRENT_DOCUMENTS, MAX_CONCURRENT_DOCUMENTS - 1)


async def test_a_file_that_cannot_be_read_is_not_passed_over_as_an_empty_record_is() -> None:
    parts = kit(Index(EmbeddedStore(None), NoEmbedder("words only")))
    assert await index_uploads([(HERE, Upload(content=" ")), (HERE, Upload(content="A valve."))], parts) == 1
    for data in (b"%PDF-1.4 and no more", b""):
        with pytest.raises(UnreadableDocument):
            await index_uploads([(HERE, Upload(data=data, filename="judged.pdf"))], parts)


@dataclass
class Shared:
    """A store whose purges of the `stuck` are not answered; and whether its kit was closed."""

    inner: EmbeddedStore = field(default_factory=lambda: EmbeddedStore(None))
    stuck: frozenset[str] = frozenset()
    purged: list[str] = field(default_factory=list)
    closed: bool = False

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def purge(self, document_id: str, scope: Scope) -> bool:
        if document_id in self.stuck:
            raise Unavailable("the store is down")
        self.purged.append(document_id)
        return await self.inner.purge(document_id, scope)

    async def list_documents(self, scope: Scope, *, source_prefix: str = "") -> Sequence[Document]:
        return await self.inner.list_documents(scope, source_prefix=source_prefix)

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("stuck", [frozenset(), frozenset({"0", "3"})])
async def test_every_other_document_goes_what_stays_is_named_and_the_first_failure_is_told(
    stuck: frozenset[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = Shared(stuck=stuck)

    def built(_: Settings) -> Kit:
        return kit(Index(store, NoEmbedder("words only")))  # type: ignore[arg-type]

    monkeypatch.setattr(assembly, "build_kit", built)
    hosted = replace(DEFAULT_SETTINGS, azure_search_endpoint="https://search.example")
    cache, found = EvaluationCache(tmp_path / "cache.sqlite3"), load_labelled_collection(TINY)
    with pytest.raises(ZeroDivisionError):
        async with pipeline_evaluation.index_collection(found, hosted, cache, nothing, hosted=True):
            raise ZeroDivisionError
    cache.close()
    assert {str(n) for n in range(10)} - set(store.purged) == stuck
    assert store.closed
    assert ("eval-" in capsys.readouterr().err) == bool(stuck)
