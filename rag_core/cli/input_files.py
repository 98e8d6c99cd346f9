"""Lookup of the files named on the command line, and the outcome of indexing each."""

import asyncio
import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rag_core.cli.terminal_layout import format_count
from rag_core.core.errors import InvalidRequest, NotFound, TooLarge, UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Document, IndexingResult, Scope
from rag_core.core.run import Run
from rag_core.ingestion.upload import upload_from_file
from rag_core.rag import RAG

FileStatus = Literal["indexed", "unchanged", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome for one file; `note` has its size in words, or the reason why it was not indexed."""

    path: Path
    status: FileStatus
    note: str
    pages: int = 0
    passages: int = 0


def find_input_files(patterns: Sequence[str]) -> Mapping[Path, bool]:
    """Return the files to index, each once and in order; True marks a file that was named itself.

    Hidden files below a folder are skipped. Raises NotFound for a pattern that matches no file.
    """
    files: dict[Path, bool] = {}
    for pattern in patterns:
        paths = _match_file_pattern(pattern)
        if not paths:
            raise NotFound(f"{pattern}: no such file or folder, or no file in the folder")
        for path in paths:
            files[path] = files.get(path, False) or path == Path(pattern)
    return files


async def index_file(
    path: Path, is_named: bool, rag: RAG, scope: Scope, run: Run, *, enrichment_usd: float = 0.0
) -> FileOutcome:
    """Index one file. One of an unsupported format is refused when it was named itself, else skipped; so is a logo.

    A chat model may cost `enrichment_usd` for its entities and summaries, and no more than the operator allows.
    """
    try:
        upload = replace(await asyncio.to_thread(upload_from_file, path), enrichment_budget_usd=enrichment_usd)
        return _outcome_from_indexing(path, await rag.index(upload, scope=scope, run=run))
    except UnsupportedDocument as error:
        return FileOutcome(path, "refused" if is_named else "skipped", error.message)
    except NotFound:  # a document that the command may not see, as one of a signed-in user
        return FileOutcome(path, "refused", "a document that belongs to a user, not to the workflow, has its id")
    except (InvalidRequest, TooLarge, UnreadableDocument) as error:
        is_skipped = error.code == "no_text_found" and not is_named
        return FileOutcome(path, "skipped" if is_skipped else "refused", error.message)
    except OSError as error:
        return FileOutcome(path, "refused", error.strerror or type(error).__name__)


async def list_gone_documents(patterns: Sequence[str], rag: RAG, scope: Scope) -> list[Document]:
    """Return the documents whose file was in one of the named folders and is there no more: they are still found.

    Only documents of these folders are read, whatever else the workflow has.
    """
    gone: dict[str, Document] = {}
    for folder in dict.fromkeys(path.resolve() for path in map(Path, patterns) if path.is_dir()):
        documents = await rag.kit.index.store.list_documents(scope, source_prefix=os.path.join(folder, ""))
        gone |= {document.id: document for document in documents if not _exists(document.source)}
    return list(gone.values())


def _exists(source: str) -> bool:
    return Path(source).exists()


def _match_file_pattern(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden_path(p.relative_to(path)))
    if path.is_file():
        return [path]
    return sorted(p for p in map(Path, glob.glob(pattern, recursive=True)) if p.is_file())


def _is_hidden_path(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _outcome_from_indexing(path: Path, result: IndexingResult) -> FileOutcome:
    pages = f"{format_count(result.pages, 'page')}, " if result.pages else ""
    note = f"{pages}{format_count(result.chunks, 'passage')}, {result.embedded} embedded"
    is_unchanged = result.unchanged == result.chunks and not result.removed
    return FileOutcome(path, "unchanged" if is_unchanged else "indexed", note, result.pages or 0, result.chunks)
