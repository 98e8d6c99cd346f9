"""What is particular to Azure AI Search: its index, its own ranking, its limits. The rest is in tests/contracts."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.models import IndexDocumentsBatch
from werkzeug.wrappers import Request

from local_emulator.search_service import SearchService, run_search_service
from local_emulator.search_service.serving import serve_wsgi
from rag_core.composition.index_assembly import build_chunk_store
from rag_core.core.errors import Conflict, Misconfigured, NotFound, RagError, Unavailable
from rag_core.core.index import Index
from rag_core.core.model import Scope
from rag_core.core.ports import Probe
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import Settings, load_settings
from rag_core.providers.null_models import NoEmbedder
from rag_core.retrieval.advanced import run_advanced
from rag_core.stores.azure_search import AzureSearchStore, action_batches, schema
from rag_core.stores.azure_search.action_batches import IndexAction, split_into_batches
from rag_core.stores.azure_search.index_client import AzureIndexClient, DocumentOutcome
from rag_core.stores.azure_search.records import make_document_record_key
from rag_core.stores.azure_search.schema import QueryVectorizer, VectorCompression
from tests.fakes import ConceptEmbedder, OverlapReranker, ScriptedLLM, kit
from tests.faults.search_faults import Faulty
from tests.faults.server import failing, reply
from tests.stores.sample import SCOPE, SPACE, bare, chunk, document, find, ids, probe, put, vector

NO_STATE = "kind ne 'state'"  # of a workflow: a name that changes with each write, and no word of a document
INDEX = "particular"


class Served:
    """A service that is watched: `asked` holds the bodies of its requests by the last part of the path."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.fault: dict[str, str] = {}

    def plan(self, request: Request) -> str | None:
        last = request.path.rpartition("/")[2]
        if request.method == "POST":
            self.asked.append((last, json.loads(request.get_data())))
        return self.fault.get(last)

    def bodies(self, last: str) -> list[dict[str, Any]]:
        return [body for name, body in self.asked if name == last]


@pytest.fixture
def watched() -> Served:
    return Served()


@pytest.fixture
def url(watched: Served) -> Iterator[str]:
    service = SearchService(None, keys={"key"}, reranker=OverlapReranker())
    with serve_wsgi(Faulty(service, watched.plan)) as address:
        yield address


@pytest.fixture
async def store(url: str) -> AsyncIterator[AzureSearchStore]:
    made = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE)
    await made.setup()
    yield made
    await made.close()


def test_the_index_has_the_documented_fields() -> None:
    """S1-24..33: names and types; the vector's width is the embedding profile's (C05)."""
    fields = {field["name"]: field for field in schema.build_index_definition("x", 1536)["fields"]}
    text, texts = "Edm.String", "Collection(Edm.String)"
    documented = {
        "id": text, "workflow_id": text, "content": text, "content_vector": "Collection(Edm.Single)", "title": text,
        "source": text, "page_number": "Edm.Int32", "chunk_summary": text, "entities": text, "entity_codes": texts,
    }  # fmt: skip
    assert {name: fields[name]["type"] for name in documented} == documented
    assert fields["content_vector"]["dimensions"] == 1536
    assert fields["workflow_id"]["filterable"]
    assert fields["entity_codes"]["facetable"]
    assert [name for name, field in fields.items() if field.get("key")] == ["key"]
    assert schema.get_vector_dimensions(schema.build_index_definition("x", 384)) == 384


async def test_setup_makes_an_index_once_and_later_adds_what_it_lacks(url: str, store: AzureSearchStore) -> None:
    """S1-23: an index of an earlier version gets the new fields, and keeps its documents."""
    assert await store.setup() == "unchanged"
    await put(store, "doc", ["words stay"])
    service = store._client
    whole = await service.get_definition()
    assert whole is not None
    older = {**whole, "name": "older", "fields": [f for f in whole["fields"] if f["name"] not in ("codes", "facts")]}
    service.index = "older"
    await service.put_definition(older)
    assert await store.setup() == "upgraded"
    assert {f["name"] for f in (await service.get_definition() or {})["fields"]} == {f["name"] for f in whole["fields"]}
    assert await store.setup() == "unchanged"


async def test_another_model_is_refused_at_setup_before_anything_is_written(url: str, store: AzureSearchStore) -> None:
    """C05, C52, S1-27: the width by the index itself, the model's name by what is stored."""
    await put(store, "doc", ["some words"])
    for dimensions, space in ((8, SPACE), (0, ""), (16, "another model")):
        other = AzureSearchStore(url, "key", INDEX, dimensions=dimensions, space=space)
        with pytest.raises(Conflict) as refused:
            await other.setup()
        assert refused.value.code == "reindex_required"
        await other.close()
    assert await store.setup() == "unchanged"


@pytest.mark.parametrize("compression", [VectorCompression("scalar"), VectorCompression("binary", 8)])
async def test_compressed_vectors_find_the_same_with_true_similarities(
    url: str, store: AzureSearchStore, compression: VectorCompression
) -> None:
    """Rescoring by the originals: what is compared with thresholds is what it was, and the quota holds more."""
    made = AzureSearchStore(url, "key", "compressed", dimensions=16, space=SPACE, compression=compression)
    assert (await made.setup(), await made.setup()) == ("created", "unchanged")
    for one in (store, made):
        await put(one, "doc", ["gear box", "brake pads", "gear oil"])
    exact, found = [await find(one, "gear", how="meaning") for one in (store, made)]
    assert bare(found) == bare(exact)
    sizes = [await one._client._get_clients()[1].get_index_statistics(one._client.index) for one in (store, made)]
    assert sizes[1].vector_index_size * 4 <= sizes[0].vector_index_size
    await made.close()


async def test_another_compression_needs_another_index(url: str, store: AzureSearchStore) -> None:
    """The service changes no field that is there; the store says what to do instead of passing on its refusal."""
    other = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE, compression=VectorCompression("scalar"))
    with pytest.raises(Conflict, match=r"compresses its vectors by nothing, and the settings by scalarQ.*another in"):
        await other.setup()
    await other.close()


def test_vectors_are_not_cut_to_more_than_they_have() -> None:
    with pytest.raises(Misconfigured, match="less than the 16 dimensions"):
        schema.build_index_definition("x", 16, VectorCompression("binary", 16))
    with pytest.raises(Misconfigured, match="requires AZURE_SEARCH_COMPRESSION"):
        build_chunk_store(
            Settings(azure_search_endpoint="https://s.example", azure_search_truncated_dimensions=8), ConceptEmbedder()
        )


async def test_without_an_index_or_a_key_the_operator_is_told_what_to_do(url: str) -> None:
    for key, index, code in (("key", "none", "index_missing"), ("wrong", INDEX, "search_unauthorized")):
        made = AzureSearchStore(url, key, index, dimensions=16)
        with pytest.raises(Misconfigured) as told:
            await made.describe()
        assert told.value.code == code
        assert key not in told.value.message.replace("key", "") or key == "key"
        await made.close()


async def test_words_and_meaning_go_in_one_request_and_the_service_fuses_them(
    store: AzureSearchStore, watched: Served
) -> None:
    """C33: hybrid by the service: 1 / (60 + rank) of each leg, rank from 0, filtered before ranking."""
    await put(store, "brakes", ["brake line", "bleed the brake fluid line", "pads wear evenly"])
    legs = [ids(await find(store, "brake line", how=how)) for how in ("words", "meaning")]
    watched.asked.clear()
    both = await find(store, "brake line")
    (body,) = watched.bodies("docs/search.post.search".rpartition("/")[2])
    assert (body["search"], body["vectorQueries"][0]["k"], body["vectorFilterMode"]) == ("brake line", 50, "preFilter")
    for hit in both:
        assert hit.score == pytest.approx(
            sum(1 / (60 + leg.index(hit.chunk.id)) for leg in legs if hit.chunk.id in leg)
        )


async def test_stop_words_alone_find_nothing_and_no_syntax_is_sent(store: AzureSearchStore, watched: Served) -> None:
    """C10."""
    await put(store, "doc", ["on the road"])
    assert not await find(store, "the", how="words")
    assert not await find(store, '"(*~', how="words")
    watched.asked.clear()
    await find(store, 'brake +(pads | "wear") -line~ o\'ring*', how="words")
    (body,) = watched.bodies("search.post.search")
    assert body["search"] == 'brake \\+\\(pads \\| \\"wear\\"\\) \\-line\\~ o\\\'ring\\*'
    assert body["queryType"] == "simple"


async def test_the_services_own_ranker_judges_for_a_probe_that_asks(store: AzureSearchStore, watched: Served) -> None:
    """S1-07: its score on 0..1 is the signal, its caption is kept, marked words in HTML that is safe to show."""
    await put(store, "doc", ["wear <b>pads</b> slowly", "the pads of brakes", "another thing"])
    (hits,) = await store.search([Probe("original", "pads", None, "pads of brakes")], SCOPE, limit=5)
    assert watched.bodies("search.post.search")[-1]["semanticQuery"] == "pads of brakes"
    best = max(hits, key=lambda hit: hit.signals["semantic"])
    assert best.chunk.content == "the pads of brakes"
    assert all(0 <= hit.signals["semantic"] <= 1 and hit.captions for hit in hits)
    assert all("<b>" not in caption.highlights for hit in hits for caption in hit.captions)
    (plain,) = await store.search([Probe("original", "pads")], SCOPE, limit=5)
    assert not any("semantic" in hit.signals or hit.captions for hit in plain)


async def test_more_than_a_page_of_chunks_comes_whole_and_in_order(store: AzureSearchStore) -> None:
    """The service gives 1,000 documents a page, and takes 1,000 a batch."""
    await put(store, "long", [f"line {i}" for i in range(2_300)])
    assert [c.ordinal for c in await store.select(SCOPE, limit=5_000)] == list(range(2_300))
    assert len(await store.get([f"long:{i:03}" for i in range(1_200)], SCOPE)) == 1_200
    assert len(await store.load_vectors("long", SCOPE)) == 2_300
    told = await put(store, "long", ["short now"])
    assert (told.removed, told.failed) == (2_300, ())
    assert len(await store._client.search("*", filter=NO_STATE, select=["key"], top=10_000)) == 2


def test_batches_keep_to_the_limits_of_the_service() -> None:
    small = [IndexAction(str(i), "x" * 10) for i in range(2_500)]
    assert [len(batch) for batch in split_into_batches(small)] == [1_000, 1_000, 500]
    large = [IndexAction(str(i), "é" * 3_000_000) for i in range(5)]
    assert [len(batch) for batch in split_into_batches(large)] == [2, 2, 1]
    assert [action for batch in split_into_batches(small) for action in batch] == small


async def test_one_chunk_that_the_service_cannot_take_is_named_and_the_rest_is_there(store: AzureSearchStore) -> None:
    """C51: a batch refused as a whole is halved down to the one that is at fault."""
    chunks = [chunk("doc", i, f"line {i}") for i in range(9)]
    vectors: list[Sequence[float]] = [vector(c.content) for c in chunks]
    vectors[4] = [float("nan")] * 16
    told = await store.replace_document(document("doc"), chunks, vectors, SCOPE, space=SPACE)
    assert told.failed == ("doc:004",)
    assert [c.ordinal for c in await store.select(SCOPE, limit=20)] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert await store.flush() == ()


async def test_a_batch_too_large_is_halved_until_it_fits(
    store: AzureSearchStore, watched: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C51: the SDK's own halving fails with a TypeError, which is why ours is used."""
    watched.fault["search.index"] = "too_large"
    told = await put(store, "doc", [f"line {i}" for i in range(5)])
    assert told.failed == ()
    assert len(await store.select(SCOPE, limit=20)) == 5


async def test_the_sdks_own_halving_fails(url: str, store: AzureSearchStore, watched: Served) -> None:
    """The reason for `send_request`: when this fails, the SDK has been put right and the reason is gone."""
    watched.fault["search.index"] = "too_large"

    async with SearchClient(url, INDEX, AzureKeyCredential("key")) as client:
        batch = IndexDocumentsBatch()
        batch.add_upload_actions([{"key": f"k{i}"} for i in range(4)])
        with pytest.raises(TypeError):
            await client.index_documents(batch)


async def test_a_document_waiting_to_be_sent_is_its_owners_already(store: AzureSearchStore, watched: Served) -> None:
    """C14: not even while the service takes nothing can another user put a document in its place."""
    ann, bob = Scope("w", "ann"), Scope("w", "bob")
    watched.fault["search.index"] = "unauthorized"
    with pytest.raises(Misconfigured):
        await put(store, "diary", ["words of ann"], ann)
    with pytest.raises((NotFound, Misconfigured)):
        await put(store, "diary", ["words of bob"], bob)
    watched.fault.clear()
    assert await store.flush() == ()
    assert [c.content for c in await store.select(ann, limit=5)] == ["words of ann"]
    assert not await store.select(bob, limit=5)


async def test_a_probe_without_words_or_vector_asks_nothing(store: AzureSearchStore, watched: Served) -> None:
    watched.asked.clear()
    assert await store.search([Probe("a"), Probe("b", "!?")], SCOPE, limit=5) == [[], []]
    assert not watched.bodies("search.post.search")
    assert probe("x").vector is not None
    assert action_batches.MAX_BATCH_ACTIONS == 1_000


async def test_the_key_goes_to_no_other_host() -> None:
    """The SDK follows redirects, and sends the key along: here it may not."""
    with failing(reply(500)) as stranger, failing(reply(307, location=stranger.url)) as moved:
        made = AzureSearchStore(moved.url, "the-key", INDEX, dimensions=16)
        for asked in (made.select(SCOPE, limit=1), made.load_document("doc", SCOPE), put(made, "doc", ["line"])):
            with pytest.raises(RagError):
                await asked
        await made.close()
    assert len(moved.requests) == 3
    assert not stranger.requests


async def test_a_service_without_the_semantic_ranker_still_finds() -> None:
    """C40: a tier that does not have it costs the signal, not the answer."""
    with serve_wsgi(SearchService(None, keys={"key"}, reranker=None)) as address:
        made = AzureSearchStore(address, "key", INDEX, dimensions=16, space=SPACE)
        await made.setup()
        await put(made, "doc", ["pads of brakes"])
        ((hit,),) = await made.search([Probe("original", "pads", vector("pads"), "Which pads?")], SCOPE, limit=5)
        await made.close()
    assert hit.chunk.id == "doc:000"
    assert hit.signals.keys() == {"words", "meaning"}


async def test_what_is_searched_needs_no_outbox(url: str, store: AzureSearchStore, tmp_path: Path) -> None:
    """A deployed app may not be able to write where it stands: it answers all the same."""
    await put(store, "doc", ["pads of brakes"])
    (tmp_path / "file").write_text("no folder")
    reader = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE, outbox=tmp_path / "file" / "outbox")
    index = Index(reader, ConceptEmbedder())
    with pytest.raises(Conflict):  # the space was looked up
        await index.search([Probe("original", "pads", vector("pads"))], SCOPE, limit=5)
    assert ids(await find(reader, "pads")) == ["doc:000"]
    with pytest.raises(Unavailable):
        await put(reader, "doc", ["another version"])
    await reader.close()


async def test_a_leftover_that_is_refused_is_named(store: AzureSearchStore, watched: Served) -> None:
    """C51: also when it is sent after its writer has gone."""
    watched.fault["search.index"] = "unavailable"
    bad = [float("nan")] * 16
    chunks = [chunk("doc", 0, "good"), chunk("doc", 1, "bad")]
    told = await store.replace_document(document("doc"), chunks, [vector("good"), bad], SCOPE, space=SPACE)
    assert told.failed == ("doc:000", "doc:001")
    watched.fault.clear()
    assert await store.flush() == ("doc:001",)


def refuse(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the service takes no action that holds these words."""
    sent = AzureIndexClient._post_batch

    async def refusing(self: AzureIndexClient, batch: Sequence[str], limits: Any) -> list[DocumentOutcome]:
        taken = [body for body in batch if kind not in body]
        keys = [json.loads(body)["key"] for body in batch if kind in body]
        return [*(await sent(self, taken, limits) if taken else []), *(DocumentOutcome(key, 400) for key in keys)]

    monkeypatch.setattr(AzureIndexClient, "_post_batch", refusing)


async def test_a_leftover_that_is_refused_fails_no_other_write(
    store: AzureSearchStore, watched: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C51: whose document it is was told; who writes next has done nothing wrong."""
    watched.fault["search.index"] = "unavailable"
    assert (await put(store, "leftover", ["text"])).failed == ("leftover:000",)
    watched.fault.clear()
    refuse("leftover.pdf", monkeypatch)
    assert (await put(store, "next", ["text"])).failed == ()


async def test_a_removal_that_is_refused_is_no_success(
    store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, "doc", ["old words"])
    refuse('"delete"', monkeypatch)
    with pytest.raises(RagError) as told:
        await put(store, "doc", ["new words"])
    assert told.value.code == "search_refused"


async def test_a_summary_of_what_is_gone_meanwhile_is_no_success(
    store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1-58."""
    await put(store, "doc", ["words"])
    gone = await store._client.get_record(make_document_record_key(SCOPE.workflow_id, "doc"))
    await store.purge("doc", SCOPE)

    async def as_before(_: str) -> Any:
        return gone

    monkeypatch.setattr(store._client, "get_record", as_before)
    with pytest.raises(NotFound):
        await store.save_summary("doc", "About words.", SCOPE)


async def test_a_delete_wins_over_a_version_that_waits_to_be_sent(store: AzureSearchStore, watched: Served) -> None:
    """S3-16, C51: what was never sent is never seen; restored, it is what was put last."""
    await put(store, "doc", ["old words"])
    watched.fault["search.index"] = "unauthorized"  # not one that trips the breaker
    with pytest.raises(Misconfigured):
        await put(store, "doc", ["new words", "more"])
    with pytest.raises(Misconfigured):
        await store.delete("doc", SCOPE)
    watched.fault.clear()
    assert await store.flush() == ()
    assert not await find(store, "words", how="words")
    assert not await store.list_documents(SCOPE)
    assert [d.id for d in await store.list_deleted(SCOPE)] == ["doc"]
    assert await store.delete("doc", SCOPE) is False
    assert await store.restore("doc", SCOPE) is True
    assert [c.content for c in await store.select(SCOPE, limit=5)] == ["new words", "more"]


@pytest.mark.parametrize("way", ["delete", "purge"])
async def test_a_document_that_was_never_sent_can_be_deleted(
    store: AzureSearchStore, watched: Served, way: str
) -> None:
    watched.fault["search.index"] = "unauthorized"  # not one that trips the breaker
    with pytest.raises(Misconfigured):
        await put(store, "doc", ["words"])
    assert await getattr(store, way)("doc", Scope("manuals", "bob", document_ids=("x",))) is False
    with pytest.raises(Misconfigured):
        await getattr(store, way)("doc", SCOPE)
    watched.fault.clear()
    assert await store.flush() == ()
    assert await store.load_document("doc", SCOPE) is None
    assert await store.restore("doc", SCOPE) is (way == "delete")
    assert bool(await find(store, "words", how="words")) == (way == "delete")


async def test_a_purge_that_waits_is_not_undone(store: AzureSearchStore, watched: Served) -> None:
    await put(store, "doc", ["words"])
    watched.fault["search.index"] = "unauthorized"  # not one that trips the breaker
    with pytest.raises(Misconfigured):
        await store.purge("doc", SCOPE)
    assert await store.delete("doc", SCOPE) is False
    assert await store.restore("doc", SCOPE) is False
    with pytest.raises(Misconfigured):
        await store.purge("doc", SCOPE)
    watched.fault.clear()
    await store.flush()
    assert not await store._client.search("*", filter=NO_STATE, select=["key"], top=10)


async def test_a_chunk_refused_at_first_hinders_no_delete(store: AzureSearchStore, watched: Served) -> None:
    chunks = [chunk("doc", 0, "good"), chunk("doc", 1, "bad")]
    bad = [float("nan")] * 16
    assert (await store.replace_document(document("doc"), chunks, [vector("good"), bad], SCOPE, space=SPACE)).failed
    assert await store.delete("doc", SCOPE) is True
    assert await store.restore("doc", SCOPE) is True
    assert [c.id for c in await store.select(SCOPE, limit=5)] == ["doc:000"]


async def test_a_chunk_that_cannot_be_hidden_is_no_success(
    store: AzureSearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(RELIABILITY C21)."""
    await put(store, "doc", ["words"])
    refuse('"merge"', monkeypatch)
    with pytest.raises(RagError) as told:
        await store.delete("doc", SCOPE)
    assert told.value.code == "search_refused"


async def test_what_was_purged_leaves_the_outbox_too(url: str, store: AzureSearchStore, tmp_path: Path) -> None:
    kept = tmp_path / "outbox.sqlite3"
    writer = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE, outbox=kept)
    await put(writer, "doc", ["the xenolith lies here"] * 50)
    await writer.purge("doc", SCOPE)
    await writer.close()
    assert b"xenolith" not in kept.read_bytes()
    assert not await store.list_documents(SCOPE)


async def test_right_after_a_change_the_state_of_a_workflow_is_not_known() -> None:
    """C23, (RELIABILITY C21): a search may not show a write yet; what it finds until then is not to be remembered."""
    with run_search_service(SearchService(None, keys={"key"})) as url:
        store = AzureSearchStore(url, "key", "settling", dimensions=16)
        await store.setup()
        assert await store.load_corpus_version(SCOPE) == ""
        await put(store, "doc", ["words"])
        assert await store.load_corpus_version(SCOPE) == ""
        store._settled_s = 0
        assert await store.load_corpus_version(SCOPE)
        await store.close()


async def test_a_vectorizer_comes_and_goes_with_its_setting_and_changes_no_document(
    url: str, store: AzureSearchStore
) -> None:
    """An index that is there can be given one; its key, which the service hides, is no change."""
    await put(store, "doc", ["gear box"])
    vectorizer = QueryVectorizer(
        "https://oai.openai.azure.com", "text-embedding-3-small", "text-embedding-3-small", "k"
    )
    made = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE, vectorizer=vectorizer)
    assert (await made.setup(), await made.setup()) == ("upgraded", "unchanged")
    search = (await made._client.get_definition() or {})["vectorSearch"]
    assert {profile["vectorizer"] for profile in search["profiles"]} == {"queries"}
    assert await find(made, "gear") == await find(store, "gear")
    assert (await store.setup(), await store.setup()) == ("upgraded", "unchanged")
    await made.close()


def test_a_vectorizer_needs_azure_s_model_by_its_own_name() -> None:
    variables = {"AZURE_SEARCH_ENDPOINT": "https://s", "AZURE_SEARCH_VECTORIZER": "1", "RAG_DATA_DIR": ":memory:"}
    azure = {"AZURE_OPENAI_ENDPOINT": "https://o", "AZURE_OPENAI_API_KEY": "k"}
    for others in ({"OPENAI_API_KEY": "k"}, azure | {"AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "vectors"}):
        settings = load_settings(variables | others)
        with pytest.raises(Misconfigured, match="AZURE_SEARCH_VECTORIZER requires that Azure OpenAI embeds"):
            build_chunk_store(settings, ConceptEmbedder())
    assert build_chunk_store(load_settings(variables | azure), ConceptEmbedder())


async def test_a_weight_of_vectors_lets_meaning_overrule_words(url: str, store: AzureSearchStore) -> None:
    """weight / (60 + rank): at 100 the order is that of the vectors, at 0.01 that of the words."""
    await put(store, "doc", ["gear box", "brake pads"])
    asked = Probe("original", "gear", vector("brake pads"))
    for weight, first in ((0.01, "doc:000"), (100.0, "doc:001")):
        weighted = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE, vector_weight=weight)
        (ranking,) = await weighted.search([asked], SCOPE, limit=5)
        assert ids(ranking)[0] == first
        await weighted.close()


async def test_advanced_uses_the_service_s_ranker_where_its_preset_says_how_many(
    store: AzureSearchStore, watched: Served
) -> None:
    """By default it asks for none: each query variant would be a ranked query of the plan."""
    await put(store, "doc", ["gear box oil", "brake pads", "gear lever"])
    llm = ScriptedLLM(query_expansion='{"queries": ["oil of the gear box", "gear lever"]}')
    ranked = {}
    for count in (0, 20):
        watched.asked.clear()
        run = Run()
        asked = resolve_preset("advanced", imaginings=0, semantic=count, rerank=0).build_query("gear box", SCOPE)
        result = await run_advanced(asked, kit(Index(store, NoEmbedder("none")), llm=llm), run)
        ranked[count] = [body["queryType"] for body in watched.bodies("search.post.search") if body["top"] > 1]
        assert ("semantic" in result.hits[0].signals) == (count > 0)
        assert (run.techniques.get("ranker") == "semantic ranker of the search service") == (count > 0)
    assert set(ranked[0]) == {"simple"}
    assert ranked[20] == ["semantic"] * 3
