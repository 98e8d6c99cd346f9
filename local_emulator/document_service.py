"""The part of the Document Intelligence protocol that this project uses (prebuilt-layout, api-version 2024-11-30).

Over the local parsers: what they find is laid out as on paper, twelve points a line, one inch from the edges. There is
no text recognition here: a picture's lines are those it was given for it, and any other picture is refused.
"""

import asyncio
import binascii
import json
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from rag_core.core.errors import RagError, UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.kinds import detect_file_kind
from rag_core.ingestion.sandbox import extract_in_sandbox

API_VERSION = "2024-11-30"
MODEL = "prebuilt-layout"
KNOWN = {"api-version", "stringIndexType", "outputContentFormat"}
PARSE_S = 30.0
PAGE = {"width": 8.5, "height": 11, "unit": "inch", "angle": 0}
MARGIN, PITCH = 1.0, 1 / 6  # inches
ROLES = {"heading": "sectionHeading"}

Box = list[float]
Json = dict[str, Any]


class DocumentService:
    """A WSGI application. An analysis is told `polls` times to be running before its result is given.

    `recognised` has the lines of pictures by the SHA-256 of their bytes, a list of them a page.
    """

    def __init__(
        self, *, keys: set[str], recognised: Mapping[str, Sequence[Sequence[str]]] | None = None, polls: int = 1
    ) -> None:
        self._keys, self._recognised, self._polls = keys, recognised or {}, polls
        self._results: dict[str, tuple[Json, int]] = {}
        base = "/documentintelligence/documentModels/<model>"
        self._routes = Map(
            [
                Rule(f"{base}:analyze", endpoint=self._analyze, methods=["POST"]),
                Rule(f"{base}/analyzeResults/<result>", endpoint=self._result, methods=["GET"]),
            ]
        )

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ)
        try:
            handler, values = self._routes.bind_to_environ(environ).match()
            response = self._admitted(request) or handler(request, **values)
        except HTTPException:
            response = _refused(404, "404", "Resource not found")
        return response(environ, start_response)

    def _admitted(self, request: Request) -> Response | None:
        if request.headers.get("Ocp-Apim-Subscription-Key") not in self._keys:
            message = "Access denied due to invalid subscription key or wrong API endpoint."
            return _refused(401, "401", message)
        if request.args.get("api-version") != API_VERSION:
            return _refused(404, "404", "Resource not found")
        if unknown := set(request.args) - KNOWN:
            return _refused(501, "NotImplemented", f"The emulator does not implement: {', '.join(sorted(unknown))}.")
        return None

    def _analyze(self, request: Request, model: str) -> Response:
        if model != MODEL:
            return _refused(404, "NotFound", "Resource not found.")
        try:
            data = b64decode(json.loads(request.get_data())["base64Source"], validate=True)
        except (binascii.Error, KeyError, TypeError, ValueError):
            return _refused(400, "InvalidRequest", "Invalid request.")
        id = str(uuid.uuid4())
        self._results[id] = self._analyzed(data), self._polls
        where = f"{request.host_url}documentintelligence/documentModels/{model}/analyzeResults/{id}"
        headers = {"Operation-Location": f"{where}?api-version={API_VERSION}", "Retry-After": "0"}
        return Response(status=202, headers=headers)

    def _result(self, request: Request, model: str, result: str) -> Response:
        if result not in self._results:
            return _refused(404, "NotFound", "Resource not found.")
        body, polls = self._results[result]
        if polls:
            self._results[result] = body, polls - 1
            return _json(200, {"status": "running"}, {"Retry-After": "0"})
        return _json(200, body)

    def _analyzed(self, data: bytes) -> Json:
        try:
            extraction = self._extraction(data)
        except RagError as failure:
            inner = {"code": "InvalidContent", "message": failure.message}
            error = {"code": "InvalidRequest", "message": "Invalid request.", "innererror": inner}
            return {"status": "failed", "error": error}
        return {"status": "succeeded", "analyzeResult": analyzed(extraction)}

    def _extraction(self, data: bytes) -> Extraction:
        given = self._recognised.get(sha256(data).hexdigest())
        if given is None:
            kind = detect_file_kind(data, "")
            if kind not in ("pdf", "docx"):
                raise UnreadableDocument("the emulator has no text recognition and was given no lines for this picture")
            return asyncio.run(extract_in_sandbox(data, f"file.{kind}", timeout_s=PARSE_S))
        blocks = [Block(text, "paragraph", 0, 0, page) for page, lines in enumerate(given, 1) for text in lines]
        return Extraction(tuple(blocks), len(given), "given")


def analyzed(extraction: Extraction) -> Json:
    """An analyzeResult of these blocks. A document without pages is one page without a size, as Word files are."""
    sheet = _Sheet(extraction.pages)
    for block in extraction.blocks:
        sheet.add(block)
    return {
        "apiVersion": API_VERSION,
        "modelId": MODEL,
        "stringIndexType": "unicodeCodePoint",
        "content": "\n".join(sheet.content),
        "pages": [sheet.page(number) for number in range(1, (extraction.pages or 1) + 1)],
        "paragraphs": sheet.paragraphs,
        "tables": sheet.tables,
    }


class _Sheet:
    """Lays blocks out one after the other, counting characters and lines."""

    def __init__(self, pages: int | None) -> None:
        self.content: list[str] = []
        self.paragraphs: list[Json] = []
        self.tables: list[Json] = []
        self._sized = pages is not None
        self._lines: dict[int, list[Json]] = {}
        self._at = 0

    def add(self, block: Block) -> None:
        page, start = block.page or 1, self._at
        boxes = [self._line(text, page) for text in block.text.split("\n")]
        element: Json = {"spans": [{"offset": start, "length": self._at - 1 - start}]}
        if self._sized:
            polygon = boxes[0][:4] + boxes[-1][4:]
            element["boundingRegions"] = [{"pageNumber": page, "polygon": polygon}]
        if block.kind == "table":
            self.tables.append(element | _cells(block.text))
        else:
            role = {"role": ROLES[block.kind]} if block.kind in ROLES else {}
            self.paragraphs.append({"content": block.text.replace("\n", " "), **role, **element})

    def page(self, number: int) -> Json:
        size = PAGE if self._sized else {}
        return {"pageNumber": number, **size, "lines": self._lines.get(number, []), "spans": []}

    def _line(self, text: str, page: int) -> Box:
        lines = self._lines.setdefault(page, [])
        top = MARGIN + len(lines) * PITCH
        polygon = _polygon(MARGIN, top, PAGE["width"] - MARGIN, top + PITCH)  # type: ignore[operator]
        line: Json = {"content": text, "spans": [{"offset": self._at, "length": len(text)}]}
        lines.append(line | ({"polygon": polygon} if self._sized else {}))
        self.content.append(text)
        self._at += len(text) + 1
        return polygon


def _cells(text: str) -> Json:
    rows = [line.split(" | ") for line in text.split("\n")]
    return {"rowCount": len(rows), "columnCount": max(map(len, rows)), "cells": list(_each(rows))}


def _each(rows: Sequence[Sequence[str]]) -> Iterator[Json]:
    for row, cells in enumerate(rows):
        for column, content in enumerate(cells):
            yield {"rowIndex": row, "columnIndex": column, "content": content, "spans": []}


def _polygon(left: float, top: float, right: float, bottom: float) -> Box:
    return [round(number, 4) for number in (left, top, right, top, right, bottom, left, bottom)]


def _refused(status: int, code: str, message: str) -> Response:
    return _json(status, {"error": {"code": code, "message": message}})


def _json(status: int, body: Json, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, headers, mimetype="application/json")
