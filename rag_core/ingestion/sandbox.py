"""Reads files whose parsers cannot be trusted in a child process that can be killed.

The child gets the bytes on its standard input and nothing else: no environment, no secrets. It limits its own memory,
processor time and reply before it reads them, and answers in JSON. `python -m rag_core.ingestion.sandbox` is the child.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from os import pathsep
from typing import Any

from rag_core.errors import RagError, UnreadableDocument, UnsupportedDocument
from rag_core.ingestion.extract import Extraction, extract, kind_of
from rag_core.model import Block

MEMORY = 1024**3  # bytes of address space
REPLY = 256 * 1024**2  # bytes of JSON
CHILDREN = 4  # at once, each with up to MEMORY; a further file waits for its turn within its request's time
_UNTRUSTED = ("pdf", "docx")
_ERRORS = {error.__name__: error for error in (UnreadableDocument, UnsupportedDocument)}
_WAITING = ThreadPoolExecutor(CHILDREN, "sandbox")  # not the loop's own threads: questions are answered on those


async def extract_safely(data: bytes, filename: str, *, timeout_s: float) -> Extraction:
    """Read a file without stopping the event loop: PDF and docx in a child, texts, which are read in one pass, here.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: this file cannot be read; code "document_too_complex" when a limit ended the child.
    """
    if kind_of(data, filename) in _UNTRUSTED:
        return await asyncio.get_running_loop().run_in_executor(_WAITING, _in_child, data, filename, timeout_s)
    return await asyncio.to_thread(extract, data, filename)


def _in_child(data: bytes, filename: str, timeout_s: float) -> Extraction:
    name = kind_of(data, filename)
    command = [sys.executable, "-P", "-m", __name__, f"file.{name}", str(max(1, round(timeout_s)))]
    with tempfile.TemporaryFile() as reply:
        try:
            done = subprocess.run(  # noqa: S603 - our own module; the file's name is not passed on
                command,
                input=data,
                stdout=reply,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": pathsep.join(filter(None, sys.path))},
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise _too_complex(timeout_s) from late
        reply.seek(0)
        if done.returncode:
            raise _too_complex(timeout_s)
        return _received(json.load(reply))


def _too_complex(timeout_s: float) -> UnreadableDocument:
    limits = {"seconds": timeout_s, "memory_bytes": MEMORY}
    return UnreadableDocument(
        f"reading the document took more than {timeout_s:g} s or {MEMORY // 1024**2} MiB: split it or print it again",
        code="document_too_complex",
        details=limits,
    )


def _received(reply: dict[str, Any]) -> Extraction:
    if "error" in reply:
        error = _ERRORS[reply["error"]]
        raise error(reply["message"], code=reply["code"], details=reply["details"])
    blocks = (Block(**{**block, "headings": tuple(block["headings"])}) for block in reply["blocks"])
    return Extraction(tuple(blocks), reply["pages"], reply["extractor"], tuple(reply["notes"]))


def _child(filename: str, seconds: int) -> None:
    _limit_itself(seconds)
    json.dump(_answer(sys.stdin.buffer.read(), filename), sys.stdout)


def _limit_itself(seconds: int) -> None:
    """Where a system does not know a limit (Windows any, macOS memory) the parent's clock is what holds."""
    try:
        import resource
    except ImportError:
        return
    limits = {"RLIMIT_AS": MEMORY, "RLIMIT_CPU": seconds, "RLIMIT_FSIZE": REPLY, "RLIMIT_CORE": 0}
    for name, most in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (most, most))


def _answer(data: bytes, filename: str) -> dict[str, Any]:
    try:
        return asdict(extract(data, filename))
    except RagError as error:
        return {
            "error": type(error).__name__,
            "message": error.message,
            "code": error.code,
            "details": error.details,
        }


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]))
