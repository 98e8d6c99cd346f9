"""Writes to SQLite, each within one transaction: a document is live, deleted or absent."""

from collections.abc import Sequence
from datetime import UTC, datetime

import apsw

from rag_core.core.errors import Conflict
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.core.ports import Replaced
from rag_core.stores.access import difference, owns, refuse_a_foreign_owner, sees, unknown
from rag_core.stores.embedded import reads, records
from rag_core.stores.embedded.filters import Condition
from rag_core.stores.embedded.records import Workflow


def replace(
    db: apsw.Connection,
    scope: Scope,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    space: str,
) -> Replaced:
    refuse_a_foreign_owner(document, chunks, scope)
    _join_space(db, space, vectors)
    workflow = records.changed_workflow(db, scope.workflow_id)
    old_hashes = _removed(db, workflow, scope, document.id)
    records.add(db, workflow, document, chunks, vectors)
    _leave_space_when_empty(db)
    return difference(old_hashes, [chunk.content_hash for chunk in chunks])


def delete(db: apsw.Connection, scope: Scope, document_id: str) -> bool:
    version = _live(db, records.workflow(db, scope.workflow_id), scope, document_id)
    if version is None:
        return False
    deleted_at = datetime.now(UTC).isoformat(timespec="seconds")
    records.set_aside(db, records.changed_workflow(db, scope.workflow_id), version, deleted_at)
    _leave_space_when_empty(db)
    return True


def restore(db: apsw.Connection, scope: Scope, document_id: str) -> bool:
    workflow = records.workflow(db, scope.workflow_id)
    if _live(db, workflow, scope, document_id) is not None:
        raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")
    version_and_document = _deleted(db, workflow, scope, document_id)
    if version_and_document is None:
        return False
    version, document = version_and_document
    chunks, vectors = records.deleted_chunks(db, version)
    _join_space(db, records.deleted_space(db, version), vectors)
    records.forget(db, version)
    records.add(db, records.changed_workflow(db, scope.workflow_id), document, chunks, vectors)
    return True


def purge(db: apsw.Connection, scope: Scope, document_id: str) -> Workflow | None:
    """Remove a document for good and return the state of its workflow before; None when there is no such document.

    The lexical index of the workflow must be rebuilt, because its files still hold the removed text.
    """
    workflow = records.workflow(db, scope.workflow_id)
    if _live(db, workflow, scope, document_id) is None and not _deleted(db, workflow, scope, document_id):
        return None
    _removed(db, records.changed_workflow(db, scope.workflow_id), scope, document_id)
    _leave_space_when_empty(db)
    records.new_generation(db, workflow)
    return workflow


def save_summary(db: apsw.Connection, scope: Scope, document_id: str, summary: str) -> None:
    version_and_document = reads.version(db, records.workflow(db, scope.workflow_id), scope, document_id)
    if version_and_document is None:
        raise unknown()
    db.execute("update documents set summary = ? where version = ?", (summary, version_and_document[0]))


def _join_space(db: apsw.Connection, name: str, vectors: Sequence[Vector | None]) -> None:
    """Require vectors of the stored space; the first vectors written determine it.

    Raises Conflict (code "reindex_required") for vectors of another space or other dimensions.
    """
    stored_space = records.space(db)
    dimensions = {len(vector) for vector in vectors if vector is not None}
    is_other_space = stored_space.name and name != stored_space.name and (name or dimensions)
    has_other_dimensions = len(dimensions | {stored_space.dimensions} - {0}) > 1
    if is_other_space or has_other_dimensions:
        raise Conflict(
            f"the index holds vectors of {stored_space.name} ({stored_space.dimensions} dimensions), "
            f"these are of {name or 'no model'} ({', '.join(map(str, sorted(dimensions))) or 'none'}): "
            "use the first, or rag reindex",
            code="reindex_required",
        )
    if dimensions and not stored_space.dimensions:
        records.set_space(db, name, dimensions.pop())


def _leave_space_when_empty(db: apsw.Connection) -> None:
    if not db.execute("select 1 from vectors limit 1").fetchone():
        records.set_space(db, "", 0)


def _removed(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> list[str]:
    """Remove the document with this id, live or deleted, and return the content hashes of its live chunks.

    Raises NotFound when the scope may not replace the document.
    """
    live_version, deleted_version = _live(db, workflow, scope, document_id), _deleted(db, workflow, scope, document_id)
    if deleted_version:
        records.forget(db, deleted_version[0])
    if live_version is not None:
        hashes = records.hashes(db, live_version)
        records.remove(db, workflow, live_version)
        return hashes
    if not deleted_version and records.has_document(db, workflow, document_id):
        raise unknown()
    return []


def _live(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> int | None:
    """Find the version of a live document that the scope may replace."""
    version_and_document = reads.version(db, workflow, scope, document_id)
    return version_and_document[0] if version_and_document and owns(version_and_document[1], scope) else None


def _deleted(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> tuple[int, Document] | None:
    """Find a deleted document that the scope may replace, with its version."""
    condition = Condition("workflow = ? and id = ?", (workflow.id, document_id))
    documents_by_version = records.deleted(db, workflow, condition).items()
    return next(
        (
            (version, document)
            for version, document in documents_by_version
            if sees(scope, document) and owns(document, scope)
        ),
        None,
    )
