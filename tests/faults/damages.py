"""Single damages to a closed data folder, each chosen by a seed."""

import ctypes
import os
import shutil
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

GARBAGE_BYTES = 3_000
KINDS = (
    "flip a bit",
    "flip a byte",
    "zero 512 bytes",
    "zero 4096 bytes",
    "zero a page",
    "truncate",
    "extend",
    "delete",
    "empty",
    "swap",
    "old version",
    "no permission",
)
# the share of the damages: the truth and the word index are the most interesting, and the word index has the most files
GROUPS: Mapping[str, int] = {"index.sqlite": 5, "words/": 5, "archive.sqlite3": 2, "": 1}


def damage_folder(folder: Path, older: Path, seed: int) -> str:
    """Apply the damage of this seed to the folder and say in words what it was. `older` is an earlier copy of it."""
    draw = Random(seed)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    while True:
        kind, file = draw.choice(KINDS), _choose_file(files, folder, draw)
        if told := _apply_damage(kind, file, folder, older, files, draw):
            return f"{kind}: {file.relative_to(folder)} {told}".strip()


def _choose_file(files: list[Path], folder: Path, draw: Random) -> Path:
    while True:
        group = draw.choices(list(GROUPS), list(GROUPS.values()))[0]
        names = {path: str(path.relative_to(folder)) for path in files}
        if of_group := [path for path, name in names.items() if name.startswith(group)]:
            return draw.choice(of_group)


def _apply_damage(kind: str, file: Path, folder: Path, older: Path, files: list[Path], draw: Random) -> str:
    """Apply the damage and say where; "" when the file allows no such damage, as an empty one has no bit to flip."""
    data = bytearray(file.read_bytes())
    match kind:
        case "old version" | "swap":
            return _replace_by_other(kind, file, folder, older, files, draw)
        case "delete":
            file.unlink()
            return f"of {len(data)} bytes"
        case "no permission":
            file.chmod(0)
            return "for the user of the service"
        case "extend":
            file.write_bytes(data + draw.randbytes(GARBAGE_BYTES))
            return f"by {GARBAGE_BYTES} bytes"
    if not data:
        return ""
    place = draw.randrange(len(data))
    _change_bytes(kind, data, place, draw)
    file.write_bytes(data)
    return f"at {place} of {len(data)}"


def _change_bytes(kind: str, data: bytearray, place: int, draw: Random) -> None:
    blocks = {"zero 512 bytes": 512, "zero 4096 bytes": 4096, "zero a page": 8192}
    if size := blocks.get(kind):
        start = place - place % size
        end = min(start + size, len(data))
        data[start:end] = bytes(end - start)
    elif kind == "flip a bit":
        data[place] ^= 1 << draw.randrange(8)
    elif kind == "flip a byte":
        data[place] ^= draw.randrange(1, 256)
    else:
        del data[0 if kind == "empty" else place :]


def _replace_by_other(kind: str, file: Path, folder: Path, older: Path, files: list[Path], draw: Random) -> str:
    if kind == "old version":
        before = older / file.relative_to(folder)
        if not before.is_file() or before.read_bytes() == file.read_bytes():
            return ""
        shutil.copyfile(before, file)
        return "of a moment before"
    other = draw.choice(files)
    mine, theirs = file.read_bytes(), other.read_bytes()
    if mine == theirs:
        return ""
    file.write_bytes(theirs)
    other.write_bytes(mine)
    return f"with {other.relative_to(folder)}"


def leave_root(damage: str) -> None:
    """Give up root's right to read what it may not, where a damage is of permissions (Linux: capset, version 3)."""
    if damage.startswith("no permission") and os.geteuid() == 0:
        header, no_capabilities = struct.pack("<Ii", 0x20080522, 0), bytes(24)
        if ctypes.CDLL(None, use_errno=True).capset(header, no_capabilities):
            raise OSError(ctypes.get_errno(), "root's rights cannot be given up")


def copy_folder(source: Path, target: Path, *, change: Callable[[Path], None] | None = None) -> Path:
    """Copy a data folder; `change` is called with the copy."""
    shutil.copytree(source, target)
    if change:
        change(target)
    return target
