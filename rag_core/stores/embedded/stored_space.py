"""The embedding space of an index in a folder, read without opening the store: it decides which embedder is built."""

from contextlib import closing
from pathlib import Path

from rag_core.stores.embedded.change_mark import read_change_mark
from rag_core.stores.embedded.database import IndexDatabase, get_database_file
from rag_core.stores.embedded.records import load_sqlite_embedding_space


def read_stored_space(folder: Path) -> str:
    """Return the name of the space of the vectors in `folder`; "" where there are none, or no index.

    The mark beside the database names it after every write. An index of an earlier version has no mark.

    Raises:
        Misconfigured, StorageFull or Unavailable, as the store does that cannot open the database.
    """
    mark = read_change_mark(folder)
    if mark and mark.space:
        return mark.space
    if not get_database_file(folder).is_file():
        return ""
    with closing(IndexDatabase(folder)) as database, database.read_transaction() as db:
        return load_sqlite_embedding_space(db).name
