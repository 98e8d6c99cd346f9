"""Chroma in a folder. Its `Search` with sparse vectors is for its cloud alone ("Search is not implemented for Local
Chroma", 1.5.9), and its `where_document` filters without ranking: so its questions are asked by vector only."""

import sys
from collections.abc import Sequence
from typing import Any

import chromadb
from chromadb.config import Settings

from evals.peers.speech import TOP, Floats, Row, serve_engine


class Chroma:
    def __init__(self, folder: str) -> None:
        self._client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
        self._chunks: Any = None

    def build(self, rows: Sequence[Row]) -> None:
        cosine = {"hnsw": {"space": "cosine"}}
        self._chunks = self._client.create_collection("chunks", configuration=cosine, embedding_function=None)
        most = self._client.get_max_batch_size()
        for first in range(0, len(rows), most):
            self._chunks.add(**_build_columns(rows[first : first + most]))

    def open(self) -> None:
        self._chunks = self._client.get_collection("chunks", embedding_function=None)

    def ask(self, words: str, vector: Floats, group: int | None) -> list[tuple[str, str]]:
        where = None if group is None else {"group": group}
        found = self._chunks.query(query_embeddings=[vector], n_results=TOP, where=where, include=["documents"])
        return list(zip(found["ids"][0], found["documents"][0], strict=True))

    def replace(self, rows: Sequence[Row]) -> None:
        self._chunks.upsert(**_build_columns(rows))


def _build_columns(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "ids": [row.id for row in rows],
        "documents": [row.text for row in rows],
        "embeddings": [row.vector for row in rows],
        "metadatas": [{"group": row.group} for row in rows],
    }


if __name__ == "__main__":
    serve_engine(Chroma(sys.argv[1]))
