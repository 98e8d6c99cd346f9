"""Writes to SQLite, each within one transaction: a document is live, deleted or absent."""

from collections.abc import Sequence

import apsw

from rag_core.core.errors import make_unknown_document_error
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.core.ports import ReplacementResult
from rag_core.stores.access import can_write_document, require_replaceable_documents, require_writable_document
from rag_core.stores.document_rules import (
    EmbeddingSpace,
    count_replaced_chunks,
    format_deletion_time,
    join_embedding_space,
    name_document_space,
    require_deleted_document,
)
from rag_core.stores.embedded import reads, records
from rag_core.stores.embedded.records import StoredDocument, WorkflowState


def replace_sqlite_document(
    db: apsw.Connection,
    scope: Scope,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    space: str,
) -> ReplacementResult:
    require_writable_document(document, chunks, scope)
    _join_sqlite_space(db, space, vectors)
    workflow = records.advance_workflow_state(db, scope.workflow_id)
    old_hashes = _remove_sqlite_document(db, workflow, scope, document.id)
    records.insert_sqlite_document(db, workflow, document, chunks, vectors)
    _clear_space_when_empty(db)
    return count_replaced_chunks(old_hashes, [chunk.content_hash for chunk in chunks])


def delete_sqlite_document(db: apsw.Connection, scope: Scope, document_id: str) -> bool:
    stored = _find_writable_sqlite_document(db, scope, document_id)
    if stored is None or stored.document.deleted_at:
        return False
    workflow = records.advance_workflow_state(db, scope.workflow_id)
    records.move_version_to_deleted(db, workflow, stored.version, format_deletion_time())
    _clear_space_when_empty(db)
    return True


def restore_sqlite_document(db: apsw.Connection, scope: Scope, document_id: str) -> bool:
    stored = _find_writable_sqlite_document(db, scope, document_id)
    if stored is None:
        return False
    require_deleted_document(stored.document)
    chunks, vectors = records.load_deleted_chunks(db, stored.version)
    _join_sqlite_space(db, name_document_space(records.load_deleted_space(db, stored.version), vectors), vectors)
    records.erase_deleted_version(db, stored.version)
    workflow = records.advance_workflow_state(db, scope.workflow_id)
    records.insert_sqlite_document(db, workflow, stored.document, chunks, vectors)
    return True


def purge_sqlite_document(db: apsw.Connection, scope: Scope, document_id: str) -> WorkflowState | None:
    """Remove a document for good and return the state of its workflow before; None when there is no such document.

    The lexical index of the workflow must be rebuilt, because its files still hold the removed text.
    """
    workflow = records.load_workflow_state(db, scope.workflow_id)
    if _find_writable_sqlite_document(db, scope, document_id) is None:
        return None
    _remove_sqlite_document(db, records.advance_workflow_state(db, scope.workflow_id), scope, document_id)
    _clear_space_when_empty(db)
    records.advance_lexical_generation(db, workflow)
    return workflow


def save_sqlite_summary(db: apsw.Connection, scope: Scope, document_id: str, summary: str) -> None:
    version_and_document = reads.load_sqlite_document_version(
        db, records.load_workflow_state(db, scope.workflow_id), scope, document_id
    )
    if version_and_document is None:
        raise make_unknown_document_error()
    records.save_document_summary(db, version_and_document[0], summary)


def _join_sqlite_space(db: apsw.Connection, name: str, vectors: Sequence[Vector | None]) -> None:
    """Require vectors of the stored space; the first vectors written determine it.

    Raises Conflict (code "reindex_required") for vectors of another space or other dimensions.
    """
    stored_space = records.load_sqlite_embedding_space(db)
    space = join_embedding_space(stored_space, name, vectors, remedy="use the first, or rag reindex")
    if space != stored_space:
        records.save_sqlite_embedding_space(db, space)


def _clear_space_when_empty(db: apsw.Connection) -> None:
    if not db.execute("select 1 from vectors limit 1").fetchone():
        records.save_sqlite_embedding_space(db, EmbeddingSpace("", 0))


def _remove_sqlite_document(db: apsw.Connection, workflow: WorkflowState, scope: Scope, document_id: str) -> list[str]:
    """Remove the document with this id, live or deleted, and return the content hashes of its live chunks.

    Raises NotFound when the scope may not replace the document.
    """
    stored = records.find_sqlite_document_of_any_owner(db, workflow, document_id)
    if stored is None:
        return []
    require_replaceable_documents([stored.document], scope)
    if stored.document.deleted_at:
        records.erase_deleted_version(db, stored.version)
        return []
    hashes = records.list_content_hashes(db, stored.version)
    records.delete_document_version(db, workflow, stored.version)
    return hashes


def _find_writable_sqlite_document(db: apsw.Connection, scope: Scope, document_id: str) -> StoredDocument | None:
    """Find a document, live or deleted, that the scope may replace."""
    workflow = records.load_workflow_state(db, scope.workflow_id)
    stored = records.find_sqlite_document_of_any_owner(db, workflow, document_id)
    return stored if stored and can_write_document(stored.document, scope) else None
