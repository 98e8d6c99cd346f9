"""Extraction of Word files, scans and images by Azure Document Intelligence (prebuilt-layout).

The analysis is submitted, then polled as often as the service says. Page headers, footers and numbers are left out.
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
TRY_S = 30.0  # of one request: a large file has to be sent
POLL_S = 1.0  # where the service does not say
WITHIN_S = 120.0  # of the whole analysis: "prebuilt-layout" takes seconds a page
CODE = "layout_unavailable"
INVALID = "layout_invalid"
POINTS = {"inch": 72.0, "pixel": 1.0}  # an image has no size of its own: 72 pixels an inch are assumed
MAX_COLUMNS = 1000
LEVELS = {"title": 1, "sectionHeading": 2}
FURNITURE = frozenset({"pageHeader", "pageFooter", "pageNumber"})
# what parsing an invalid result raises
GARBAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

Reply = Mapping[str, Any]
Line = tuple[int, str, int, Sequence[float]]  # offset, text, page, polygon
# offset in the content, kind, text, heading level, regions, and the lines it was made of, if any
Part = tuple[int, str, str, int, Sequence[Reply], Sequence[Line]]


class DocumentIntelligence:
    """A layout reader that calls the service at `endpoint` with its key or, without one, this machine's identity."""

    name = f"Document Intelligence {MODEL}"
    kinds = frozenset({"docx", "scan", "image"})

    def __init__(self, endpoint: str, key: str | None) -> None:
        self._endpoint, self._key = endpoint, key
        self._dependency = Dependency("Document Intelligence", code=CODE, try_s=TRY_S)
        self._opened: DocumentIntelligenceClient | None = None
        self._identity: Any = None

    async def read(self, data: bytes, kind: str) -> Extraction:
        """Extract a document by the service, with lines numbered in reading order; a Word file gets no pages.

        Raises:
            Unavailable: no result in time (`layout_unavailable`), a refusal (`layout_refused`), or an invalid result
                (`layout_invalid`).
        """
        try:
            async with asyncio.timeout(min(WITHIN_S, remaining_s())):
                result = await self._result(await self._submitted(data))
        except TimeoutError as error:
            raise Unavailable("Document Intelligence had no result in time", code=CODE) from error
        try:
            return await asyncio.to_thread(laid_out, result, kind)
        except GARBAGE as error:
            raise Unavailable("Document Intelligence gave a result of another shape", code=INVALID) from error

    async def close(self) -> None:
        for resource in (self._opened, self._identity):
            if resource is not None:
                await resource.close()

    async def _submitted(self, data: bytes) -> str:
        """Submit the document and return the address at which its result will be."""
        query = "api-version=2024-11-30&stringIndexType=unicodeCodePoint"
        body = {"base64Source": b64encode(data).decode()}
        url = f"/documentModels/{MODEL}:analyze?{query}"
        response = await self._dependency.call(
            lambda allowed: self._sent(HttpRequest("POST", url, json=body), allowed, good=202)
        )
        location = response.headers.get("Operation-Location", "")
        if urlsplit(location.lower())[:2] != urlsplit(self._endpoint.lower())[:2]:  # the key is sent there
            raise Unavailable("Document Intelligence names another host for its result", code=INVALID)
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
                    raise Unavailable("Document Intelligence gave an unknown status", code=INVALID)

    async def _sent(self, request: HttpRequest, allowed: float, *, good: int) -> AsyncHttpResponse:
        try:
            response: AsyncHttpResponse = await self._client().send_request(
                request, connection_timeout=CONNECT_S, read_timeout=allowed
            )
        except IncompleteReadError as error:
            raise Transient("the reply was cut off") from error
        except DecodeError as error:
            raise Unavailable("Document Intelligence answered no JSON", code=INVALID) from error
        except AzureError as error:
            raise Transient(type(error).__name__) from error
        if response.status_code in RETRIED:
            raise Transient(f"HTTP {response.status_code}", retry_after_s=retry_after_s(response.headers))
        if response.status_code in (401, 403):
            raise Unavailable("Document Intelligence does not accept our credential: rag doctor names it", code=CODE)
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
    """Sleep as long as the service asks for; raise Unavailable at once where that is longer than the time left."""
    retry_after = retry_after_s(response.headers)
    wait_s = POLL_S if retry_after is None else retry_after
    if wait_s >= remaining_s():
        raise Unavailable(f"Document Intelligence asks to wait {wait_s:.0f} s, more than the time left", code=CODE)
    await asyncio.sleep(wait_s)


def laid_out(result: Reply, kind: str) -> Extraction:
    """Return an `analyzeResult` as blocks in reading order. The pages of a Word file are billing units and left out."""
    pages = result["pages"]
    scales = {page["pageNumber"]: POINTS[page["unit"]] for page in pages if page.get("unit")}
    parts = sorted([*_tables(result), *_paragraphs(result, _lines(pages))], key=lambda part: part[0])
    if kind == "docx":
        return Extraction(bounded(_placed(parts, {})), None, f"docx ({DocumentIntelligence.name})")
    return Extraction(bounded(_placed(parts, scales)), len(pages), f"{kind} ({DocumentIntelligence.name})")


def _placed(parts: Sequence[Part], scales: Mapping[int, float]) -> Iterator[Block]:
    chain: list[tuple[int, str]] = []
    line = 1
    for _, kind, text, level, regions, text_lines in parts:
        if kind == "heading":
            chain = [above for above in chain if above[0] < level]
        page, box = _place(regions, scales)
        last = line + text.count("\n")
        headings, boxes = tuple(title for _, title in chain), _boxes(text_lines, text, page, scales)
        yield Block(text, kind, line, last, page, box, headings, boxes=boxes)
        if kind == "heading":
            chain.append((level, text))
        line = last + 1


def _place(regions: Sequence[Reply], scales: Mapping[int, float]) -> tuple[int | None, Box | None]:
    """Return page and box of the first region; None for a document whose pages have no size."""
    if not regions or not scales:
        return None, None
    page = regions[0]["pageNumber"]
    return page, _box(regions[0]["polygon"], scales[page])


def _boxes(own: Sequence[Line], text: str, page: int | None, scales: Mapping[int, float]) -> tuple[Box, ...]:
    """Return a box for each line of a text; () where its lines are not those of the page, or not all on one page."""
    if page is None or len(own) != text.count("\n") + 1 or any(on != page or not polygon for _, _, on, polygon in own):
        return ()
    return tuple(_box(polygon, scales[page]) for _, _, _, polygon in own)


def _box(polygon: Sequence[float], scale: float) -> Box:
    points = [scale * float(number) for number in polygon]
    if len(points) < 6 or len(points) % 2 or not all(map(math.isfinite, points)):
        raise ValueError("a region is no polygon")
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
        raise ValueError("a table has too many columns")
    for _, row in sorted(rows.items()):
        if any(row.values()):
            yield " | ".join(row.get(column, "") for column in range(width))


def _paragraphs(result: Reply, lines: Sequence[Line]) -> Iterator[Part]:
    """Yield the paragraphs outside of tables, broken into the lines of the page where it has lines."""
    tables = [span for table in result.get("tables") or () for span in table["spans"]]
    for paragraph in result.get("paragraphs") or ():
        role, start = paragraph.get("role"), _start(paragraph)
        if role in FURNITURE or any(_within(start, span) for span in tables):
            continue
        text_lines = [line for span in paragraph["spans"] for line in _begun(lines, span)]
        text = clean("\n".join(line[1] for line in text_lines) or paragraph["content"]).strip("\n ")
        if text:
            level = LEVELS.get(role, 0)
            kind, block_text = ("heading", text.replace("\n", " ")) if level else ("paragraph", text)
            yield start, kind, block_text, level, paragraph.get("boundingRegions") or (), text_lines


def _lines(pages: Sequence[Reply]) -> list[Line]:
    """Return the lines of all pages, by offset."""
    lines = [
        (int(line["spans"][0]["offset"]), line["content"], page["pageNumber"], line.get("polygon") or ())
        for page in pages
        for line in page.get("lines") or ()
    ]
    return sorted(lines, key=_offset)


def _offset(line: Line) -> int:
    return line[0]


def _begun(lines: Sequence[Line], span: Reply) -> Sequence[Line]:
    """Return the lines that begin within a span, by binary search: there are tens of thousands of both."""
    edges = span["offset"], span["offset"] + span["length"]
    first, end = (bisect_left(lines, offset, key=_offset) for offset in edges)
    return lines[first:end]


def _within(offset: int, span: Reply) -> bool:
    return bool(span["offset"] <= offset < span["offset"] + span["length"])


def _start(element: Reply) -> int:
    return int(element["spans"][0]["offset"])
