"""Serve the part of the Document Intelligence protocol that is used here (prebuilt-layout, api-version 2024-11-30).

What the local parsers find is laid out as on paper, twelve points a line, one inch from the edges. There is
no text recognition here: a picture's lines are those it was given for it, and any other picture is refused.
"""

import asyncio
import binascii
import json
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import Any

from pypdf import PdfReader
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from rag_core.core.errors import RagError, UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.kinds import detect_file_kind
from rag_core.ingestion.sandbox import extract_in_sandbox

API_VERSION = "2024-11-30"
MODEL = "prebuilt-layout"
ARGUMENTS = {"api-version", "stringIndexType", "outputContentFormat"}
PARSE_S = 30.0
PAGE = {"width": 8.5, "height": 11, "unit": "inch", "angle": 0}
MARGIN, PITCH = 1.0, 1 / 6  # inches
ROLES = {"heading": "sectionHeading"}

Box = list[float]
Json = dict[str, Any]


class DocumentService:
    """The WSGI application says `polls` times that an analysis is running before it gives the result.

    `picture_lines` has the lines of pictures by the SHA-256 of their bytes, a list of them a page; a PDF whose
    pages are such pictures has theirs. `analysed_pages` counts the pages that the service would charge for.
    """

    def __init__(
        self, *, keys: set[str], picture_lines: Mapping[str, Sequence[Sequence[str]]] | None = None, polls: int = 1
    ) -> None:
        self._keys, self._picture_lines, self._polls = keys, picture_lines or {}, polls
        self.analysed_pages = 0
        self._results: dict[str, tuple[Json, int]] = {}
        base = "/documentintelligence/documentModels/<model>"
        self._routes = Map(
            [
                Rule(f"{base}:analyze", endpoint=self._start_analysis, methods=["POST"]),
                Rule(f"{base}/analyzeResults/<result>", endpoint=self._get_result, methods=["GET"]),
            ]
        )

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ)
        try:
            handler, values = self._routes.bind_to_environ(environ).match()
            response = self._check_request(request) or handler(request, **values)
        except HTTPException:
            response = _respond_with_error(404, "404", "Resource not found")
        return response(environ, start_response)

    def _check_request(self, request: Request) -> Response | None:
        if request.headers.get("Ocp-Apim-Subscription-Key") not in self._keys:
            message = "Access denied due to invalid subscription key or wrong API endpoint."
            return _respond_with_error(401, "401", message)
        if request.args.get("api-version") != API_VERSION:
            return _respond_with_error(404, "404", "Resource not found")
        if unknown := set(request.args) - ARGUMENTS:
            return _respond_with_error(
                501, "NotImplemented", f"The emulator does not implement: {', '.join(sorted(unknown))}."
            )
        return None

    def _start_analysis(self, request: Request, model: str) -> Response:
        if model != MODEL:
            return _respond_with_error(404, "NotFound", "Resource not found.")
        try:
            data = b64decode(json.loads(request.get_data())["base64Source"], validate=True)
        except (binascii.Error, KeyError, TypeError, ValueError):
            return _respond_with_error(400, "InvalidRequest", "Invalid request.")
        id = str(uuid.uuid4())
        self._results[id] = self._run_analysis(data), self._polls
        where = f"{request.host_url}documentintelligence/documentModels/{model}/analyzeResults/{id}"
        headers = {"Operation-Location": f"{where}?api-version={API_VERSION}", "Retry-After": "0"}
        return Response(status=202, headers=headers)

    def _get_result(self, request: Request, model: str, result: str) -> Response:
        if result not in self._results:
            return _respond_with_error(404, "NotFound", "Resource not found.")
        body, polls = self._results[result]
        if polls:
            self._results[result] = body, polls - 1
            return _respond_with_json(200, {"status": "running"}, {"Retry-After": "0"})
        return _respond_with_json(200, body)

    def _run_analysis(self, data: bytes) -> Json:
        try:
            extraction = self._extract_blocks(data)
        except RagError as failure:
            inner = {"code": "InvalidContent", "message": failure.message}
            error = {"code": "InvalidRequest", "message": "Invalid request.", "innererror": inner}
            return {"status": "failed", "error": error}
        self.analysed_pages += extraction.pages or 1
        return {"status": "succeeded", "analyzeResult": build_analyze_result(extraction)}

    def _extract_blocks(self, data: bytes) -> Extraction:
        given = self._picture_lines.get(sha256(data).hexdigest()) or self._find_lines_of_pages(data)
        if given is None:
            kind = detect_file_kind(data, "")
            if kind not in ("pdf", "docx"):
                raise UnreadableDocument("the emulator has no text recognition and was given no lines for this picture")
            return asyncio.run(extract_in_sandbox(data, f"file.{kind}", timeout_s=PARSE_S))
        blocks = [Block(text, "paragraph", 0, 0, page) for page, lines in enumerate(given, 1) for text in lines]
        return Extraction(tuple(blocks), len(given), "given")

    def _find_lines_of_pages(self, data: bytes) -> Sequence[Sequence[str]] | None:
        """Return the lines of a PDF whose pages are all pictures with given lines; None for any other file."""
        if not data.startswith(b"%PDF-"):
            return None
        pictures = ([image.data for image in page.images] for page in PdfReader(BytesIO(data)).pages)
        largest = (max(of, key=len, default=b"") for of in pictures)
        found = [self._picture_lines.get(sha256(picture).hexdigest()) for picture in largest]
        return [lines[0] for lines in found if lines] if all(found) else None


def build_analyze_result(extraction: Extraction) -> Json:
    """Build the analyzeResult of these blocks; without pages it has one page without a size, as of a Word file."""
    layout = _PageLayout(extraction.pages)
    for block in extraction.blocks:
        layout.add_block(block)
    return {
        "apiVersion": API_VERSION,
        "modelId": MODEL,
        "stringIndexType": "unicodeCodePoint",
        "content": "\n".join(layout.content),
        "pages": [layout.build_page(number) for number in range(1, (extraction.pages or 1) + 1)],
        "paragraphs": layout.paragraphs,
        "tables": layout.tables,
    }


class _PageLayout:
    """A page layout lays blocks out one after the other and counts characters and lines."""

    def __init__(self, pages: int | None) -> None:
        self.content: list[str] = []
        self.paragraphs: list[Json] = []
        self.tables: list[Json] = []
        self._has_size = pages is not None
        self._lines: dict[int, list[Json]] = {}
        self._offset = 0

    def add_block(self, block: Block) -> None:
        page, start = block.page or 1, self._offset
        boxes = [self._add_line(text, page) for text in block.text.split("\n")]
        element: Json = {"spans": [{"offset": start, "length": self._offset - 1 - start}]}
        if self._has_size:
            polygon = boxes[0][:4] + boxes[-1][4:]
            element["boundingRegions"] = [{"pageNumber": page, "polygon": polygon}]
        if block.kind == "table":
            self.tables.append(element | _build_table(block.text))
        else:
            role = {"role": ROLES[block.kind]} if block.kind in ROLES else {}
            self.paragraphs.append({"content": block.text.replace("\n", " "), **role, **element})

    def build_page(self, number: int) -> Json:
        size = PAGE if self._has_size else {}
        return {"pageNumber": number, **size, "lines": self._lines.get(number, []), "spans": []}

    def _add_line(self, text: str, page: int) -> Box:
        lines = self._lines.setdefault(page, [])
        top = MARGIN + len(lines) * PITCH
        polygon = _make_polygon(MARGIN, top, PAGE["width"] - MARGIN, top + PITCH)  # type: ignore[operator]
        line: Json = {"content": text, "spans": [{"offset": self._offset, "length": len(text)}]}
        lines.append(line | ({"polygon": polygon} if self._has_size else {}))
        self.content.append(text)
        self._offset += len(text) + 1
        return polygon


def _build_table(text: str) -> Json:
    rows = [line.split(" | ") for line in text.split("\n")]
    return {"rowCount": len(rows), "columnCount": max(map(len, rows)), "cells": list(_list_cells(rows))}


def _list_cells(rows: Sequence[Sequence[str]]) -> Iterator[Json]:
    for row, cells in enumerate(rows):
        for column, content in enumerate(cells):
            yield {"rowIndex": row, "columnIndex": column, "content": content, "spans": []}


def _make_polygon(left: float, top: float, right: float, bottom: float) -> Box:
    return [round(number, 4) for number in (left, top, right, top, right, bottom, left, bottom)]


def _respond_with_error(status: int, code: str, message: str) -> Response:
    return _respond_with_json(status, {"error": {"code": code, "message": message}})


def _respond_with_json(status: int, body: Json, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, headers, mimetype="application/json")
