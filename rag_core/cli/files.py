"""Lookup of the files named on the command line, and the outcome of indexing each."""

import asyncio
import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_core.core.errors import InvalidRequest, NotFound, TooLarge, UnreadableDocument, UnsupportedDocument
from rag_core.core.kit import Kit
from rag_core.core.model import Indexed, Scope
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Limits, Upload, index_document

PATIENCE_S = 30 * 24 * 3600.0  # there is no HTTP timeout here, and a large folder takes hours to embed

Verdict = Literal["indexed", "unchanged", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one file; `note` has its size in passages, or the reason why it was not indexed."""

    path: Path
    verdict: Verdict
    note: str


def meant(patterns: Sequence[str]) -> Mapping[Path, bool]:
    """Return the files to index, each once and in order; True marks a file that was named itself.

    Hidden files below a folder are skipped. Raises NotFound for a pattern that matches no file.
    """
    files: dict[Path, bool] = {}
    for pattern in patterns:
        paths = _found(pattern)
        if not paths:
            raise NotFound(f"{pattern}: no such file or folder, or no file in the folder")
        for path in paths:
            files[path] = files.get(path, False) or path == Path(pattern)
    return files


async def index_file(path: Path, named: bool, scope: Scope, kit: Kit, limits: Limits, run: Run) -> Outcome:
    """Index one file. A file of an unsupported format is refused when it was named itself, else skipped."""
    try:
        upload = await asyncio.to_thread(_upload, path)
        return _indexed(path, await index_document(upload, scope, kit, run, chunking=Chunking(), limits=limits))
    except UnsupportedDocument as error:
        return Outcome(path, "refused" if named else "skipped", error.message)
    except (InvalidRequest, TooLarge, UnreadableDocument) as error:
        return Outcome(path, "refused", error.message)
    except OSError as error:
        return Outcome(path, "refused", error.strerror or type(error).__name__)


def _upload(path: Path) -> Upload:
    return Upload(data=path.read_bytes(), filename=path.name, source=str(path.resolve()))


def _found(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path)))
    if path.is_file():
        return [path]
    return sorted(p for p in map(Path, glob.glob(pattern, recursive=True)) if p.is_file())


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _indexed(path: Path, done: Indexed) -> Outcome:
    pages = f"{done.pages} pages, " if done.pages else ""
    note = f"{pages}{done.chunks} passages, {done.embedded} embedded"
    return Outcome(path, "unchanged" if done.unchanged == done.chunks and not done.removed else "indexed", note)
