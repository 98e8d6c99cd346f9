"""`python -m evals.stored_vectors`: what an index that keeps no vectors costs and saves, against one that keeps them.

The same documents are indexed, indexed again as they are, changed in one chunk each, deleted and restored, in both
kinds of index of the emulator. Counted are the requests and megabytes sent and the texts embedded. The emulator keeps
no disk as the service does: what is saved there is arithmetic (`python -m evals.scale`).
"""

import argparse
import asyncio
import hashlib
import random
from collections.abc import Awaitable, Sequence
from typing import Any

from local_emulator.search_service import SearchService, run_search_service
from rag_core.core.index import Index
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.evaluation import markdown_tables
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.stores.azure_search.index_client import AzureIndexClient

SCOPE = Scope("manuals")
SPACE = "random"


class RandomEmbedder:
    """Makes vectors of these dimensions, the same for the same text, and counts the texts."""

    space = SPACE

    def __init__(self, dimensions: int) -> None:
        self.dimensions, self.embedded = dimensions, 0

    async def embed_query(self, text: str) -> Vector:
        draw = random.Random(text)
        return [round(draw.uniform(-0.05, 0.05), 8) for _ in range(self.dimensions)]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.embedded += len(texts)
        return [await self.embed_query(text) for text in texts]


class SentBatches:
    """Counts what is sent to the index."""

    def __init__(self) -> None:
        self.requests = self.sent_bytes = 0
        post = AzureIndexClient._post_batch

        async def count(client: AzureIndexClient, batch: Sequence[str], limits: Any) -> Any:
            self.requests += 1
            self.sent_bytes += sum(len(body.encode()) for body in batch)
            return await post(client, batch, limits)

        AzureIndexClient._post_batch = count  # type: ignore[assignment,method-assign]


def make_chunks(document_id: str, count: int, changed: str = "") -> list[Chunk]:
    """Make chunks of 800 characters; `changed` stands in the first."""
    chunks = []
    for number in range(count):
        draw = random.Random(f"{document_id}{number}")
        content = (changed if number == 0 else "") + "".join(draw.choices("abcdefgh    ", k=800))
        content_hash = hashlib.sha256(content.encode()).hexdigest()
        name = f"{document_id}:{number}"
        chunks.append(Chunk(name, document_id, number, content, document_id, f"{document_id}.pdf", content_hash))
    return chunks


async def measure_steps(store: AzureSearchStore, embedder: RandomEmbedder, given: argparse.Namespace) -> list[str]:
    """Return a cell of figures for each step, in the order of `STEPS`."""
    index, sent = Index(store, embedder), SentBatches()
    names = [f"d{number}" for number in range(given.documents)]

    def write(changed: str = "") -> list[Awaitable[Any]]:
        documents = [Document(name, SCOPE.workflow_id, name, f"{name}.pdf", changed, "eval") for name in names]
        chunks = [make_chunks(name, given.chunks, changed) for name in names]
        return [index.add_document(one, of_it, SCOPE) for one, of_it in zip(documents, chunks, strict=True)]

    cells = []
    for work in (
        write(),
        write(),
        write("changed "),
        [store.delete(name, SCOPE) for name in names],
        [store.restore(name, SCOPE) for name in names],
    ):
        before = (sent.requests, sent.sent_bytes, embedder.embedded)
        for one in work:
            await one
        requests, size, texts = (now - then for now, then in zip(_read(sent, embedder), before, strict=True))
        cells.append(f"{requests}, {size / 1e6:.1f}, {texts}")
    return cells


def _read(sent: SentBatches, embedder: RandomEmbedder) -> tuple[int, int, int]:
    return sent.requests, sent.sent_bytes, embedder.embedded


STEPS = ("indexed", "indexed again", "one chunk changed", "deleted", "restored")


async def compare_indexes(given: argparse.Namespace) -> str:
    """Return a table of both kinds of index; each cell has requests, megabytes sent and texts embedded."""
    columns = []
    post = AzureIndexClient._post_batch
    for stores_vectors in (True, False):
        with run_search_service(SearchService(None, keys={"key"})) as url:
            embedder = RandomEmbedder(given.dimensions)
            store = AzureSearchStore(
                url,
                "key",
                "compared",
                space=SPACE,
                dimensions=given.dimensions,
                embedder=embedder,
                stores_vectors=stores_vectors,
            )
            await store.setup()
            columns.append(await measure_steps(store, embedder, given))
            await store.close()
            AzureIndexClient._post_batch = post  # type: ignore[method-assign]
    rows = zip(STEPS, *columns, strict=True)
    return markdown_tables.format_table(["step (requests, MB, texts embedded)", "stored", "not stored"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=100, help="of each document")
    parser.add_argument("--dimensions", type=int, default=1536)
    print(asyncio.run(compare_indexes(parser.parse_args())))


if __name__ == "__main__":
    main()
