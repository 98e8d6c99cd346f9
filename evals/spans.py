"""`python -m evals.spans DIR`: how much of what answers a question is in the chunks found, and how much else.

DIR holds documents and `questions.jsonl`, each question with the character ranges of its document that answer it. For
each way of cutting, the documents are indexed anew and every question brings its best chunks by words and meaning;
`rag eval compare` and `ablate` take the same folder for ways of searching (`labelled_collection`).
Recall is the share of the gold characters that they cover, IoU those covered over gold and retrieved characters
together, whatever document they are of; both are means over questions, as in chunking_evaluation (MIT).
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Scope, Vector
from rag_core.core.ports import Embedder, Probe
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import index_uploads
from rag_core.evaluation.character_ranges import (
    MAX_SCORED_CHUNKS,
    CharacterRange,
    RangeQuestion,
    load_range_questions,
    locate_chunk,
    score_ranges,
)
from rag_core.evaluation.evaluation_cache import DEFAULT_CACHE_FILE, CachedEmbedder, EvaluationCache
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.text.sentences import find_sentences

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


@dataclass(frozen=True, slots=True)
class ChunkingScores:
    """One way of cutting, how many chunks came of it, recall and IoU of the best ones and of their best sentences."""

    chunking: Chunking
    chunks: int
    scores: tuple[float, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, metavar="N", help="the first N questions")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE_FILE)
    chosen = parser.parse_args()
    began = time.perf_counter()
    documents, questions = load_range_questions(chosen.folder, max_questions=chosen.queries)
    kit = assembly.build_in_memory_kit()
    embedder = CachedEmbedder(kit.index.embedder, EvaluationCache(chosen.cache))
    kit = replace(kit, index=replace(kit.index, embedder=embedder))
    print(format_chunking_table(asyncio.run(evaluate_chunkings(documents, questions, kit))))
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


async def evaluate_chunkings(
    documents: Mapping[str, str], questions: Sequence[RangeQuestion], kit: Kit, ways: Sequence[Chunking] = WAYS
) -> list[ChunkingScores]:
    """Return the scores of each way of cutting.

    Raises:
        ValueError: a chunk's text does not stand in the lines that it names.
    """
    vectors = [await kit.index.embedder.embed_query(question.text) for question in questions]
    asked = list(zip(questions, vectors, strict=True))
    return [await _evaluate_chunking(way, documents, asked, kit) for way in ways]


async def _evaluate_chunking(
    way: Chunking, documents: Mapping[str, str], asked: Sequence[tuple[RangeQuestion, Vector]], kit: Kit
) -> ChunkingScores:
    scope = Scope(f"{way.strategy}-{way.chunk_size}-{way.overlap}")
    uploads = [(scope, Upload(content=text, source=name)) for name, text in documents.items()]
    await index_uploads(uploads, kit, chunking=way)
    chunks = await kit.index.store.select(scope, limit=100_000)
    places = {chunk.id: locate_chunk(chunk, documents[chunk.source]) for chunk in chunks}
    scores: list[tuple[float, ...]] = []
    for question, vector in asked:
        [hits] = await kit.index.search([Probe("original", question.text, vector)], scope, limit=MAX_SCORED_CHUNKS)
        found = [place for hit in hits for place in places[hit.chunk.id]]
        best = await _find_best_sentences(found, documents, vector, kit.index.embedder)
        scores.append((*score_ranges(question.gold, found), *score_ranges(question.gold, best)))
    return ChunkingScores(way, len(chunks), tuple(map(float, np.mean(scores, axis=0))))


async def _find_best_sentences(
    found: Sequence[CharacterRange], documents: Mapping[str, str], vector: Vector, embedder: Embedder
) -> list[CharacterRange]:
    """Return the MAX_SCORED_CHUNKS sentences of some passages by their likeness to the question."""
    places = list(
        dict.fromkeys(
            (name, start + a, start + b)
            for name, start, end in found
            for a, b in find_sentences(documents[name][start:end])
        )
    )
    made = await embedder.embed_documents([documents[name][start:end] for name, start, end in places])
    likeness = np.array(made) @ np.array(vector)
    return [places[number] for number in np.argsort(-likeness, kind="stable")[:MAX_SCORED_CHUNKS]]


def format_chunking_table(rows: Sequence[ChunkingScores]) -> str:
    head = ["strategy", "size", "overlap", "chunks", "recall", "IoU", "recall of sentences", "IoU of sentences"]
    return markdown_tables.format_table(head, map(_format_chunking_cells, rows))


def _format_chunking_cells(row: ChunkingScores) -> list[str]:
    how = row.chunking
    counts = (how.chunk_size, how.overlap, row.chunks)
    return [how.strategy, *map(str, counts), *(f"{x:.3f}" for x in row.scores)]


if __name__ == "__main__":
    sys.exit(main())
