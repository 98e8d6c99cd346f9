"""Extraction of office files, scans and images by Document Intelligence (prebuilt-layout), which is paid by the page.

The analysis is submitted, then polled as often as the service says. Page headers, footers and numbers are left out.
"""

import asyncio
import json
import math
from base64 import b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import AzureError, DecodeError, IncompleteReadError
from azure.core.rest import AsyncHttpResponse, HttpRequest

from rag_core.core.errors import Unavailable
from rag_core.core.model import Block, Box, Extraction
from rag_core.core.retrying import RETRIED_STATUS_CODES, Dependency, TransientFailure, parse_retry_after_s
from rag_core.core.run import book_layout_pages, get_remaining_s, warn_current_run
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks
from rag_core.ingestion.sandbox_view import straighten_in_sandbox

LAYOUT_MODEL = "prebuilt-layout"
LAYOUT_CONNECT_TIMEOUT_S = 5.0
LAYOUT_REQUEST_TIMEOUT_S = 30.0  # of one request: a large file has to be sent
LAYOUT_POLL_INTERVAL_S = 1.0  # where the service does not say
LAYOUT_TIMEOUT_S = 120.0  # of the whole analysis: "prebuilt-layout" takes seconds a page
STRAIGHTEN_TIMEOUT_S = 20.0  # of processor time: 89 million pixels, the most that is read, take 6 s
LAYOUT_USD_PER_PAGE = 0.01  # of S0: 10 USD for 1,000 pages, as litellm 1.109.1 (PyPI) lists it, 23 November 2026
LAYOUT_UNAVAILABLE = "layout_unavailable"
LAYOUT_INVALID = "layout_invalid"
POINTS_PER_UNIT = {"inch": 72.0, "pixel": 1.0}  # an image has no size of its own: 72 pixels an inch are assumed
PAGE_NAMES = {"xlsx": "sheet", "pptx": "slide"}  # whose pages have no size: a part is placed by its offset
MAX_LAYOUT_COLUMNS = 1000
HEADING_LEVEL_BY_ROLE = {"title": 1, "sectionHeading": 2}
PAGE_FURNITURE_ROLES = frozenset({"pageHeader", "pageFooter", "pageNumber"})
# what parsing an invalid result raises
INVALID_RESULT_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

LayoutJson = Mapping[str, Any]
LayoutLine = tuple[int, str, int, Sequence[float]]  # offset, text, page, polygon
# offset in the content, kind, text, heading level, regions, and the lines it was made of, if any
LayoutPart = tuple[int, str, str, int, Sequence[LayoutJson], Sequence[LayoutLine]]


class DocumentIntelligence:
    """A layout reader that calls the service at `endpoint` with its key or, without one, this machine's identity."""

    name = f"Document Intelligence {LAYOUT_MODEL}"
    kinds = frozenset({"docx", "xlsx", "pptx", "html", "scan", "image"})
    usd_per_page = LAYOUT_USD_PER_PAGE

    def __init__(self, endpoint: str, key: str | None) -> None:
        self._endpoint, self._key = endpoint, key
        self._dependency = Dependency("Document Intelligence", code=LAYOUT_UNAVAILABLE, try_s=LAYOUT_REQUEST_TIMEOUT_S)
        self._open_client: DocumentIntelligenceClient | None = None
        self._identity: Any = None

    async def read(self, data: bytes, kind: str) -> Extraction:
        """Extract a document by the service, with lines numbered in reading order; a Word file gets no pages.

        A picture is sent upright: nothing says whether the service heeds the orientation that a camera has noted, and
        its places have to be those of the page that is drawn.

        Raises:
            UnreadableDocument: the picture could not be turned upright.
            Unavailable: no result in time (`layout_unavailable`), a refusal (`layout_refused`), or an invalid result
                (`layout_invalid`).
        """
        try:
            async with asyncio.timeout(min(LAYOUT_TIMEOUT_S, get_remaining_s())):
                if kind == "image":
                    data = await straighten_in_sandbox(data, timeout_s=STRAIGHTEN_TIMEOUT_S)
                result = await self._poll_result(await self._submit(data))
        except TimeoutError as error:
            raise Unavailable("Document Intelligence had no result in time", code=LAYOUT_UNAVAILABLE) from error
        try:
            _book_pages(len(result["pages"]))
            return await asyncio.to_thread(extraction_from_layout, result, kind)
        except INVALID_RESULT_ERRORS as error:
            raise Unavailable("Document Intelligence gave a result of another shape", code=LAYOUT_INVALID) from error

    async def close(self) -> None:
        for resource in (self._open_client, self._identity):
            if resource is not None:
                await resource.close()

    async def _submit(self, data: bytes) -> str:
        """Submit the document and return the address at which its result will be."""
        query = "api-version=2024-11-30&stringIndexType=unicodeCodePoint"
        body = {"base64Source": b64encode(data).decode()}
        url = f"/documentModels/{LAYOUT_MODEL}:analyze?{query}"
        response = await self._dependency.call(
            lambda allowed: self._send_request(HttpRequest("POST", url, json=body), allowed, expected_status=202)
        )
        location = response.headers.get("Operation-Location", "")
        if urlsplit(location.lower())[:2] != urlsplit(self._endpoint.lower())[:2]:  # the key is sent there
            raise Unavailable("Document Intelligence names another host for its result", code=LAYOUT_INVALID)
        return location

    async def _poll_result(self, location: str) -> LayoutJson:
        while True:
            response = await self._dependency.call(
                lambda allowed: self._send_request(HttpRequest("GET", location), allowed, expected_status=200)
            )
            match _parse_analysis_status(response):
                case "succeeded", {"analyzeResult": dict(result)}:
                    return result
                case (("notStarted" | "running"), _):
                    await _wait_before_next_poll(response)
                case "failed", _:
                    raise Unavailable("Document Intelligence could not read the document", code="layout_refused")
                case _:
                    raise Unavailable("Document Intelligence gave an unknown status", code=LAYOUT_INVALID)

    async def _send_request(self, request: HttpRequest, timeout_s: float, *, expected_status: int) -> AsyncHttpResponse:
        try:
            response: AsyncHttpResponse = await self._get_client().send_request(
                request, connection_timeout=LAYOUT_CONNECT_TIMEOUT_S, read_timeout=timeout_s
            )
        except IncompleteReadError as error:
            raise TransientFailure("the reply was cut off") from error
        except DecodeError as error:
            raise Unavailable("Document Intelligence answered no JSON", code=LAYOUT_INVALID) from error
        except AzureError as error:
            raise TransientFailure(type(error).__name__) from error
        if response.status_code in RETRIED_STATUS_CODES:
            raise TransientFailure(f"HTTP {response.status_code}", retry_after_s=parse_retry_after_s(response.headers))
        if response.status_code in (401, 403):
            raise Unavailable(
                "Document Intelligence does not accept our credential: rag doctor names it", code=LAYOUT_UNAVAILABLE
            )
        if response.status_code != expected_status:
            raise Unavailable(f"Document Intelligence answered HTTP {response.status_code}", code="layout_refused")
        return response

    def _get_client(self) -> DocumentIntelligenceClient:
        if self._open_client is None:
            self._open_client = DocumentIntelligenceClient(
                self._endpoint, self._create_credential(), retry_total=0, permit_redirects=False
            )  # the SDK would send the key along with a redirect, to any host
        return self._open_client

    def _create_credential(self) -> Any:
        if self._key:
            return AzureKeyCredential(self._key)
        from azure.identity.aio import DefaultAzureCredential

        self._identity = DefaultAzureCredential()
        return self._identity


def _book_pages(count: int) -> None:
    """Book what an analysis is paid for, and tell the caller: a page of a result is one of the bill."""
    cost_usd = count * LAYOUT_USD_PER_PAGE
    book_layout_pages(count, cost_usd)
    sent = f"{count} page{'s were' if count != 1 else ' was'} sent to Document Intelligence"
    warn_current_run("layout_pages", f"{sent}, which costs about {cost_usd:.2f} USD")


def _parse_analysis_status(response: AsyncHttpResponse) -> tuple[str, Any]:
    try:
        body = json.loads(response.text())
        return body["status"], body
    except INVALID_RESULT_ERRORS:
        return "", None


async def _wait_before_next_poll(response: AsyncHttpResponse) -> None:
    """Sleep as long as the service asks for; raise Unavailable at once where that is longer than the time left."""
    retry_after = parse_retry_after_s(response.headers)
    wait_s = LAYOUT_POLL_INTERVAL_S if retry_after is None else retry_after
    if wait_s >= get_remaining_s():
        raise Unavailable(
            f"Document Intelligence asks to wait {wait_s:.0f} s, more than the time left", code=LAYOUT_UNAVAILABLE
        )
    await asyncio.sleep(wait_s)


def extraction_from_layout(result: LayoutJson, kind: str) -> Extraction:
    """Return an `analyzeResult` as blocks in reading order. The pages of a Word file are billing units and left out."""
    pages = result["pages"]
    scales = {page["pageNumber"]: POINTS_PER_UNIT[page["unit"]] for page in pages if page.get("unit")}
    parts = sorted(
        [*_parse_layout_tables(result), *_parse_layout_paragraphs(result, _collect_layout_lines(pages))],
        key=lambda part: part[0],
    )
    if kind in ("docx", "html"):
        return Extraction(
            collect_blocks(_build_layout_blocks(parts, {})), None, f"{kind} ({DocumentIntelligence.name})"
        )
    if kind in PAGE_NAMES:
        blocks = _place_on_pages(_build_layout_blocks(parts, {}), parts, pages, PAGE_NAMES[kind])
        return Extraction(collect_blocks(blocks), len(pages), f"{kind} ({DocumentIntelligence.name})")
    return Extraction(
        collect_blocks(_build_layout_blocks(parts, scales)), len(pages), f"{kind} ({DocumentIntelligence.name})"
    )


def _place_on_pages(
    blocks: Iterator[Block], parts: Sequence[LayoutPart], pages: Sequence[LayoutJson], name: str
) -> Iterator[Block]:
    """Yield the blocks with the page on which each begins, by the offsets at which the pages begin."""
    starts = [min((span["offset"] for span in page.get("spans") or ()), default=0) for page in pages]
    for block, part in zip(blocks, parts, strict=True):
        page = max(1, bisect_right(starts, part[0]))
        yield replace(block, page=page, locator=f"{name} {page}")


def _build_layout_blocks(parts: Sequence[LayoutPart], scales: Mapping[int, float]) -> Iterator[Block]:
    chain: list[tuple[int, str]] = []
    line = 1
    for _, kind, text, level, regions, text_lines in parts:
        if kind == "heading":
            chain = [above for above in chain if above[0] < level]
        page, box = _locate_first_region(regions, scales)
        last = line + text.count("\n")
        headings, boxes = tuple(title for _, title in chain), _build_line_boxes(text_lines, text, page, scales)
        yield Block(text, kind, line, last, page, box, headings, boxes=boxes)
        if kind == "heading":
            chain.append((level, text))
        line = last + 1


def _locate_first_region(regions: Sequence[LayoutJson], scales: Mapping[int, float]) -> tuple[int | None, Box | None]:
    """Return page and box of the first region; None for a document whose pages have no size."""
    if not regions or not scales:
        return None, None
    page = regions[0]["pageNumber"]
    return page, _box_from_polygon(regions[0]["polygon"], scales[page])


def _build_line_boxes(
    text_lines: Sequence[LayoutLine], text: str, page: int | None, scales: Mapping[int, float]
) -> tuple[Box, ...]:
    """Return a box for each line of a text; () where its lines are not those of the page, or not all on one page."""
    if (
        page is None
        or len(text_lines) != text.count("\n") + 1
        or any(on != page or not polygon for _, _, on, polygon in text_lines)
    ):
        return ()
    return tuple(_box_from_polygon(polygon, scales[page]) for _, _, _, polygon in text_lines)


def _box_from_polygon(polygon: Sequence[float], scale: float) -> Box:
    points = [scale * float(number) for number in polygon]
    if len(points) < 6 or len(points) % 2 or not all(map(math.isfinite, points)):
        raise ValueError("a region is no polygon")
    return min(points[::2]), min(points[1::2]), max(points[::2]), max(points[1::2])


def _parse_layout_tables(result: LayoutJson) -> Iterator[LayoutPart]:
    for table in result.get("tables") or ():
        text = "\n".join(_format_layout_rows(table["cells"]))
        if text:
            yield _get_start_offset(table), "table", text, 0, table.get("boundingRegions") or (), ()


def _format_layout_rows(cells: Sequence[LayoutJson]) -> Iterator[str]:
    rows: dict[int, dict[int, str]] = {}
    for cell in cells:
        rows.setdefault(cell["rowIndex"], {})[cell["columnIndex"]] = " ".join(clean_text(cell["content"]).split())
    width = max((column for row in rows.values() for column in row), default=-1) + 1
    if width > MAX_LAYOUT_COLUMNS:
        raise ValueError("a table has too many columns")
    for _, row in sorted(rows.items()):
        if any(row.values()):
            yield " | ".join(row.get(column, "") for column in range(width))


def _parse_layout_paragraphs(result: LayoutJson, lines: Sequence[LayoutLine]) -> Iterator[LayoutPart]:
    """Yield the paragraphs outside of tables, broken into the lines of the page where it has lines."""
    tables = [span for table in result.get("tables") or () for span in table["spans"]]
    for paragraph in result.get("paragraphs") or ():
        role, start = paragraph.get("role"), _get_start_offset(paragraph)
        if role in PAGE_FURNITURE_ROLES or any(_is_in_span(start, span) for span in tables):
            continue
        text_lines = [line for span in paragraph["spans"] for line in _select_lines_in_span(lines, span)]
        text = clean_text("\n".join(line[1] for line in text_lines) or paragraph["content"]).strip("\n ")
        if text:
            level = HEADING_LEVEL_BY_ROLE.get(role, 0)
            kind, block_text = ("heading", text.replace("\n", " ")) if level else ("paragraph", text)
            yield start, kind, block_text, level, paragraph.get("boundingRegions") or (), text_lines


def _collect_layout_lines(pages: Sequence[LayoutJson]) -> list[LayoutLine]:
    """Return the lines of all pages, by offset."""
    lines = [
        (int(line["spans"][0]["offset"]), line["content"], page["pageNumber"], line.get("polygon") or ())
        for page in pages
        for line in page.get("lines") or ()
    ]
    return sorted(lines, key=_get_line_offset)


def _get_line_offset(line: LayoutLine) -> int:
    return line[0]


def _select_lines_in_span(lines: Sequence[LayoutLine], span: LayoutJson) -> Sequence[LayoutLine]:
    """Return the lines that begin within a span, by binary search: there are tens of thousands of both."""
    edges = span["offset"], span["offset"] + span["length"]
    first, end = (bisect_left(lines, offset, key=_get_line_offset) for offset in edges)
    return lines[first:end]


def _is_in_span(offset: int, span: LayoutJson) -> bool:
    return bool(span["offset"] <= offset < span["offset"] + span["length"])


def _get_start_offset(element: LayoutJson) -> int:
    return int(element["spans"][0]["offset"])
