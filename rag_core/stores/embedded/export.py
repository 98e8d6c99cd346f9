"""The documents of an index in its folder, of every workflow and whoever owns them, for a move to another store."""

from contextlib import closing
from pathlib import Path

from rag_core.core.model import Document
from rag_core.stores.embedded import records
from rag_core.stores.embedded.database import IndexDatabase
from rag_core.stores.embedded.filters import SqliteCondition


def list_documents_of_everyone(folder: Path) -> list[Document]:
    """Return the live documents, in order of workflow and id. For who holds the folder, never for a caller."""
    with closing(IndexDatabase(folder)) as database, database.read_transaction() as db:
        return [
            document
            for id, name in list(db.execute("select id, name from workflows order by name"))
            for document in records.load_documents_by_version(db, name, SqliteCondition("workflow = ?", (id,))).values()
        ]


def count_deleted_documents(folder: Path) -> int:
    """Count the documents that were deleted and can be restored."""
    with closing(IndexDatabase(folder)) as database, database.read_transaction() as db:
        return int(db.execute("select count(*) from deleted").get)
