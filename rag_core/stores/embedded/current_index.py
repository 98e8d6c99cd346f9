"""The file that records which index of a data folder is current and which was current before."""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_core.core.errors import Conflict, Misconfigured

POINTER, SPACES, INDEX = "current.json", "spaces", "index.sqlite"


@dataclass(frozen=True, slots=True)
class Place:
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
class Places:
    """The current index of a data folder, and the previous one, to which a rollback returns."""

    current: Place = Place()
    previous: Place | None = None


def read(data_dir: Path) -> Places:
    """Read the locations; without the file, the first index is current.

    Raises Misconfigured when the file is damaged or the current index is missing: no other index stands in for it.
    """
    try:
        content = json.loads((data_dir / POINTER).read_bytes())
        locations = Places(Place(**content["current"]), Place(**content["previous"]) if content["previous"] else None)
    except FileNotFoundError:
        return Places()
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise Misconfigured(
            f"{data_dir / POINTER} does not name the current index: restore it from a backup",
            code="storage_damaged",
        ) from failure
    _require(data_dir, locations.current)
    return locations


def is_current(data_dir: Path, location: Place) -> bool:
    return read(data_dir).current == location


def switch(data_dir: Path, to: Place) -> Places:
    """Make `to` the current index, in one durable step: after a crash either the old or the new one is current."""
    _require(data_dir, to)
    return _write(data_dir, Places(to, read(data_dir).current))


def roll_back(data_dir: Path) -> Places:
    """Swap the current index with the previous one. Raises Conflict when there is no previous index."""
    locations = read(data_dir)
    if locations.previous is None:
        raise Conflict("there is no previous index to go back to", code="nothing_to_roll_back")
    return switch(data_dir, locations.previous)


def drop_others(data_dir: Path) -> Places:
    """Remove every index but the current one, unfinished ones included, so that a later purge leaves no copy behind."""
    locations = _write(data_dir, Places(read(data_dir).current))
    for folder in (data_dir / SPACES).glob("*"):
        if folder != data_dir / locations.current.folder:
            shutil.rmtree(folder)
    if locations.current.folder:
        shutil.rmtree(data_dir / "words", ignore_errors=True)
        for file in data_dir.glob(f"{INDEX}*"):
            file.unlink()
    return locations


def _require(data_dir: Path, location: Place) -> None:
    if location.folder and not (data_dir / location.folder / INDEX).is_file():
        raise Misconfigured(f"there is no index in {data_dir / location.folder}", code="storage_damaged")


def _write(data_dir: Path, locations: Places) -> Places:
    new_file = data_dir / f"{POINTER}.new"
    new_file.write_text(json.dumps(asdict(locations), indent=2))
    for path in (data_dir / locations.current.folder, (data_dir / locations.current.folder).parent, new_file):
        _make_durable(path)
    os.replace(new_file, data_dir / POINTER)
    _make_durable(data_dir)
    return locations


def _make_durable(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
