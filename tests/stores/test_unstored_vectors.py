"""An index of Azure AI Search that keeps no vectors: found by them as before, and none is lost without a word.

The promises about changes of documents that every store makes are those of tests/contracts.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from local_emulator.search_service import SearchService, run_search_service
from rag_core.core.errors import Conflict, Misconfigured, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.run import Run
from rag_core.evaluation.isolation_audit import run_isolation_audit
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.plan import DryRun, Tariff
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.jobs.indexer import Indexer, IndexingPolicy
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.azure_search import AzureSearchStore, delivery
from rag_core.stores.azure_search.index_client import AzureIndexClient
from tests.contracts.test_chunk_store import (  # noqa: F401 - run here on such an index
    filled,
    test_a_replacement_that_fails_leaves_the_old_version_searchable,
    test_many_at_once_leave_one_copy_and_whole_documents,
    test_only_the_owner_deletes_restores_and_purges_and_nobody_learns_of_it,
    test_replacing_leaves_no_tail_and_counts_what_changed,
    test_there_is_one_state_of_a_document_only,
    test_vectors_of_another_space_are_refused_before_any_write,
    test_what_comes_back_is_not_mixed_with_another_models_vectors,
    test_what_is_purged_cannot_be_restored,
    test_what_is_restored_is_back_as_it_was,
    test_what_was_written_is_found_at_once_and_comes_back_whole,
)
from tests.fakes import Down
from tests.fakes import kit as small
from tests.stores.sample import SCOPE, SPACE, SampleEmbedder, bare, chunk, document, find, ids, put, vector

TEXTS = ["brake line", "bleed the brake fluid", "pads wear evenly"]
INDEX = "unstored"


@pytest.fixture
def service() -> SearchService:
    return SearchService(None, keys={"key"})


@pytest.fixture
def url(service: SearchService) -> Iterator[str]:
    with run_search_service(service) as address:
        yield address


@pytest.fixture
def embedder() -> SampleEmbedder:
    return SampleEmbedder()


@pytest.fixture
async def store(url: str, embedder: SampleEmbedder) -> AsyncIterator[AzureSearchStore]:
    made = make_store(url, embedder, stores_vectors=False)
    await made.setup()
    yield made
    await made.close()


def make_store(url: str, embedder: Any, index: str = INDEX, *, stores_vectors: bool = True) -> AzureSearchStore:
    return AzureSearchStore(
        url,
        "key",
        index,
        space=SPACE,
        dimensions=16,
        embedder=embedder,
        stores_vectors=stores_vectors,
        settled_s=0,
    )


def describe_action(action: dict[str, Any]) -> str:
    """Return the kind of an action of a chunk, and whether it sends a vector; "record" for any other upload."""
    kind = action["@search.action"] if action.get("kind", "chunk") == "chunk" else "record"
    return f"{kind} {'shown' if action['live'] else 'hidden'}" if "content_vector" in action else str(kind)


async def find_by_vector(store: AzureSearchStore) -> list[str]:
    return ids(await find(store, "brake fluid", how="meaning"))


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The actions that are sent to the index, by request."""
    sent: list[list[str]] = []
    post = AzureIndexClient._post_batch

    async def watch(self: AzureIndexClient, batch: Any, limits: Any) -> Any:
        sent.append([describe_action(json.loads(one)) for one in batch])
        return await post(self, batch, limits)

    monkeypatch.setattr(AzureIndexClient, "_post_batch", watch)
    return sent


async def test_setup_makes_such_an_index_and_refuses_to_change_it(store: AzureSearchStore, url: str) -> None:
    """The service can never store what it did not: another index is needed, as for another model."""
    field = next(
        one for one in (await store._client.get_definition() or {})["fields"] if one["name"] == "content_vector"
    )
    assert (field["stored"], field["retrievable"]) == (False, False)
    assert await store.setup() == "unchanged"
    plain = make_store(url, None)
    with pytest.raises(Conflict, match=r"does not keep the vectors .*AZURE_SEARCH_VECTORS_STORED=1") as refused:
        await plain.setup()
    assert refused.value.code == "reindex_required"
    plain._client.index = "plain"
    assert await plain.setup() == "created"
    store._client.index = "plain"
    with pytest.raises(Conflict, match=r"keeps the vectors .*AZURE_SEARCH_VECTORS_STORED=0"):
        await store.setup()
    await plain.close()


async def test_the_same_is_found_as_where_vectors_are_stored(
    store: AzureSearchStore, url: str, embedder: SampleEmbedder
) -> None:
    plain = make_store(url, None, "plain")
    await plain.setup()
    for one in (store, plain):
        await put(one, "doc", TEXTS)
    assert bare(await find(store, "brake fluid", how="both")) == bare(await find(plain, "brake fluid", how="both"))
    await store.delete("doc", SCOPE)
    await store.restore("doc", SCOPE)
    assert bare(await find(store, "brake fluid", how="both")) == bare(await find(plain, "brake fluid", how="both"))
    assert embedder.embedded == len(TEXTS)
    assert await store.load_vectors("doc", SCOPE) == {}
    await plain.close()


async def test_a_process_without_the_setting_loses_no_vector(store: AzureSearchStore, url: str) -> None:
    """Only `rag setup` reads it: an app that was deployed without it asks the index, not the setting."""
    other = make_store(url, SampleEmbedder())
    await put(other, "doc", TEXTS)
    assert len(await find_by_vector(other)) == 3
    await other.delete("doc", SCOPE)
    await other.restore("doc", SCOPE)
    assert len(await find_by_vector(store)) == 3
    await other.close()


async def test_a_document_that_is_the_same_is_neither_embedded_nor_written_again(
    store: AzureSearchStore, embedder: SampleEmbedder, batches: list[list[str]]
) -> None:
    index, chunks = Index(store, embedder), [chunk("doc", i, text) for i, text in enumerate(TEXTS)]
    assert (await index.add_document(document("doc"), chunks, SCOPE))[1] == 3
    batches.clear()
    replaced, embedded = await index.add_document(document("doc"), chunks, SCOPE)
    assert (replaced.unchanged, embedded, batches) == (3, 0, [])
    await store.save_summary("doc", "About brakes.", SCOPE)
    assert (await index.add_document(document("doc"), chunks, SCOPE))[1] == 0
    for changed, parts in (
        (document("doc", make="Audi"), chunks),
        (document("doc"), [*chunks[:2], chunk("doc", 2, "another text")]),
        (document("doc"), [replace(chunks[0], summary="Another summary."), *chunks[1:]]),
    ):
        assert (await index.add_document(changed, parts, SCOPE))[1] == 3
    assert len(await find_by_vector(store)) == 3


async def test_chunks_without_a_vector_are_embedded_when_they_come_again(
    store: AzureSearchStore, embedder: SampleEmbedder
) -> None:
    """A document that was indexed for words only, because the embedder was down, is not taken for an embedded one."""
    chunks = [chunk("doc", i, text) for i, text in enumerate(TEXTS)]
    await store.replace_document(document("doc"), chunks, [vector(TEXTS[0]), None, None], SCOPE, space=SPACE)
    assert await find_by_vector(store) == ["doc:000"]
    assert (await Index(store, embedder).add_document(document("doc"), chunks, SCOPE))[1] == 3
    assert len(await find_by_vector(store)) == 3


async def test_a_plan_counts_what_will_be_embedded_again(store: AzureSearchStore, embedder: SampleEmbedder) -> None:
    """No surprise on the bill: of a changed document every text, of an unchanged one none."""
    kit, limits = small(Index(store, embedder)), UploadLimits(10_000, 30.0)

    async def index(text: str, into: Kit) -> None:
        upload = Upload(content=text, document_id="doc")
        await index_document(upload, SCOPE, into, Run(), chunking=Chunking(chunk_size=32, overlap=0), limits=limits)

    text = " ".join(f"The brake line of axle {n} is bled first, and then its pads are changed." for n in range(6))
    await index(text, kit)
    actions = []
    for version in (text, text.replace("axle 5", "no axle")):
        dry = DryRun(kit, Tariff("model", 1.0))
        await index(version, dry.kit)
        (planned,) = dry.build_plan().documents
        actions.append((planned.action, planned.token_count > 80))
    assert planned.chunk_count > 2
    assert actions == [("skip", False), ("update", True)]


async def test_a_job_embeds_no_unchanged_document(store: AzureSearchStore, embedder: SampleEmbedder) -> None:
    indexer = Indexer(small(Index(store, embedder)), Run(), IndexingPolicy(UploadLimits(10_000, 30.0), 10_000, 10))
    upload = Upload(content="The brake line is bled first.", document_id="doc")
    counts = []
    for _ in range(2):
        result = await indexer.index(upload, SCOPE, chunking=Chunking())
        counts.append(result.embedded)  # type: ignore[union-attr]
    assert counts == [1, 0]
    assert embedder.embedded == 1


async def test_what_goes_live_is_sent_twice_and_never_merged(
    store: AzureSearchStore, batches: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge without the vector drops it, as Microsoft documents. The old version goes with the last part."""
    monkeypatch.setattr(delivery, "MAX_BATCH_ACTIONS", 2)
    await put(store, "doc", TEXTS)
    hidden, shown, records = "upload hidden", "upload shown", ["record", "record"]
    assert batches == [[hidden, hidden], [hidden], [shown, shown], [shown, *records]]
    batches.clear()
    await put(store, "doc", ["new brake fluid"])
    assert batches == [[hidden], [shown, *["delete"] * 3, *records]]
    assert await find_by_vector(store) == ["doc:000"]


async def test_a_version_half_shown_is_shown_whole_by_the_next_write(
    store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was uploaded is kept in the outbox until the version is live."""
    monkeypatch.setattr(delivery, "MAX_BATCH_ACTIONS", 1)
    post, requests = AzureIndexClient._post_batch, 0

    async def fail_once(self: AzureIndexClient, batch: Any, limits: Any) -> Any:
        nonlocal requests
        requests += 1
        if requests == 5:  # three were uploaded, and the first of them is shown
            raise Misconfigured("planted")
        return await post(self, batch, limits)

    monkeypatch.setattr(AzureIndexClient, "_post_batch", fail_once)
    with pytest.raises(Misconfigured):
        await put(store, "doc", TEXTS)
    assert await find_by_vector(store) == ["doc:000"]
    assert await store.flush() == ()
    assert len(await find_by_vector(store)) == 3


async def test_restoring_reads_also_what_no_search_finds_yet(embedder: SampleEmbedder) -> None:
    """The service shows a write a moment later; a restoration from what is found alone would lose passages."""
    with run_search_service(SearchService(None, keys={"key"}, delay_s=3600)) as url:
        store = make_store(url, embedder, stores_vectors=False)
        await store.setup()
        await put(store, "doc", TEXTS)
        await store.delete("doc", SCOPE)
        await store.restore("doc", SCOPE)
        assert embedder.embedded == 3
        job, _ = await store._records.find_writable_job("doc", SCOPE)
        assert ((job and job.record) or {})["ordinal"] == 3
        await store.close()


@pytest.mark.parametrize(("embedder", "error"), [(Down(), Unavailable), (None, Misconfigured)])
async def test_without_an_embedder_a_document_stays_deleted(url: str, embedder: Any, error: type[Exception]) -> None:
    store = make_store(url, embedder, stores_vectors=False)
    await store.setup()
    await put(store, "doc", TEXTS)
    await store.delete("doc", SCOPE)
    with pytest.raises(error):
        await store.restore("doc", SCOPE)
    assert [one.id for one in await store.list_deleted(SCOPE)] == ["doc"]
    await store.close()


async def test_a_deletion_on_its_way_is_not_undone_from_half_of_the_chunks(
    store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, "doc", TEXTS)

    async def refuse(*_: Any) -> Any:
        raise Misconfigured("planted")

    with monkeypatch.context() as patched:
        patched.setattr(AzureIndexClient, "_post_batch", refuse)
        with pytest.raises(Misconfigured):
            await store.delete("doc", SCOPE)
        with pytest.raises(Unavailable, match="not reached the index"):
            await store.restore("doc", SCOPE)
    await store.flush()
    assert await store.restore("doc", SCOPE)
    assert len(await find_by_vector(store)) == 3


async def test_nobody_learns_by_guessing_that_a_document_is_there(
    store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a document is embedded is told to those who may read it; a planted leak is found out."""
    kit = replace(small(Index(store, SampleEmbedder())), archive=SqlArchive(ArchiveDatabase(None)))
    assert await list_leaks(kit) == ["scores"]  # of words, which Azure AI Search counts over the whole index
    asked: Callable[..., Any] = store.is_embedded
    monkeypatch.setattr(store, "is_embedded", lambda one, chunks, _: asked(one, chunks, replace(SCOPE, **_owner(one))))
    assert await list_leaks(kit) == ["embedded", "scores"]


async def list_leaks(kit: Kit) -> list[str]:
    return [path.name for path in await run_isolation_audit(kit, only_paths=["embedded"]) if path.leaks]


def _owner(document: Any) -> dict[str, Any]:
    return {"workflow_id": document.workflow_id, "user_id": document.user_id, "groups": document.groups}
