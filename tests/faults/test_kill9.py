"""Writers are killed at random moments; what they had acknowledged must be there, whole and in every index."""

import asyncio
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from rag_core.core.model import Chunk
from rag_core.stores.embedded import EmbeddedStore, InMemoryVectorStore
from tests.faults import child_writer
from tests.faults.child_writer import DOCUMENTS
from tests.stores.sample import SCOPE, find, put

LANDMARKS = [f"landmark{i}" for i in range(5)]  # each stands in one document only, written before any kill
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.faults.child_writer"])


@dataclass
class Ledger:
    """What the writers said: the acknowledged turn of each document, the last turn begun, and where they died.

    `shot_after` counts the phase whose message the kill followed: on a fast machine a short phase is over before the
    signal arrives, so `died_in`, the phase that had last been told of, need not have all of them.
    """

    acknowledged: dict[str, int] = field(default_factory=dict)
    begun: int = 0
    shot_after: Counter[str] = field(default_factory=Counter)
    died_in: Counter[str] = field(default_factory=Counter)

    def note(self, phase: str, turn: int) -> None:
        self.begun = max(self.begun, turn)
        if phase == "acknowledged":
            self.acknowledged[child_writer.name(turn)] = turn


def kill_one(folder: Path, ledger: Ledger, draw: random.Random, *, lying: bool = False, at_once: int = 1) -> None:
    """Start a writer and kill it at a random moment after a random one of its messages."""
    told, tells = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=child_writer.write, args=(folder, tells, ledger.begun + 1, lying, at_once))
    child.start()
    tells.close()
    said = [told.recv() for _ in range(draw.randrange(1, 14 * at_once))]
    ledger.shot_after[said[-1][0]] += 1
    spin(draw.random() * 0.01)
    child.kill()
    child.join()
    said += list(rest(told))
    for phase, turn in said:
        ledger.note(phase, turn)
    ledger.died_in[said[-1][0]] += 1


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def rest(told: Connection) -> list[tuple[str, int]]:
    said = []
    try:
        while True:
            said.append(told.recv())
    except EOFError:
        return said


async def faults(folder: Path, ledger: Ledger) -> list[str]:
    """What is wrong with the store, in words."""
    store = EmbeddedStore(folder)
    chunks = await store.select(SCOPE, limit=10_000)
    wrong = [fault for number in range(DOCUMENTS) for fault in await wrongs(child_writer.name(number), chunks, ledger)]
    wrong += [fault async for fault in disagreements(store, chunks)]
    await store.close()
    return wrong


async def wrongs(name: str, chunks: Sequence[Chunk], ledger: Ledger) -> list[str]:
    """Each document must be the one last acknowledged, or the one that was under way: whole."""
    contents = [c.content for c in chunks if c.document_id == name]
    least = ledger.acknowledged.get(name)
    turns = [t for t in range(least or 1, ledger.begun + 1) if child_writer.name(t) == name]
    if contents in [await contents_of(turn) for turn in turns] or not (contents or least):
        return []
    return [f"{name} was acknowledged in turn {least} and holds {len(contents)} chunks, {contents[:1]}"]


async def contents_of(turn: int) -> list[str]:
    """What the same upload becomes where nobody is killed."""
    store = InMemoryVectorStore()
    await child_writer.index(turn, store, child_writer.LastStep())
    chunks = await store.select(SCOPE, limit=10_000)
    await store.close()
    return [c.content for c in chunks]


async def disagreements(store: EmbeddedStore, chunks: Sequence[Chunk]) -> AsyncIterator[str]:
    """Words, vectors and facets must name the chunks of the truth, and the landmarks must be found as before."""
    written = {c.id for c in chunks if c.document_id.startswith("doc")}
    for how in ("words", "meaning"):
        ranking = await find(store, "every", how=how, limit=10_000)
        named = {hit.chunk.id for hit in ranking if hit.chunk.document_id.startswith("doc")}
        if named != written:
            yield f"{how} names {len(named)} chunks, the truth {len(written)}"
        for landmark in LANDMARKS:
            best = await find(store, landmark, how=how, limit=1)
            if [hit.chunk.document_id for hit in best] != [f"fixed {landmark}"]:
                yield f"{landmark} is no longer found by {how}"
    (facet,) = await store.count_facets(["entity_codes"], SCOPE, limit=10_000)
    counted = Counter(value for c in chunks for value in {entity.value for entity in c.entities})
    if {b.value: b.count for b in facet.buckets} != counted:
        yield "the facets do not count the chunks of the truth"


def kill_many(folder: Path, kills: int, *, lying: bool = False, at_once: int = 1) -> tuple[list[str], Ledger]:
    """Kill writers one after the other until something is wrong."""
    seed = int(os.environ.get("KILL_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    print(f"KILL_SEED={seed}")
    draw, ledger = random.Random(seed), Ledger()
    asyncio.run(put_landmarks(folder))
    for _ in range(kills):
        kill_one(folder, ledger, draw, lying=lying, at_once=at_once)
        if found := asyncio.run(faults(folder, ledger)):
            return found, ledger
    return [], ledger


async def put_landmarks(folder: Path) -> None:
    store = EmbeddedStore(folder)
    for landmark in LANDMARKS:
        await put(store, f"fixed {landmark}", [landmark])
    await store.close()


def test_nothing_acknowledged_is_lost_and_nothing_is_half_there_after_thirty_kills(tmp_path: Path) -> None:
    """C56, G1: whole documents, and words, vectors and facets that name the same chunks, wherever the kill falls."""
    found, ledger = kill_many(tmp_path, 30)
    assert not found
    assert len(ledger.shot_after) >= 3, ledger.shot_after
    assert len(ledger.died_in) >= 2, ledger.died_in


def test_nothing_acknowledged_is_lost_where_documents_are_committed_together(tmp_path: Path) -> None:
    """C56, G1: of each of the group the whole document or none of it."""
    found, ledger = kill_many(tmp_path, 10, at_once=DOCUMENTS)
    assert not found
    assert len(ledger.acknowledged) == DOCUMENTS


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_after_five_hundred_kills(tmp_path: Path) -> None:
    """G1."""
    found, ledger = kill_many(tmp_path, 500)
    print(ledger.died_in)
    assert not found


def test_the_harness_catches_a_writer_that_acknowledges_before_it_commits(tmp_path: Path) -> None:
    found, _ = kill_many(tmp_path, 100, lying=True)
    assert "was acknowledged in turn" in found[0]


async def whole(folder: Path, texts: Sequence[str]) -> bool:
    """Whether the document is there; it must be all there or nowhere, and then to be restored."""
    store = EmbeddedStore(folder)
    live, gone = await store.list_documents(SCOPE), await store.list_deleted(SCOPE)
    assert [d.id for d in (*live, *gone)] == ["toggled"]
    expected = list(texts) if live else []
    assert [c.content for c in await store.select(SCOPE, limit=99)] == expected
    for how in ("words", "meaning"):
        assert sorted(h.chunk.content for h in await find(store, "every", how=how, limit=99)) == sorted(expected)
    assert len(await store.load_vectors("toggled", SCOPE)) == len(expected)
    assert (await store.describe()).chunks == len(expected)
    await store.close()
    return bool(live)


def test_a_kill_leaves_a_document_live_or_deleted_and_whole(tmp_path: Path) -> None:
    """S3-16, C56: never both, never neither, never a part of it."""
    texts, draw, seen = [f"every line {i}" for i in range(40)], random.Random(16), Counter[bool]()
    asyncio.run(put(EmbeddedStore(tmp_path), "toggled", texts))
    for _ in range(16):
        told, tells = PROCESSES.Pipe(duplex=False)
        child = PROCESSES.Process(target=child_writer.toggle, args=(tmp_path, tells, "toggled"))
        child.start()
        tells.close()
        for _ in range(draw.randrange(1, 5)):
            told.recv()
        spin(draw.random() * 0.01)
        child.kill()
        child.join()
        seen[asyncio.run(whole(tmp_path, texts))] += 1
    assert min(seen[True], seen[False]) >= 2
