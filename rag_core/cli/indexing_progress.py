"""The progress of indexing: a bar by the bytes of the files, with the pages and passages that are done."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from rag_core.cli.input_files import FileOutcome
from rag_core.cli.terminal_layout import format_count
from rag_core.core.model import Vector
from rag_core.core.ports import Embedder
from rag_core.rag import RAG


class IndexingProgress:
    """What is done of the files: their outcomes and sizes, and a bar that shows them where there is a terminal.

    The time that is left is estimated by bytes, which pages and passages follow more closely than the number of files.
    """

    def __init__(self, paths: Sequence[Path], stream: TextIO) -> None:
        self.outcomes: list[FileOutcome] = []
        self._sizes = {path: path.stat().st_size for path in paths}
        self._embedded = 0  # passages of the file that is being indexed
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty())
        self._task = self.bar.add_task("indexing", total=sum(self._sizes.values()) or 1)

    @property
    def counts(self) -> Counter[str]:
        """How many files were indexed, unchanged, skipped and refused so far."""
        return Counter(outcome.status for outcome in self.outcomes)

    @property
    def files_left(self) -> int:
        """How many files have no outcome yet."""
        return len(self._sizes) - len(self.outcomes)

    def describe_size(self) -> str:
        """Return how many pages and passages the finished files have, in words."""
        pages = sum(outcome.pages for outcome in self.outcomes)
        passages = sum(outcome.passages for outcome in self.outcomes)
        return f"{format_count(pages, 'page')}, {format_count(passages, 'passage')}"

    def finish_file(self, outcome: FileOutcome) -> None:
        """Add the outcome of a file."""
        self.outcomes.append(outcome)
        self._embedded = 0
        self._refresh(advance=self._sizes[outcome.path])

    def watch_embedding(self, rag: RAG) -> RAG:
        """Return the service with an embedder that tells of the passages that it embeds."""
        kit = rag.kit
        index = replace(kit.index, embedder=_WatchedEmbedder(kit.index.embedder, self))
        return RAG(replace(kit, index=index), rag.settings)

    def count_embedded(self, passages: int) -> None:
        """Count passages of the file that is being indexed."""
        self._embedded += passages
        self._refresh()

    def _refresh(self, advance: int = 0) -> None:
        done = f"{len(self.outcomes)} of {format_count(len(self._sizes), 'file')}"
        embedded = f" + {self._embedded}" if self._embedded else ""
        self.bar.update(self._task, advance=advance, description=f"{done} · {self.describe_size()}{embedded}")


class _WatchedEmbedder:
    """An embedder that tells how many texts it embeds."""

    def __init__(self, embedder: Embedder, progress: IndexingProgress) -> None:
        self.space, self.dimensions = embedder.space, embedder.dimensions
        self._embedder, self._progress = embedder, progress

    async def embed_query(self, text: str) -> Vector:
        return await self._embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        vectors = await self._embedder.embed_documents(texts)
        self._progress.count_embedded(len(texts))
        return vectors
