"""The client of one Azure AI Search index, on the SDK's async clients: it translates errors and checks replies.

The SDK's retries are off: azure-core does not retry a POST after 429 without Retry-After, 502 or a connection reset,
and sleeps for any Retry-After, however long. Batches are sent by `send_request`, because the async `index_documents` of
12.0.0 raises TypeError after halving a batch for a 413.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeVar

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    IncompleteReadError,
    ResourceNotFoundError,
)
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.core.rest import HttpRequest
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from rag_core.core.errors import Misconfigured, RagError, Unavailable
from rag_core.core.retrying import RETRIED, Dependency, Transient, retry_after_s

API_VERSION = "2026-04-01"
CONNECT_S = 5.0
NONSENSE = (DecodeError, TypeError, KeyError, AttributeError, ValueError, IndexError)  # for malformed replies

T = TypeVar("T")
Found = Mapping[str, Any]
Limits = dict[str, Any]  # as keyword arguments of the SDK's calls


class NotOffered(RagError):
    """The service lacks a requested feature, for example a tier without the semantic ranker."""

    code = "search_not_offered"


class BatchRefused(Exception):
    """The service refused a whole batch: it is too large or contains something unreadable."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one action of a batch."""

    key: str
    status: int

    @property
    def done(self) -> bool:
        return self.status in (200, 201)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of records, the facets of all pages, and the token of the next page (None after the last)."""

    found: Sequence[Found]
    facets: Mapping[str, Sequence[Mapping[str, Any]]]
    next: bytes | None


class Service:
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
    ) -> None:
        self.endpoint, self.index = endpoint, index
        self._key, self._dependency, self._transport = key, dependency, transport
        self._clients: tuple[SearchClient, SearchIndexClient] | None = None
        self._machine_credential: Any = None

    async def pages(self, text: str | None, **parameters: Any) -> AsyncIterator[Page]:
        """Search and yield page by page, with one call per page of at most 1,000 records."""
        continuation: bytes | None = None
        while True:
            page = await self._call(lambda limits, at=continuation: self._page(text, parameters, at, limits))  # type: ignore[misc]
            yield page
            if page.next is None:
                return
            continuation = page.next

    async def search(self, text: str | None, **parameters: Any) -> list[Found]:
        """Search and return the records of all pages."""
        return [record async for page in self.pages(text, **parameters) for record in page.found]

    async def facets(self, fields: Sequence[str], *, filter: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Count every value of these fields; count:0 makes each shard report all values, so that counts are exact."""
        parameters = {"facets": [f"{field},count:0" for field in fields], "filter": filter, "top": 0}
        return (await self._call(lambda limits: self._page("*", parameters, None, limits))).facets

    async def lookup(self, key: str) -> Found | None:
        """Return the record with this key, or None; it sees a write before searches do."""

        async def fetch_record(limits: Limits) -> Found | None:
            documents, _ = self._opened()
            try:
                return dict(await documents.get_document(key, **limits))
            except ResourceNotFoundError:
                return None

        return await self._call(fetch_record)

    async def write(self, batch: Callable[[], Sequence[str]], settle: Callable[[Outcome], bool]) -> None:
        """Send `batch()` until it is empty, passing each outcome to `settle`, which returns whether it is final.

        Raises:
            BatchRefused: the service refused the whole batch for good.
            Unavailable: some actions are still pending after the last retry.
        """

        async def send(limits: Limits) -> None:
            final_outcomes = [settle(outcome) for outcome in await self._sent(batch(), limits)]
            if batch():
                raise Transient(f"{len(batch())} of {len(final_outcomes)} documents were not indexed")

        await self._call(send)

    async def definition(self) -> dict[str, Any] | None:
        """Return the definition of the index, or None when it does not exist."""

        async def get(limits: Limits) -> dict[str, Any] | None:
            _, indexes = self._opened()
            try:
                return (await indexes.get_index(self.index, **limits)).as_dict()
            except ResourceNotFoundError:
                return None

        return await self._call(get)

    async def define(self, definition: Mapping[str, Any]) -> None:
        """Create the index, or update its definition."""

        async def put(limits: Limits) -> None:
            _, indexes = self._opened()
            await indexes.create_or_update_index(dict(definition), **limits)

        await self._call(put)

    async def close(self) -> None:
        clients, self._clients = self._clients, None
        for client in (*(clients or ()), self._machine_credential):
            if client is not None:
                await client.close()

    async def _call(self, operation: Callable[[Limits], Awaitable[T]]) -> T:
        async def attempt(within_s: float) -> T:
            with _told(self.index):
                return await operation({"connection_timeout": min(CONNECT_S, within_s), "read_timeout": within_s})

        return await self._dependency.call(attempt)

    async def _page(
        self, text: str | None, parameters: Mapping[str, Any], continuation: bytes | None, limits: Limits
    ) -> Page:
        documents, _ = self._opened()
        pages: Any = (await documents.search(text, **parameters, **limits)).by_page(continuation)  # type: ignore[arg-type]
        records = [item async for item in await anext(pages)]
        next_continuation = pages.continuation_token
        facets = await pages.get_facets() if parameters.get("facets") else {}
        return Page(records, facets, next_continuation)

    async def _sent(self, batch: Sequence[str], limits: Limits) -> list[Outcome]:
        documents, _ = self._opened()
        request = HttpRequest(
            "POST",
            f"/indexes('{self.index}')/docs/search.index",
            params={"api-version": API_VERSION},
            headers={"Content-Type": "application/json", "Accept": "application/json;odata.metadata=none"},
            content=BytesIO(f'{{"value":[{",".join(batch)}]}}'.encode()),  # a stream: aiohttp warns of large bytes
        )
        response = await documents.send_request(request, **limits)
        if response.status_code in (400, 413):
            raise BatchRefused
        if response.status_code not in (200, 207):
            raise HttpResponseError(response=response)
        return [Outcome(item["key"], int(item["statusCode"])) for item in response.json()["value"]]

    def _opened(self) -> tuple[SearchClient, SearchIndexClient]:
        if self._clients is None:
            credential = AzureKeyCredential(self._key) if self._key else self._own_identity()
            # no redirects: the SDK would send the key to any host
            options: dict[str, Any] = {"retry_total": 0, "permit_redirects": False, "api_version": API_VERSION}
            options |= {"transport": self._transport} if self._transport else {}
            self._clients = (
                SearchClient(self.endpoint, self.index, credential, **options),
                SearchIndexClient(self.endpoint, credential, **options),
            )
        return self._clients

    def _own_identity(self) -> Any:
        from azure.identity.aio import DefaultAzureCredential  # takes half a second, and a key needs none

        self._machine_credential = DefaultAzureCredential()
        return self._machine_credential


@contextmanager
def _told(index: str) -> Iterator[None]:
    """Translate the SDK's errors, and those it raises for malformed replies, into errors of `core.errors`."""
    try:
        yield
    except IncompleteReadError as failure:
        raise Transient("the reply was cut off") from failure
    except NONSENSE as failure:
        raise nonsense(type(failure).__name__) from failure
    except ClientAuthenticationError as failure:
        raise _refused_credential() from failure
    except HttpResponseError as failure:
        raise _refusal(failure, index) from failure
    except AzureError as failure:  # the service was not reached, or did not answer
        raise Transient(type(failure).__name__) from failure


def nonsense(problem: str) -> Unavailable:
    return Unavailable(f"Azure AI Search sent a malformed reply ({problem})", code="search_response_invalid")


def checked(parse: Callable[[Found], T], records: Sequence[Found]) -> list[T]:
    """Parse each record. Raises Unavailable when one of them is malformed."""
    try:
        return [parse(record) for record in records]
    except NONSENSE as failure:
        raise nonsense(type(failure).__name__) from failure


def _refusal(failure: HttpResponseError, index: str) -> Exception:
    status = failure.status_code or 0
    if status in RETRIED:
        return Transient(f"HTTP {status}", retry_after_s=retry_after_s(getattr(failure.response, "headers", {})))
    if status in (401, 403):
        return _refused_credential()
    if status == 404:
        return Misconfigured(f"there is no index {index}: run rag setup to create it", code="index_missing")
    if 200 <= status < 300:
        return nonsense(f"HTTP {status}")
    if getattr(failure.error, "code", "") == "FeatureNotSupportedInService":
        return NotOffered("this Azure AI Search service does not offer a requested feature")
    return RagError(f"Azure AI Search refused a request with status {status}", code="search_refused")


def _refused_credential() -> Misconfigured:
    message = "Azure AI Search refuses the credential: set AZURE_SEARCH_API_KEY, or assign this identity a role"
    return Misconfigured(message, code="search_unauthorized", field="AZURE_SEARCH_API_KEY")
