"""What is written, each within one transaction: a document is live, deleted, or not there."""

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
    before = _removed(db, workflow, scope, document.id)
    records.add(db, workflow, document, chunks, vectors)
    _leave_space_when_empty(db)
    return difference(before, [chunk.content_hash for chunk in chunks])


def delete(db: apsw.Connection, scope: Scope, document_id: str) -> bool:
    version = _live(db, records.workflow(db, scope.workflow_id), scope, document_id)
    if version is None:
        return False
    now = datetime.now(UTC).isoformat(timespec="seconds")
    records.set_aside(db, records.changed_workflow(db, scope.workflow_id), version, now)
    _leave_space_when_empty(db)
    return True


def restore(db: apsw.Connection, scope: Scope, document_id: str) -> bool:
    workflow = records.workflow(db, scope.workflow_id)
    if _live(db, workflow, scope, document_id) is not None:
        raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")
    found = _deleted(db, workflow, scope, document_id)
    if found is None:
        return False
    version, document = found
    chunks, vectors = records.deleted_chunks(db, version)
    _join_space(db, records.deleted_space(db, version), vectors)
    records.forget(db, version)
    records.add(db, records.changed_workflow(db, scope.workflow_id), document, chunks, vectors)
    return True


def purge(db: apsw.Connection, scope: Scope, document_id: str) -> Workflow | None:
    """The workflow that the document was in, whose word index is to be built anew: its files keep what is removed."""
    workflow = records.workflow(db, scope.workflow_id)
    if _live(db, workflow, scope, document_id) is None and not _deleted(db, workflow, scope, document_id):
        return None
    _removed(db, records.changed_workflow(db, scope.workflow_id), scope, document_id)
    _leave_space_when_empty(db)
    records.new_generation(db, workflow)
    return workflow


def save_summary(db: apsw.Connection, scope: Scope, document_id: str, summary: str) -> None:
    found = reads.version(db, records.workflow(db, scope.workflow_id), scope, document_id)
    if found is None:
        raise unknown()
    db.execute("update documents set summary = ? where version = ?", (summary, found[0]))


def _join_space(db: apsw.Connection, name: str, vectors: Sequence[Vector | None]) -> None:
    """Refuse vectors of another space than those that are kept; the first vectors decide it."""
    kept = records.space(db)
    widths = {len(vector) for vector in vectors if vector is not None}
    other_name = kept.name and name != kept.name and (name or widths)
    other_width = len(widths | {kept.dimensions} - {0}) > 1
    if other_name or other_width:
        raise Conflict(
            f"the index holds vectors of {kept.name} ({kept.dimensions} dimensions), these are of {name or 'no model'} "
            f"({', '.join(map(str, sorted(widths))) or 'none'}): use the first, or rag reindex",
            code="reindex_required",
        )
    if widths and not kept.dimensions:
        records.set_space(db, name, widths.pop())


def _leave_space_when_empty(db: apsw.Connection) -> None:
    if not db.execute("select 1 from vectors limit 1").fetchone():
        records.set_space(db, "", 0)


def _removed(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> list[str]:
    """Take out what is there under this id, live or deleted, and give the hashes of the chunks that were searched.

    Raises NotFound when it is another's.
    """
    live, deleted = _live(db, workflow, scope, document_id), _deleted(db, workflow, scope, document_id)
    if deleted:
        records.forget(db, deleted[0])
    if live is not None:
        hashes = records.hashes(db, live)
        records.remove(db, workflow, live)
        return hashes
    if not deleted and records.has_document(db, workflow, document_id):
        raise unknown()
    return []


def _live(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> int | None:
    """The version of a document that the scope may replace."""
    found = reads.version(db, workflow, scope, document_id)
    return found[0] if found and owns(found[1], scope) else None


def _deleted(db: apsw.Connection, workflow: Workflow, scope: Scope, document_id: str) -> tuple[int, Document] | None:
    """A deleted document that the scope may replace, and its version."""
    named = Condition("workflow = ? and id = ?", (workflow.id, document_id))
    known = records.deleted(db, workflow, named).items()
    return next(((version, one) for version, one in known if sees(scope, one) and owns(one, scope)), None)
