"""Disks that are full or read-only: a mount of their own where this process may make one."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WHY_NO_MOUNT = "needs the right to mount a file system (root with CAP_SYS_ADMIN)"


@contextmanager
def mounted_disk(folder: Path, size_kib: int) -> Iterator[Path | None]:
    """Mount a disk in memory of this size; yield None where this process may not."""
    folder.mkdir(parents=True, exist_ok=True)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def make_read_only(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def fill_disk(folder: Path) -> Path:
    """Fill the disk with one file to the last byte."""
    file = folder / "ballast"
    with file.open("wb", buffering=0) as stream:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while stream.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return file
