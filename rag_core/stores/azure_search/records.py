"""The records of the index: how chunks and documents are converted to them and back."""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from rag_core.core.errors import InvalidRequest
from rag_core.core.json_codec import entity_from_json, entity_to_json, span_from_json, span_to_json
from rag_core.core.model import Chunk, Document, Vector
from rag_core.stores.access import list_document_readers
from rag_core.stores.azure_search.field_value_codec import encode_chunk_field_values, list_encoded_fields
from rag_core.stores.azure_search.schema import ACL_GROUPS_FIELD, ACL_USERS_FIELD, VECTOR_FIELD
from rag_core.text.index_terms import extract_code_terms, list_unaccented_words, normalize_characters

IndexRecord = dict[str, Any]

ACL_EVERYBODY, ACL_NOBODY = "all", "none"  # the service's words
MAX_ACL_VALUES = 1000

SNAKE_CASE_PART_PATTERN = re.compile(
    r"(?<![^\W_])[^\W_]++(?=_)|(?<=_)[^\W_]++"
)  # the parts of snake_case names, which the tokenizer keeps whole
SELECTED_CHUNK_FIELDS = (
    "id", "document_id", "ordinal", "content", "title", "source", "content_hash", "spans", "parent_id", "heading_path",
    "chunk_summary", "entities", "metadata",
)  # fmt: skip


def make_document_record_key(workflow_id: str, document_id: str) -> str:
    """Return the key of a document's record."""
    return _hash_key_parts("document", workflow_id, document_id)


def make_state_record_key(workflow_id: str) -> str:
    """Return the key of a workflow's state record."""
    return _hash_key_parts("state", workflow_id)


def build_state_record(workflow_id: str) -> IndexRecord:
    """Build the record that every change of a workflow replaces: a new name for its state, and the present time."""
    return {
        "key": make_state_record_key(workflow_id),
        "kind": "state",
        "live": False,
        "workflow_id": workflow_id,
        "version": uuid.uuid4().hex,
        "record": datetime.now(UTC).isoformat(),
    }


def make_chunk_record_key(workflow_id: str, document_id: str, version: str, position: int) -> str:
    """Return the key of a chunk in one version of its document, which the chunk count suffices to enumerate."""
    return _hash_key_parts("chunk", workflow_id, document_id, version, position)


def build_chunk_record(
    document: Document, chunk: Chunk, vector: Vector | None, *, version: str, space: str
) -> IndexRecord:
    """Build the record of a chunk, without its key; no search finds it before it is made live."""
    vector_fields = {} if vector is None else {VECTOR_FIELD: list(map(float, vector)), "space": space}
    return {
        "kind": "chunk",
        "live": False,
        "version": version,
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "content": chunk.content,
        "title": chunk.title,
        "codes": " ".join(extract_search_codes(f"{chunk.title}\n{chunk.content}")),
        "source": chunk.source,
        "page_number": chunk.page,
        "chunk_summary": chunk.summary,
        "entities": _encode_azure_json(list(map(entity_to_json, chunk.entities))),
        "entity_codes": list(dict.fromkeys(entity.value for entity in chunk.entities if entity.value)),
        "spans": _encode_azure_json(list(map(span_to_json, chunk.spans))),
        "heading_path": list(chunk.heading_path),
        "parent_id": chunk.parent_id,
        "content_hash": chunk.content_hash,
        "metadata": _encode_azure_json(dict(chunk.metadata)),
        "facts": encode_chunk_field_values(chunk),
        "fact_names": list_encoded_fields(chunk),
        **_build_ownership_fields(document),
        **vector_fields,
    }


def build_acl_fields(document: Document | None) -> IndexRecord:
    """Build the fields by which the service shows a record: to owner and groups, to everybody, or (None) to everybody.

    Raises:
        InvalidRequest: the document names more groups than the service takes.
    """
    groups = list(document.groups) if document else []
    if len(groups) > MAX_ACL_VALUES:
        raise InvalidRequest("groups", f"must be at most {MAX_ACL_VALUES} while AZURE_SEARCH_DOCUMENT_ACL is on")
    users = [document.user_id] if document and document.user_id is not None else []
    if not users and not groups:
        return {ACL_USERS_FIELD: [ACL_EVERYBODY], ACL_GROUPS_FIELD: [ACL_EVERYBODY]}
    return {ACL_USERS_FIELD: users or [ACL_NOBODY], ACL_GROUPS_FIELD: groups or [ACL_NOBODY]}


def build_document_record(document: Document, *, version: str, chunks: int) -> IndexRecord:
    """Build the record of a document, live unless it was deleted; its `ordinal` holds the number of chunks."""
    return {
        "key": make_document_record_key(document.workflow_id, document.id),
        "kind": "document",
        "live": document.deleted_at is None,
        "version": version,
        "ordinal": chunks,
        "title": document.title,
        "source": document.source,
        "content_hash": document.content_hash,
        "record": encode_document_json(document),
        **_build_ownership_fields(document),
    }


def encode_document_json(document: Document) -> str:
    """Encode all fields of a document as JSON, for the field `record`."""
    return _encode_azure_json(asdict(document))


def extract_search_codes(text: str) -> list[str]:
    """List further terms that find a text: codes without separators, parts of names, words without accents."""
    return list(
        dict.fromkeys(
            [
                *extract_code_terms(normalize_characters(text)),
                *list_unaccented_words(text),
                *SNAKE_CASE_PART_PATTERN.findall(text),
            ]
        )
    )


def chunk_from_azure_record(record: Mapping[str, Any]) -> Chunk:
    """Convert a record of the index to its chunk."""
    return Chunk(
        id=record["id"],
        document_id=record["document_id"],
        ordinal=record["ordinal"],
        content=record["content"],
        title=record["title"],
        source=record["source"],
        content_hash=record["content_hash"],
        spans=tuple(map(span_from_json, json.loads(record["spans"]))),
        parent_id=record["parent_id"],
        heading_path=tuple(record["heading_path"]),
        summary=record["chunk_summary"],
        entities=tuple(map(entity_from_json, json.loads(record["entities"]))),
        metadata=json.loads(record["metadata"]),
    )


def document_from_azure_record(record: Mapping[str, Any]) -> Document:
    """Convert a record of the index to its document."""
    fields = json.loads(record["record"])
    return Document(**{**fields, "groups": tuple(fields["groups"])})


def _build_ownership_fields(document: Document) -> IndexRecord:
    return {
        "workflow_id": document.workflow_id,
        "document_id": document.id,
        "user_id": document.user_id,
        "groups": list(document.groups),
        "readers": sorted(list_document_readers(document)),
    }


def _hash_key_parts(*parts: str | int) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()


def _encode_azure_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
