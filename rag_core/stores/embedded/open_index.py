"""An index that is open: the one in its folder or, when that is damaged, a copy of what is left of it."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rag_core.core.errors import Misconfigured
from rag_core.core.model import Scope
from rag_core.core.sqlite_files import FileIdentity, read_file_identity
from rag_core.stores.embedded import records
from rag_core.stores.embedded.change_mark import read_change_mark
from rag_core.stores.embedded.database import (
    DAMAGE_CODE,
    DAMAGE_MESSAGE,
    IndexDatabase,
    get_database_file,
    has_room,
)
from rag_core.stores.embedded.salvage import SalvageReport, salvage_index
from rag_core.stores.embedded.search import EmbeddedSearch


class StoreWarning(NamedTuple):
    """What the readers of an index must know."""

    code: str
    message: str


EARLIER_WARNING = StoreWarning(
    "index_earlier",
    "the index is not the one that was last written here, or an earlier state of it: what was changed since is "
    "missing; index it again, then rag check --repair accepts this state",
)
FULL_WARNING = StoreWarning(
    "disk_full", "the disk is full: what is indexed can be searched, and nothing can be written"
)
COPY_WARNING = StoreWarning(
    "index_rebuilt",
    "a part of the index that is derived from the documents was damaged: this process reads a rebuilt copy, and "
    "writes are refused until rag check --repair",
)


UNCHECKED_WARNING = StoreWarning(
    "index_rebuilt",
    "another program, such as the shell sqlite3, has written to the index without the checksums of its pages: this "
    "process reads a copy in which each text has its own checksum, and writes are refused until rag check --repair",
)


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """The database and its search. `report` says what is missing of a copy; None when this is no copy.

    `remove_copy` deletes the files of a copy; it is also called when nobody holds the copy any more. `file` is which
    file the folder's database was when it was opened.
    """

    folder: Path | None
    database: IndexDatabase
    search: EmbeddedSearch
    is_earlier: bool = False
    report: SalvageReport | None = None
    remove_copy: Callable[[], object] = lambda: None
    file: FileIdentity | None = None

    def list_warnings(self, scope: Scope | None) -> Iterator[StoreWarning]:
        """Yield what the readers of a scope must know; None stands for no scope."""
        if self.database.lacks_room:
            yield FULL_WARNING
        if self.is_earlier:
            yield EARLIER_WARNING
        if self.report is None:
            return
        missing = self.report.describe_for(scope) if scope else ""
        if missing:
            yield StoreWarning(
                "documents_damaged", f"these documents are damaged and left out: {missing}; index them again"
            )
        elif scope or not (self.report.damaged or self.report.lost):
            yield UNCHECKED_WARNING if self.report.is_unchecked else COPY_WARNING
        else:
            yield StoreWarning("documents_damaged", "some documents are damaged and left out: rag check names them")

    def require_writable(self) -> None:
        """Raise Misconfigured when this is a copy, in which a change would be lost."""
        if self.report is not None:
            raise Misconfigured(f"nothing can be changed: {DAMAGE_MESSAGE}", code=DAMAGE_CODE)

    def may_have_room(self) -> bool:
        """Return whether an index that was opened without room may be written by now, by this process or another."""
        return self.database.lacks_room and self.folder is not None and has_room(self.folder)

    def is_elsewhere(self) -> bool:
        """Return whether the database that was opened does not lie in its folder any more."""
        return self.folder is not None and read_file_identity(get_database_file(self.folder)) != self.file

    def close(self) -> None:
        self.database.close()
        self.remove_copy()


def open_index(folder: Path | None, warn: Callable[[str, str], None]) -> OpenIndex:
    """Open the index in `folder`, or a new one in memory; `warn` is told of each damage that a search meets."""
    path = folder and get_database_file(folder)
    file = read_file_identity(path)  # before it is opened, so that one put here meanwhile is noticed
    database = IndexDatabase(folder)
    is_old = folder is not None and is_earlier(database, folder)
    search = EmbeddedSearch(database, folder, warn)
    return OpenIndex(folder, database, search, is_old, file=file or read_file_identity(path))


def open_salvaged_index(folder: Path, warn: Callable[[str, str], None]) -> OpenIndex:
    """Open a copy of what is left of the damaged index in `folder`, which is deleted when it is closed."""
    file = read_file_identity(get_database_file(folder))
    copy_folder = Path(tempfile.mkdtemp(prefix="rag-salvaged-"))
    database = IndexDatabase(copy_folder)
    remove_copy = weakref.finalize(database, shutil.rmtree, copy_folder, ignore_errors=True)
    with ExitStack() as on_failure:
        on_failure.callback(remove_copy)
        on_failure.callback(database.close)
        report = salvage_index(folder, database)
        on_failure.pop_all()
    search = EmbeddedSearch(database, copy_folder, warn)
    return OpenIndex(folder, database, search, report=report, remove_copy=remove_copy, file=file)


def is_earlier(database: IndexDatabase, folder: Path) -> bool:
    """Return whether more was once written in this folder than the database holds."""
    mark = read_change_mark(folder)
    if mark is None:
        return False
    with database.read_transaction() as db:
        state = records.load_change_mark(db) if records.has_change_count(db) else None
    return mark.is_earlier or state is None or state.store_id != mark.store_id or state.changes < mark.changes
