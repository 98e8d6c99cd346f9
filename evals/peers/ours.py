"""Any store behind our port: python -m evals.peers.ours FOLDER, or the address of an empty PostgreSQL database."""

import asyncio
import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from evals.peers.speech import TOP, Floats, Row, serve_engine
from rag_core.core.batching import batch_items
from rag_core.core.concurrency import run_together
from rag_core.core.json_codec import span_from_json_array
from rag_core.core.model import Chunk, Document, Filter, Scope
from rag_core.core.ports import ChunkStore, Probe

SCOPE = Scope("bench")
BATCH_CHUNKS = 512  # of documents that are handed over at once, where others are given a whole table


class Ours:
    def __init__(self, store: ChunkStore) -> None:
        self._store = store
        self._loop = asyncio.new_event_loop()  # a `Runner` sets a handler of signals at every call: 0.2 ms

    def build(self, rows: Sequence[Row]) -> None:
        documents = [list(part) for _, part in groupby(rows, lambda row: row.document)]
        for batch in batch_items(documents, len, max_items=BATCH_CHUNKS, max_size=BATCH_CHUNKS):
            self._loop.run_until_complete(self._replace_documents(batch))

    def open(self) -> None:
        """Do nothing, for the first question opens the store."""

    def ask(self, words: str, vector: Floats, group: int | None) -> list[tuple[str, str]]:
        filters = [] if group is None else [Filter("metadata.group", "eq", group)]
        probe = Probe("q", words, vector.tolist())
        (ranking,) = self._loop.run_until_complete(self._store.search([probe], SCOPE, limit=TOP, filters=filters))
        return [(hit.chunk.id, hit.chunk.content) for hit in ranking]

    def replace(self, rows: Sequence[Row]) -> None:
        self._loop.run_until_complete(self._replace_documents([rows]))

    async def _replace_documents(self, documents: Sequence[Sequence[Row]]) -> None:
        await run_together(self._replace_document(rows) for rows in documents)

    async def _replace_document(self, rows: Sequence[Row]) -> None:
        title = rows[0].document
        document = Document(title, SCOPE.workflow_id, "", title, title, "bench")
        chunks = [_build_chunk(row) for row in rows]
        vectors = [row.vector.tolist() for row in rows]
        await self._store.replace_document(document, chunks, vectors, SCOPE, space="bench")


def _build_chunk(row: Row) -> Chunk:
    spans = tuple(map(span_from_json_array, json.loads(row.spans)))
    title = row.document
    return Chunk(row.id, title, int(row.id), row.text, "", title, row.id, spans=spans, metadata={"group": row.group})


def open_store(where: str) -> ChunkStore:
    if "://" not in where:
        from rag_core.stores.embedded import EmbeddedStore

        return EmbeddedStore(Path(where))
    from rag_core.stores.postgres import PostgresStore

    served = PostgresStore(where, dimensions=384)
    asyncio.run(served.setup())
    return served


if __name__ == "__main__":
    serve_engine(Ours(open_store(sys.argv[1])))
