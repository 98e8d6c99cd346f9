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
from base64 import b64decode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from signal import Signals
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from rag_core.core.errors import NotFound, RagError, UnreadableDocument, UnsupportedDocument
from rag_core.core.json_codec import block_from_json
from rag_core.core.model import Extraction, PictureMember
from rag_core.ingestion.extract import extract_as_kind
from rag_core.ingestion.extract.extraction import clean_text, note_hidden_text
from rag_core.ingestion.extract.kinds import detect_file_kind
from rag_core.ingestion.extract.reading_time import MAX_WALL_GROWTH, PAGES_WITHIN_LIMIT
from rag_core.ingestion.sandbox_child import (
    EXIT_OUT_OF_MEMORY,
    EXIT_REPLY_TOO_LARGE,
    MAX_CHILD_MEMORY_BYTES,
    MAX_CHILD_REPLY_BYTES,
)

MAX_CHILDREN = 4  # at once; a further file waits for its turn within its request's time
EXTRACTION_CHILD_MODULE = "rag_core.ingestion.sandbox_child"
# of text: 0.1 s and 12 MB at the worst, where 25 MiB took 4 s and 800 MB (docs/reference/formats.md)
MAX_IN_PROCESS_BYTES = 64 * 1024
_IN_PROCESS_KINDS = ("text", "markdown", "csv", "json", "jsonl")  # by Python alone, and where they are small
_ERROR_TYPE_BY_NAME = {error.__name__: error for error in (NotFound, UnreadableDocument, UnsupportedDocument)}
_CHILD_THREADS = ThreadPoolExecutor(
    MAX_CHILDREN, "sandbox"
)  # not the event loop's own threads: questions are answered on those
_PACKAGE_ROOT = str(Path(__file__).parents[2])  # the child skips `site`, which would find an editable install
_TIMEOUT_SIGNALS = {"SIGXCPU", "SIGALRM", "SIGKILL"}
_OUT_OF_MEMORY_SIGNALS = {"SIGABRT", "SIGTRAP", "SIGILL"}  # how native code ends itself when it gets no memory
_kill_process_group = getattr(os, "killpg", os.kill)  # kills what the child started too; Windows has no groups

T = TypeVar("T")


async def extract_in_sandbox(data: bytes, filename: str, *, timeout_s: float) -> Extraction:
    """Detect the kind of a file and extract it as `extract_as_kind_in_sandbox` does, without blocking the event loop.

    Raises:
        UnsupportedDocument: no extractor for such a file.
        UnreadableDocument: the file cannot be read; code "document_too_complex" when a limit ended the child.
    """
    return await extract_as_kind_in_sandbox(detect_file_kind(data, filename), data, timeout_s=timeout_s)


async def extract_text_in_sandbox(kind: str, text: str, *, timeout_s: float) -> Extraction:
    """Extract uploaded text as "text", "markdown" or "csv", as `extract_as_kind_in_sandbox` does."""
    extraction = await extract_as_kind_in_sandbox(kind, clean_text(text).encode(), timeout_s=timeout_s)
    return replace(extraction, notes=(*note_hidden_text(text), *extraction.notes))


async def extract_as_kind_in_sandbox(kind: str, data: bytes, *, timeout_s: float) -> Extraction:
    """Extract bytes as `kind`: small texts in a thread of this process, everything else in a child process."""
    if kind not in _IN_PROCESS_KINDS or len(data) > MAX_IN_PROCESS_BYTES:
        return await call_child(EXTRACTION_CHILD_MODULE, kind, data, _parse_extraction_reply, timeout_s=timeout_s)
    return await asyncio.to_thread(extract_as_kind, kind, data)


async def call_child(
    child_module: str, request: str, data: bytes, parse_reply: Callable[[IO[bytes]], T], *, timeout_s: float
) -> T:
    """Run a child module with a request and a document, and return its reply as parsed by `parse_reply`.

    Raises:
        RagError: the error that the child reported.
        UnreadableDocument: a limit ended the child, it crashed, or its reply is garbled.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        _CHILD_THREADS, _call_child_blocking, child_module, request, data, parse_reply, timeout_s
    )


def _call_child_blocking(
    child_module: str, request: str, data: bytes, parse_reply: Callable[[IO[bytes]], T], timeout_s: float
) -> T:
    command = [sys.executable, "-P", "-S", "-m", child_module, request, str(math.ceil(timeout_s))]
    with TemporaryFile() as reply:
        status = _run_child_process(command, data, reply, timeout_s)
        if status:
            raise _make_exit_status_error(status, timeout_s)
        reply.seek(0)
        try:
            return parse_reply(reply)
        except (ValueError, KeyError, TypeError) as error:
            raise _make_parser_crash_error("its reply") from error


def _run_child_process(command: list[str], data: bytes, reply: IO[bytes], timeout_s: float) -> int:
    """Run the child to its end and return its exit status, or minus the signal that ended it."""
    with subprocess.Popen(  # noqa: S603 - our own module; the file's name is not passed on
        command,
        stdin=subprocess.PIPE,
        stdout=reply,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(filter(None, (_PACKAGE_ROOT, *sys.path)))},
        cwd=Path(sys.executable).anchor,
        start_new_session=True,
    ) as child:
        try:
            child.communicate(data, timeout=timeout_s * MAX_WALL_GROWTH)
        except subprocess.TimeoutExpired as error:
            raise _make_hung_error(timeout_s) from error
        finally:
            if child.poll() is None:
                _kill_process_group(child.pid, 9)
    return child.returncode


def _make_exit_status_error(status: int, timeout_s: float) -> UnreadableDocument:
    ended_by = Signals(-status).name if status < 0 else f"exit status {status}"
    if ended_by in _TIMEOUT_SIGNALS:
        return _make_timeout_error(timeout_s)
    if status == EXIT_REPLY_TOO_LARGE:
        return _make_too_complex_error(
            f"gives more than {MAX_CHILD_REPLY_BYTES // 1024**2} MiB of text", {"reply_bytes": MAX_CHILD_REPLY_BYTES}
        )
    if status == EXIT_OUT_OF_MEMORY or ended_by in _OUT_OF_MEMORY_SIGNALS:
        return _make_too_complex_error(
            f"takes more than {MAX_CHILD_MEMORY_BYTES // 1024**2} MiB to read", {"memory_bytes": MAX_CHILD_MEMORY_BYTES}
        )
    return _make_parser_crash_error(ended_by)


def _make_timeout_error(timeout_s: float) -> UnreadableDocument:
    limit = f"{timeout_s:g} s of processor time, and {timeout_s / PAGES_WITHIN_LIMIT:.2g} s for each page of a PDF"
    excess = f"takes more to read than {limit}"
    return _make_too_complex_error(excess, {"seconds": timeout_s}, "split it, or raise RAG_PARSE_TIMEOUT_S")


def _make_hung_error(timeout_s: float) -> UnreadableDocument:
    excess = f"was not read within {timeout_s * MAX_WALL_GROWTH:g} s, because the machine is busy or the parser hangs"
    advice = "send it again later, split it, or raise RAG_PARSE_TIMEOUT_S"
    return _make_too_complex_error(excess, {"seconds": timeout_s}, advice)


def _make_too_complex_error(
    excess: str, limit: Mapping[str, float], advice: str = "split it or print it again"
) -> UnreadableDocument:
    message = f"the document {excess}: {advice}"
    return UnreadableDocument(message, code="document_too_complex", details=limit)


def _make_parser_crash_error(ended_by: str) -> UnreadableDocument:
    message = "the parser crashed on the document: open it in a viewer and save or print it again"
    return UnreadableDocument(message, code="document_damaged", details={"parser_ended_by": ended_by})


def _parse_extraction_reply(reply: IO[bytes]) -> Extraction:
    """Parse the reply of `sandbox_child.serve_extraction`, line by line so that the event loop gets its turns."""
    head = parse_reply_head(reply)
    blocks = tuple(block_from_json(json.loads(line)) for line in islice(reply, head["blocks"]))
    members = tuple(_parse_picture_member(json.loads(line)) for line in reply)
    if (len(blocks), len(members)) != (head["blocks"], head["picture_members"]):
        raise ValueError("cut off")
    lists = {name: tuple(head[name]) for name in ("notes", "picture_pages")}
    return Extraction(**{**head, **lists, "blocks": blocks, "picture_members": members})


def _parse_picture_member(given: Mapping[str, Any]) -> PictureMember:
    return PictureMember(tuple(map(str, given["names"])), int(given["page"]), b64decode(given["data"], validate=True))


def parse_reply_head(reply: IO[bytes]) -> dict[str, Any]:
    """Parse the first line of a reply.

    Raises:
        RagError: the error that the child reported in this line.
        ValueError, KeyError, TypeError: the line is no such head.
    """
    head: dict[str, Any] = json.loads(reply.readline())
    if "error" in head:
        raise _make_refusal_error(head)
    return head


def _make_refusal_error(head: dict[str, Any]) -> RagError:
    return _ERROR_TYPE_BY_NAME[head["error"]](
        head["message"], code=head["code"], field=head["field"], details=head["details"]
    )
