"""Word files, scans and images by Azure Document Intelligence (prebuilt-layout): paragraphs, tables and their places.

The analysis is submitted, then asked for as often as the service says. Left out: page headers, footers and numbers.
"""

import asyncio
import json
import math
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import AzureError, DecodeError, IncompleteReadError
from azure.core.rest import AsyncHttpResponse, HttpRequest

from rag_core.core.errors import Unavailable
from rag_core.core.model import Block, Box, Extraction
from rag_core.core.retrying import RETRIED, Dependency, Transient, retry_after_s
from rag_core.core.run import remaining_s
from rag_core.ingestion.extract.extraction import bounded, clean

MODEL = "prebuilt-layout"
CONNECT_S = 5.0
TRY_S = 30.0  # one request: a large file has to get there
POLL_S = 1.0  # between two looks, where the service does not say
WITHIN_S = 120.0  # the whole analysis: "prebuilt-layout" takes seconds a page
CODE = "layout_unavailable"
INVALID = "layout_invalid"
POINTS = {"inch": 72.0, "pixel": 1.0}  # an image has no size of its own: it is taken at 72 dots an inch
MAX_COLUMNS = 1000
LEVELS = {"title": 1, "sectionHeading": 2}
FURNITURE = frozenset({"pageHeader", "pageFooter", "pageNumber"})
GARBAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)  # what parsing it leaks

Reply = Mapping[str, Any]
Line = tuple[int, str, int, Sequence[float]]  # offset, text, page, polygon
# offset in the content, kind, text, level of a heading, regions, and the lines it was made of, if any
Part = tuple[int, str, str, int, Sequence[Reply], Sequence[Line]]


class DocumentIntelligence:
    """The service at `endpoint`, with its key or, without one, this machine's identity. Holds a client once used."""

    name = f"Document Intelligence {MODEL}"
    kinds = frozenset({"docx", "scan", "image"})

    def __init__(self, endpoint: str, key: str | None) -> None:
        self._endpoint, self._key = endpoint, key
        self._dependency = Dependency("Document Intelligence", code=CODE, try_s=TRY_S)
        self._opened: DocumentIntelligenceClient | None = None
        self._identity: Any = None

    async def read(self, data: bytes, kind: str) -> Extraction:
        """The document as the service sees it, lines numbered in reading order; a Word file has no pages.

        Raises:
            Unavailable: no result in time (`layout_unavailable`), none at all (`layout_refused`) or garbage.
        """
        try:
            async with asyncio.timeout(min(WITHIN_S, remaining_s())):
                result = await self._result(await self._submitted(data))
        except TimeoutError as late:
            raise Unavailable("Document Intelligence had no result in time", code=CODE) from late
        try:
            return await asyncio.to_thread(laid_out, result, kind)
        except GARBAGE as nonsense:
            raise Unavailable("Document Intelligence gave a result of another shape", code=INVALID) from nonsense

    async def close(self) -> None:
        for held in (self._opened, self._identity):
            if held is not None:
                await held.close()

    async def _submitted(self, data: bytes) -> str:
        """The address at which the result will be."""
        query = "api-version=2024-11-30&stringIndexType=unicodeCodePoint"
        body = {"base64Source": b64encode(data).decode()}
        url = f"/documentModels/{MODEL}:analyze?{query}"
        response = await self._dependency.call(
            lambda allowed: self._sent(HttpRequest("POST", url, json=body), allowed, good=202)
        )
        location = response.headers.get("Operation-Location", "")
        if urlsplit(location.lower())[:2] != urlsplit(self._endpoint.lower())[:2]:  # the key goes there
            raise Unavailable("Document Intelligence sent its result elsewhere", code=INVALID)
        return location

    async def _result(self, location: str) -> Reply:
        while True:
            response = await self._dependency.call(
                lambda allowed: self._sent(HttpRequest("GET", location), allowed, good=200)
            )
            match _status(response):
                case "succeeded", {"analyzeResult": dict(result)}:
                    return result
                case (("notStarted" | "running"), _):
                    await _pause(response)
                case "failed", _:
                    raise Unavailable("Document Intelligence could not read the document", code="layout_refused")
                case _:
                    raise Unavailable("Document Intelligence gave a status that it does not have", code=INVALID)

    async def _sent(self, request: HttpRequest, allowed: float, *, good: int) -> AsyncHttpResponse:
        try:
            response: AsyncHttpResponse = await self._client().send_request(
                request, connection_timeout=CONNECT_S, read_timeout=allowed
            )
        except IncompleteReadError as cut:
            raise Transient("the reply was cut off") from cut
        except DecodeError as garbled:
            raise Unavailable("Document Intelligence answered no JSON", code=INVALID) from garbled
        except AzureError as failure:
            raise Transient(type(failure).__name__) from failure
        if response.status_code in RETRIED:
            raise Transient(f"HTTP {response.status_code}", retry_after_s=retry_after_s(response.headers))
        if response.status_code in (401, 403):
            raise Unavailable("Document Intelligence does not take our credential: rag doctor names it", code=CODE)
        if response.status_code != good:
            raise Unavailable(f"Document Intelligence answered HTTP {response.status_code}", code="layout_refused")
        return response

    def _client(self) -> DocumentIntelligenceClient:
        if self._opened is None:
            self._opened = DocumentIntelligenceClient(
                self._endpoint, self._credential(), retry_total=0, permit_redirects=False
            )  # the SDK would send the key along with a redirect, to any host
        return self._opened

    def _credential(self) -> Any:
        if self._key:
            return AzureKeyCredential(self._key)
        from azure.identity.aio import DefaultAzureCredential

        self._identity = DefaultAzureCredential()
        return self._identity


def _status(response: AsyncHttpResponse) -> tuple[str, Any]:
    try:
        body = json.loads(response.text())
        return body["status"], body
    except GARBAGE:
        return "", None


async def _pause(response: AsyncHttpResponse) -> None:
    """As long as the service asks for. A wait for which there is no time is not begun."""
    asked = retry_after_s(response.headers)
    wait = POLL_S if asked is None else asked
    if wait >= remaining_s():
        raise Unavailable(f"Document Intelligence asks to wait {wait:.0f} s, longer than there is", code=CODE)
    await asyncio.sleep(wait)


def laid_out(result: Reply, kind: str) -> Extraction:
    """An analyzeResult as blocks in reading order. A Word file's pages are units of account, not pages: left out."""
    pages = result["pages"]
    scales = {page["pageNumber"]: POINTS[page["unit"]] for page in pages if page.get("unit")}
    parts = sorted([*_tables(result), *_paragraphs(result, _lines(pages))], key=lambda part: part[0])
    if kind == "docx":
        return Extraction(bounded(_placed(parts, {})), None, f"docx ({DocumentIntelligence.name})")
    return Extraction(bounded(_placed(parts, scales)), len(pages), f"{kind} ({DocumentIntelligence.name})")


def _placed(parts: Sequence[Part], scales: Mapping[int, float]) -> Iterator[Block]:
    chain: list[tuple[int, str]] = []
    line = 1
    for _, kind, text, level, regions, own in parts:
        if kind == "heading":
            chain = [above for above in chain if above[0] < level]
        page, box = _place(regions, scales)
        last = line + text.count("\n")
        headings, boxes = tuple(title for _, title in chain), _boxes(own, text, page, scales)
        yield Block(text, kind, line, last, page, box, headings, boxes=boxes)
        if kind == "heading":
            chain.append((level, text))
        line = last + 1


def _place(regions: Sequence[Reply], scales: Mapping[int, float]) -> tuple[int | None, Box | None]:
    """Page and box of the first region; none for a document whose pages have no size."""
    if not regions or not scales:
        return None, None
    page = regions[0]["pageNumber"]
    return page, _box(regions[0]["polygon"], scales[page])


def _boxes(own: Sequence[Line], text: str, page: int | None, scales: Mapping[int, float]) -> tuple[Box, ...]:
    """A box for each line of a text; none where it has other lines than the page, or some on another page."""
    if page is None or len(own) != text.count("\n") + 1 or any(on != page or not polygon for _, _, on, polygon in own):
        return ()
    return tuple(_box(polygon, scales[page]) for _, _, _, polygon in own)


def _box(polygon: Sequence[float], scale: float) -> Box:
    points = [scale * float(number) for number in polygon]
    if len(points) < 6 or len(points) % 2 or not all(map(math.isfinite, points)):
        raise ValueError("not a polygon")
    return min(points[::2]), min(points[1::2]), max(points[::2]), max(points[1::2])


def _tables(result: Reply) -> Iterator[Part]:
    for table in result.get("tables") or ():
        text = "\n".join(_rows(table["cells"]))
        if text:
            yield _start(table), "table", text, 0, table.get("boundingRegions") or (), ()


def _rows(cells: Sequence[Reply]) -> Iterator[str]:
    rows: dict[int, dict[int, str]] = {}
    for cell in cells:
        rows.setdefault(cell["rowIndex"], {})[cell["columnIndex"]] = " ".join(clean(cell["content"]).split())
    width = max((column for row in rows.values() for column in row), default=-1) + 1
    if width > MAX_COLUMNS:
        raise ValueError("no table is that wide")
    for _, row in sorted(rows.items()):
        if any(row.values()):
            yield " | ".join(row.get(column, "") for column in range(width))


def _paragraphs(result: Reply, lines: Sequence[Line]) -> Iterator[Part]:
    """Those outside of tables, broken into lines where the page has them."""
    tables = [span for table in result.get("tables") or () for span in table["spans"]]
    for paragraph in result.get("paragraphs") or ():
        role, start = paragraph.get("role"), _start(paragraph)
        if role in FURNITURE or any(_within(start, span) for span in tables):
            continue
        own = [line for span in paragraph["spans"] for line in _begun(lines, span)]
        text = clean("\n".join(line[1] for line in own) or paragraph["content"]).strip("\n ")
        if text:
            level = LEVELS.get(role, 0)
            kind, shown = ("heading", text.replace("\n", " ")) if level else ("paragraph", text)
            yield start, kind, shown, level, paragraph.get("boundingRegions") or (), own


def _lines(pages: Sequence[Reply]) -> list[Line]:
    """Every line, by its offset."""
    found = [
        (int(line["spans"][0]["offset"]), line["content"], page["pageNumber"], line.get("polygon") or ())
        for page in pages
        for line in page.get("lines") or ()
    ]
    return sorted(found, key=_offset)


def _offset(line: Line) -> int:
    return line[0]


def _begun(lines: Sequence[Line], span: Reply) -> Sequence[Line]:
    """The lines that begin within a span: looked up, for there are tens of thousands of both."""
    edges = span["offset"], span["offset"] + span["length"]
    first, end = (bisect_left(lines, offset, key=_offset) for offset in edges)
    return lines[first:end]


def _within(offset: int, span: Reply) -> bool:
    return bool(span["offset"] <= offset < span["offset"] + span["length"])


def _start(element: Reply) -> int:
    return int(element["spans"][0]["offset"])
