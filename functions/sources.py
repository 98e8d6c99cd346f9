"""Handlers that list documents and show one at the place where it is cited, for the pages /rag/documents."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from functions import jobs
from functions.routes import Call
from rag_core import replies
from rag_core.core.model import Chunk, Document
from rag_core.ingestion import source_view

if TYPE_CHECKING:
    from functions.wire import DocumentRequest, DocumentsRequest, PageRequest


async def documents(asked: "DocumentsRequest", call: Call) -> dict[str, Any]:
    """List the documents of a workflow, and the deleted ones that can be restored."""
    listing = await source_view.listed(call.scope(asked.workflow_id), call.kit, call.run)
    return {
        "success": True,
        "documents": [_document(document, document.id in listing.kept) for document in listing.documents],
        "deleted": [_document(document, False) for document in listing.deleted],
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


async def document(asked: "DocumentRequest", call: Call) -> dict[str, Any]:
    """Show a document: its chunks with their places, and the lines of a text original."""
    scope, limits = call.scope(asked.workflow_id), jobs.terms(call.settings).limits
    view = await source_view.view(asked.document_id, scope, call.kit, call.run, limits, first_line=asked.first_line)
    return {
        "success": True,
        **_document(view.document, view.kind is not None),
        "kind": view.kind,
        "chunks": [_chunk(chunk) for chunk in view.chunks],
        "lines": view.lines,
        "first_line": view.first_line,
        "total_lines": view.total_lines,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


async def document_page(asked: "PageRequest", call: Call) -> dict[str, Any]:
    """Render a page of a PDF original as PNG."""
    scope, limits = call.scope(asked.workflow_id), jobs.terms(call.settings).limits
    picture = await source_view.page(asked.document_id, asked.page, scope, call.kit, call.run, limits)
    return {
        "success": True,
        "document_id": asked.document_id,
        "page": picture.page,
        "pages": picture.pages,
        "width": picture.width,
        "height": picture.height,
        "media_type": "image/png",
        "image_base64": b64encode(picture.png).decode(),
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


def _document(document: Document, kept: bool) -> Mapping[str, Any]:
    return {
        "document_id": document.id,
        "title": document.title,
        "source": document.source,
        "pages": document.pages,
        "summary": document.summary,
        "extractor": document.extractor,
        "metadata": dict(document.metadata),
        "deleted_at": document.deleted_at,
        "kept": kept,
    }


def _chunk(chunk: Chunk) -> dict[str, Any]:
    place = chunk.place(0, len(chunk.content))
    return {
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "content": chunk.content,
        "page": chunk.page,
        "line_start": place and place.line_start,
        "line_end": place and place.line_end,
        "boxes": chunk.boxes(0, len(chunk.content)),
        "section": list(chunk.heading_path),
        "entities": [asdict(entity) for entity in chunk.entities],
    }
