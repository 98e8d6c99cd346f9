"""Runs parsers on untrusted files in a child process that can be killed.

The child gets the bytes on its standard input and nothing else: no environment, no secrets, no folder of ours. Its own
limits are set in `sandbox_child`. This module enforces the timeout and turns the way the child ended into an error.
"""

import asyncio
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from signal import Signals
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from rag_core.core.errors import NotFound, RagError, UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract import extract_as
from rag_core.ingestion.extract.extraction import clean, unseen
from rag_core.ingestion.extract.kinds import kind_of
from rag_core.ingestion.sandbox_child import MEMORY, NO_MEMORY, NO_ROOM, REPLY

CHILDREN = 4  # at once; a further file waits for its turn within its request's time
CHILD = "rag_core.ingestion.sandbox_child"
SMALL = 64 * 1024  # of text: 0.1 s and 12 MB at the worst, where 25 MiB took 4 s and 800 MB (docs/malformed.md)
_UNTRUSTED = ("pdf", "docx")
_ERRORS = {error.__name__: error for error in (NotFound, UnreadableDocument, UnsupportedDocument)}
_WAITING = ThreadPoolExecutor(CHILDREN, "sandbox")  # not the event loop's own threads: questions are answered on those
_ROOT = str(Path(__file__).parents[2])  # the child skips `site`, which would find an editable install
_OUT_OF_TIME = {"SIGXCPU", "SIGALRM", "SIGKILL"}
_OUT_OF_MEMORY = {"SIGABRT", "SIGTRAP", "SIGILL"}  # how native code ends itself when it gets no memory
_kill = getattr(os, "killpg", os.kill)  # kills what the child started too; Windows has no groups

T = TypeVar("T")


async def extract_safely(data: bytes, filename: str, *, timeout_s: float) -> Extraction:
    """Detect the kind of a file and extract it as `extract_as_kind_in_sandbox` does, without blocking the event loop.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the file cannot be read; code "document_too_complex" when a limit ended the child.
    """
    return await extract_as_safely(kind_of(data, filename), data, timeout_s=timeout_s)


async def typed_safely(kind: str, text: str, *, timeout_s: float) -> Extraction:
    """Extract uploaded text as "text", "markdown" or "csv", as `extract_as_kind_in_sandbox` does."""
    extraction = await extract_as_safely(kind, clean(text).encode(), timeout_s=timeout_s)
    return replace(extraction, notes=(*unseen(text), *extraction.notes))


async def extract_as_safely(kind: str, data: bytes, *, timeout_s: float) -> Extraction:
    """Extract bytes as `kind`: small texts in a thread of this process, everything else in a child process."""
    if kind in _UNTRUSTED or len(data) > SMALL:
        return await in_child(CHILD, kind, data, _received, timeout_s=timeout_s)
    return await asyncio.to_thread(extract_as, kind, data)


async def in_child(child: str, asked: str, data: bytes, received: Callable[[IO[bytes]], T], *, timeout_s: float) -> T:
    """Run a child module with a request and a document, and return its reply as parsed by `parse_reply`.

    Raises:
        RagError: the error that the child reported.
        UnreadableDocument: a limit ended the child, it crashed, or its reply is garbled.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_WAITING, _in_child, child, asked, data, received, timeout_s)


def _in_child(child: str, asked: str, data: bytes, received: Callable[[IO[bytes]], T], timeout_s: float) -> T:
    command = [sys.executable, "-P", "-S", "-m", child, asked, str(math.ceil(timeout_s))]
    with TemporaryFile() as reply:
        status = _run(command, data, reply, timeout_s)
        if status:
            raise _ended(status, timeout_s)
        reply.seek(0)
        try:
            return received(reply)
        except (ValueError, KeyError, TypeError) as error:
            raise _broke("its reply") from error


def _run(command: list[str], data: bytes, reply: IO[bytes], timeout_s: float) -> int:
    """Run the child to its end and return its exit status, or minus the signal that ended it."""
    with subprocess.Popen(  # noqa: S603 - our own module; the file's name is not passed on
        command,
        stdin=subprocess.PIPE,
        stdout=reply,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(filter(None, (_ROOT, *sys.path)))},
        cwd=Path(sys.executable).anchor,
        start_new_session=True,
    ) as child:
        try:
            child.communicate(data, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise _too_long(timeout_s) from error
        finally:
            if child.poll() is None:
                _kill(child.pid, 9)
    return child.returncode


def _ended(status: int, timeout_s: float) -> UnreadableDocument:
    ended_by = Signals(-status).name if status < 0 else f"exit status {status}"
    if ended_by in _OUT_OF_TIME:
        return _too_long(timeout_s)
    if status == NO_ROOM:
        return _too_complex(f"gives more than {REPLY // 1024**2} MiB of text", {"reply_bytes": REPLY})
    if status == NO_MEMORY or ended_by in _OUT_OF_MEMORY:
        return _too_complex(f"takes more than {MEMORY // 1024**2} MiB to read", {"memory_bytes": MEMORY})
    return _broke(ended_by)


def _too_long(timeout_s: float) -> UnreadableDocument:
    return _too_complex(f"takes more than {timeout_s:g} s to read", {"seconds": timeout_s})


def _too_complex(excess: str, limit: Mapping[str, float]) -> UnreadableDocument:
    message = f"the document {excess}: split it or print it again"
    return UnreadableDocument(message, code="document_too_complex", details=limit)


def _broke(by: str) -> UnreadableDocument:
    message = "the parser crashed on the document: open it in a viewer and save or print it again"
    return UnreadableDocument(message, code="document_damaged", details={"parser_ended_by": by})


def _received(reply: IO[bytes]) -> Extraction:
    """Parse the reply of `sandbox_child.serve_extraction`, line by line so that the event loop gets its turns."""
    head = head_of(reply)
    blocks = tuple(_block(json.loads(line)) for line in reply)
    if len(blocks) != head["blocks"]:
        raise ValueError("cut off")
    return Extraction(**{**head, "blocks": blocks, "notes": tuple(head["notes"])})


def head_of(reply: IO[bytes]) -> dict[str, Any]:
    """Parse the first line of a reply.

    Raises:
        RagError: the error that the child reported in this line.
        ValueError, KeyError, TypeError: the line is no such head.
    """
    head: dict[str, Any] = json.loads(reply.readline())
    if "error" in head:
        raise _refused(head)
    return head


def _refused(head: dict[str, Any]) -> RagError:
    return _ERRORS[head["error"]](head["message"], code=head["code"], field=head["field"], details=head["details"])


def _block(fields: dict[str, Any]) -> Block:
    """Return the block of one line of a reply; JSON has lists where a block has tuples."""
    box = fields["bbox"]
    tuples = {"headings": tuple(fields["headings"]), "boxes": tuple(map(tuple, fields["boxes"]))}
    return Block(**{**fields, **tuples, "bbox": None if box is None else tuple(box)})
