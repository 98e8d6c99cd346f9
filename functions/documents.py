"""Documents come in (S1-57), their summaries go out (S1-58), and they go and come back (S3-16)."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import lifecycle, reply, service
from rag_core.errors import InvalidRequest
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Limits, Upload
from rag_core.ingestion.indexing import index_document as index_upload
from rag_core.model import Block

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
    upload, chunking = _upload(asked), _chunking(asked.chunking)
    scope, limits = call.scope(asked.workflow_id), Limits(call.settings.max_upload_bytes, call.settings.parse_timeout_s)
    indexed = await index_upload(upload, scope, call.kit, call.run, chunking=chunking, limits=limits)
    return {"success": True, **asdict(indexed), "workflow_id": asked.workflow_id, **reply.diary(call.run)}


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
        **reply.diary(call.run),
    }


async def delete_document(asked: "DeleteRequest", call: Call) -> dict[str, Any]:
    scope = call.scope(asked.workflow_id)
    await lifecycle.delete(asked.document_id, scope, call.kit.index, call.run, purge=asked.purge)
    return {
        "success": True,
        "document_id": asked.document_id,
        "deleted": True,
        "purged": asked.purge,
        "workflow_id": asked.workflow_id,
        **reply.diary(call.run),
    }


async def restore_document(asked: "RestoreRequest", call: Call) -> dict[str, Any]:
    await lifecycle.restore(asked.document_id, call.scope(asked.workflow_id), call.kit.index, call.run)
    return {
        "success": True,
        "document_id": asked.document_id,
        "restored": True,
        "workflow_id": asked.workflow_id,
        **reply.diary(call.run),
    }


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
