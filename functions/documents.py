"""Handlers that index (S1-57), summarize (S1-58), delete and restore documents (S3-16)."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from functions import jobs
from functions.routes import Call
from rag_core import replies, service
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Block, Job
from rag_core.ingestion import lifecycle
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload
from rag_core.jobs.long_work import Indexer

if TYPE_CHECKING:
    from functions.wire import (
        ChunkingOptions,
        DeleteRequest,
        IndexRequest,
        RestoreRequest,
        SummaryRequest,
        UploadedBlock,
    )


async def index_document(asked: "IndexRequest", call: Call) -> dict[str, Any]:
    """Index a document, or accept it as a job when it is long or the caller prefers an asynchronous reply."""
    indexer = Indexer(call.kit, call.run, jobs.terms(call.settings))
    upload, chunking, scope = _upload(asked), _chunking(asked.chunking), call.scope(asked.workflow_id)
    later, key = asked.later or _prefers_later(call), asked.idempotency_key or _key(call)
    indexed = await indexer.index(upload, scope, chunking=chunking, key=key, later=later)
    if isinstance(indexed, Job):
        return jobs.accepted(indexed, call)
    return {"success": True, **asdict(indexed), "workflow_id": asked.workflow_id, **replies.diary(call.run)}


async def get_document_summary(asked: "SummaryRequest", call: Call) -> dict[str, Any]:
    """Return a document's stored summary, or write one when there is none or `refresh` is set."""
    scope = call.scope(asked.workflow_id)
    summary = await service.summarize(asked.document_id, scope, call.kit, call.run, refresh=asked.refresh)
    return {
        "success": True,
        "document_id": asked.document_id,
        "summary": summary.text,
        "origin": summary.origin,
        "title": summary.document.title,
        "entities": [asdict(entity) for entity in summary.entities],
        "pages": summary.document.pages,
        "chunks": summary.chunks,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


async def delete_document(asked: "DeleteRequest", call: Call) -> dict[str, Any]:
    """Hide a document from every search; with `purge`, erase it for good."""
    scope = call.scope(asked.workflow_id)
    await lifecycle.delete(asked.document_id, scope, call.kit, call.run, purge=asked.purge)
    return {
        "success": True,
        "document_id": asked.document_id,
        "deleted": True,
        "purged": asked.purge,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


async def restore_document(asked: "RestoreRequest", call: Call) -> dict[str, Any]:
    """Make a deleted document searchable again."""
    await lifecycle.restore(asked.document_id, call.scope(asked.workflow_id), call.kit.index, call.run)
    return {
        "success": True,
        "document_id": asked.document_id,
        "restored": True,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


def _prefers_later(call: Call) -> bool:
    """Return whether the header Prefer has `respond-async` (RFC 7240, section 4.1)."""
    preferences = call.headers.get("prefer", "").split(",")
    return "respond-async" in [preference.partition(";")[0].strip().lower() for preference in preferences]


def _key(call: Call) -> str | None:
    key = call.headers.get("idempotency-key", "").strip('"')
    if len(key) > 128 or not key.isprintable():
        raise InvalidRequest("Idempotency-Key", "must have at most 128 printable characters")
    return key or None


def _chunking(asked: "ChunkingOptions") -> Chunking:
    """Return the chunking that a request asks for; a chunk size without an overlap gets an overlap of a quarter."""
    options = asked.model_dump(exclude_none=True)
    if asked.chunk_size:
        options.setdefault("overlap", min(Chunking().overlap, asked.chunk_size // 4))
    return Chunking(**options)


def _upload(asked: "IndexRequest") -> Upload:
    return Upload(
        content=asked.content,
        data=None if asked.content_base64 is None else _decoded(asked.content_base64),
        filename=asked.filename,
        blocks=None if asked.blocks is None else _blocks(asked.blocks),
        document_id=asked.document_id,
        title=asked.title,
        source=asked.source,
        metadata=asked.metadata,
    )


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:  # binascii.Error, and what is not ASCII
        raise InvalidRequest("content_base64", "must be base64 without line breaks") from None


def _blocks(uploaded: Sequence["UploadedBlock"]) -> tuple[Block, ...]:
    """Return the blocks of a request; one without `line_start` begins on the line after the block before it."""
    blocks: list[Block] = []
    for block in uploaded:
        line_start = block.line_start or (blocks[-1].line_end + 1 if blocks else 1)
        blocks.append(
            Block(
                text=block.text,
                kind=block.kind,
                line_start=line_start,
                line_end=block.line_end or line_start + block.text.count("\n"),
                page=block.page,
                bbox=block.bbox,
                headings=tuple(block.headings),
                boxes=tuple(block.boxes),
                page_label=block.page_label,
            )
        )
    return tuple(blocks)
