"""Web search by DuckDuckGo: title, URL and snippet of each result; no result is opened (S4-43)."""

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from rag_core.core.errors import Unavailable
from rag_core.core.ports import WebResult
from rag_core.core.retrying import RETRIED, Dependency, Transient, retry_after_s
from rag_core.text.sentences import readable_numbers

ENDPOINT = "https://html.duckduckgo.com/html"
TRY_S = 5.0
PAGE_BYTES = 256 * 1024  # a result page has about 50 KB
ASKED_CHARS = 500  # the engine reads less
TITLE_CHARS, SNIPPET_CHARS, ADDRESS_CHARS = 200, 1000, 2000
HEADERS = {"user-agent": "azure-rag", "accept": "text/html", "accept-encoding": "identity"}  # no decompression
NOTHING = "no-results"  # a CSS class of an empty result page; a page with neither results nor this class is a refusal


class DuckDuckGo:
    """A web search on DuckDuckGo's page for browsers without scripts, at `endpoint`; it follows no redirect."""

    name = "DuckDuckGo"

    def __init__(self, endpoint: str = ENDPOINT, *, dependency: Dependency | None = None) -> None:
        self._endpoint = f"{endpoint}/"  # without the trailing slash it redirects
        self._dependency = dependency or Dependency(self.name, code="web_unavailable", try_s=TRY_S)
        self._client = httpx2.AsyncClient(headers=HEADERS, follow_redirects=False)

    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        page = await self._dependency.call(lambda within_s: self._page(text[:ASKED_CHARS], within_s))
        web_results = results(page)
        if not web_results and NOTHING not in page:
            raise Unavailable(f"{self.name} returned no result page", code="web_unavailable")
        return web_results[:limit]

    async def close(self) -> None:
        await self._client.aclose()

    async def _page(self, text: str, within_s: float) -> str:
        form = {"q": text, "kl": "wt-wt"}  # all regions
        try:
            async with self._client.stream("POST", self._endpoint, data=form, timeout=within_s) as response:
                _refuse(response)
                return await _read(response)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise Transient(type(error).__name__) from error


def _refuse(reply: Any) -> None:
    if reply.status_code in RETRIED:
        raise Transient(f"HTTP {reply.status_code}", retry_after_s=retry_after_s(reply.headers))
    is_encoded = reply.headers.get("content-encoding", "identity") != "identity"
    if reply.status_code != 200 or is_encoded:
        problem = "an unrequested content encoding" if is_encoded else f"HTTP {reply.status_code}"
        raise Unavailable(f"{DuckDuckGo.name} answered with {problem}", code="web_unavailable")


async def _read(reply: Any) -> str:
    body = bytearray()
    async for chunk in reply.aiter_raw():
        body += chunk
        if len(body) > PAGE_BYTES:
            raise Unavailable(f"{DuckDuckGo.name} returned more than {PAGE_BYTES} bytes", code="web_unavailable")
    return body.decode("utf-8", "replace")


def results(page: str) -> list[WebResult]:
    """Parse the results of a page in its order, each URL once, without advertisements."""
    parser = _Results()
    parser.feed(readable_numbers(page))
    parser.close()
    result_by_url: dict[str, WebResult] = {}
    for entry in parser.found:
        title, snippet = _line(entry.title, TITLE_CHARS), _line(entry.snippet, SNIPPET_CHARS)
        if entry.url and title:
            result_by_url.setdefault(entry.url, WebResult(title, entry.url, snippet))
    return list(result_by_url.values())


class _Listed:
    def __init__(self, url: str) -> None:
        self.url, self.title, self.snippet = url, "", ""


class _Results(HTMLParser):
    """A parser of the result page: a result is a link of class `result__a`, followed by a `result__snippet`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Listed] = []
        self._reading: tuple[str, str] | None = None  # the tag of the open element and the field it fills

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if tag == "a" and "result__a" in classes:
            self.found.append(_Listed(_address(attributes.get("href") or "")))
            self._reading = tag, "title"
        elif "result__snippet" in classes and self.found:
            self._reading = tag, "snippet"

    def handle_data(self, data: str) -> None:
        if self._reading:
            entry, field = self.found[-1], self._reading[1]
            setattr(entry, field, getattr(entry, field) + data)

    def handle_endtag(self, tag: str) -> None:
        if self._reading and self._reading[0] == tag:
            self._reading = None


def _address(link: str) -> str:
    """Return a link's target without the page's click counter (`/l/?uddg=URL`); "" unless it is a web page."""
    try:
        parts = urlsplit(link)
        if parts.path == "/l/":
            link = parse_qs(parts.query).get("uddg", [""])[0]
            parts = urlsplit(link)
        is_page = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        return ""
    is_advertisement = parts.path == "/y.js"  # a click on an advertisement
    return link if is_page and not is_advertisement and len(link) <= ADDRESS_CHARS and link.isprintable() else ""


def _line(text: str, chars: int) -> str:
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:chars]
