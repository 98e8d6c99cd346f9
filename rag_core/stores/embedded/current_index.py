"""The file that records which index of a data folder is current and which was current before."""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_core.core.errors import Conflict, Misconfigured, Unavailable

POINTER_FILE, SPACES_FOLDER, INDEX_FILE = "current.json", "spaces", "index.sqlite"
RESTORE_FOLDER = "restore.unfinished"  # lies in a data folder until a restore has put all files in their places


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """The location of an index in a data folder, and the model for which `rag reindex` built it.

    The first index lies in the data folder itself, and the settings choose its model: `profile` is None.
    """

    folder: str = ""
    profile: str | None = None
    model: str | None = None
    dimensions: int | None = None

    def __str__(self) -> str:
        model_parts = " ".join(map(str, filter(None, (self.profile, self.model, self.dimensions))))
        return f"{self.folder or 'the first index'}, by {model_parts or 'the model that the settings choose'}"


@dataclass(frozen=True, slots=True)
class IndexLocations:
    """The current index of a data folder, and the previous one, to which a rollback returns."""

    current: IndexLocation = IndexLocation()
    previous: IndexLocation | None = None


def read_index_locations(data_dir: Path) -> IndexLocations:
    """Read the locations; without the file, the first index is current.

    Raises Misconfigured when the file is damaged or the current index is missing: no other index stands in for it; and
    Unavailable while a backup is being put in place, or where that was cut off.
    """
    if (data_dir / RESTORE_FOLDER).exists():
        raise Unavailable(
            "a backup is being put in place of this data folder: ask again; if that was cut off, repeat rag "
            f"restore-backup, or remove {RESTORE_FOLDER} where nothing else lies",
            code="restore_unfinished",
        )
    try:
        content = json.loads((data_dir / POINTER_FILE).read_bytes())
        locations = IndexLocations(
            IndexLocation(**content["current"]), IndexLocation(**content["previous"]) if content["previous"] else None
        )
    except FileNotFoundError:
        return IndexLocations()
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise Misconfigured(
            f"{POINTER_FILE} in the data folder does not name the current index: restore it from a backup",
            code="storage_damaged",
        ) from failure
    _require_index_file(data_dir, locations.current)
    return locations


def is_current_index(data_dir: Path, location: IndexLocation) -> bool:
    return read_index_locations(data_dir).current == location


def switch_current_index(data_dir: Path, to: IndexLocation) -> IndexLocations:
    """Make `to` the current index, in one durable step: after a crash either the old or the new one is current."""
    _require_index_file(data_dir, to)
    return _write_index_locations(data_dir, IndexLocations(to, read_index_locations(data_dir).current))


def roll_back_current_index(data_dir: Path) -> IndexLocations:
    """Swap the current index with the previous one. Raises Conflict when there is no previous index."""
    locations = read_index_locations(data_dir)
    if locations.previous is None:
        raise Conflict("there is no previous index to go back to", code="nothing_to_roll_back")
    return switch_current_index(data_dir, locations.previous)


def remove_other_indexes(data_dir: Path) -> IndexLocations:
    """Remove every index but the current one, unfinished ones included, so that a later purge leaves no copy behind."""
    locations = _write_index_locations(data_dir, IndexLocations(read_index_locations(data_dir).current))
    for folder in (data_dir / SPACES_FOLDER).glob("*"):
        if folder != data_dir / locations.current.folder:
            shutil.rmtree(folder)
    if locations.current.folder:
        shutil.rmtree(data_dir / "words", ignore_errors=True)
        for file in data_dir.glob(f"{Path(INDEX_FILE).stem}.*"):
            file.unlink()
    return locations


def _require_index_file(data_dir: Path, location: IndexLocation) -> None:
    if location.folder and not (data_dir / location.folder / INDEX_FILE).is_file():
        raise Misconfigured(f"there is no index in {location.folder} of the data folder", code="storage_damaged")


def _write_index_locations(data_dir: Path, locations: IndexLocations) -> IndexLocations:
    new_file = data_dir / f"{POINTER_FILE}.new"
    new_file.write_text(json.dumps(asdict(locations), indent=2))
    for path in (data_dir / locations.current.folder, (data_dir / locations.current.folder).parent, new_file):
        sync_path_to_disk(path)
    os.replace(new_file, data_dir / POINTER_FILE)
    sync_path_to_disk(data_dir)
    return locations


def sync_path_to_disk(path: Path) -> None:
    """Write a file, or the entries of a folder, to the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
