"""One index of a search service, asked through the SDK's async clients: errors told apart, replies checked.

The SDK's retries are off: azure-core does not repeat a POST after 429 without Retry-After, 502 or a reset, and sleeps
as long as any Retry-After says. Batches go out by `send_request`: the async `index_documents` of 12.0.0 fails with a
TypeError after it has halved a batch for a 413.
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
NONSENSE = (DecodeError, TypeError, KeyError, AttributeError, ValueError, IndexError)  # what the SDK leaks of it (F5)

T = TypeVar("T")
Found = Mapping[str, Any]
Limits = dict[str, Any]  # of time, as the SDK takes them


class NotOffered(RagError):
    """The service is not one that has what was asked for: a tier without the semantic ranker, say."""

    code = "search_not_offered"


class BatchRefused(Exception):
    """The service takes none of a batch: it is too large, or holds something that cannot be read."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one document of a batch."""

    key: str
    status: int

    @property
    def done(self) -> bool:
        return self.status in (200, 201)


@dataclass(frozen=True, slots=True)
class Page:
    """Some hits, the facets of all, and where the next page begins."""

    found: Sequence[Found]
    facets: Mapping[str, Sequence[Mapping[str, Any]]]
    next: bytes | None


class Service:
    """The clients are made when first used, in the loop that uses them. Without a key: this machine's identity."""

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
        self._identity: Any = None

    async def pages(self, text: str | None, **asked: Any) -> AsyncIterator[Page]:
        """A search, page by page; each is a call of its own. The service gives 1,000 documents a page."""
        following: bytes | None = None
        while True:
            page = await self._call(lambda limits, at=following: self._page(text, asked, at, limits))  # type: ignore[misc]
            yield page
            if page.next is None:
                return
            following = page.next

    async def search(self, text: str | None, **asked: Any) -> list[Found]:
        return [found async for page in self.pages(text, **asked) for found in page.found]

    async def facets(self, fields: Sequence[str], *, filter: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Every value of these fields: count:0 makes all shards report all they have, so that counts are exact."""
        asked = {"facets": [f"{field},count:0" for field in fields], "filter": filter, "top": 0}
        return (await self._call(lambda limits: self._page("*", asked, None, limits))).facets

    async def lookup(self, key: str) -> Found | None:
        """A document by its key, which sees a write before searches do."""

        async def look(limits: Limits) -> Found | None:
            documents, _ = self._opened()
            try:
                return dict(await documents.get_document(key, **limits))
            except ResourceNotFoundError:
                return None

        return await self._call(look)

    async def write(self, batch: Callable[[], Sequence[str]], settle: Callable[[Outcome], bool]) -> None:
        """Send `batch()` until `settle` has taken the outcome of each: a try sends what the last one left.

        Raises:
            BatchRefused: the service took none of it, and will not.
            Unavailable: there is still something left.
        """

        async def send(limits: Limits) -> None:
            settled = [settle(outcome) for outcome in await self._sent(batch(), limits)]
            if batch():
                raise Transient(f"{len(batch())} of {len(settled)} documents were not taken")

        await self._call(send)

    async def definition(self) -> dict[str, Any] | None:
        """The index as it is defined; None when there is none."""

        async def get(limits: Limits) -> dict[str, Any] | None:
            _, indexes = self._opened()
            try:
                return (await indexes.get_index(self.index, **limits)).as_dict()
            except ResourceNotFoundError:
                return None

        return await self._call(get)

    async def define(self, definition: Mapping[str, Any]) -> None:
        async def put(limits: Limits) -> None:
            _, indexes = self._opened()
            await indexes.create_or_update_index(dict(definition), **limits)

        await self._call(put)

    async def close(self) -> None:
        clients, self._clients = self._clients, None
        for held in (*(clients or ()), self._identity):
            if held is not None:
                await held.close()

    async def _call(self, work: Callable[[Limits], Awaitable[T]]) -> T:
        async def tried(within_s: float) -> T:
            with _told(self.index):
                return await work({"connection_timeout": min(CONNECT_S, within_s), "read_timeout": within_s})

        return await self._dependency.call(tried)

    async def _page(self, text: str | None, asked: Mapping[str, Any], at: bytes | None, limits: Limits) -> Page:
        documents, _ = self._opened()
        pages: Any = (await documents.search(text, **asked, **limits)).by_page(at)  # type: ignore[arg-type]
        found = [item async for item in await anext(pages)]
        following = pages.continuation_token
        facets = await pages.get_facets() if asked.get("facets") else {}
        return Page(found, facets, following)

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
            # no redirects: the SDK sends the key along with them, to any host
            how: dict[str, Any] = {"retry_total": 0, "permit_redirects": False, "api_version": API_VERSION}
            how |= {"transport": self._transport} if self._transport else {}
            self._clients = (
                SearchClient(self.endpoint, self.index, credential, **how),
                SearchIndexClient(self.endpoint, credential, **how),
            )
        return self._clients

    def _own_identity(self) -> Any:
        from azure.identity.aio import DefaultAzureCredential  # half a second to import, and a key does without it

        self._identity = DefaultAzureCredential()
        return self._identity


@contextmanager
def _told(index: str) -> Iterator[None]:
    """The vendor's errors, and the built-in ones that it leaks for a reply that makes no sense, as ours."""
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
    except AzureError as failure:  # it was not reached, or did not answer
        raise Transient(type(failure).__name__) from failure


def nonsense(what: str) -> Unavailable:
    return Unavailable(f"Azure AI Search answered nonsense ({what})", code="search_response_invalid")


def checked(read: Callable[[Found], T], found: Sequence[Found]) -> list[T]:
    """What is read off each. Raises Unavailable when one of them makes no sense."""
    try:
        return [read(one) for one in found]
    except NONSENSE as failure:
        raise nonsense(type(failure).__name__) from failure


def _refusal(failure: HttpResponseError, index: str) -> Exception:
    status = failure.status_code or 0
    if status in RETRIED:
        return Transient(f"HTTP {status}", retry_after_s=retry_after_s(getattr(failure.response, "headers", {})))
    if status in (401, 403):
        return _refused_credential()
    if status == 404:
        return Misconfigured(f"there is no index {index}: rag setup makes it", code="index_missing")
    if 200 <= status < 300:
        return nonsense(f"HTTP {status}")
    if getattr(failure.error, "code", "") == "FeatureNotSupportedInService":
        return NotOffered("this service of Azure AI Search does not have what was asked for")
    return RagError(f"Azure AI Search refused a request of ours with {status}", code="search_refused")


def _refused_credential() -> Misconfigured:
    message = "Azure AI Search refuses the credential: set AZURE_SEARCH_API_KEY, or give this identity a role"
    return Misconfigured(message, code="search_unauthorized", field="AZURE_SEARCH_API_KEY")
