"""Web search by DuckDuckGo: title, URL and snippet of each result; no result is opened (S4-43)."""

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from rag_core.core.errors import Unavailable
from rag_core.core.ports import WebResult
from rag_core.core.retrying import RETRIED_STATUS_CODES, Dependency, TransientFailure, parse_retry_after_s
from rag_core.providers.certificates import load_trusted_certificates
from rag_core.text.sentences import shorten_character_references

DUCKDUCKGO_ENDPOINT = "https://html.duckduckgo.com/html"
WEB_ATTEMPT_TIMEOUT_S = 5.0
MAX_PAGE_BYTES = 256 * 1024  # a result page has about 50 KB
MAX_QUERY_CHARS = 500  # the engine reads less
MAX_RESULT_TITLE_CHARS, MAX_RESULT_SNIPPET_CHARS, MAX_URL_CHARS = 200, 1000, 2000
WEB_REQUEST_HEADERS = {
    "user-agent": "azure-rag",
    "accept": "text/html",
    "accept-encoding": "identity",
}  # no decompression
# a CSS class of an empty result page; a page with neither results nor this class is a refusal
NO_RESULTS_CLASS = "no-results"


class DuckDuckGoSearch:
    """A web search on DuckDuckGo's page for browsers without scripts, at `endpoint`; it follows no redirect."""

    name = "DuckDuckGo"

    def __init__(self, endpoint: str = DUCKDUCKGO_ENDPOINT, *, dependency: Dependency | None = None) -> None:
        self._endpoint = f"{endpoint}/"  # without the trailing slash it redirects
        self._dependency = dependency or Dependency(self.name, code="web_unavailable", try_s=WEB_ATTEMPT_TIMEOUT_S)
        self._client = httpx2.AsyncClient(
            headers=WEB_REQUEST_HEADERS, follow_redirects=False, verify=load_trusted_certificates()
        )

    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        page = await self._dependency.call(lambda within_s: self._fetch_result_page(text[:MAX_QUERY_CHARS], within_s))
        web_results = parse_web_results(page)
        if not web_results and NO_RESULTS_CLASS not in page:
            raise Unavailable(f"{self.name} returned no result page", code="web_unavailable")
        return web_results[:limit]

    async def close(self) -> None:
        await self._client.aclose()

    async def _fetch_result_page(self, text: str, within_s: float) -> str:
        form = {"q": text, "kl": "wt-wt"}  # all regions
        try:
            async with self._client.stream("POST", self._endpoint, data=form, timeout=within_s) as response:
                _check_web_response(response)
                return await _read_web_page(response)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise TransientFailure(type(error).__name__) from error


def _check_web_response(response: Any) -> None:
    if response.status_code in RETRIED_STATUS_CODES:
        raise TransientFailure(f"HTTP {response.status_code}", retry_after_s=parse_retry_after_s(response.headers))
    is_encoded = response.headers.get("content-encoding", "identity") != "identity"
    if response.status_code != 200 or is_encoded:
        problem = "an unrequested content encoding" if is_encoded else f"HTTP {response.status_code}"
        raise Unavailable(f"{DuckDuckGoSearch.name} answered with {problem}", code="web_unavailable")


async def _read_web_page(response: Any) -> str:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_PAGE_BYTES:
            raise Unavailable(
                f"{DuckDuckGoSearch.name} returned more than {MAX_PAGE_BYTES} bytes", code="web_unavailable"
            )
    return body.decode("utf-8", "replace")


def parse_web_results(page: str) -> list[WebResult]:
    """Parse the results of a page in its order, each URL once, without advertisements."""
    parser = _ResultPageParser()
    parser.feed(shorten_character_references(page))
    parser.close()
    result_by_url: dict[str, WebResult] = {}
    for entry in parser.entries:
        title, snippet = (
            _clean_web_text(entry.title, MAX_RESULT_TITLE_CHARS),
            _clean_web_text(entry.snippet, MAX_RESULT_SNIPPET_CHARS),
        )
        if entry.url and title:
            result_by_url.setdefault(entry.url, WebResult(title, entry.url, snippet))
    return list(result_by_url.values())


class _ResultEntry:
    def __init__(self, url: str) -> None:
        self.url, self.title, self.snippet = url, "", ""


class _ResultPageParser(HTMLParser):
    """A parser of the result page: a result is a link of class `result__a`, followed by a `result__snippet`."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[_ResultEntry] = []
        self._open_field: tuple[str, str] | None = None  # the tag of the open element and the field it fills

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if tag == "a" and "result__a" in classes:
            self.entries.append(_ResultEntry(_resolve_result_url(attributes.get("href") or "")))
            self._open_field = tag, "title"
        elif "result__snippet" in classes and self.entries:
            self._open_field = tag, "snippet"

    def handle_data(self, data: str) -> None:
        if self._open_field:
            entry, field = self.entries[-1], self._open_field[1]
            setattr(entry, field, getattr(entry, field) + data)

    def handle_endtag(self, tag: str) -> None:
        if self._open_field and self._open_field[0] == tag:
            self._open_field = None


def _resolve_result_url(link: str) -> str:
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
    return link if is_page and not is_advertisement and len(link) <= MAX_URL_CHARS and link.isprintable() else ""


def _clean_web_text(text: str, max_chars: int) -> str:
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:max_chars]
