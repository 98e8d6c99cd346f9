"""The child of the sandbox: it ties its own hands, takes one document from its input and answers in lines of JSON.

The kernel holds it to its memory, its time and the three files it was given: with a limit of three no further file or
socket can be opened, by native code neither. Python code is refused the rest of the system by an audit hook, which
native code would not ask. Where a system does not know a limit (Windows any, macOS memory) the parent's clock holds.
"""

import codecs
import encodings
import errno
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import Any

from rag_core.core.errors import RagError
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract import extract_as

MEMORY = 1024**3  # bytes of address space
REPLY = 128 * 1024**2  # bytes of JSON: twice the text of the largest table that is taken, with its columns' names
NO_MEMORY, NO_ROOM = 3, 4  # exit statuses: over MEMORY, over REPLY
_BEYOND = ("open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.dlopen")  # audit events: the rest of the system
_LATE = ("heapq",)  # imported within functions of the standard library: Counter.most_common
_CODECS = ("cp437", "utf-16-le", "utf-16-be", "utf-16", "latin-1")  # of names in a zip and of texts in a PDF

Reader = Callable[[str, bytes], Extraction]


def serve(kind: str, seconds: int, read: Reader = extract_as) -> None:
    """Read the document: what is known of it in the first line, then a block a line."""
    answer(seconds, partial(load, kind), partial(_extracted, kind, read))


def answer(seconds: int, ready: Callable[[], None], made_of: Callable[[bytes], Iterator[object]]) -> None:
    """Write what is made of the document to the standard output; `ready` first gets all that this would open."""
    _limit_itself(seconds)
    data = sys.stdin.buffer.read()
    ready()
    _close_the_door()
    try:
        for line in _or_refused(made_of(data)):
            sys.stdout.write(json.dumps(line, default=_named, allow_nan=False) + "\n")
        sys.stdout.flush()
    except MemoryError:
        os._exit(NO_MEMORY)
    except OSError as full:
        if full.errno != errno.EFBIG:
            raise
        os._exit(NO_ROOM)


def _limit_itself(seconds: int) -> None:
    with suppress(ImportError):  # Windows
        import resource

        limits = {"AS": MEMORY, "CPU": seconds, "FSIZE": REPLY, "CORE": 0, "NPROC": 0}
        for name, most in limits.items():
            with suppress(ValueError, OSError, AttributeError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        signal.alarm(seconds + 1)  # for the case that the parent dies before its clock strikes


def load(kind: str) -> None:
    """All that reading would load on its way."""
    for module in (f"rag_core.ingestion.extract.{kind}", *_LATE):
        import_module(module)
    for name in _CODECS:
        codecs.lookup(name)
    if kind not in ("pdf", "docx"):
        import_module("charset_normalizer")
        for codec in pkgutil.iter_modules(encodings.__path__):
            with suppress(ImportError):  # those of Windows
                import_module(f"encodings.{codec.name}")


def _close_the_door() -> None:
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    sys.addaudithook(_refuse)


def _refuse(event: str, _: object) -> None:
    if event.startswith(_BEYOND):
        raise PermissionError(errno.EACCES, f"no {event} in the sandbox")


def _or_refused(lines: Iterator[object]) -> Iterator[object]:
    try:
        yield from lines
    except RagError as error:
        said = {"message": error.message, "code": error.code, "field": error.field, "details": error.details}
        yield {"error": type(error).__name__, **said}


def _extracted(kind: str, read: Reader, data: bytes) -> Iterator[object]:
    extraction = read(kind, data)
    yield {**_named(extraction), "blocks": len(extraction.blocks)}
    yield from extraction.blocks


def _named(record: Extraction | Block) -> dict[str, Any]:
    """The fields of a record, of this level only."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
