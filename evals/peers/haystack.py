"""Haystack: its document store in memory, both of that store's retrievers, joined by reciprocal rank.

What it can do locally without another vendor's store is to write all of it to one JSON file and to read it back: the
build and the opening do that, a replaced document is in memory only.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from evals.peers.speech import TOP, Floats, Row, serve_engine


class Haystack:
    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._file = os.path.join(folder, "store.json")
        self._store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        self._hybrid = _build_pipeline(self._store)

    def build(self, rows: Sequence[Row]) -> None:
        self._store.write_documents(_build_documents(rows))
        self._store.save_to_disk(self._file)

    def open(self) -> None:
        self._store = InMemoryDocumentStore.load_from_disk(self._file)
        self._hybrid = _build_pipeline(self._store)

    def ask(self, words: str, vector: Floats, group: int | None) -> list[tuple[str, str]]:
        filters = None if group is None else {"field": "meta.group", "operator": "==", "value": group}
        meaning: dict[str, Any] = {"query_embedding": vector.tolist(), "filters": filters}
        if not words:
            found = self._store.embedding_retrieval(**meaning, top_k=TOP)
        else:
            asked = {"words": {"query": words, "filters": filters}, "meaning": meaning}
            found = self._hybrid.run(asked)["joined"]["documents"]
        return [(hit.id, hit.content) for hit in found]

    def replace(self, rows: Sequence[Row]) -> None:
        self._store.write_documents(_build_documents(rows), policy=DuplicatePolicy.OVERWRITE)


def _build_pipeline(store: InMemoryDocumentStore) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=TOP))
    pipeline.add_component("meaning", InMemoryEmbeddingRetriever(store, top_k=TOP))
    pipeline.add_component("joined", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP))
    pipeline.connect("words", "joined")
    pipeline.connect("meaning", "joined")
    return pipeline


def _build_documents(rows: Sequence[Row]) -> list[Document]:
    return [
        Document(id=row.id, content=row.text, embedding=row.vector.tolist(), meta={"group": row.group}) for row in rows
    ]


if __name__ == "__main__":
    serve_engine(Haystack(sys.argv[1]))
