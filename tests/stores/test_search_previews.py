"""Preview features of Azure AI Search, over the real client: off by default, and asked for only where switched on."""

import base64
import io
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from azure.core.pipeline.policies import HttpLoggingPolicy

from local_emulator.search_service import RewriterUnavailable, SearchService, WordRewriter
from local_emulator.search_service.serving import Application, serve_wsgi
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import QueryVariant, Scope
from rag_core.core.ports import Probe
from rag_core.core.run import Run
from rag_core.core.user_token import set_user_token
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.stores.azure_search.previews import SearchPreviews
from rag_core.stores.azure_search.records import build_acl_fields
from rag_core.stores.azure_search.schema import build_index_definition, upgrade_index_definition
from tests.fakes import OverlapReranker
from tests.stores.sample import SCOPE, SPACE, document, ids, put
from tests.stores.sample import vector as embed

VERSION = "2026-08-01-preview"
ACL = SearchPreviews(VERSION, document_acl=True)
ANN, BOB = replace(SCOPE, user_id="ann"), replace(SCOPE, user_id="bob")
STAFF = replace(SCOPE, user_id="eve", groups=("staff",))


class Watched:
    """The search service with the requests of searches kept: address, headers and body."""

    def __init__(self, service: Application) -> None:
        self.service = service
        self.searches: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"].endswith(("search.post.search", "/retrieve")):
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            headers = {name: value for name, value in environ.items() if name.startswith("HTTP_X_MS_")}
            self.searches.append((environ["QUERY_STRING"], headers, json.loads(body)))
            environ = environ | {"wsgi.input": io.BytesIO(body)}
        return self.service(environ, start_response)


class NoRewriter:
    def rewrite_question(self, text: str, count: int) -> list[str]:
        raise RewriterUnavailable


def serve(rewriter: Any = None) -> Watched:
    return Watched(SearchService(None, keys={"key"}, reranker=OverlapReranker(), rewriter=rewriter or WordRewriter()))


@pytest.fixture
def watched() -> Watched:
    return serve()


@pytest.fixture
def url(watched: Watched) -> Iterator[str]:
    with serve_wsgi(watched) as address:
        yield address


@pytest.fixture(autouse=True)
def nobody() -> Iterator[None]:
    set_user_token(None)
    yield
    set_user_token(None)


@pytest.fixture
async def guarded(url: str) -> AsyncIterator[AzureSearchStore]:
    store = make_store(url, ACL)
    await store.setup()
    await store.set_up_knowledge_base()
    await put(store, "open", ["the brakes have ceramic pads"])
    await put(store, "anns", ["the brakes of ann have pads"], ANN)
    await put(store, "staffs", ["the brakes of the staff have pads"], STAFF, groups=("staff",))
    yield store
    await store.close()


def make_store(url: str, previews: SearchPreviews = SearchPreviews()) -> AzureSearchStore:  # noqa: B008 - frozen
    return AzureSearchStore(url, "key", "guarded", dimensions=16, space=SPACE, previews=previews)


def token_of(user: str, *groups: str) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"oid": user, "groups": groups}).encode()).decode().rstrip("=")
    return f"e30.{claims}.signature"


async def find(store: AzureSearchStore, scope: Scope, *, semantic: str = "", vector: bool = False) -> list[str]:
    embedding = embed("brakes pads") if vector else None
    probe = Probe("original", "brakes pads", embedding, semantic_query=semantic)
    (ranking,) = await store.search([probe], scope, limit=9)
    return sorted({id.partition(":")[0] for id in ids(ranking)})


async def test_without_previews_nothing_of_them_is_asked(watched: Watched, url: str) -> None:
    set_user_token(token_of("ann"))
    store = make_store(url)
    await store.setup()
    await put(store, "open", ["the brakes have ceramic pads"])
    await find(store, SCOPE, semantic="Which pads?", vector=True)
    for address, headers, body in watched.searches:
        assert "api-version=2026-04-01" in address
        assert not headers.keys() & {"HTTP_X_MS_QUERY_SOURCE_AUTHORIZATION", "HTTP_X_MS_ENABLE_ELEVATED_READ"}
        assert not body.keys() & {"queryRewrites", "queryLanguage", "hybridSearch"}
    await store.close()
    assert build_index_definition("docs", 16) == build_index_definition("docs", 16, document_acl=False)


async def test_the_service_rewrites_the_question_of_a_ranked_search_only(watched: Watched, url: str) -> None:
    store = make_store(url, SearchPreviews(VERSION, query_rewrites=3, query_language="en-gb"))
    await store.setup()
    await put(store, "open", ["the brakes have ceramic pads"])
    run = Run()
    assert await run.step("search", find(store, SCOPE, semantic="Which pads?")) == ["open"]
    await find(store, SCOPE)
    (_, _, ranked), (_, _, plain) = (one for one in watched.searches if one[2].get("search", "*") != "*")
    assert (ranked["queryRewrites"], ranked["queryLanguage"]) == ("generative|count-3", "en-gb")
    assert "queryRewrites" not in plain
    assert not run.degraded
    await store.close()


async def test_a_service_that_does_not_rewrite_is_asked_without_and_the_reply_says_so() -> None:
    class Refusing(SearchService):
        def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            if b"queryRewrites" in body:
                start_response("400 Bad Request", [("Content-Type", "application/json")])
                return [b'{"error": {"code": "FeatureRemoved", "message": "gone"}}']
            return super().__call__(environ | {"wsgi.input": io.BytesIO(body)}, start_response)

    watched = Watched(Refusing(None, keys={"key"}, reranker=OverlapReranker()))
    with serve_wsgi(watched) as url:
        store = make_store(url, SearchPreviews(VERSION, query_rewrites=2))
        await store.setup()
        await put(store, "open", ["the brakes have ceramic pads"])
        run = Run()
        assert await run.step("search", find(store, SCOPE, semantic="Which pads?")) == ["open"]
        assert [one.code for one in run.degraded] == ["query_rewriting_refused"]
        assert watched.searches[-1][2]["queryType"] == "semantic"  # the ranker is not lost with it
        await store.close()


async def test_the_lexical_leg_of_a_hybrid_search_brings_as_many_documents_as_set(watched: Watched, url: str) -> None:
    store = make_store(url, SearchPreviews(VERSION, max_text_recall_size=1))
    await store.setup()
    await put(store, "open", ["the brakes have ceramic pads", "pads of brakes, brakes and pads"])
    assert await find(store, SCOPE, vector=True) == ["open"]
    assert watched.searches[-1][2]["hybridSearch"] == {"maxTextRecallSize": 1}
    await find(store, SCOPE)
    assert "hybridSearch" not in watched.searches[-1][2]  # one leg is no hybrid search
    await store.close()


async def test_the_service_shows_a_user_what_their_token_allows_and_our_filter_stays(guarded: AzureSearchStore) -> None:
    set_user_token(token_of("ann"))
    assert await find(guarded, ANN) == ["anns", "open"]
    assert await find(guarded, Scope("others", "ann")) == []
    set_user_token(token_of("eve", "staff"))
    assert await find(guarded, STAFF) == ["open", "staffs"]


async def test_a_scope_that_claims_another_user_sees_no_more_than_the_token(guarded: AzureSearchStore) -> None:
    """Were our own filter given a wrong user, the service would still withhold the documents: each read is tried."""
    set_user_token(token_of("bob"))
    assert await find(guarded, ANN) == ["open"]
    assert {one.document_id for one in await guarded.select(ANN, limit=9)} == {"open"}
    assert [one.id for one in await guarded.get(["anns:000", "open:000"], ANN)] == ["open:000"]
    (facet,) = await guarded.count_facets(["document_id"], ANN, limit=9)
    assert [bucket.value for bucket in facet.buckets] == ["open"]
    hits = await guarded.retrieve([QueryVariant("original", "brakes pads")], ANN, limit=9)
    assert {hit.chunk.document_id for hit in hits} == {"open"}


async def test_an_index_that_stops_checking_users_shows_no_more_than_our_filter_admits(
    guarded: AzureSearchStore,
) -> None:
    """The service's check fails open: whoever may edit the index can switch it off, and no reply would say so."""
    definition = await guarded._client.get_definition() or {}
    await guarded._client.put_definition(definition | {"permissionFilterOption": "disabled"})
    set_user_token(token_of("bob"))
    everything = await guarded._client.search("*", filter="kind eq 'chunk'", select=["document_id"], top=9)
    assert {one["document_id"] for one in everything} == {"open", "anns", "staffs"}
    assert await find(guarded, BOB) == ["open"]
    assert {one.document_id for one in await guarded.select(BOB, limit=9)} == {"open"}
    assert await guarded.get(["anns:000"], BOB) == []
    hits = await guarded.retrieve([QueryVariant("original", "brakes pads")], BOB, limit=9)
    assert {hit.chunk.document_id for hit in hits} == {"open"}


async def test_without_a_token_only_what_everybody_may_see_is_found(guarded: AzureSearchStore) -> None:
    assert await find(guarded, ANN) == ["open"]


async def test_a_token_that_the_service_refuses_is_an_error_and_never_an_open_answer(guarded: AzureSearchStore) -> None:
    set_user_token("nonsense")
    with pytest.raises(Exception, match="refused a request with status 400"):
        await find(guarded, ANN)


async def test_documents_are_replaced_deleted_and_restored_without_a_token(guarded: AzureSearchStore) -> None:
    """The store's own upkeep sees every record: else a replacement would leave the old version, and count nothing."""
    again = await put(guarded, "anns", ["the brakes of ann have pads", "new"], ANN)
    assert (again.added, again.unchanged, again.removed) == (1, 1, 0)
    assert await guarded.load_vectors("anns", ANN) is not None
    assert (await guarded.describe()).chunks == 4
    assert await guarded.delete("anns", ANN)
    set_user_token(token_of("ann"))
    assert await find(guarded, ANN) == ["open"]
    assert await guarded.restore("anns", ANN)
    assert await find(guarded, ANN) == ["anns", "open"]
    assert (await guarded.load_document("anns", ANN)) is not None


async def test_the_token_is_in_no_log(guarded: AzureSearchStore, caplog: pytest.LogCaptureFixture) -> None:
    set_user_token(token := token_of("ann"))
    with caplog.at_level(logging.DEBUG):
        await find(guarded, ANN)
    assert token not in caplog.text
    assert "x-ms-query-source-authorization" not in {one.lower() for one in HttpLoggingPolicy.DEFAULT_HEADERS_ALLOWLIST}


def test_setup_adds_the_fields_and_takes_the_permission_filter_away_again() -> None:
    plain, guarding = build_index_definition("docs", 0), build_index_definition("docs", 0, document_acl=True)
    on = upgrade_index_definition(plain, guarding)
    assert on["permissionFilterOption"] == "enabled"
    assert {one["name"] for one in on["fields"]} - {one["name"] for one in plain["fields"]} == {
        "acl_users",
        "acl_groups",
    }
    assert upgrade_index_definition(on, guarding) == on
    assert upgrade_index_definition(on, plain)["permissionFilterOption"] == "disabled"


def test_more_groups_than_the_service_takes_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidRequest, match="at most 1000"):
        build_acl_fields(replace(document("d"), groups=tuple(map(str, range(1001)))))
    assert build_acl_fields(replace(document("d"), user_id="ann")) == {"acl_users": ["ann"], "acl_groups": ["none"]}
