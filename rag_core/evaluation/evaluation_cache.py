"""A cache of vectors and pair scores between evaluations, by model and content: a second run calls no model."""

import hashlib
import sqlite3
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_core.core.model import Vector
from rag_core.core.ports import Embedder, Reranker

DEFAULT_CACHE_FILE = Path(".cache/evals.sqlite3")
# part of the key of a pair's score: it changes with how the local cross-encoder reads a pair
SCORES_OF = "two windows, the second between log odds of -2 and 3, the last layer of one row"


class EvaluationCache:
    """A file of number lists by key, for evaluations only; it can be deleted at any time."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path)
        self._connection.execute("CREATE TABLE IF NOT EXISTS numbers (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def get(self, *key: str) -> tuple[float, ...] | None:
        row = self._connection.execute("SELECT value FROM numbers WHERE key = ?", (_hash_cache_key(key),)).fetchone()
        return struct.unpack(f"{len(row[0]) // 8}d", row[0]) if row else None

    def put(self, numbers: Sequence[float], *key: str) -> None:
        value = struct.pack(f"{len(numbers)}d", *numbers)
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO numbers VALUES (?, ?)", (_hash_cache_key(key), value))

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True, slots=True)
class CachedEmbedder:
    """An embedder that caches the vectors of documents; queries are embedded each time, as part of their latency."""

    inner: Embedder
    cache: EvaluationCache

    @property
    def space(self) -> str:
        return self.inner.space

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    async def embed_query(self, text: str) -> Vector:
        return await self.inner.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        vector_by_text: dict[str, Vector] = {t: cached for t in texts if (cached := self.cache.get(self.space, t))}
        missing = [text for text in dict.fromkeys(texts) if text not in vector_by_text]
        for text, vector in zip(missing, await self.inner.embed_documents(missing), strict=True):
            self.cache.put(vector, self.space, text)
            vector_by_text[text] = vector
        return [vector_by_text[text] for text in texts]


@dataclass(frozen=True, slots=True)
class CachedReranker:
    """A reranker that caches the score of each pair; `recompute` ignores cached scores, so that the latency is real."""

    inner: Reranker
    cache: EvaluationCache
    recompute: bool

    @property
    def name(self) -> str:
        return self.inner.name

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        score_by_passage: dict[str, float] = {}
        if not self.recompute:
            score_by_passage = {
                passage: cached[0]
                for passage in passages
                if (cached := self.cache.get(self.name, SCORES_OF, text, passage))
            }
        missing = [passage for passage in dict.fromkeys(passages) if passage not in score_by_passage]
        for passage, score in zip(missing, await self.inner.score_passages(text, missing), strict=True):
            self.cache.put([score], self.name, SCORES_OF, text, passage)
            score_by_passage[passage] = score
        return [score_by_passage[passage] for passage in passages]


def _hash_cache_key(key: Sequence[str]) -> bytes:
    return hashlib.sha256("\0".join(key).encode("utf-8", "replace")).digest()
