"""The data folder as a whole: its check and repair, its backup while services run, and a backup put in its place."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path, PurePath
from typing import Any

from rag_core.composition.assembly import ARCHIVE_FILE, JOBS_FILE
from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, NotFound
from rag_core.core.sqlite_files import connect_to_existing_file, translate_sqlite_errors
from rag_core.ingestion.reading import is_outdated
from rag_core.jobs.worker_locks import try_lock
from rag_core.stores.archive.database import (
    EARLIER_ARCHIVE_MESSAGE,
    count_archive_changes,
    is_earlier_archive,
    write_archive_mark,
)
from rag_core.stores.embedded import check, current_index
from rag_core.stores.embedded.current_index import INDEX_FILE, POINTER_FILE, RESTORE_FOLDER, sync_path_to_disk
from rag_core.stores.embedded.database import connect_to_index_database, get_database_file, translate_apsw_errors

BACKUP_FILE = "backup.json"
BACKUP_FORMAT = 1
FINISHED_RESTORE = "restore.finished"
OTHER_DATABASES = (ARCHIVE_FILE, JOBS_FILE)  # the cache and the word indexes are made again
SQLITE_PAGES_PER_STEP = 1000  # of a backup; writers get the lock between two steps
DATABASE_ADVICE = (
    "rag check --repair keeps the documents that are whole; then index the files of the others again (rag index PATH). "
    "Or put a backup back, where there is one: rag restore-backup"
)
# In the copy of the job table, of which `live` is the one in use. What is left of an ended job is its record.
ENDED_MEANWHILE_SQL = """
    begin;
    create temp table ended as select id from main.index_jobs where state in ('queued', 'running', 'writing')
        and id not in (select id from live.index_jobs where state in ('queued', 'running', 'writing'));
    delete from main.job_vectors where job in (select id from ended);
    delete from main.job_enrichments where job in (select id from ended);
    delete from main.index_jobs where id in (select id from ended);
    insert into main.index_jobs select * from live.index_jobs where id in (select id from ended);
"""


@dataclass(frozen=True, slots=True)
class DataFolderReport:
    """What was checked and what is damaged, and what a repair has done, in words.

    `remaining` are the damages that no repair took away, `advice` says what to do about them. `outdated` names
    documents that an older version has read: nothing is wrong with them.
    """

    checked: tuple[str, ...]
    damages: tuple[str, ...]
    repairs: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    advice: str = ""


def check_data_folder(data_dir: Path, *, repair: bool = False) -> DataFolderReport:
    """Check every database of a data folder; with `repair`, put right what can be put right.

    Raises NotFound when no index lies there.
    """
    folder = _find_index_folder(data_dir)
    database_damages = check.find_database_damage(folder, in_use=True)
    projection_damages = [] if database_damages else check.find_projection_damage(folder)
    archive = data_dir / ARCHIVE_FILE
    is_earlier = archive.exists() and is_earlier_archive(archive)
    earlier = [EARLIER_ARCHIVE_MESSAGE] if is_earlier else []
    others = [damage for name in OTHER_DATABASES for damage in _find_sqlite_damage(data_dir / name)]
    repairs = _repair(data_dir, folder, database_damages, projection_damages) if repair else []
    if repair and is_earlier:
        write_archive_mark(archive, count_archive_changes(archive))
        repairs.append("the present state of the archive is accepted as the last one")
    checked = (*check.CHECKED, f"the structure of {' and '.join(OTHER_DATABASES)}")
    outdated = [] if database_damages else check.list_documents_where(folder, is_outdated)
    damages = (*database_damages, *projection_damages, *earlier, *others)
    remaining = tuple(others) if repair else damages
    advice = DATABASE_ADVICE if database_damages and not repairs else ""
    return DataFolderReport(checked, damages, tuple(repairs), remaining, tuple(outdated), advice)


def back_up_data_folder(data_dir: Path, target: Path) -> Mapping[str, str]:
    """Copy the databases of a data folder to a new folder while services use them; return the SHA-256 of each file.

    The archive is copied first: an original that the index does not know is not shown. Jobs and index are of one
    moment, so that no job brings back what was deleted before it, and none is missing whose document is not there. The
    copies are read back whole before the backup counts as made.

    Raises Conflict when `target` exists or is being made, Misconfigured when the index is damaged, and Unavailable when
    a file cannot be written, as on a full disk; nothing of the backup is left then.
    """
    folder = _find_index_folder(data_dir)
    unfinished = target.with_name(f"{target.name}.unfinished")
    with _translate_errors("the backup"), _hold_folder(unfinished), ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, unfinished, ignore_errors=True)
        if target.exists():
            raise Conflict(f"{target} exists: name a new folder for the backup", code="backup_exists")
        _empty_folder(unfinished)
        for name in OTHER_DATABASES:
            _copy_sqlite_file(data_dir / name, unfinished / name)
        index_name = str(get_database_file(folder).relative_to(data_dir))
        with translate_apsw_errors(), closing(connect_to_index_database(folder)) as index:
            _begin_reading_with_jobs(index, data_dir / JOBS_FILE, unfinished / JOBS_FILE)
            _copy_index(index, (unfinished / index_name).parent)
        if (data_dir / POINTER_FILE).exists():
            _write_pointer_without_previous(data_dir, unfinished)
        checksums = {str(path.relative_to(unfinished)): _hash_file(path) for path in _list_files(unfinished)}
        content = {
            "format": BACKUP_FORMAT,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": checksums,
        }
        (unfinished / BACKUP_FILE).write_text(json.dumps(content, indent=2))
        _require_whole(unfinished)
        _sync_files(unfinished)
        os.replace(unfinished, target)
        on_failure.pop_all()
    return checksums


def restore_backup(backup: Path, data_dir: Path) -> list[str]:
    """Fill an empty or new data folder from a backup, and return the names of the files.

    The files take their places when all are copied. Until the last one has, `restore.unfinished` lies in the folder,
    which no service opens then: after a failure or a kill the command can be repeated.

    Raises InvalidRequest for a folder that is no backup, Misconfigured for one that is damaged, Conflict when the data
    folder holds something or is being restored, and Unavailable when a file cannot be written.
    """
    files = _require_whole(backup)
    unfinished = data_dir / RESTORE_FOLDER
    with _translate_errors("the data folder"), _hold_folder(data_dir):
        _take_restore_back(data_dir)
        _require_empty(data_dir)
        with ExitStack() as on_failure:
            on_failure.callback(_take_restore_back, data_dir)
            for name in files:
                (unfinished / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.copyfile(backup / name, unfinished / name)
                (unfinished / name).chmod(0o600)
            shutil.copyfile(backup / BACKUP_FILE, unfinished / f"{BACKUP_FILE}.new")
            _sync_files(unfinished)
            _require_empty(data_dir)  # a service may have begun in it meanwhile
            os.replace(unfinished / f"{BACKUP_FILE}.new", unfinished / BACKUP_FILE)  # from here on files are moved
            for name in _list_top_names(files):
                os.replace(unfinished / name, data_dir / name)
            os.replace(unfinished, data_dir / FINISHED_RESTORE)  # from here on services open the folder
            on_failure.pop_all()
        shutil.rmtree(data_dir / FINISHED_RESTORE, ignore_errors=True)
        sync_path_to_disk(data_dir)
    return files


def _translate_errors(name: str) -> AbstractContextManager[None]:
    return translate_sqlite_errors(name, code="backup_failed", disk_full_effect=f"{name} was not written")


@contextmanager
def _hold_folder(folder: Path) -> Iterator[None]:
    """Let no other backup or restore write to a folder, which is made, while the block does. Raises Conflict."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        if not try_lock(handle) or not (folder.exists() and os.path.samestat(os.fstat(handle), folder.stat())):
            raise Conflict(f"another process is writing {folder}", code="backup_running")
        yield
    finally:
        os.close(handle)


def _empty_folder(folder: Path) -> None:
    """Remove what a killed process left in a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _take_restore_back(data_dir: Path) -> None:
    """Remove what a restore that did not end has put into the data folder: what is not in its own folder any more."""
    unfinished = data_dir / RESTORE_FOLDER
    if (unfinished / BACKUP_FILE).exists():
        for name in _list_top_names(json.loads((unfinished / BACKUP_FILE).read_bytes())["files"]):
            moved = data_dir / name
            if not (unfinished / name).exists():
                shutil.rmtree(moved) if moved.is_dir() else moved.unlink(missing_ok=True)
    shutil.rmtree(unfinished, ignore_errors=True)


def _list_top_names(files: Iterable[str]) -> list[str]:
    return sorted({PurePath(name).parts[0] for name in files})


def _require_empty(data_dir: Path) -> None:
    if any(path.name != RESTORE_FOLDER for path in data_dir.iterdir()):
        raise Conflict(f"{data_dir} is not empty: name a new folder, or move the present one away", code="data_exists")


def _find_index_folder(data_dir: Path) -> Path:
    folder = data_dir / current_index.read_index_locations(data_dir).current.folder
    if not get_database_file(folder).is_file():
        raise NotFound(f"there is no index in {folder}: rag check and rag backup are for the embedded store")
    return folder


def _repair(data_dir: Path, folder: Path, database_damages: list[str], projection_damages: list[str]) -> list[str]:
    if projection_damages:
        return check.repair_projections(folder)
    if not database_damages:
        return []
    report = check.repair_database(data_dir)
    left_out = [f"left out: document {document}; index it again" for document in report.damaged]
    now = current_index.read_index_locations(data_dir).current.folder
    return [f"{report.kept} documents were copied whole to {now}, which is the index now", *left_out]


def _find_sqlite_damage(file: Path) -> list[str]:
    if not file.exists():
        return []
    try:
        with closing(connect_to_existing_file(file)) as db:
            return [f"{file.name}: {said}" for (said,) in db.execute("pragma integrity_check(20)") if said != "ok"]
    except sqlite3.Error as failure:
        return [f"{file.name}: {failure}; put a backup back by rag restore-backup, or remove the file to begin anew"]


def _copy_sqlite_file(source: Path, target: Path) -> None:
    if not source.exists():
        return
    with (
        translate_sqlite_errors(source.name, code="backup_failed", disk_full_effect="the backup was not made"),
        closing(connect_to_existing_file(source)) as db,
        closing(sqlite3.connect(target)) as copy,
    ):
        db.backup(copy, pages=SQLITE_PAGES_PER_STEP)


def _begin_reading_with_jobs(index: Any, jobs: Path, copy: Path) -> None:
    """Begin a transaction that reads the index of one moment, and let jobs that had ended by then end in the copy.

    No job changes in that moment, because the job table is being read.
    """
    index.execute("begin")
    if not copy.exists():
        index.execute("select count(*) from store").fetchall()  # SQLite chooses the moment at the first read
        return
    with closing(sqlite3.connect(copy, isolation_level=None, uri=True)) as db:
        db.execute("pragma secure_delete = on")
        db.execute("attach ? as live", (f"{jobs.absolute().as_uri()}?mode=ro",))
        db.executescript(ENDED_MEANWHILE_SQL)
        index.execute("select count(*) from store").fetchall()
        db.execute("commit")


def _copy_index(index: Any, target: Path) -> None:
    """Copy the database of an index as its transaction reads it; a page that is not as it was written ends the copy."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(connect_to_index_database(target)) as copy:
        with copy.backup("main", index, "main") as steps:
            while not steps.done:
                steps.step(SQLITE_PAGES_PER_STEP)
        copy.pragma("journal_mode", "delete")  # one file, without a journal beside it


def _write_pointer_without_previous(data_dir: Path, target: Path) -> None:
    content = json.loads((data_dir / POINTER_FILE).read_bytes())
    (target / POINTER_FILE).write_text(json.dumps({**content, "previous": None}, indent=2))


def _require_whole(backup: Path) -> list[str]:
    """Return the names of a backup's files. Raises InvalidRequest and Misconfigured, as `restore_backup` does."""
    try:
        content = json.loads((backup / BACKUP_FILE).read_bytes())
        version, checksums = content["format"], dict[str, str](content["files"])
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise InvalidRequest(
            "BACKUP", f"must be a folder that rag backup made: {BACKUP_FILE} cannot be read"
        ) from failure
    if version != BACKUP_FORMAT:
        raise InvalidRequest("BACKUP", f"has format {version!r}, of another version; this one reads {BACKUP_FORMAT}")
    for name, checksum in checksums.items():
        if not _is_inside(backup, name):
            raise InvalidRequest("BACKUP", f"must list files of its own, and {name!r} is none")
        if not (backup / name).is_file() or _hash_file(backup / name) != checksum:
            raise Misconfigured(f"the backup is damaged: {name} is not as it was written", code="backup_damaged")
    index = PurePath(current_index.read_index_locations(backup).current.folder, INDEX_FILE)
    if str(index) not in checksums:
        raise InvalidRequest("BACKUP", f"must list its index, and {str(index)!r} is not listed")
    folder = backup / index.parent
    if damages := check.find_database_damage(folder, in_use=False):
        raise Misconfigured(f"the backup is damaged: {damages[0]}", code="backup_damaged")
    return list(checksums)


def _is_inside(folder: Path, name: str) -> bool:
    """Return whether a name that a foreign file gives is of something inside the folder, also by symbolic links."""
    path = PurePath(name)
    inside = (folder / path).resolve().is_relative_to(folder.resolve())
    return inside and not path.is_absolute() and ".." not in path.parts


def _sync_files(folder: Path) -> None:
    """Write all that a folder holds to the disk itself, so that a power cut after the command takes nothing away."""
    for path in (*folder.rglob("*"), folder):
        sync_path_to_disk(path)


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))


def _hash_file(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
