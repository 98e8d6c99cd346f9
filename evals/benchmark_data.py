"""What the stores of `evals.bench_store` are given: texts with noisy vectors of any number, or real PDFs with spans."""

import asyncio
import csv
import gzip
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evals.peers.speech import TOP, Floats, name_documents
from rag_core.composition import assembly
from rag_core.core.contextual_vectors import build_chunk_text, embed_passages
from rag_core.core.json_codec import span_to_json_array
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Scope
from rag_core.core.run import Run
from rag_core.evaluation.bulk_indexing import DEFAULT_CHUNKING, DEFAULT_UPLOAD_LIMITS, EVALUATION_TIMEOUT_S
from rag_core.ingestion.indexing import prepare_document
from rag_core.ingestion.upload import upload_from_file
from rag_core.providers import local_models
from rag_core.providers.local_embedder import LocalEmbedder

CODES = Path(__file__).parents[1] / "tests" / "data" / "dtc" / "dtc_codes.csv.gz"
SEED = 7
TEXTS = 500  # real texts that are really embedded; the rest are these with noise
NOISE = 0.05  # of each of the 384 numbers of a unit vector, whose own are about as large
BLOCK = 10_000  # vectors that are made at a time: of a million the intermediate results would take 9 GB
PER_DOCUMENT = 500


@dataclass(frozen=True)
class BenchmarkData:
    """Chunks with their documents and unit vectors, and the words and vectors of questions.

    `spans` is the JSON of each chunk's spans, or empty: only our store keeps them.
    """

    texts: Sequence[str]
    vectors: Floats
    query_texts: Sequence[str]
    probes: Floats
    documents: Sequence[str]
    spans: Sequence[str] = ()

    def build_question(self, i: int) -> dict[str, Any]:
        return {"words": self.query_texts[i], "vector": self.probes[i].tolist()}

    def find_nearest(self, question: int) -> set[str]:
        """Return the ids of the TOP nearest chunks to a question, by brute force."""
        return {str(i) for i in np.argsort(-(self.vectors @ self.probes[question]), kind="stable")[:TOP]}


def load_code_definitions() -> list[str]:
    with gzip.open(CODES, "rt", encoding="utf-8") as file:
        return [f"{row['code']} {row['description']}" for row in csv.DictReader(file)]


def make_coded_data(size: int, questions: int, *, per_document: int = PER_DOCUMENT) -> BenchmarkData:
    """Return so many chunks of ten code definitions each, whose vectors are real ones with noise."""
    real = embed_code_texts()
    draw = np.random.default_rng(SEED)
    texts = draw_code_texts(size, draw)
    asked = draw_query_texts(texts, questions, draw)
    vectors = repeat_vectors(real, size, draw)
    probes = repeat_vectors(real[draw.permutation(len(real))], questions, draw)
    return BenchmarkData(texts, vectors, asked, probes, name_documents(size, per_document))


def make_pdf_data(folder: Path, questions: int) -> BenchmarkData:
    """Return the chunks of the PDFs below a folder as they are indexed, with their real vectors and their spans."""
    by_file, vectors = asyncio.run(_index_pdfs(sorted(folder.rglob("*.pdf"))))
    chunks = [chunk for _, of_file in by_file for chunk in of_file]
    draw = np.random.default_rng(SEED)
    texts = [chunk.content for chunk in chunks]
    return BenchmarkData(
        texts,
        vectors,
        draw_query_texts(texts, questions, draw),
        repeat_vectors(vectors[draw.permutation(len(vectors))], questions, draw),
        name_documents(len(texts), 1, [name for name, of_file in by_file for _ in of_file]),
        [json.dumps(list(map(span_to_json_array, chunk.spans))) for chunk in chunks],
    )


def draw_code_texts(count: int, draw: np.random.Generator) -> list[str]:
    known = load_code_definitions()
    return ["\n".join(known[j] for j in draw.integers(0, len(known), 10)) for _ in range(count)]


def draw_query_texts(texts: Sequence[str], count: int, draw: np.random.Generator) -> list[str]:
    """Return questions of four words, each of a text drawn at random."""
    sources = [texts[i].split() for i in draw.integers(0, len(texts), count)]
    return [" ".join(draw.choice(words, min(4, len(words)), replace=False)) for words in sources]


def repeat_vectors(vectors: Floats, count: int, draw: np.random.Generator) -> Floats:
    """Return `count` unit vectors: the real ones in turn, each moved a little."""
    units = np.empty((count, vectors.shape[1]), dtype=np.float32)
    for first in range(0, count, BLOCK):
        rows = np.arange(first, min(first + BLOCK, count))
        moved = vectors[rows % len(vectors)] + draw.normal(0, NOISE, (len(rows), vectors.shape[1]))
        units[rows] = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return units


@cache
def embed_code_texts() -> Floats:
    """Return the vectors of TEXTS real texts, and print the rate at which they were made."""
    return asyncio.run(_embed_texts(draw_code_texts(TEXTS, np.random.default_rng(SEED))))


async def _embed_texts(texts: Sequence[str]) -> Floats:
    folder = local_models.find_model_folder("embedder", None)
    if folder is None:
        raise SystemExit(local_models.MODELS_NOT_INSTALLED)
    embedder = LocalEmbedder(folder, threads=os.cpu_count() or 1)
    await embedder.embed_query("the first one loads the model")
    began = time.perf_counter()
    vectors = await embedder.embed_documents(texts)
    spent, words = time.perf_counter() - began, sum(len(text.split()) for text in texts)
    print(f"Embedding: {len(texts)} chunks of {words / len(texts):.0f} words, {len(texts) / spent:.0f} chunks/s\n")
    return np.asarray(vectors, dtype=np.float32)


async def _index_pdfs(files: Sequence[Path]) -> tuple[list[tuple[str, Sequence[Chunk]]], Floats]:
    """Return the chunks of each file by its name, and the unit vectors of all of them."""
    kit = assembly.build_in_memory_kit()
    try:
        by_file = [(file.name, await _cut_pdf(file, kit)) for file in files]
        texts = [build_chunk_text(chunk) for _, of_file in by_file for chunk in of_file]
        vectors = np.asarray(await embed_passages(texts, kit.index.embedder), dtype=np.float32)
    finally:
        await kit.close()
    return by_file, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def _cut_pdf(file: Path, kit: Kit) -> Sequence[Chunk]:
    upload, run = upload_from_file(file), Run(EVALUATION_TIMEOUT_S)
    options: dict[str, Any] = {"chunking": DEFAULT_CHUNKING, "limits": DEFAULT_UPLOAD_LIMITS}
    return (await prepare_document(upload, Scope("bench"), kit, run, **options))[1]
