"""What a trap is: a document that was made to do harm, and the ends that are right for it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

MB = 1024 * 1024
SECRET = "root:"  # how /etc/passwd begins: never in a text
TEXT, EMPTY, DAMAGED, COMPLEX = "text", "document_empty", "document_damaged", "document_too_complex"


@dataclass(frozen=True, slots=True)
class Trap:
    """`outcomes` are "text" or the codes of refusal that are right for it; empty where each typed end is."""

    name: str
    make: Callable[[], bytes]
    outcomes: frozenset[str] = frozenset()
    heavy: bool = False


def trap(name: str, made: Callable[[], bytes] | bytes, *outcomes: str, heavy: bool = False) -> Trap:
    make = made if callable(made) else partial(bytes, made)
    late = {COMPLEX} if outcomes and heavy else set()  # a heavy one may run out of time on its way
    return Trap(name, make, frozenset(outcomes) | late, heavy)


def package(parts: dict[str, bytes | str], method: int = ZIP_DEFLATED) -> bytes:
    held = BytesIO()
    with ZipFile(held, "w", method) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, content in parts.items():
            archive.writestr(name, content)
    return held.getvalue()


def patched(data: bytes, signature: bytes, at: int, value: bytes) -> bytes:
    """The last record of this signature, with other bytes in it."""
    start = data.rindex(signature) + at
    return data[:start] + value + data[start + len(value) :]
