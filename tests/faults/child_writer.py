"""Indexes documents in a process of its own, telling over a pipe what it does, until it is killed."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from rag_core.core.index import Index
from rag_core.core.model import Scope, Vector
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import kit
from tests.stores.sample import SCOPE, SPACE, find, put, vector

DOCUMENTS = 6  # written in turn, so that most writes replace an earlier version


@dataclass
class LastStep:
    """An embedder; embedding is the last that happens before the store is asked to commit."""

    told: Connection | None = None
    turn: int = 0
    says: str = "commit"
    space: str = SPACE
    dimensions: int = 16

    async def embed_query(self, text: str) -> Vector:
        return vector(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        made = [vector(text) for text in texts]
        if self.told:
            self.told.send((self.says, self.turn))
        return made


def name(turn: int) -> str:
    return f"doc{turn % DOCUMENTS}"


def table(turn: int) -> str:
    """Another number of other rows each turn: "every" stands in all, the codes become facets."""
    draw = Random(turn)
    rows = [f"P{draw.randrange(100):04},every turn{turn} row{i}" for i in range(draw.randrange(1, 30))]
    return "\n".join(["code,meaning", *rows])


async def index(turn: int, store: EmbeddedStore, embedder: LastStep, scope: Scope = SCOPE) -> None:
    """The way of every upload: extract, cut, enrich, embed, replace."""
    upload = Upload(content=table(turn), source="codes.csv", document_id=name(turn))
    parts = kit(Index(store, embedder))
    await index_document(upload, scope, parts, Run(), chunking=Chunking(), limits=UploadLimits(10**6, 10.0))


def write(folder: Path, told: Connection, first: int, lying: bool, at_once: int = 1) -> None:
    """Write from turn `first` on, `at_once` together; a `lying` writer acknowledges before it has committed."""
    asyncio.run(_write(folder, told, first, "acknowledged" if lying else "commit", at_once))


async def _write(folder: Path, told: Connection, first: int, says: str, at_once: int) -> None:
    store = EmbeddedStore(folder)
    for turn in itertools.count(first, at_once):
        await asyncio.gather(*(_write_turn(store, told, turn + n, says) for n in range(at_once)))
        told.send(("projection", turn))
        await find(store, "every")


async def _write_turn(store: EmbeddedStore, told: Connection, turn: int, says: str) -> None:
    told.send(("extraction", turn))
    await index(turn, store, LastStep(told, turn, says))
    told.send(("acknowledged", turn))


def write_once(folder: Path, document_id: str, text: str) -> None:
    asyncio.run(put(EmbeddedStore(folder), document_id, [text]))


def toggle(folder: Path, told: Connection, document_id: str) -> None:
    """Delete and restore a document by turns."""
    asyncio.run(_toggle(EmbeddedStore(folder), told, document_id))


async def _toggle(store: EmbeddedStore, told: Connection, document_id: str) -> None:
    live = bool(await store.list_documents(SCOPE))
    while True:
        told.send("delete" if live else "restore")
        assert await (store.delete if live else store.restore)(document_id, SCOPE)
        live = not live
        await find(store, "every")
