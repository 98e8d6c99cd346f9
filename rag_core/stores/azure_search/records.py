"""The records of the index: how chunks and documents are converted to them and back."""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from rag_core.core.model import Chunk, Document, Entity, Span, Vector
from rag_core.stores.access import readers
from rag_core.stores.azure_search.facts import fact_names, facts
from rag_core.stores.azure_search.schema import VECTOR
from rag_core.text.spelling import pieces, plain, unaccented

Record = dict[str, Any]

JOINED = re.compile(r"[^\W_]+(?=_)|(?<=_)[^\W_]+")  # the parts of snake_case names, which the tokenizer keeps whole
CHUNK = (
    "id", "document_id", "ordinal", "content", "title", "source", "content_hash", "spans", "parent_id", "heading_path",
    "chunk_summary", "entities", "metadata",
)  # fmt: skip


def document_key(workflow_id: str, document_id: str) -> str:
    """Return the key of a document's record."""
    return _key("document", workflow_id, document_id)


def state_key(workflow_id: str) -> str:
    """Return the key of a workflow's state record."""
    return _key("state", workflow_id)


def state_record(workflow_id: str) -> Record:
    """Build the record that every change of a workflow replaces: a new name for its state, and the present time."""
    return {
        "key": state_key(workflow_id),
        "kind": "state",
        "live": False,
        "workflow_id": workflow_id,
        "version": uuid.uuid4().hex,
        "record": datetime.now(UTC).isoformat(),
    }


def chunk_key(workflow_id: str, document_id: str, version: str, position: int) -> str:
    """Return the key of a chunk in one version of its document, which the chunk count suffices to enumerate."""
    return _key("chunk", workflow_id, document_id, version, position)


def chunk_record(document: Document, chunk: Chunk, vector: Vector | None, *, version: str, space: str) -> Record:
    """Build the record of a chunk, without its key; no search finds it before it is made live."""
    vector_fields = {} if vector is None else {VECTOR: list(map(float, vector)), "space": space}
    return {
        "kind": "chunk",
        "live": False,
        "version": version,
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "content": chunk.content,
        "title": chunk.title,
        "codes": " ".join(codes(f"{chunk.title}\n{chunk.content}")),
        "source": chunk.source,
        "page_number": chunk.page,
        "chunk_summary": chunk.summary,
        "entities": _json([asdict(entity) for entity in chunk.entities]),
        "entity_codes": list(dict.fromkeys(entity.value for entity in chunk.entities if entity.value)),
        "spans": _json([asdict(span) for span in chunk.spans]),
        "heading_path": list(chunk.heading_path),
        "parent_id": chunk.parent_id,
        "content_hash": chunk.content_hash,
        "metadata": _json(dict(chunk.metadata)),
        "facts": facts(chunk),
        "fact_names": fact_names(chunk),
        **_ownership(document),
        **vector_fields,
    }


def document_record(document: Document, *, version: str, chunks: int) -> Record:
    """Build the record of a document, live unless it was deleted; its `ordinal` holds the number of chunks."""
    return {
        "key": document_key(document.workflow_id, document.id),
        "kind": "document",
        "live": document.deleted_at is None,
        "version": version,
        "ordinal": chunks,
        "title": document.title,
        "source": document.source,
        "content_hash": document.content_hash,
        "record": kept_record(document),
        **_ownership(document),
    }


def kept_record(document: Document) -> str:
    """Encode all fields of a document as JSON, for the field `record`."""
    return _json(asdict(document))


def codes(text: str) -> list[str]:
    """List further terms that find a text: codes without separators, parts of names, words without accents."""
    return list(dict.fromkeys([*pieces(plain(text)), *unaccented(text), *JOINED.findall(text)]))


def chunk_of(record: Mapping[str, Any]) -> Chunk:
    """Convert a record of the index to its chunk."""
    return Chunk(
        id=record["id"],
        document_id=record["document_id"],
        ordinal=record["ordinal"],
        content=record["content"],
        title=record["title"],
        source=record["source"],
        content_hash=record["content_hash"],
        spans=tuple(_span(span) for span in json.loads(record["spans"])),
        parent_id=record["parent_id"],
        heading_path=tuple(record["heading_path"]),
        summary=record["chunk_summary"],
        entities=tuple(Entity(**entity) for entity in json.loads(record["entities"])),
        metadata=json.loads(record["metadata"]),
    )


def document_of(record: Mapping[str, Any]) -> Document:
    """Convert a record of the index to its document."""
    fields = json.loads(record["record"])
    return Document(**{**fields, "groups": tuple(fields["groups"])})


def _span(fields: Mapping[str, Any]) -> Span:
    box = tuple(fields["bbox"]) if fields["bbox"] else None
    return Span(**{**fields, "bbox": box, "section": tuple(fields["section"])})


def _ownership(document: Document) -> Record:
    return {
        "workflow_id": document.workflow_id,
        "document_id": document.id,
        "user_id": document.user_id,
        "groups": list(document.groups),
        "readers": sorted(readers(document)),
    }


def _key(*parts: str | int) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
