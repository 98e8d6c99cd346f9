"""The mark beside an index database that says how many changes it has had, to notice one that was put back."""

import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rag_core.core.sqlite_files import write_mark_file


class ChangeMark(NamedTuple):
    """The store that was last written in this folder, its number of changes, and its embedding space.

    `is_earlier` stays true from the day on which an earlier state was found here until an operator accepts it.
    """

    store_id: str
    changes: int
    space: str = ""
    dimensions: int = 0
    is_earlier: bool = False


def get_change_mark_file(folder: Path) -> Path:
    return folder / "index.changes"


def read_change_mark(folder: Path) -> ChangeMark | None:
    """Read the mark; None when there is none or it is damaged, which the next write puts right."""
    with suppress(OSError, ValueError, TypeError):
        checksum, _, content = get_change_mark_file(folder).read_text().partition(" ")
        if int(checksum) == zlib.crc32(content.encode()):
            return ChangeMark(*json.loads(content))
    return None


def write_change_mark(folder: Path, mark: ChangeMark) -> None:
    """Write the mark of a change that was committed. One that cannot be written, or is lost, only notices less."""
    content = json.dumps(mark)
    write_mark_file(get_change_mark_file(folder), f"{zlib.crc32(content.encode())} {content}")
