"""Checksums of the files of a lexical index: written after each commit, compared before the index is opened.

tantivy has a checksum for each file, but compares it only when asked, and reads damaged files into wrong scores, panics
and endless loops. A lock keeps readers from comparing while a writer has committed and not yet written the checksums.
"""

import fcntl
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKSUM_FILE, CHECKSUM_LOCK = "checksums.json", ".checksums.lock"
UPDATE_MARK = ".updating"  # there while the files are ahead of their checksums
CUT_OFF = "its last update was cut off"


@contextmanager
def lock_lexical_files(folder: Path | None, *, to_write: bool) -> Iterator[None]:
    """Keep other processes from writing the files, and with `to_write` from opening them, until the block ends.

    The end of the process ends the lock, too. A reader that may not write to the folder needs no lock: it opens the
    files only where nobody else can be writing them. Raises OSError for a writer that cannot make the lock.
    """
    handle = _open_lock_file(folder, to_write=to_write) if folder else None
    if handle is None:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if to_write else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


@contextmanager
def update_lexical_files(folder: Path | None) -> Iterator[None]:
    """Write the checksums of the files after a block that changes them, for which they are locked.

    Who is killed meanwhile leaves a mark, by which nobody takes what was cut off for damage; a block that fails before
    it has changed a file leaves none. Raises OSError.
    """
    if folder is None:
        yield
        return
    mark, is_done = folder / UPDATE_MARK, False
    mark.touch()
    try:
        yield
        write_lexical_checksums(folder)
        is_done = True
    finally:
        if is_done or not _compare_lexical_files(folder):
            mark.unlink(missing_ok=True)


def write_lexical_checksums(folder: Path) -> None:
    """Write the checksums of the files as they are now. Raises OSError."""
    checksums = {path.name: _compute_file_checksum(path) for path in _list_index_files(folder)}
    content = json.dumps(checksums)
    new_file = folder / f"{CHECKSUM_FILE}.new"
    new_file.write_text(f"{zlib.crc32(content.encode())} {content}")
    os.replace(new_file, folder / CHECKSUM_FILE)


def has_no_lexical_files(folder: Path) -> bool:
    """Return whether no index was made in the folder yet, not even an empty one."""
    return not _list_index_files(folder) and not (folder / CHECKSUM_FILE).exists()


def find_lexical_damage(folder: Path) -> str:
    """Return in words what is wrong with the files of an index; "" when they are as written, or when there are none.

    `CUT_OFF` where a process was killed while it updated them.
    """
    damage = _compare_lexical_files(folder)
    return CUT_OFF if damage and (folder / UPDATE_MARK).exists() else damage


def _compare_lexical_files(folder: Path) -> str:
    if has_no_lexical_files(folder):
        return ""
    names = {path.name for path in _list_index_files(folder)}
    try:
        checksum, _, content = (folder / CHECKSUM_FILE).read_text().partition(" ")
        if int(checksum) != zlib.crc32(content.encode()):
            return "its checksums are damaged"
        expected = json.loads(content)
    except (OSError, ValueError):
        return "its checksums are missing"
    for name in sorted(expected):
        if name not in names:
            return "a file is missing"
        if _compute_file_checksum(folder / name) != expected[name]:
            return "a file is not as it was written"
    return ""


def _list_index_files(folder: Path) -> list[Path]:
    """List the files that tantivy reads; locks and our own files are not among them."""
    if not folder.is_dir():
        return []
    ours = (CHECKSUM_FILE, f"{CHECKSUM_FILE}.new", CHECKSUM_LOCK, UPDATE_MARK)
    return [path for path in folder.iterdir() if path.suffix != ".lock" and path.name not in ours]


def _compute_file_checksum(file: Path) -> int:
    """Return the CRC-32 of a file; of one that cannot be read a number that no file has."""
    try:
        with file.open("rb") as stream:
            checksum = 0
            while block := stream.read(1 << 20):
                checksum = zlib.crc32(block, checksum)
            return checksum
    except OSError:
        return -1


def _open_lock_file(folder: Path, *, to_write: bool) -> int | None:
    try:
        return os.open(folder / CHECKSUM_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        if to_write:
            raise
        return None
