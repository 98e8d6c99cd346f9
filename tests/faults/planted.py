"""A child of the sandbox whose parser does what the document tells it: `%PDF-hang` hangs. For tests of the sandbox."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.reading_time import report_pages
from rag_core.ingestion.sandbox_child import serve_extraction

LIBC = ctypes.CDLL(None)  # loaded, as a native parser is, before the door is closed


def read(_: str, data: bytes) -> Extraction:
    return DEEDS[data.removeprefix(b"%PDF-").decode()]()


def said(text: str, **place: object) -> Extraction:
    return Extraction((Block(text, "paragraph", 1, 1, **place),), None, "planted")  # type: ignore[arg-type]


def hang() -> Extraction:
    time.sleep(60)
    return said("woke")


def fork_and_hang() -> Extraction:
    """By native code, which asks no audit hook; the kernel lets only root."""
    LIBC.fork()
    return hang()


def spin() -> Extraction:
    while True:
        pass


def work_for(cpu_s: float, pages: int = 0) -> Callable[[], Extraction]:
    """Read for a time that is too long for a document without pages."""

    def work() -> Extraction:
        report_pages(pages)
        while time.process_time() < cpu_s:
            pass
        return said("read")

    return work


def end_by(number: int) -> Callable[[], Extraction]:
    def end() -> Extraction:
        signal.raise_signal(number)
        return hang()

    return end


def reply_with(text: str) -> Callable[[], Extraction]:
    def reply() -> Extraction:
        sys.stdout.write(text)
        sys.stdout.flush()
        os._exit(0)

    return reply


def fail() -> Extraction:
    raise AttributeError("a parser's own fault")


def want_numpy() -> Extraction:
    try:
        import numpy  # noqa: F401
    except ModuleNotFoundError:
        return said("not there")
    return said("there")


def escape() -> Extraction:
    """Everything that Python offers to get out; the text says what worked."""
    tries: dict[str, Callable[[], object]] = {
        "read": lambda: Path("/etc/passwd").read_text(),
        "write": lambda: Path("/tmp/planted").write_text("x"),  # noqa: S108
        "remove": lambda: os.remove("/tmp/planted"),  # noqa: S108
        "list": lambda: os.listdir("/"),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
        "run": lambda: subprocess.run(["true"], check=True),
        "fork": os.fork,
        "kill": lambda: os.kill(os.getppid(), 0),
    }
    return said(" ".join(["worked:", *_worked(tries)]))


def escape_natively() -> Extraction:
    """The same past the audit hook, by the C library."""
    tries: dict[str, Callable[[], object]] = {
        "read": lambda: _checked(LIBC.open(b"/etc/passwd", os.O_RDONLY)),
        "write": lambda: _checked(LIBC.open(b"/tmp/planted", os.O_WRONLY | os.O_CREAT, 0o600)),
        "socket": lambda: _checked(LIBC.socket(socket.AF_INET, socket.SOCK_STREAM, 0)),
    }
    return said(" ".join(["worked:", *_worked(tries)]))


def _worked(tries: dict[str, Callable[[], object]]) -> Iterator[str]:
    for name, attempt in tries.items():
        try:
            attempt()
        except OSError:
            continue
        yield name


def _checked(result: int) -> None:
    if result < 0:
        raise OSError


LINE = '{"text": "x", "kind": "paragraph", "line_start": 1, "line_end": 1'
HEAD = '{"pages": null, "extractor": "planted", "notes": [], "title": "", "blocks": %s}\n'
DEEDS: dict[str, Callable[[], Extraction]] = {
    "numpy": want_numpy,
    "hang": hang,
    "fork": fork_and_hang,
    "spin": spin,
    "long": work_for(1.5),
    "long with pages": work_for(1.5, pages=160),
    "endless with pages": work_for(60, pages=1_000_000),
    "fail": fail,
    "escape": escape,
    "native": escape_natively,
    "secret": lambda: said("root:x:0:0"),
    "prose of another": lambda: said("other words"),
    "hoard": lambda: said("x" * 2 * 1024**3),
    "flood": lambda: said("x" * 130 * 1024**2),
    "nan": lambda: said("x", bbox=(0.0, 0.0, float("nan"), 1.0)),
    "abort": end_by(signal.SIGABRT),
    "segfault": end_by(signal.SIGSEGV),
    "killed": end_by(signal.SIGKILL),
    "nothing": reply_with(""),
    "prose": reply_with("I am done"),
    "list": reply_with("[]\n"),
    "half a head": reply_with(HEAD[:20]),
    "half a block": reply_with(HEAD % 1 + LINE),
    "a block short": reply_with(HEAD % 1),
    "an error unknown": reply_with('{"error": "SystemExit", "message": "", "code": "", "details": {}}\n'),
}

if __name__ == "__main__":
    serve_extraction(sys.argv[1], int(sys.argv[2]), read)
