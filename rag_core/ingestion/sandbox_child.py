"""The child process of the sandbox: it limits itself, reads one document from its input and replies in lines of JSON.

The kernel enforces the limits on memory, CPU time and open files: with a limit of three open files, neither Python nor
native code can open a further file or socket. An audit hook refuses Python code all other system access; native code
bypasses audit hooks. Where a system lacks a limit (Windows: all, macOS: memory), the parent's timeout still applies.
"""

import codecs
import encodings
import errno
import json
import math
import os
import pkgutil
import signal
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module

from rag_core.core.errors import RagError
from rag_core.core.json_codec import block_to_json
from rag_core.core.model import Extraction
from rag_core.ingestion.extract import extract_as_kind
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS, EXTRACTED_KINDS
from rag_core.ingestion.extract.reading_time import MAX_GROWTH, MAX_WALL_GROWTH, compute_cpu_limit, listen_to_pages

MAX_CHILD_MEMORY_BYTES = 1024**3  # bytes of address space
# bytes of JSON: twice the text of the largest accepted table, with its column names
MAX_CHILD_REPLY_BYTES = 128 * 1024**2
EXIT_OUT_OF_MEMORY, EXIT_REPLY_TOO_LARGE = 3, 4  # exit statuses: over MEMORY, over REPLY
_REFUSED_AUDIT_EVENTS = (
    "open",
    "os.",
    "socket.",
    "subprocess.",
    "shutil.",
    "ctypes.dlopen",
)  # prefixes of audit events
_LATE_IMPORTED_MODULES = ("heapq",)  # imported inside functions of the standard library: Counter.most_common
_PRELOADED_CODECS = ("cp437", "utf-16-le", "utf-16-be", "utf-16", "latin-1")  # of names in a zip and of text in a PDF

Extractor = Callable[[str, bytes], Extraction]


def serve_extraction(kind: str, cpu_limit_s: int, extractor: Extractor = extract_as_kind) -> None:
    """Extract the document on the standard input; the reply is a line with its head, then a line for each block."""
    write_reply(cpu_limit_s, partial(preload_extractor, kind), partial(_encode_extraction, kind, extractor))


def write_reply(
    cpu_limit_s: int, preload: Callable[[], None], encode_reply: Callable[[bytes], Iterator[object]]
) -> None:
    """Write what `encode_reply` makes of the document on the standard input to the standard output, as lines of JSON.

    `preload` runs before files are locked and imports every module that `encode_reply` needs.
    """
    limit_resources(cpu_limit_s)
    listen_to_pages(_PageClock(cpu_limit_s).add_pages)
    data = sys.stdin.buffer.read()
    # openpyxl loads it where it can, to know its numbers: a third of the time that a spreadsheet's child takes to start
    sys.modules["numpy"] = None  # type: ignore[assignment]
    preload()
    _lock_process()
    try:
        for line in _append_error_line(encode_reply(data)):
            sys.stdout.write(json.dumps(line, allow_nan=False) + "\n")
        sys.stdout.flush()
    except MemoryError:
        os._exit(EXIT_OUT_OF_MEMORY)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        os._exit(EXIT_REPLY_TOO_LARGE)


def limit_resources(cpu_limit_s: int, open_files: int | None = None) -> None:
    """Limit memory, processor time, the size of the reply and, where a count is given, open files of this process."""
    with suppress(ImportError):  # Windows
        import resource

        limits = {
            "AS": MAX_CHILD_MEMORY_BYTES,
            "FSIZE": MAX_CHILD_REPLY_BYTES,
            "CORE": 0,
            "NPROC": 0,
            **({} if open_files is None else {"NOFILE": open_files}),
        }
        for name, limit in limits.items():
            with suppress(ValueError, OSError, AttributeError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
        _limit_cpu(cpu_limit_s, cpu_limit_s * MAX_GROWTH)
        signal.alarm(cpu_limit_s * MAX_WALL_GROWTH + 1)  # in case the parent dies before its timeout ends


def _limit_cpu(soft_s: int, hard_s: int) -> None:
    """Set the processor time after which the kernel ends this process; the soft limit can be raised up to the hard."""
    with suppress(ImportError):
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft_s, hard_s))


class _PageClock:
    """Raises the limit on processor time by the pages that are read."""

    def __init__(self, limit_s: int) -> None:
        self._limit_s, self._pages = limit_s, 0

    def add_pages(self, count: int) -> None:
        self._pages += count
        soft_s = math.ceil(compute_cpu_limit(self._limit_s, self._pages))
        _limit_cpu(soft_s, self._limit_s * MAX_GROWTH)


def preload_extractor(kind: str) -> None:
    """Import every module and codec that extracting this kind of document would import on its way."""
    kinds = EXTRACTED_KINDS if kind in CONTAINER_KINDS else {kind}
    for module in (*(f"rag_core.ingestion.extract.{each}" for each in sorted(kinds)), *_LATE_IMPORTED_MODULES):
        import_module(module)
    for name in _PRELOADED_CODECS:
        codecs.lookup(name)
    if kinds - {"pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "image"}:
        import_module("charset_normalizer")
        for codec in pkgutil.iter_modules(encodings.__path__):
            with suppress(ImportError):  # codecs that only Windows has
                import_module(f"encodings.{codec.name}")


def _lock_process() -> None:
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    sys.addaudithook(_refuse_audit_event)


def _refuse_audit_event(event: str, _: object) -> None:
    if event.startswith(_REFUSED_AUDIT_EVENTS):
        raise PermissionError(errno.EACCES, f"no {event} in the sandbox")


def _append_error_line(records: Iterator[object]) -> Iterator[object]:
    try:
        yield from records
    except RagError as error:
        contract = {"message": error.message, "code": error.code, "field": error.field, "details": error.details}
        yield {"error": type(error).__name__, **contract}


def _encode_extraction(kind: str, extractor: Extractor, data: bytes) -> Iterator[object]:
    extraction = extractor(kind, data)
    head = asdict(replace(extraction, blocks=(), picture_members=()))
    yield {**head, "blocks": len(extraction.blocks), "picture_members": len(extraction.picture_members)}
    yield from map(block_to_json, extraction.blocks)
    for member in extraction.picture_members:
        yield {"names": member.names, "page": member.page, "data": b64encode(member.data).decode()}


if __name__ == "__main__":
    serve_extraction(sys.argv[1], int(sys.argv[2]))
