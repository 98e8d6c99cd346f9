"""Documents come in (S1-57), their summaries go out (S1-58), and they go and come back (S3-16)."""

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
    indexer = Indexer(call.kit, call.run, jobs.terms(call.settings))
    upload, chunking, scope = _upload(asked), _chunking(asked.chunking), call.scope(asked.workflow_id)
    later, key = asked.later or _prefers_later(call), asked.idempotency_key or _key(call)
    indexed = await indexer.index(upload, scope, chunking=chunking, key=key, later=later)
    if isinstance(indexed, Job):
        return jobs.accepted(indexed, call)
    return {"success": True, **asdict(indexed), "workflow_id": asked.workflow_id, **replies.diary(call.run)}


async def get_document_summary(asked: "SummaryRequest", call: Call) -> dict[str, Any]:
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
    await lifecycle.restore(asked.document_id, call.scope(asked.workflow_id), call.kit.index, call.run)
    return {
        "success": True,
        "document_id": asked.document_id,
        "restored": True,
        "workflow_id": asked.workflow_id,
        **replies.diary(call.run),
    }


def _prefers_later(call: Call) -> bool:
    """RFC 7240, section 4.1."""
    wishes = call.headers.get("prefer", "").split(",")
    return "respond-async" in [wish.partition(";")[0].strip().lower() for wish in wishes]


def _key(call: Call) -> str | None:
    given = call.headers.get("idempotency-key", "").strip('"')
    if len(given) > 128 or not given.isprintable():
        raise InvalidRequest("Idempotency-Key", "must have at most 128 printable characters")
    return given or None


def _chunking(asked: "ChunkingOptions") -> Chunking:
    """With a size but no overlap, the overlap keeps to its usual share, a quarter."""
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
    except ValueError:  # also a character that is not ASCII
        raise InvalidRequest("content_base64", "must be base64 without line breaks") from None


def _blocks(uploaded: Sequence["UploadedBlock"]) -> tuple[Block, ...]:
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
