"""What the embedded store reads of a document takes as long among many documents as among few."""

import asyncio
from collections.abc import Callable

import apsw
import pytest

from rag_core.core.model import Scope
from rag_core.stores.embedded import EmbeddedStore, reads, records
from rag_core.stores.embedded.records import WorkflowState
from tests.stores.sample import SCOPE, put

OWN = Scope(SCOPE.workflow_id, document_ids=("d3",))
Read = Callable[[apsw.Connection, WorkflowState], object]
READS: dict[str, Read] = {
    "a document": lambda db, workflow: reads.load_sqlite_document(db, workflow, SCOPE, "d3"),
    "its vectors": lambda db, workflow: reads.load_sqlite_vectors(db, workflow, SCOPE, "d3"),
    "its chunks": lambda db, workflow: reads.select_sqlite_chunks(db, workflow, OWN, (), 9),
    "a chunk": lambda db, workflow: reads.get_sqlite_chunks(db, workflow, SCOPE, ["d3:001"]),
    "its neighbours": lambda db, workflow: reads.load_sqlite_neighbours(
        db, workflow, SCOPE, reads.get_sqlite_chunks(db, workflow, SCOPE, ["d3:001"])[0], 1, 1
    ),
    "the names of fields": lambda db, workflow: reads.list_sqlite_facet_fields(db, workflow, SCOPE),
}


async def count_steps(documents: int, read: Read) -> int:
    """Return how many steps SQLite takes for a read that finds something."""
    store, steps = EmbeddedStore(None), 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    await asyncio.gather(*(put(store, f"d{n}", ["one", "two", "three"]) for n in range(documents)))
    with store._get_opened().database.read_transaction() as db:
        workflow = records.load_workflow_state(db, SCOPE.workflow_id)
        db.set_progress_handler(count, 1)
        assert read(db, workflow)
        db.set_progress_handler(None)
    await store.close()
    return steps


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_read_takes_no_more_steps_among_many_documents(read: Read) -> None:
    assert await count_steps(200, read) <= 1.5 * await count_steps(10, read)
