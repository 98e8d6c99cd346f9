"""`python -m evals.spans DIR`: how much of what answers a question is in the chunks found, and how much else.

DIR holds documents and `questions.jsonl`, each question with the character ranges of its document that answer it. For
each way of cutting, the documents are indexed anew and every question brings its best chunks by words and meaning;
`rag eval compare` and `ablate` take the same folder for ways of searching (`labelled`).
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
from rag_core.composition import assembly
from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Scope, Vector
from rag_core.core.ports import Embedder, Probe
from rag_core.evaluation.cache import CACHE, Cache, CachedEmbedder
from rag_core.evaluation.indexing import index
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload
from rag_core.text.sentences import sentences

TOP = 5
ENDINGS = (".md", ".txt")
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
    id: str
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
    kit = assembly.in_memory()
    embedder = CachedEmbedder(kit.index.embedder, Cache(chosen.cache))
    kit = replace(kit, index=replace(kit.index, embedder=embedder))
    print(table(asyncio.run(evaluate(documents, questions, kit))))
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


def load(folder: Path, *, queries: int | None = None) -> tuple[dict[str, str], list[Question]]:
    """The documents by name, offsets counting every character of them, and the first questions that have ranges.

    Raises:
        Misconfigured: a file is missing, or in another layout.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.suffix in ENDINGS and path.name != "README.md"]
    try:
        documents = {path.name: path.read_bytes().decode() for path in paths}
        lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
        questions = [question for question in map(_question, map(json.loads, lines)) if question.gold][:queries]
        absent = {name for question in questions for name, _, _ in question.gold} - documents.keys()
    except (OSError, KeyError, ValueError) as failure:
        raise Misconfigured(f"{folder}/questions.jsonl: {type(failure).__name__}: {failure}") from failure
    if absent:
        raise Misconfigured(f"{folder} lacks what questions.jsonl names: {', '.join(sorted(absent))}")
    return documents, questions


def _question(found: Mapping[str, Any]) -> Question:
    gold = tuple((found["document"], int(span["start"]), int(span["end"])) for span in found["spans"])
    return Question(str(found["_id"]), found["text"], gold)


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
    uploads = [(scope, Upload(content=text, source=name)) for name, text in documents.items()]
    await index(uploads, kit, chunking=way)
    chunks = await kit.index.store.select(scope, limit=100_000)
    places = {chunk.id: located(chunk, documents[chunk.source]) for chunk in chunks}
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
        ranges.append((chunk.source, at, at + len(text)))
    return ranges


def measures(gold: Sequence[Range], best: Sequence[Chunk], documents: Mapping[str, str]) -> dict[str, float]:
    """Recall and IoU of the first TOP chunks."""
    found = [place for chunk in best[:TOP] for place in located(chunk, documents[chunk.source])]
    return dict(zip((f"recall@{TOP}", f"iou@{TOP}"), score(gold, found), strict=True))


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
