"""The client of one Azure AI Search index, on the SDK's async clients: it translates errors and checks replies.

The SDK's retries are off: azure-core does not retry a POST after 429 without Retry-After, 502 or a connection reset,
and sleeps for any Retry-After, however long. Batches are sent by `send_request`, because the async `index_documents` of
12.0.0 raises TypeError after halving a batch for a 413.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, TypeVar

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.core.rest import HttpRequest
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import KnowledgeBase, KnowledgeSource
from azure.search.documents.knowledgebases.aio import KnowledgeBaseRetrievalClient

from rag_core.core.errors import Misconfigured
from rag_core.core.retrying import Dependency, TransientFailure
from rag_core.stores.azure_search.odata import MATCH_NOTHING
from rag_core.stores.azure_search.previews import AddPreviewMembers, SearchPreviews
from rag_core.stores.azure_search.schema import VECTOR_FIELD
from rag_core.stores.azure_search.service_errors import (
    BatchRefused,
    SearchRecord,
    make_ranker_refusal,
    make_retrieval_refusal,
    may_concern_plan,
    translate_azure_search_errors,
)

AZURE_SEARCH_API_VERSION = "2026-04-01"
AZURE_SEARCH_CONNECT_TIMEOUT_S = 5.0
NO_PREVIEWS = SearchPreviews()

T = TypeVar("T")
RequestTimeouts = dict[str, Any]  # as keyword arguments of the SDK's calls


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The outcome of one action of a batch."""

    key: str
    status: int

    @property
    def succeeded(self) -> bool:
        return self.status in (200, 201)


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of records, the facets of all pages, and the token of the next page (None after the last)."""

    records: Sequence[SearchRecord]
    facets: Mapping[str, Sequence[Mapping[str, Any]]]
    continuation: bytes | None


class AzureIndexClient:
    """The client of one index. SDK clients are made when first used, in the event loop that uses them.

    Without a key it authenticates by the identity of this machine.
    """

    def __init__(
        self,
        endpoint: str,
        key: str | None,
        index: str,
        *,
        dependency: Dependency,
        transport: AsyncHttpTransport[Any, Any] | None = None,
        previews: SearchPreviews = NO_PREVIEWS,
    ) -> None:
        self.endpoint, self.index = endpoint, index
        self.api_version = previews.api_version or AZURE_SEARCH_API_VERSION
        self.previews = previews
        self._key, self._dependency, self._transport = key, dependency, transport
        self._clients: tuple[SearchClient, SearchIndexClient] | None = None
        self._knowledge_client: KnowledgeBaseRetrievalClient | None = None
        self._machine_credential: Any = None
        self._returns_vectors: bool | None = None

    async def iter_pages(
        self, text: str | None, *, elevated: bool = False, **parameters: Any
    ) -> AsyncIterator[ResultPage]:
        """Search and yield page by page, with one call per page of at most 1,000 records.

        `elevated` reads for the store's own upkeep what the current user may not see, where the service checks that.
        """
        parameters["headers"] = self.previews.build_headers(elevated=elevated)
        continuation: bytes | None = None
        while True:
            fetch = partial(self._fetch_page, text, parameters, continuation)
            page = await self._call_dependency(fetch)
            yield page
            if page.continuation is None:
                return
            continuation = page.continuation

    async def search(self, text: str | None, **parameters: Any) -> list[SearchRecord]:
        """Search as `iter_pages` does and return the records of all pages."""
        return [record async for page in self.iter_pages(text, **parameters) for record in page.records]

    async def count_facets(
        self, fields: Sequence[str], *, filter: str, elevated: bool = False
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Count every value of these fields; count:0 makes each shard report all values, so that counts are exact."""
        parameters = {"facets": [f"{field},count:0" for field in fields], "filter": filter, "top": 0}
        parameters["headers"] = self.previews.build_headers(elevated=elevated)
        return (await self._call_dependency(lambda limits: self._fetch_page("*", parameters, None, limits))).facets

    async def returns_vectors(self) -> bool:
        """Return whether the index keeps the vectors that it was sent, so that they can be read and outlast a merge.

        Asked once, of the documents, since the app may not read definitions: what is not stored cannot be selected.
        """
        if self._returns_vectors is None:
            headers = self.previews.build_headers(elevated=True)
            parameters = {"filter": MATCH_NOTHING, "select": [VECTOR_FIELD], "top": 1, "headers": headers}

            async def select(limits: RequestTimeouts) -> bool:
                try:
                    await self._fetch_page("*", parameters, None, limits)
                except HttpResponseError as failure:
                    if failure.status_code != 400:
                        raise
                    return False
                return True

            self._returns_vectors = await self._call_dependency(select)
        return self._returns_vectors

    async def get_record(self, key: str, *, elevated: bool = False) -> SearchRecord | None:
        """Return the record with this key, or None; it sees a write before searches do."""
        headers = self.previews.build_headers(elevated=True) if elevated else {}

        async def fetch_record(limits: RequestTimeouts) -> SearchRecord | None:
            documents, _ = self._get_clients()
            try:
                return dict(await documents.get_document(key, headers=headers, **limits))
            except ResourceNotFoundError:
                return None

        return await self._call_dependency(fetch_record)

    async def send_batch(self, batch: Callable[[], Sequence[str]], settle: Callable[[DocumentOutcome], bool]) -> None:
        """Send `batch()` until it is empty, passing each outcome to `settle`, which returns whether it is final.

        Raises:
            BatchRefused: the service refused the whole batch for good.
            Unavailable: some actions are still pending after the last retry.
        """

        async def send(limits: RequestTimeouts) -> None:
            final_outcomes = [settle(outcome) for outcome in await self._post_batch(batch(), limits)]
            if batch():
                raise TransientFailure(f"{len(batch())} of {len(final_outcomes)} documents were not indexed")

        await self._call_dependency(send)

    async def get_definition(self) -> dict[str, Any] | None:
        """Return the definition of the index, or None when it does not exist."""

        async def get(limits: RequestTimeouts) -> dict[str, Any] | None:
            _, indexes = self._get_clients()
            try:
                return (await indexes.get_index(self.index, **limits)).as_dict()
            except ResourceNotFoundError:
                return None

        return await self._call_dependency(get)

    async def put_definition(self, definition: Mapping[str, Any]) -> None:
        """Create the index, or update its definition."""

        async def put(limits: RequestTimeouts) -> None:
            _, indexes = self._get_clients()
            await indexes.create_or_update_index(dict(definition), **limits)

        await self._call_dependency(put)

    async def put_knowledge_base(self, source: Mapping[str, Any], base: Mapping[str, Any]) -> None:
        """Create or update a knowledge source, and then the knowledge base that reads it."""

        async def put(limits: RequestTimeouts) -> None:
            _, indexes = self._get_clients()
            await indexes.create_or_update_knowledge_source(KnowledgeSource(source), **limits)
            await indexes.create_or_update_knowledge_base(KnowledgeBase(base), **limits)

        await self._call_dependency(put)

    async def retrieve(self, base: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the reply of a knowledge base to a retrieval request.

        Raises:
            KnowledgeBaseRefused: the service refused this request, for example for its plan.
            Misconfigured: there is no knowledge base of this name (knowledge_base_missing).
        """

        async def post(limits: RequestTimeouts) -> Mapping[str, Any]:
            client = self._get_knowledge_client(base)
            try:
                headers = self.previews.build_headers(elevated=False)
                return (await client.retrieve(dict(request), headers=headers, **limits)).as_dict()
            except ResourceNotFoundError as failure:
                message = f"there is no knowledge base {base}: run rag setup to create it"
                raise Misconfigured(message, code="knowledge_base_missing") from failure
            except HttpResponseError as failure:
                if may_concern_plan(failure):
                    raise make_retrieval_refusal(failure) from failure
                raise

        return await self._call_dependency(post)

    async def close(self) -> None:
        clients, self._clients = self._clients, None
        knowledge_client, self._knowledge_client = self._knowledge_client, None
        for client in (*(clients or ()), knowledge_client, self._machine_credential):
            if client is not None:
                await client.close()

    async def _call_dependency(self, operation: Callable[[RequestTimeouts], Awaitable[T]]) -> T:
        async def attempt(within_s: float) -> T:
            with translate_azure_search_errors(self.index):
                return await operation(
                    {"connection_timeout": min(AZURE_SEARCH_CONNECT_TIMEOUT_S, within_s), "read_timeout": within_s}
                )

        return await self._dependency.call(attempt)

    async def _fetch_page(
        self, text: str | None, parameters: Mapping[str, Any], continuation: bytes | None, limits: RequestTimeouts
    ) -> ResultPage:
        documents, _ = self._get_clients()
        pages: Any = (await documents.search(text, **parameters, **limits)).by_page(continuation)  # type: ignore[arg-type]
        try:
            records = [item async for item in await anext(pages)]
        except HttpResponseError as failure:
            if parameters.get("query_type") == "semantic" and may_concern_plan(failure):
                raise make_ranker_refusal(failure) from failure
            raise
        next_continuation = pages.continuation_token
        facets = await pages.get_facets() if parameters.get("facets") else {}
        return ResultPage(records, facets, next_continuation)

    async def _post_batch(self, batch: Sequence[str], limits: RequestTimeouts) -> list[DocumentOutcome]:
        documents, _ = self._get_clients()
        request = HttpRequest(
            "POST",
            f"/indexes('{self.index}')/docs/search.index",
            params={"api-version": self.api_version},
            headers={"Content-Type": "application/json", "Accept": "application/json;odata.metadata=none"},
            content=BytesIO(f'{{"value":[{",".join(batch)}]}}'.encode()),  # a stream: aiohttp warns of large bytes
        )
        response = await documents.send_request(request, **limits)
        if response.status_code in (400, 413):
            raise BatchRefused
        if response.status_code not in (200, 207):
            raise HttpResponseError(response=response)
        return [DocumentOutcome(item["key"], int(item["statusCode"])) for item in response.json()["value"]]

    def _get_clients(self) -> tuple[SearchClient, SearchIndexClient]:
        if self._clients is None:
            credential, options = self._get_credential(), self._build_client_options()
            self._clients = (
                SearchClient(self.endpoint, self.index, credential, **options),
                SearchIndexClient(self.endpoint, credential, **options),
            )
        return self._clients

    def _get_knowledge_client(self, base: str) -> KnowledgeBaseRetrievalClient:
        if self._knowledge_client is None:
            options = self._build_client_options()
            self._knowledge_client = KnowledgeBaseRetrievalClient(
                self.endpoint, self._get_credential(), knowledge_base_name=base, **options
            )
        return self._knowledge_client

    def _build_client_options(self) -> dict[str, Any]:
        # no redirects: the SDK would send the key to any host
        options = {"retry_total": 0, "permit_redirects": False, "api_version": self.api_version}
        options["per_call_policies"] = [AddPreviewMembers()]
        return options | ({"transport": self._transport} if self._transport else {})

    def _get_credential(self) -> Any:
        if self._key:
            return AzureKeyCredential(self._key)
        if self._machine_credential is None:
            from azure.identity.aio import DefaultAzureCredential  # takes half a second, and a key needs none

            self._machine_credential = DefaultAzureCredential()
        return self._machine_credential
