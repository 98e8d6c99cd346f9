"""What DuckDuckGo lists for a question: titles, addresses and words of each page. None of them is opened (S4-43)."""

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
PAGE_BYTES = 256 * 1024  # a page of results has some 50 KB
ASKED_CHARS = 500  # more than the engine reads
TITLE_CHARS, SNIPPET_CHARS, ADDRESS_CHARS = 200, 1000, 2000
HEADERS = {"user-agent": "azure-rag", "accept": "text/html", "accept-encoding": "identity"}  # nothing to unpack
NOTHING = "no-results"  # a class of the page that found nothing; one without results that lacks it is a refusal


class DuckDuckGo:
    """Asks the page for browsers without scripts, at `endpoint`. A redirect is not followed, wherever it leads."""

    name = "DuckDuckGo"

    def __init__(self, endpoint: str = ENDPOINT, *, dependency: Dependency | None = None) -> None:
        self._endpoint = f"{endpoint}/"  # without the stroke it answers with a redirect
        self._dependency = dependency or Dependency(self.name, code="web_unavailable", try_s=TRY_S)
        self._client = httpx2.AsyncClient(headers=HEADERS, follow_redirects=False)

    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        page = await self._dependency.call(lambda within_s: self._page(text[:ASKED_CHARS], within_s))
        found = results(page)
        if not found and NOTHING not in page:
            raise Unavailable(f"{self.name} gave no page of results", code="web_unavailable")
        return found[:limit]

    async def close(self) -> None:
        await self._client.aclose()

    async def _page(self, text: str, within_s: float) -> str:
        asked = {"q": text, "kl": "wt-wt"}  # of no region
        try:
            async with self._client.stream("POST", self._endpoint, data=asked, timeout=within_s) as reply:
                _refuse(reply)
                return await _read(reply)
        except (httpx2.HTTPError, httpx2.StreamError) as failure:
            raise Transient(type(failure).__name__) from failure


def _refuse(reply: Any) -> None:
    if reply.status_code in RETRIED:
        raise Transient(f"HTTP {reply.status_code}", retry_after_s=retry_after_s(reply.headers))
    encoded = reply.headers.get("content-encoding", "identity") != "identity"
    if reply.status_code != 200 or encoded:
        what = "an encoding that was not asked for" if encoded else f"HTTP {reply.status_code}"
        raise Unavailable(f"{DuckDuckGo.name} answered {what}", code="web_unavailable")


async def _read(reply: Any) -> str:
    page = bytearray()
    async for piece in reply.aiter_raw():
        page += piece
        if len(page) > PAGE_BYTES:
            raise Unavailable(f"{DuckDuckGo.name} gave more than {PAGE_BYTES} bytes", code="web_unavailable")
    return page.decode("utf-8", "replace")


def results(page: str) -> list[WebResult]:
    """The results that a page lists, in its order, each address once; advertisements are left out."""
    parser = _Results()
    parser.feed(readable_numbers(page))
    parser.close()
    listed: dict[str, WebResult] = {}
    for one in parser.found:
        title, snippet = _line(one.title, TITLE_CHARS), _line(one.snippet, SNIPPET_CHARS)
        if one.url and title:
            listed.setdefault(one.url, WebResult(title, one.url, snippet))
    return list(listed.values())


class _Listed:
    def __init__(self, url: str) -> None:
        self.url, self.title, self.snippet = url, "", ""


class _Results(HTMLParser):
    """A result is a link of class `result__a`, and what is of class `result__snippet` after it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Listed] = []
        self._reading: tuple[str, str] | None = None  # the element being read, and the field it fills

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        classes = (said.get("class") or "").split()
        if tag == "a" and "result__a" in classes:
            self.found.append(_Listed(_address(said.get("href") or "")))
            self._reading = tag, "title"
        elif "result__snippet" in classes and self.found:
            self._reading = tag, "snippet"

    def handle_data(self, data: str) -> None:
        if self._reading:
            one, field = self.found[-1], self._reading[1]
            setattr(one, field, getattr(one, field) + data)

    def handle_endtag(self, tag: str) -> None:
        if self._reading and self._reading[0] == tag:
            self._reading = None


def _address(link: str) -> str:
    """Where a link leads, past the counter of the page (`/l/?uddg=ADDRESS`); "" for anything but a page."""
    try:
        parts = urlsplit(link)
        if parts.path == "/l/":
            link = parse_qs(parts.query).get("uddg", [""])[0]
            parts = urlsplit(link)
        leads = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        return ""
    counted = parts.path == "/y.js"  # of an advertisement
    return link if leads and not counted and len(link) <= ADDRESS_CHARS and link.isprintable() else ""


def _line(text: str, chars: int) -> str:
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())[:chars]
