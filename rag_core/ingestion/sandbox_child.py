"""The child process of the sandbox: it limits itself, reads one document from its input and replies in lines of JSON.

The kernel enforces the limits on memory, CPU time and open files: with a limit of three open files, neither Python nor
native code can open a further file or socket. An audit hook refuses Python code all other system access; native code
bypasses audit hooks. Where a system lacks a limit (Windows: all, macOS: memory), the parent's timeout still applies.
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
REPLY = 128 * 1024**2  # bytes of JSON: twice the text of the largest accepted table, with its column names
NO_MEMORY, NO_ROOM = 3, 4  # exit statuses: over MEMORY, over REPLY
_BEYOND = ("open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.dlopen")  # prefixes of audit events
_LATE = ("heapq",)  # imported inside functions of the standard library: Counter.most_common
_CODECS = ("cp437", "utf-16-le", "utf-16-be", "utf-16", "latin-1")  # of names in a zip and of text in a PDF

Reader = Callable[[str, bytes], Extraction]


def serve(kind: str, seconds: int, read: Reader = extract_as) -> None:
    """Extract the document on the standard input; the reply is a line with its head, then a line for each block."""
    answer(seconds, partial(load, kind), partial(_extracted, kind, read))


def answer(seconds: int, ready: Callable[[], None], made_of: Callable[[bytes], Iterator[object]]) -> None:
    """Write what `encode_reply` makes of the document on the standard input to the standard output, as lines of JSON.

    `preload` runs before files are locked and imports every module that `encode_reply` needs.
    """
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
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        os._exit(NO_ROOM)


def _limit_itself(seconds: int) -> None:
    with suppress(ImportError):  # Windows
        import resource

        limits = {"AS": MEMORY, "CPU": seconds, "FSIZE": REPLY, "CORE": 0, "NPROC": 0}
        for name, limit in limits.items():
            with suppress(ValueError, OSError, AttributeError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
        signal.alarm(seconds + 1)  # in case the parent dies before its timeout ends


def load(kind: str) -> None:
    """Import every module and codec that extracting this kind of document would import on its way."""
    for module in (f"rag_core.ingestion.extract.{kind}", *_LATE):
        import_module(module)
    for name in _CODECS:
        codecs.lookup(name)
    if kind not in ("pdf", "docx"):
        import_module("charset_normalizer")
        for codec in pkgutil.iter_modules(encodings.__path__):
            with suppress(ImportError):  # codecs that only Windows has
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
        contract = {"message": error.message, "code": error.code, "field": error.field, "details": error.details}
        yield {"error": type(error).__name__, **contract}


def _extracted(kind: str, read: Reader, data: bytes) -> Iterator[object]:
    extraction = read(kind, data)
    yield {**_named(extraction), "blocks": len(extraction.blocks)}
    yield from extraction.blocks


def _named(record: Extraction | Block) -> dict[str, Any]:
    """Return the fields of a record as JSON keys and values, without descending into nested records."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
