"""How a contestant is spoken to: each line of JSON on its input is one thing to do, each on its output what came of it.

Times are taken in the contestant, around its own calls, so that no reading of JSON counts. This file and the peers run
in environments that have numpy and the peer, and nothing of ours.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
TOP = 20
GROUPS = 50  # a filter on one of them admits 2 %
NEVER_S = 5
SMALL = 5  # chunks of the last document, which is replaced again and again
LAST = "the small one"


@dataclass(frozen=True)
class Row:
    """One chunk with its unit vector."""

    id: str
    document: str
    group: int
    text: str
    vector: Floats
    spans: str = "[]"  # JSON


class Engine(Protocol):
    """A contestant's operations, each as its manual tells its users to do it."""

    def build(self, rows: Sequence[Row]) -> None:
        """Store all of it, on disk, with the indexes that its questions want."""

    def open(self) -> None:
        """Begin with what an earlier process stored."""

    def ask(self, words: str, vector: Floats, group: int | None) -> list[tuple[str, str]]:
        """Return id and text of the best `TOP`, best first: by both legs, or by vectors alone without words."""

    def replace(self, rows: Sequence[Row]) -> None:
        """Put the rows of one document in the place of those with the same ids."""


def save_corpus(
    folder: Path, texts: Sequence[str], vectors: Floats, documents: Sequence[str], spans: Sequence[str]
) -> None:
    """Put the corpus where every contestant reads it."""
    told = {"texts": list(texts), "documents": list(documents), "spans": list(spans)}
    (folder / "texts.json").write_text(json.dumps(told), encoding="utf-8")
    np.save(folder / "vectors.npy", vectors)


def load_rows(folder: Path) -> list[Row]:
    told, vectors = json.loads((folder / "texts.json").read_text(encoding="utf-8")), np.load(folder / "vectors.npy")
    spans = told["spans"] or ["[]"] * len(vectors)
    columns = zip(told["documents"], told["texts"], vectors, spans, strict=True)
    return [
        Row(str(i), document, i % GROUPS, text, vector, places)
        for i, (document, text, vector, places) in enumerate(columns)
    ]


def name_documents(count: int, per_document: int, names: Sequence[str] = ()) -> list[str]:
    """Return the document of each chunk: numbered, or the names given; the last SMALL chunks are one that changes."""
    named = names or [f"document {i // per_document}" for i in range(count)]
    return [*named[: count - SMALL], *[LAST] * min(SMALL, count)]


def serve_engine(engine: Engine) -> None:
    """Do as the input says until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        print(json.dumps(_carry_out(engine, **json.loads(line))), file=answers, flush=True)


def _carry_out(engine: Engine, do: str, **given: Any) -> dict[str, Any]:
    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "build": _time_build,
        "open": _open_engine,
        "ask": _time_question,
        "replace": _time_replacement,
    }
    return tasks[do](engine, **given)


def _time_build(engine: Engine, data: str, words: str, vector: Sequence[float]) -> dict[str, Any]:
    """Return the seconds until the first question was answered, and the number of chunks."""
    given = load_rows(Path(data))
    began = time.perf_counter()
    engine.build(given)
    engine.ask(words, _convert_vector(vector), None)
    return {"s": time.perf_counter() - began, "chunks": len(given)}


def _open_engine(engine: Engine, words: str, vector: Sequence[float]) -> dict[str, Any]:
    engine.open()
    return {"found": len(engine.ask(words, _convert_vector(vector), None))}


def _time_question(engine: Engine, words: str, vector: Sequence[float], group: int | None) -> dict[str, Any]:
    probe = _convert_vector(vector)
    began, used = time.perf_counter(), time.process_time()
    found = engine.ask(words, probe, group)
    spent, cpu = time.perf_counter() - began, time.process_time() - used
    return {"ms": spent * 1000, "cpu_ms": cpu * 1000, "ids": [id for id, _ in found]}


def _time_replacement(
    engine: Engine, ids: Sequence[str], word: str, vectors: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Return the milliseconds until a question for the new word is answered with it; infinite when it never is."""
    new = [
        Row(id, LAST, int(id) % GROUPS, f"{word} as part {place} has it", _convert_vector(vector))
        for place, (id, vector) in enumerate(zip(ids, vectors, strict=True))
    ]
    began = time.perf_counter()
    engine.replace(new)
    while not any(word in text for _, text in engine.ask(word, new[0].vector, None)):
        if time.perf_counter() - began > NEVER_S:
            return {"ms": math.inf}
    return {"ms": (time.perf_counter() - began) * 1000}


def _convert_vector(vector: Sequence[float]) -> Floats:
    return np.asarray(vector, dtype=np.float32)
