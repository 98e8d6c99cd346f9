"""Search by meaning: every vector of a workflow in one matrix, scanned exactly."""

import functools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import apsw
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from rag_core.stores.embedded import records
from rag_core.stores.embedded.records import Workflow

GATHER_BELOW = 0.2  # of all rows: picking out more than this costs more than scoring all (ENGINES 2)
SLACK = 1e-4  # more than float32 can be off in a product of unit vectors; those this near are scored again in float64
PART = 4096  # vectors read at a time
DECIMALS = 6  # what float32 carries: equals score equally, wherever they lie in the matrix

Scored = tuple[int, float]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class View:
    """The vectors as they were at `seq`: for each its chunk's row and version, and whether it is still there.

    `buffer` is what `vectors` is the beginning of: there may be room behind for more.
    """

    seq: int
    rows: Integers
    versions: Integers
    live: NDArray[np.bool_]
    vectors: Floats
    buffer: Floats

    def of_versions(self, versions: Sequence[int]) -> Integers:
        return np.flatnonzero(self.live & np.isin(self.versions, versions))

    def of_rows(self, rows: Sequence[int]) -> Integers:
        """Rows only ever grow, so theirs are in order: each is sought, where comparing all would look at every one."""
        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        places = np.searchsorted(self.rows, wanted)
        held = places < len(self.rows)
        places, wanted = places[held], wanted[held]
        found: Integers = places[(self.rows[places] == wanted) & self.live[places]]
        return found

    def nearest(self, probes: Sequence[Sequence[float]], among: Integers | None, depth: int) -> list[list[Scored]]:
        """For each probe the rows by cosine: the best `depth` of all or of `among`, and those that equal the last."""
        wanted = _unit(np.asarray(probes, dtype=np.float32))
        places = np.flatnonzero(self.live) if among is None else among
        if not len(places):
            return [[] for _ in probes]
        if len(places) < GATHER_BELOW * len(self.rows):
            scores = self.vectors[places] @ wanted.T
        else:
            scores = (self.vectors @ wanted.T)[places]
        return [self._exact(places, scores[:, i], wanted[i], depth) for i in range(len(wanted))]

    def _exact(self, places: Integers, scores: Floats, probe: Floats, depth: int) -> list[Scored]:
        near = places[scores >= _nth_best(scores, depth) - SLACK]
        cosines = np.einsum("ij,j->i", self.vectors[near].astype(np.float64), probe.astype(np.float64))
        cosines = np.clip(cosines, -1.0, 1.0).round(DECIMALS)
        kept = cosines >= _nth_best(cosines, depth)
        return list(zip(self.rows[near[kept]].tolist(), cosines[kept].tolist(), strict=True))


class Meanings:
    """The matrix of one workflow."""

    def __init__(self) -> None:
        _one_blas_thread()
        self._lock = threading.Lock()
        nothing = np.empty((0, 0), dtype=np.float32)
        none = np.empty(0, dtype=np.int64)
        self._view = View(0, none, none, none.astype(bool), nothing, nothing)

    def at(self, db: apsw.Connection, workflow: Workflow) -> View:
        """The matrix with all that `db` sees, possibly more."""
        if self._view.seq < workflow.seq:
            with self._lock:
                if self._view.seq < workflow.seq:
                    self._view = _advanced(self._view, db, workflow)
        return self._view


def _advanced(view: View, db: apsw.Connection, workflow: Workflow) -> View:
    since = view.seq
    gone = records.gone(db, workflow, since)
    view = replace(view, seq=workflow.seq, live=view.live & ~np.isin(view.versions, gone))
    count = records.fresh_count(db, workflow, since)
    if not count:
        return view
    fresh = records.fresh_vectors(db, workflow, since)
    return _appended(_with_room(view, count, records.space(db).dimensions), fresh)


def _appended(view: View, fresh: Iterator[tuple[int, int, bytes]]) -> View:
    """Read in parts, each straight into its place: a copy of all of them would stay with the process."""
    held = end = len(view.rows)
    rows, versions = [view.rows], [view.versions]
    while part := list(islice(fresh, PART)):
        numbers, states, blobs = zip(*part, strict=True)
        vectors = np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(part), -1)
        view.buffer[end : end + len(part)] = _unit(vectors)  # behind what any earlier view shows
        end += len(part)
        rows.append(np.array(numbers, dtype=np.int64))
        versions.append(np.array(states, dtype=np.int64))
    return replace(
        view,
        rows=np.concatenate(rows),
        versions=np.concatenate(versions),
        live=np.concatenate([view.live, np.ones(end - held, dtype=bool)]),
        vectors=view.buffer[:end],
    )


def _with_room(view: View, count: int, dimensions: int) -> View:
    """The view with room for `count` more; when it must move for that, without what is no longer there.

    Vectors of another width come only after all of the old have gone, with another model into an emptied store.
    """
    if len(view.rows) + count <= len(view.buffer) and view.buffer.shape[1] == dimensions:
        return view
    kept = np.flatnonzero(view.live)
    needed = len(kept) + count
    buffer = np.empty((needed + needed // 4, dimensions), dtype=np.float32)
    if len(kept):
        buffer[: len(kept)] = view.vectors[kept]
    return replace(
        view,
        rows=view.rows[kept],
        versions=view.versions[kept],
        live=view.live[kept],
        vectors=buffer[: len(kept)],
        buffer=buffer,
    )


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _nth_best(scores: NDArray[np.floating], depth: int) -> float:
    place = max(0, len(scores) - depth)
    return float(np.partition(scores, place)[place])


@functools.cache
def _one_blas_thread() -> None:
    """Two cost more than they give on small products, and far more on a busy machine (ENGINES 2)."""
    threadpool_limits(limits=1, user_api="blas")
