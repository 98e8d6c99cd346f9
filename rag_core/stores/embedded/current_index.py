"""Which of the indexes in a data folder is the current one, and which was before: one small file says so."""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from rag_core.core.errors import Conflict, Misconfigured

POINTER, SPACES, INDEX = "current.json", "spaces", "index.sqlite"


@dataclass(frozen=True, slots=True)
class Place:
    """An index of a data folder: where in it, and the model that `rag reindex` built it for.

    The one that was there first is in the data folder itself, and the settings choose its model: `profile` is None.
    """

    folder: str = ""
    profile: str | None = None
    model: str | None = None
    dimensions: int | None = None

    def __str__(self) -> str:
        chosen = " ".join(map(str, filter(None, (self.profile, self.model, self.dimensions))))
        return f"{self.folder or 'the first index'}, by {chosen or 'the model that the settings choose'}"


@dataclass(frozen=True, slots=True)
class Places:
    """`previous` is what a rollback goes back to."""

    current: Place = Place()
    previous: Place | None = None


def read(data_dir: Path) -> Places:
    """Raises Misconfigured where another index would be taken for the current one."""
    try:
        told = json.loads((data_dir / POINTER).read_bytes())
        found = Places(Place(**told["current"]), Place(**told["previous"]) if told["previous"] else None)
    except FileNotFoundError:
        return Places()
    except (OSError, ValueError, KeyError, TypeError) as damage:
        raise Misconfigured(
            f"{data_dir / POINTER} does not say which index is the current one: restore it from a backup",
            code="storage_damaged",
        ) from damage
    _require(data_dir, found.current)
    return found


def is_current(data_dir: Path, place: Place) -> bool:
    return read(data_dir).current == place


def switch(data_dir: Path, to: Place) -> Places:
    """Make `to` the current index, in one durable step: a kill leaves either the one or the other."""
    _require(data_dir, to)
    return _write(data_dir, Places(to, read(data_dir).current))


def roll_back(data_dir: Path) -> Places:
    """Make the previous index the current one; once more goes forward again. Raises Conflict when there is none."""
    held = read(data_dir)
    if held.previous is None:
        raise Conflict("there is no previous index to go back to", code="nothing_to_roll_back")
    return switch(data_dir, held.previous)


def drop_others(data_dir: Path) -> Places:
    """Remove every index but the current one, also those in the making: what is purged later then stands nowhere."""
    held = _write(data_dir, Places(read(data_dir).current))
    for folder in (data_dir / SPACES).glob("*"):
        if folder != data_dir / held.current.folder:
            shutil.rmtree(folder)
    if held.current.folder:
        shutil.rmtree(data_dir / "words", ignore_errors=True)
        for file in data_dir.glob(f"{INDEX}*"):
            file.unlink()
    return held


def _require(data_dir: Path, place: Place) -> None:
    if place.folder and not (data_dir / place.folder / INDEX).is_file():
        raise Misconfigured(f"there is no index in {data_dir / place.folder}", code="storage_damaged")


def _write(data_dir: Path, places: Places) -> Places:
    beside = data_dir / f"{POINTER}.new"
    beside.write_text(json.dumps(asdict(places), indent=2))
    for path in (data_dir / places.current.folder, (data_dir / places.current.folder).parent, beside):
        _make_durable(path)
    os.replace(beside, data_dir / POINTER)
    _make_durable(data_dir)
    return places


def _make_durable(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
