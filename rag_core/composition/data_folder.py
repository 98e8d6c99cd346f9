"""The data folder as a whole: its check and repair, its backup while services run, and a backup put in its place."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path, PurePath

from rag_core.composition.assembly import ARCHIVE_FILE, JOBS_FILE
from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, NotFound
from rag_core.core.sqlite_files import translate_sqlite_errors
from rag_core.ingestion.reading import is_outdated
from rag_core.stores.archive.database import (
    EARLIER_ARCHIVE_MESSAGE,
    count_archive_changes,
    is_earlier_archive,
    write_archive_mark,
)
from rag_core.stores.embedded import check, current_index
from rag_core.stores.embedded.current_index import INDEX_FILE, POINTER_FILE
from rag_core.stores.embedded.database import connect_to_index_database, get_database_file, translate_apsw_errors

BACKUP_FILE = "backup.json"
BACKUP_FORMAT = 1
UNFINISHED_RESTORE = "restore.unfinished"
OTHER_DATABASES = (ARCHIVE_FILE, JOBS_FILE)  # the cache and the word indexes are made again
SQLITE_PAGES_PER_STEP = 1000  # of a backup; writers get the lock between two steps


@dataclass(frozen=True, slots=True)
class DataFolderReport:
    """What was checked and what is damaged, and what a repair has done, in words.

    `remaining` are the damages that no repair took away. `outdated` names documents that an older version has read:
    nothing is wrong with them.
    """

    checked: tuple[str, ...]
    damages: tuple[str, ...]
    repairs: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


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
    return DataFolderReport(checked, damages, tuple(repairs), remaining, tuple(outdated))


def back_up_data_folder(data_dir: Path, target: Path) -> Mapping[str, str]:
    """Copy the databases of a data folder to a new folder while services use them; return the SHA-256 of each file.

    Each database is copied at one moment, the archive first: an original that the index does not know is not shown. The
    copies are read back whole before the backup counts as made.

    Raises Conflict when `target` exists, Misconfigured when the index is damaged, and Unavailable when a file cannot
    be written, as on a full disk; nothing of the backup is left then.
    """
    folder = _find_index_folder(data_dir)
    if target.exists():
        raise Conflict(f"{target} exists: name a new folder for the backup", code="backup_exists")
    unfinished = target.with_name(f"{target.name}.unfinished")
    with _fill_folder(unfinished, "the backup"):
        for name in OTHER_DATABASES:
            _copy_sqlite_file(data_dir / name, unfinished / name)
        index_name = str(get_database_file(folder).relative_to(data_dir))
        _copy_index(folder, (unfinished / index_name).parent)
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
        os.replace(unfinished, target)
    return checksums


def restore_backup(backup: Path, data_dir: Path) -> list[str]:
    """Fill an empty or new data folder from a backup, and return the names of the files.

    The files take their places together when all are copied: after a failure or a kill the command can be repeated.

    Raises InvalidRequest for a folder that is no backup, Misconfigured for one that is damaged, Conflict when the data
    folder holds something, and Unavailable when a file cannot be written.
    """
    files = _require_whole(backup)
    _require_empty(data_dir)
    unfinished = data_dir / UNFINISHED_RESTORE
    with _fill_folder(unfinished, "the data folder"):
        for name in files:
            (unfinished / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(backup / name, unfinished / name)
            (unfinished / name).chmod(0o600)
        _require_empty(data_dir)  # a service may have begun in it meanwhile
        for path in sorted(unfinished.iterdir()):
            os.replace(path, data_dir / path.name)
        unfinished.rmdir()
    return files


@contextmanager
def _fill_folder(folder: Path, name: str) -> Iterator[None]:
    """Let the block fill a new folder, in place of what a killed process left there; remove it after a failure."""
    with translate_sqlite_errors(name, code="backup_failed", disk_full_effect=f"{name} was not written"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        with ExitStack() as on_failure:
            on_failure.callback(shutil.rmtree, folder, ignore_errors=True)
            yield
            on_failure.pop_all()


def _require_empty(data_dir: Path) -> None:
    if data_dir.exists() and any(path.name != UNFINISHED_RESTORE for path in data_dir.iterdir()):
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
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return [f"{file.name}: {said}" for (said,) in db.execute("pragma integrity_check(20)") if said != "ok"]
    except sqlite3.Error as failure:
        return [f"{file.name}: {failure}; put a backup back by rag restore-backup, or remove the file to begin anew"]


def _copy_sqlite_file(source: Path, target: Path) -> None:
    if not source.exists():
        return
    with (
        translate_sqlite_errors(source.name, code="backup_failed", disk_full_effect="the backup was not made"),
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as db,
        closing(sqlite3.connect(target)) as copy,
    ):
        db.backup(copy, pages=SQLITE_PAGES_PER_STEP)


def _copy_index(folder: Path, target: Path) -> None:
    """Copy the database of an index; a page that is not as it was written ends the copy."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        translate_apsw_errors(),
        closing(connect_to_index_database(folder)) as db,
        closing(connect_to_index_database(target)) as copy,
    ):
        with copy.backup("main", db, "main") as steps:
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


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))


def _hash_file(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
