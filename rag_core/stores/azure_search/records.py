"""Chunks and documents as documents of the index, and back."""

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

JOINED = re.compile(r"[^\W_]+(?=_)|(?<=_)[^\W_]+")  # a tokenizer keeps snake_case whole
CHUNK = (
    "id", "document_id", "ordinal", "content", "title", "source", "content_hash", "spans", "parent_id", "heading_path",
    "chunk_summary", "entities", "metadata",
)  # fmt: skip


def document_key(workflow_id: str, document_id: str) -> str:
    return _key("document", workflow_id, document_id)


def state_key(workflow_id: str) -> str:
    return _key("state", workflow_id)


def state_record(workflow_id: str) -> Record:
    """What a workflow's every change puts in place of the one before: a name for its state, and since when."""
    return {
        "key": state_key(workflow_id),
        "kind": "state",
        "live": False,
        "workflow_id": workflow_id,
        "version": uuid.uuid4().hex,
        "record": datetime.now(UTC).isoformat(),
    }


def chunk_key(workflow_id: str, document_id: str, version: str, place: int) -> str:
    """Of a chunk in one version of its document: a version can be removed by knowing how many chunks it had."""
    return _key("chunk", workflow_id, document_id, version, place)


def chunk_record(document: Document, chunk: Chunk, vector: Vector | None, *, version: str, space: str) -> Record:
    """What is uploaded for a chunk, but for its key: nobody sees it before it is made live."""
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
    """What is uploaded for a document as a whole; it is live unless it was deleted. Its `ordinal` counts its chunks."""
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
    """The document whole, as its record keeps it."""
    return _json(asdict(document))


def codes(text: str) -> list[str]:
    """What finds a text besides its words: codes without separators, parts of names, words without accents."""
    return list(dict.fromkeys([*pieces(plain(text)), *unaccented(text), *JOINED.findall(text)]))


def chunk_of(found: Mapping[str, Any]) -> Chunk:
    return Chunk(
        id=found["id"],
        document_id=found["document_id"],
        ordinal=found["ordinal"],
        content=found["content"],
        title=found["title"],
        source=found["source"],
        content_hash=found["content_hash"],
        spans=tuple(_span(span) for span in json.loads(found["spans"])),
        parent_id=found["parent_id"],
        heading_path=tuple(found["heading_path"]),
        summary=found["chunk_summary"],
        entities=tuple(Entity(**entity) for entity in json.loads(found["entities"])),
        metadata=json.loads(found["metadata"]),
    )


def document_of(found: Mapping[str, Any]) -> Document:
    kept = json.loads(found["record"])
    return Document(**{**kept, "groups": tuple(kept["groups"])})


def _span(kept: Mapping[str, Any]) -> Span:
    box = tuple(kept["bbox"]) if kept["bbox"] else None
    return Span(**{**kept, "bbox": box, "section": tuple(kept["section"])})


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
