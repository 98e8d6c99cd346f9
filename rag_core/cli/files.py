"""Which files a command line means, and what became of each."""

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

PATIENCE_S = 30 * 24 * 3600.0  # no front end hangs up here, and a large folder takes hours to embed

Verdict = Literal["indexed", "unchanged", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file; `note` says how much is in it, or why not."""

    path: Path
    verdict: Verdict
    note: str


def meant(patterns: Sequence[str]) -> Mapping[Path, bool]:
    """The files to index, each once and in order; True for those that were named one by one.

    Hidden files below a folder are left out. Raises NotFound for a pattern that no file answers to.
    """
    files: dict[Path, bool] = {}
    for pattern in patterns:
        found = _found(pattern)
        if not found:
            raise NotFound(f"{pattern}: no such file or folder, or no file in it")
        for path in found:
            files[path] = files.get(path, False) or path == Path(pattern)
    return files


async def index_file(path: Path, named: bool, scope: Scope, kit: Kit, limits: Limits, run: Run) -> Outcome:
    """Index one file. Of the kinds that cannot be read, one named is refused and one met on the way is skipped."""
    try:
        upload = await asyncio.to_thread(_upload, path)
        return _indexed(path, await index_document(upload, scope, kit, run, chunking=Chunking(), limits=limits))
    except UnsupportedDocument as failure:
        return Outcome(path, "refused" if named else "skipped", failure.message)
    except (InvalidRequest, TooLarge, UnreadableDocument) as failure:
        return Outcome(path, "refused", failure.message)
    except OSError as failure:
        return Outcome(path, "refused", failure.strerror or type(failure).__name__)


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
