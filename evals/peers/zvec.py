"""Zvec: exact vectors, its full-text index, an inverted index on what is filtered, fused by its reciprocal rank.

A flat vector index is its default, and finds the same at once; `flush` is how it makes writes durable.
"""

import sys
from collections.abc import Sequence
from typing import Any

import zvec

from evals.peers.speech import TOP, Floats, Row, serve_engine

BATCH = 1_000  # documents of a write; 0.8.0 takes 1,024 at most
FUSED = zvec.RrfReRanker()


class Zvec:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._chunks: Any = None

    def build(self, rows: Sequence[Row]) -> None:
        self._chunks = zvec.create_and_open(self._folder, _build_schema(len(rows[0].vector)))
        for first in range(0, len(rows), BATCH):
            self._write(rows[first : first + BATCH])
        self._chunks.flush()
        self._chunks.optimize()

    def open(self) -> None:
        self._chunks = zvec.open(self._folder)

    def ask(self, words: str, vector: Floats, group: int | None) -> list[tuple[str, str]]:
        asked = [zvec.Query("vector", vector=vector)]
        if words:
            asked.append(zvec.Query("text", fts=zvec.Fts(match_string=words)))
        found = self._chunks.query(
            asked,
            topk=TOP,
            filter=None if group is None else f"group = {group}",
            output_fields=["text"],
            reranker=FUSED if words else None,
        )
        return [(hit.id, hit.field("text")) for hit in found]

    def replace(self, rows: Sequence[Row]) -> None:
        self._write(rows)
        self._chunks.flush()

    def _write(self, rows: Sequence[Row]) -> None:
        refused = [status for status in self._chunks.upsert(_build_documents(rows)) if not status.ok()]
        if refused:
            raise RuntimeError(f"{len(refused)} of {len(rows)} were refused: {refused[0]}")


def _build_schema(dimensions: int) -> Any:
    exact = zvec.FlatIndexParam(metric_type=zvec.MetricType.COSINE)
    return zvec.CollectionSchema(
        "chunks",
        fields=[
            zvec.FieldSchema("text", zvec.DataType.STRING, index_param=zvec.FtsIndexParam()),
            zvec.FieldSchema("group", zvec.DataType.INT32, index_param=zvec.InvertIndexParam()),
        ],
        vectors=[zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, dimensions, index_param=exact)],
    )


def _build_documents(rows: Sequence[Row]) -> list[Any]:
    return [
        zvec.Doc(id=row.id, fields={"text": row.text, "group": row.group}, vectors={"vector": row.vector})
        for row in rows
    ]


if __name__ == "__main__":
    serve_engine(Zvec(sys.argv[1]))
