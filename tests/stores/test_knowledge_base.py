"""The pipeline `agentic` over the real clients: the knowledge base of Azure AI Search finds, and the scope decides."""

import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from werkzeug.wrappers import Response

from local_emulator.model_service import ModelService
from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import Application, serve_wsgi
from rag_core.composition import index_assembly
from rag_core.core.errors import InvalidRequest, Misconfigured, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Filter, QueryVariant, Scope
from rag_core.core.presets import Query, resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import load_settings
from rag_core.pipelines import answer_with_pipeline, search_with_pipeline
from rag_core.providers.null_models import NoEmbedder
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.stores.azure_search.schema import QueryVectorizer
from tests.fakes import ConceptEmbedder, OverlapReranker, ScriptedLLM, filled
from tests.fakes import kit as fake_kit
from tests.faults.semantic_quota import REFUSALS
from tests.functions.test_telemetry import measure, reader, spans
from tests.stores.sample import SCOPE, SPACE, chunk, document, ids, put

__all__ = ["reader", "spans"]  # fixtures that watch what is measured

QUESTION = "Which pads do the brakes have?"
OTHERS = Scope("others")
INDEX = "agentic"


class Watched:
    """The search service with its retrievals watched: `filters` are dropped, answers replaced, where a test says so."""

    def __init__(self, service: Application) -> None:
        self.service = service
        self.retrievals: list[dict[str, Any]] = []
        self.drops_filters = False
        self.answer: Response | None = None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not environ["PATH_INFO"].endswith("/retrieve"):
            return self.service(environ, start_response)
        body = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        self.retrievals.append(json.loads(json.dumps(body)))
        if self.answer is not None:
            return self.answer(environ, start_response)
        if self.drops_filters:
            del body["knowledgeSourceParams"][0]["filterAddOn"]
        sent = json.dumps(body).encode()
        environ = environ | {"wsgi.input": io.BytesIO(sent), "CONTENT_LENGTH": str(len(sent))}
        return self.service(environ, start_response)


@pytest.fixture
def watched() -> Watched:
    return Watched(SearchService(None, keys={"key"}, reranker=OverlapReranker()))


@pytest.fixture
def url(watched: Watched) -> Iterator[str]:
    with serve_wsgi(watched) as address:
        yield address


@pytest.fixture
async def store(url: str) -> AsyncIterator[AzureSearchStore]:
    made = AzureSearchStore(url, "key", INDEX, dimensions=16, space=SPACE)
    await made.setup()
    await made.set_up_knowledge_base()
    await put(made, "doc", ["the brakes have ceramic pads", "lamps of doors", "pads wear"], color="red")
    await put(made, "doc", ["the brakes have CANARY pads"], OTHERS)
    await put(made, "secret", ["the brakes have pads for bob"], replace(SCOPE, user_id="bob"))
    await put(made, "gone", ["the brakes had DELETED pads"])
    await made.delete("gone", SCOPE)
    yield made
    await made.close()


def build_kit(store: AzureSearchStore, llm: ScriptedLLM | None = None) -> Kit:
    return replace(fake_kit(Index(store, NoEmbedder("none"), store), llm=llm), judge=None)


def ask(text: str = QUESTION, *filters: Filter, scope: Scope = SCOPE, **numbers: object) -> Query:
    return resolve_preset("agentic", **numbers).build_query(text, scope, filters=filters)


def planned(*queries: str) -> ScriptedLLM:
    return ScriptedLLM(query_expansion=json.dumps({"queries": list(queries)}))


async def test_what_is_found_is_evidence_with_places_like_that_of_any_pipeline(store: AzureSearchStore) -> None:
    """The same hits, from the same chunks, cited in the same way."""
    run = Run()
    result = await search_with_pipeline(ask(rewordings=0), build_kit(store), run, pipeline="agentic")
    assert ids(result.hits)[0] == "doc:000"
    best = result.hits[0]
    assert (best.chunk.spans[0].page, best.chunk.title, best.found_by) == (1, "Manual doc", ("original",))
    assert 0 < best.signals["semantic"] <= 1
    assert run.techniques["retrieve"] == "knowledge base of the search service"
    assert not run.degraded
    answer = await answer_with_pipeline(ask(rewordings=0), build_kit(store), Run(), pipeline="agentic")
    assert answer.evidence[0].hit.chunk.id == "doc:000"


async def test_the_chat_model_plans_the_queries_and_the_knowledge_base_runs_them_together(
    store: AzureSearchStore, watched: Watched
) -> None:
    run = Run()
    kit = build_kit(store, planned("lamps of doors", "wear of pads"))
    result = await search_with_pipeline(ask(), kit, run, pipeline="agentic")
    (asked,) = watched.retrievals
    assert [one["search"] for one in asked["intents"]] == [QUESTION, "lamps of doors", "wear of pads"]
    assert {"doc:000", "doc:001", "doc:002"} == set(ids(result.hits))
    assert [variant.label for variant in result.variants] == ["original", "expanded1", "expanded2"]


@pytest.mark.parametrize("drops_filters", [False, True])
async def test_no_text_of_another_workflow_reader_or_deleted_document_comes_back(
    store: AzureSearchStore, watched: Watched, drops_filters: bool
) -> None:
    """S1-25, S3-15, S3-16: were the service to ignore the filter, the loading of the chunks is filtered too."""
    watched.drops_filters = drops_filters
    result = await search_with_pipeline(ask(rewordings=0), build_kit(store), Run(), pipeline="agentic")
    assert set(ids(result.hits)) == {"doc:000", "doc:002"}
    assert not any(word in repr(result) for word in ("CANARY", "bob", "DELETED"))
    filter = watched.retrievals[0]["knowledgeSourceParams"][0]["filterAddOn"]
    assert all(part in filter for part in ("workflow_id eq 'manuals'", "live", "readers/any", "kind eq 'chunk'"))
    theirs = await search_with_pipeline(ask(rewordings=0, scope=OTHERS), build_kit(store), Run(), pipeline="agentic")
    assert [hit.chunk.content for hit in theirs.hits] == ["the brakes have CANARY pads"]


async def test_the_filters_of_a_question_are_the_retrievals(store: AzureSearchStore) -> None:
    for color, found in (("red", {"doc:000", "doc:002"}), ("blue", set())):
        query = ask(QUESTION, Filter("metadata.color", "eq", color), rewordings=0)
        result = await search_with_pipeline(query, build_kit(store), Run(), pipeline="agentic")
        assert set(ids(result.hits)) == found


async def test_the_tokens_that_the_ranker_read_are_priced_and_measured(
    store: AzureSearchStore, watched: Watched, reader: InMemoryMetricReader, spans: InMemorySpanExporter
) -> None:
    run = Run()
    await search_with_pipeline(ask(rewordings=0), build_kit(store), run, pipeline="agentic")
    assert 0 < (run.cost_usd or 0) < 1e-5
    watched.answer = respond(activity=[{"type": "agenticReasoning", "id": 0, "reasoningTokens": 2_000_000}])
    run = Run()
    await search_with_pipeline(ask(rewordings=0), build_kit(store), run, pipeline="agentic")
    assert run.cost_usd == pytest.approx(0.044)
    told = [span.attributes for span in spans.get_finished_spans() if span.name == "retrieve chunks"]
    assert [(each or {})["rag.cost_usd"] for each in told][-1] == pytest.approx(0.044)
    ((attributes, measured),) = measure(reader)["rag.cost"]
    assert (attributes["gen_ai.operation.name"], measured) == ("retrieve", pytest.approx(0.044, rel=1e-3))


def respond(status: int = 200, **body: object) -> Response:
    told = {"response": [], "references": [], "activity": []} | body
    return Response(json.dumps(told), status, content_type="application/json")


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_used_up_plan_is_searched_around_and_named(
    name: str, store: AzureSearchStore, watched: Watched
) -> None:
    refusal = REFUSALS[name]
    watched.answer = Response(
        json.dumps({"error": {"code": refusal.code, "message": "no"}}), refusal.status, content_type="application/json"
    )
    run = Run()
    result = await search_with_pipeline(ask(rewordings=0), build_kit(store), run, pipeline="agentic")
    assert ids(result.hits)[0] == "doc:000"
    (said,) = [each for each in run.degraded if each.step == "retrieve"]
    assert said.fallback == "the service's own search for the same queries"
    assert str(refusal.status) in said.reason


async def test_a_search_that_failed_within_the_retrieval_is_named_and_is_never_nothing_found(
    store: AzureSearchStore, watched: Watched
) -> None:
    """The service answers 206 and notes the error in the activity."""
    failed = {"type": "searchIndex", "id": 1, "error": {"code": "Timeout", "message": "slow"}}
    searched = {"type": "searchIndex", "id": 0, "searchIndexArguments": {"search": QUESTION}}
    found = {
        "type": "searchIndex",
        "id": "0",
        "activitySource": 0,
        "rerankerScore": 2.5,
        "sourceData": {"id": "doc:000"},
    }
    watched.answer = respond(206, activity=[searched, failed], references=[found])
    run = Run()
    result = await search_with_pipeline(ask(rewordings=0), build_kit(store), run, pipeline="agentic")
    assert [(hit.chunk.id, hit.signals["semantic"]) for hit in result.hits] == [("doc:000", 0.625)]
    assert [(each.step, each.code) for each in run.degraded] == [("retrieve", "knowledge_base_partial")]
    assert "Timeout" in run.degraded[0].reason
    watched.answer = respond(206, activity=[failed])
    with pytest.raises(Unavailable, match="1 of the searches of the knowledge base failed"):
        await store.retrieve([QueryVariant("original", QUESTION)], SCOPE, limit=5)


@pytest.mark.parametrize("references", [[{}], [{"sourceData": None, "activitySource": 0}], "no list"])
async def test_a_malformed_reply_is_an_error(store: AzureSearchStore, watched: Watched, references: Any) -> None:
    watched.answer = respond(references=references)
    with pytest.raises(Unavailable, match="malformed"):
        await store.retrieve([QueryVariant("original", QUESTION)], SCOPE, limit=5)


async def test_a_store_without_a_knowledge_base_refuses_before_any_model_is_asked() -> None:
    llm = planned("more")
    offline = fake_kit(await filled(), llm=llm)
    with pytest.raises(InvalidRequest, match=r"agentic needs the knowledge base.*choose standard, rerank") as refused:
        await search_with_pipeline(ask(), offline, Run(), pipeline="agentic")
    assert (refused.value.field, llm.prompts) == ("pipeline", [])


async def test_setup_makes_the_knowledge_base_and_without_it_the_error_says_so(url: str) -> None:
    variables = {"AZURE_SEARCH_ENDPOINT": url, "AZURE_SEARCH_API_KEY": "key", "AZURE_SEARCH_INDEX": "fresh"}
    settings = load_settings(variables | {"RAG_LLM_PROVIDER": "local", "RAG_DATA_DIR": ":memory:"})
    fresh = AzureSearchStore(url, "key", "fresh", dimensions=16)
    await fresh.setup()
    with pytest.raises(Misconfigured, match="there is no knowledge base fresh-knowledge: run rag setup"):
        await fresh.retrieve([QueryVariant("original", QUESTION)], SCOPE, limit=5)
    await fresh._client._get_clients()[1].delete_index("fresh")
    for _ in range(2):
        assert (await index_assembly.set_up_chunk_store(settings)).endswith("; its knowledge base is ready")
    assert await fresh.retrieve([QueryVariant("original", QUESTION)], SCOPE, limit=5) == []
    await fresh.close()


async def test_with_a_vectorizer_the_service_embeds_the_queries_of_a_retrieval(url: str) -> None:
    """Words that are nowhere in the index are found by their meaning; the service itself asks the deployment."""
    embedder = ConceptEmbedder()
    with serve_wsgi(ModelService(embedder, ScriptedLLM(), keys={"models"})) as models:
        vectorizer = QueryVectorizer(models, "concepts", "text-embedding-3-small", "models")
        made = AzureSearchStore(url, "key", "meaning", dimensions=5, space=embedder.space, vectorizer=vectorizer)
        index = Index(made, embedder, made)
        await made.setup()
        await made.set_up_knowledge_base()
        await index.add_document(
            document("doc"), [chunk("doc", 0, "the gearbox"), chunk("doc", 1, "brake pads")], SCOPE
        )
        asked = [QueryVariant("original", "transmission")]
        assert ids(await index.retrieve(asked, SCOPE, limit=5))[0] == "doc:000"
        without = AzureSearchStore(url, "key", "meaning", dimensions=5, space=embedder.space)
        await without.setup()
        assert await without.retrieve(asked, SCOPE, limit=5) == []
        await made.close()
        await without.close()
