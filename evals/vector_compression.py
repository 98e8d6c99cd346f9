"""What the nearest passages lose by compressed vectors: `python -m evals.vector_compression FOLDER ...`.

Vectors are those of the local embedder. Compressions are those of the search emulator, whose rounding is not the
service's. A share of the 50 nearest by full vectors, which is what a search takes, is found by compressed ones.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from local_emulator.search_service.compressions import BITS, Compression
from rag_core.composition.model_assembly import build_local_embedder
from rag_core.core.settings import Settings
from rag_core.evaluation import beir, markdown_tables
from rag_core.stores.azure_search.search import MIN_VECTOR_CANDIDATES

Floats = NDArray[np.float32]

OVERSAMPLINGS = (1, 2, 4, 10)
QUESTIONS = 200


async def embed_collection(folder: Path) -> tuple[Floats, Floats]:
    """Return the vectors of the passages and of the first questions, each of length 1."""
    collection = beir.load_beir_collection(folder, max_queries=QUESTIONS)
    embedder = build_local_embedder(Settings())
    passages = await embedder.embed_documents([document.text for document in collection.documents])
    questions = [await embedder.embed_query(text) for text in collection.queries.values()]
    return normalize_rows(passages), normalize_rows(questions)


def normalize_rows(vectors: Sequence[Sequence[float]] | Floats) -> Floats:
    """Return the vectors as rows of length 1."""
    rows = np.array(vectors, dtype=np.float32)
    normalized: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return normalized


def measure_overlap(passages: Floats, questions: Floats, compression: Compression) -> float:
    """Return the share of the nearest by full vectors that is among the candidates of the compressed search."""
    nearest = rank_passages(passages, questions)[:, :MIN_VECTOR_CANDIDATES]
    approximations = (normalize_rows(compression.approximate(rows)) for rows in (passages, questions))
    count = int(MIN_VECTOR_CANDIDATES * compression.oversampling)
    candidates = rank_passages(*approximations)[:, :count]
    shares = [np.isin(exact, found).mean() for exact, found in zip(nearest, candidates, strict=True)]
    return float(np.mean(shares))


def rank_passages(passages: Floats, questions: Floats) -> NDArray[np.intp]:
    """Return for each question the rows of the passages, nearest first."""
    return np.argsort(-(questions @ passages.T), axis=1, kind="stable")


def list_rows(name: str, passages: Floats, questions: Floats) -> Iterator[list[str]]:
    """Yield a row of the report for each kind of compression."""
    dimensions = passages.shape[1]
    for kind, bits in BITS.items():
        shares = [
            measure_overlap(passages, questions, Compression(bits, dimensions, True, oversampling, True))
            for oversampling in OVERSAMPLINGS
        ]
        yield [name, str(len(passages)), kind, *(f"{share:.3f}" for share in shares)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    rows: list[list[str]] = []
    for folder in parser.parse_args().folders:
        rows += list_rows(folder.name, *asyncio.run(embed_collection(folder)))
    heads = ["collection", "passages", "compression", *(f"oversampling {times}" for times in OVERSAMPLINGS)]
    print(markdown_tables.format_table(heads, rows))


if __name__ == "__main__":
    main()
