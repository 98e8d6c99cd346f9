"""A file that holds some of the disk's room, given up when the disk is full so that documents can still be deleted."""

import os
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 512 * 1024  # the journal of a deletion: the pages that name what is deleted, not those that hold it
FREE_BYTES_NEEDED = 4 * RESERVE_BYTES  # on a disk with less, the reserve itself would be what fills it


def make_disk_reserve(folder: Path) -> None:
    """Hold the reserve where there is room for it and none is held yet."""
    file = _get_reserve_file(folder)
    with suppress(OSError):
        disk = os.statvfs(folder)
        is_held = file.exists() and file.stat().st_size >= RESERVE_BYTES  # less where there was no room for all of it
        if is_held or disk.f_bavail * disk.f_frsize < FREE_BYTES_NEEDED:
            return
        handle = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(handle, 0, RESERVE_BYTES)
        finally:
            os.close(handle)


def give_up_disk_reserve(folder: Path) -> None:
    with suppress(OSError):
        _get_reserve_file(folder).unlink()


def _get_reserve_file(folder: Path) -> Path:
    return folder / "index.reserve"
