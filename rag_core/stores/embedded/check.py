"""The check of an index in its folder, page by page, and the repair: a copy of what is whole becomes the index."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import apsw

from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.stores.embedded import current_index, lexical_checksums, lexical_index, records
from rag_core.stores.embedded.change_mark import write_change_mark
from rag_core.stores.embedded.current_index import SPACES_FOLDER
from rag_core.stores.embedded.database import (
    DAMAGE_CODE,
    SQLITE_BUSY_TIMEOUT_MS,
    IndexDatabase,
    connect_to_index_database,
    get_database_file,
    is_damage,
    is_read_only,
    translate_apsw_errors,
)
from rag_core.stores.embedded.filters import SqliteCondition, collect_stored_field_values
from rag_core.stores.embedded.open_index import EARLIER_WARNING, is_earlier
from rag_core.stores.embedded.salvage import SalvageReport, find_damaged_documents, salvage_index
from rag_core.stores.embedded.search import get_generation_folder

CHECKED = (
    "every page of the database, its keys and the trees that hold them",
    "the counts, and the facets against the texts that they are derived from",
    "every file of the word indexes",
)

UNCHECKED_PAGES = (
    "another program, such as the shell sqlite3, has written pages without their checksums; by the checksums of their "
    "own rows {count} documents are whole"
)


def find_database_damage(folder: Path, *, in_use: bool) -> list[str]:
    """Return in words what is damaged in the database of an index, with the documents that it concerns.

    One that is not `in_use`, as a backup is not, is not changed by so much as a journal.
    """
    read_only = is_read_only(folder) or not in_use
    try:
        with translate_apsw_errors(), closing(connect_to_index_database(folder, read_only=read_only)) as db:
            problems = [*_find_page_damage(db), *_find_disagreements(db)]
    except Misconfigured as failure:
        if failure.code != DAMAGE_CODE:
            raise
        problems = ["the database cannot be read"]
    if not problems:
        return []
    try:
        report = find_damaged_documents(folder)
        unchecked = [UNCHECKED_PAGES.format(count=report.kept)] if report.is_unchecked else problems
        return [*unchecked, *_name_documents(report)]
    except Misconfigured:
        return [*problems, "no document of it can be named: put a backup back by rag restore-backup"]


def find_projection_damage(folder: Path) -> list[str]:
    """Return in words which projections are damaged, and whether the database is an earlier one.

    The database must be readable. A service builds a damaged word index again by itself.
    """
    problems = []
    with closing(IndexDatabase(folder)) as database:
        if is_earlier(database, folder):
            problems.append(EARLIER_WARNING[1])
        with database.read_transaction() as db:
            problems += [
                f"the word index of workflow {name}: {reason}" for name, reason in _list_word_damage(db, folder)
            ]
    return problems


def list_documents_where(folder: Path, is_listed: Callable[[str], bool]) -> list[str]:
    """Return the live documents whose extractor is to be listed, in words: source, title and workflow."""
    sql = "select d.source, d.title, w.name, d.extractor from documents d join workflows w on w.id = d.workflow"
    with translate_apsw_errors(), closing(connect_to_index_database(folder, read_only=is_read_only(folder))) as db:
        rows = list(db.execute(f"{sql} order by w.name, d.source, d.id"))
    return [f"{source} ({title}) of workflow {name}" for source, title, name, extractor in rows if is_listed(extractor)]


def repair_projections(folder: Path) -> list[str]:
    """Have damaged word indexes built again by the next search, accept the present state; return what was done."""
    done = []
    with closing(IndexDatabase(folder)) as database, database.write_transaction() as db:
        if is_earlier(database, folder):
            write_change_mark(folder, records.count_change(db))
            done.append("the present state of the index is accepted as the last one")
        for name, _ in _list_word_damage(db, folder):
            workflow = records.load_workflow_state(db, name)
            records.advance_lexical_generation(db, workflow)
            lexical_index.remove_index_folder(get_generation_folder(folder, records.load_store_id(db), workflow))
            done.append(f"the word index of workflow {name} is built again at its next search")
    return done


def repair_database(data_dir: Path) -> SalvageReport:
    """Make a copy of what is whole in the current index of a data folder the current one.

    The damaged index stays as the previous one, until `rag reindex --drop-others`. Raises Misconfigured when nothing of
    it can be read.
    """
    location = current_index.read_index_locations(data_dir).current
    number = 1
    while (data_dir / (folder := f"{SPACES_FOLDER}/repaired-{number}")).exists():
        number += 1
    with closing(IndexDatabase(data_dir / folder)) as new_index, _keep_writers_out(data_dir / location.folder):
        report = salvage_index(data_dir / location.folder, new_index)
        current_index.switch_current_index(data_dir, replace(location, folder=folder))
    return report


def _find_page_damage(db: apsw.Connection) -> Iterator[str]:
    try:
        problems = [str(problem) for (problem,) in db.execute("pragma integrity_check(20)")]
    except apsw.Error as failure:
        if not is_damage(failure):
            raise
        problems = ["a page is not as it was written"]
    yield from (problem for problem in problems if problem != "ok")


def _find_disagreements(db: apsw.Connection) -> Iterator[str]:
    """Yield where tables that are derived from others differ from what they should be."""
    with suppress(apsw.Error):
        names = dict(db.execute("select id, name from workflows"))
        for version, workflow, id, count in db.execute("select version, workflow, id, chunks from documents"):
            chunks_by_row = records.load_chunks_by_row(db, SqliteCondition("version = ?", (version,)))
            derived = {
                (row, *fact) for row, chunk in chunks_by_row.items() for fact in collect_stored_field_values(chunk)
            }
            stored = set(db.execute("select row, field, value from facts where version = ?", (version,)))
            if len(chunks_by_row) != count or derived != stored:
                yield f"the facets or counts of document {id} of workflow {names.get(workflow)} differ from its text"


def _name_documents(report: SalvageReport) -> list[str]:
    named = [f"document {document} cannot be read whole" for document in report.damaged]
    return [*named, *([f"lost: {report.lost}"] if report.lost else [])]


def _list_word_damage(db: apsw.Connection, folder: Path) -> list[tuple[str, str]]:
    """Return the workflows whose word index is damaged, each with what is wrong."""
    store, damaged = records.load_store_id(db), []
    for name in [str(name) for (name,) in db.execute("select name from workflows order by name")]:
        words = get_generation_folder(folder, store, records.load_workflow_state(db, name))
        reason = lexical_checksums.find_lexical_damage(words) if words.is_dir() else ""
        if reason not in ("", lexical_checksums.CUT_OFF):  # who opens one that was cut off makes it again
            damaged.append((name, reason))
    return damaged


@contextmanager
def _keep_writers_out(folder: Path) -> Iterator[None]:
    """Hold the write lock of a database for as long as the block lasts, if it is whole enough to be locked.

    Raises Unavailable while another process writes: what it commits after the copy would be lost.
    """
    with closing(apsw.Connection(str(get_database_file(folder)))) as db:
        db.set_busy_timeout(SQLITE_BUSY_TIMEOUT_MS)
        try:
            db.execute("begin immediate")
        except apsw.Error as failure:
            if isinstance(failure, apsw.BusyError):
                raise Unavailable("another process is writing to the index", code="store_busy") from failure
        yield
