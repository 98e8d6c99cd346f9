"""`python -m evals.spans DIR`: how much of what answers a question is in the chunks found, and how much else.

DIR holds documents and `questions.jsonl`, each question with the character ranges of its document that answer it. For
each way of cutting, the documents are indexed anew and every question brings its best chunks by words and meaning.
Recall is the share of the gold characters that they cover, IoU those covered over gold and retrieved characters
together, whatever document they are of; both are means over questions, as in chunking_evaluation (MIT).
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from evals import markdown
from evals.cache import Cache, CachedEmbedder
from evals.retrieval import CACHE, PATIENCE_S
from rag_core import bootstrap, settings
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Limits, Upload, index_document
from rag_core.ingestion.text import sentences
from rag_core.kit import Kit
from rag_core.model import Chunk, Scope, Vector
from rag_core.ports import Embedder, Probe
from rag_core.run import Run

TOP = 5
HERE = replace(settings.DEFAULTS, data_dir=None)
WAYS = (
    Chunking("tokens", 100, 0),
    Chunking("tokens", 200, 50),
    Chunking("tokens", 250, 0),  # about 200 words of these documents
    Chunking("tokens", 400, 100),
    Chunking("tokens", 500, 0),  # about 400
    Chunking("tokens", 800, 200),
    Chunking("semantic", 200, 0),
    Chunking("semantic", 800, 0),
    Chunking("headings", 400, 100),
    Chunking("blocks", 400, 100),
)

Range = tuple[str, int, int]  # document, first character, end


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One way of cutting, how many chunks came of it, recall and IoU of the best ones and of their best sentences."""

    chunking: Chunking
    chunks: int
    scores: tuple[float, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, metavar="N", help="the first N questions")
    parser.add_argument("--cache", type=Path, default=CACHE)
    chosen = parser.parse_args()
    began = time.perf_counter()
    documents, questions = load(chosen.folder, queries=chosen.queries)
    kit = bootstrap.build(HERE)
    embedder = CachedEmbedder(kit.index.embedder, Cache(chosen.cache))
    kit = replace(kit, index=replace(kit.index, embedder=embedder))
    print(table(asyncio.run(evaluate(documents, questions, kit))))
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


def load(folder: Path, *, queries: int | None = None) -> tuple[dict[str, str], list[Question]]:
    """The documents by name, offsets counting every character of them, and the first questions."""
    documents = {p.name: p.read_bytes().decode() for p in sorted(folder.glob("*.md")) if p.name != "README.md"}
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    return documents, [_question(json.loads(line)) for line in lines[:queries]]


def _question(found: Mapping[str, Any]) -> Question:
    return Question(found["text"], tuple((found["document"], s["start"], s["end"]) for s in found["spans"]))


async def evaluate(
    documents: Mapping[str, str], questions: Sequence[Question], kit: Kit, ways: Sequence[Chunking] = WAYS
) -> list[Row]:
    """A row for each way of cutting.

    Raises:
        ValueError: a chunk's text does not stand in the lines that it names.
    """
    vectors = [await kit.index.embedder.embed_query(question.text) for question in questions]
    asked = list(zip(questions, vectors, strict=True))
    return [await _row(way, documents, asked, kit) for way in ways]


async def _row(way: Chunking, documents: Mapping[str, str], asked: Sequence[tuple[Question, Vector]], kit: Kit) -> Row:
    scope = Scope(f"{way.strategy}-{way.chunk_size}-{way.overlap}")
    limits = Limits(HERE.max_upload_bytes, PATIENCE_S)
    for name, text in documents.items():
        upload = Upload(content=text, document_id=name, source=name)
        await index_document(upload, scope, kit, Run(PATIENCE_S), chunking=way, limits=limits)
    chunks = await kit.index.store.select(scope, limit=100_000)
    places = {chunk.id: located(chunk, documents[chunk.document_id]) for chunk in chunks}
    scores: list[tuple[float, ...]] = []
    for question, vector in asked:
        [hits] = await kit.index.find([Probe("original", question.text, vector)], scope, limit=TOP)
        found = [place for hit in hits for place in places[hit.chunk.id]]
        best = await _best_sentences(found, documents, vector, kit.index.embedder)
        scores.append((*score(question.gold, found), *score(question.gold, best)))
    return Row(way, len(chunks), tuple(map(float, np.mean(scores, axis=0))))


async def _best_sentences(
    found: Sequence[Range], documents: Mapping[str, str], vector: Vector, embedder: Embedder
) -> list[Range]:
    """The TOP sentences of some passages by their likeness to the question."""
    places = list(
        dict.fromkeys(
            (name, start + a, start + b) for name, start, end in found for a, b in sentences(documents[name][start:end])
        )
    )
    made = await embedder.embed_documents([documents[name][start:end] for name, start, end in places])
    likeness = np.array(made) @ np.array(vector)
    return [places[number] for number in np.argsort(-likeness, kind="stable")[:TOP]]


def located(chunk: Chunk, document: str) -> list[Range]:
    """The characters of a document that a chunk has, found from its spans' lines; raises ValueError when they err."""
    lines = document.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    ranges = []
    for span in chunk.spans:
        text = chunk.content[span.start : span.end]
        at = starts[span.line_start - 1] + "\n".join(lines[span.line_start - 1 : span.line_end]).index(text)
        if at >= starts[span.line_start] or at + len(text) <= starts[span.line_end - 1]:
            raise ValueError(f"lines {span.line_start} to {span.line_end} are more than chunk {chunk.ordinal} has")
        ranges.append((chunk.document_id, at, at + len(text)))
    return ranges


def score(gold: Sequence[Range], found: Sequence[Range]) -> tuple[float, float]:
    """Recall and IoU, in characters."""
    wanted, given = _characters(gold), _characters(found)
    return len(wanted & given) / len(wanted), len(wanted & given) / len(wanted | given)


def _characters(ranges: Sequence[Range]) -> set[tuple[str, int]]:
    return {(name, at) for name, start, end in ranges for at in range(start, end)}


def table(rows: Sequence[Row]) -> str:
    head = ["strategy", "size", "overlap", "chunks", "recall", "IoU", "recall of sentences", "IoU of sentences"]
    return markdown.table(head, map(_cells, rows))


def _cells(row: Row) -> list[str]:
    how = row.chunking
    counts = (how.chunk_size, how.overlap, row.chunks)
    return [how.strategy, *map(str, counts), *(f"{x:.3f}" for x in row.scores)]


if __name__ == "__main__":
    sys.exit(main())
