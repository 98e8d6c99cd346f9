"""Vector search: an exact scan of one matrix that holds every vector of a workflow."""

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
from rag_core.stores.embedded.records import ScoredRow, Workflow

GATHER_BELOW = 0.2  # of all rows: copying out more than this costs more than scoring all of them
SLACK = 1e-4  # above the float32 error of a product of unit vectors; rows this close are scored again in float64
PART = 4096  # vectors read at a time
DECIMALS = 6  # precision of float32: equal vectors get equal scores at every position of the matrix

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class View:
    """The vectors as they were at `seq`, each with its chunk's row and version and whether the chunk still exists.

    `vectors` is a view of the first rows of `buffer`, which may have room for more.
    """

    seq: int
    rows: Integers
    versions: Integers
    live: NDArray[np.bool_]
    vectors: Floats
    buffer: Floats

    def of_versions(self, versions: Sequence[int]) -> Integers:
        """Return the positions of the live vectors of these document versions."""
        return np.flatnonzero(self.live & np.isin(self.versions, versions))

    def of_rows(self, rows: Sequence[int]) -> Integers:
        """Return the positions of the live vectors of these chunk rows.

        Rows only ever grow, so that `self.rows` is sorted and a binary search finds each.
        """
        sorted_rows = np.unique(np.asarray(rows, dtype=np.int64))
        positions = np.searchsorted(self.rows, sorted_rows)
        is_in_range = positions < len(self.rows)
        positions, sorted_rows = positions[is_in_range], sorted_rows[is_in_range]
        live_positions: Integers = positions[(self.rows[positions] == sorted_rows) & self.live[positions]]
        return live_positions

    def nearest(self, probes: Sequence[Sequence[float]], among: Integers | None, depth: int) -> list[list[ScoredRow]]:
        """Rank rows by cosine for each probe: the best `depth` of all, or of `among`, and any ties with the last."""
        unit_probes = _unit(np.asarray(probes, dtype=np.float32))
        positions = np.flatnonzero(self.live) if among is None else among
        if not len(positions):
            return [[] for _ in probes]
        if len(positions) < GATHER_BELOW * len(self.rows):
            scores = self.vectors[positions] @ unit_probes.T
        else:
            scores = (self.vectors @ unit_probes.T)[positions]
        return [self._exact(positions, scores[:, i], unit_probes[i], depth) for i in range(len(unit_probes))]

    def _exact(self, positions: Integers, scores: Floats, probe: Floats, depth: int) -> list[ScoredRow]:
        close_positions = positions[scores >= _nth_best(scores, depth) - SLACK]
        cosines = np.einsum("ij,j->i", self.vectors[close_positions].astype(np.float64), probe.astype(np.float64))
        cosines = np.clip(cosines, -1.0, 1.0).round(DECIMALS)
        is_best = cosines >= _nth_best(cosines, depth)
        return list(zip(self.rows[close_positions[is_best]].tolist(), cosines[is_best].tolist(), strict=True))


class Meanings:
    """The vector index of one workflow."""

    def __init__(self) -> None:
        _one_blas_thread()
        self._lock = threading.Lock()
        no_vectors = np.empty((0, 0), dtype=np.float32)
        no_rows = np.empty(0, dtype=np.int64)
        self._snapshot = View(0, no_rows, no_rows, no_rows.astype(bool), no_vectors, no_vectors)

    def at(self, db: apsw.Connection, workflow: Workflow) -> View:
        """Return the vectors with at least every change that `db` sees, applying those that are missing."""
        if self._snapshot.seq < workflow.seq:
            with self._lock:
                if self._snapshot.seq < workflow.seq:
                    self._snapshot = _advanced(self._snapshot, db, workflow)
        return self._snapshot


def _advanced(snapshot: View, db: apsw.Connection, workflow: Workflow) -> View:
    since = snapshot.seq
    removed_versions = records.gone(db, workflow, since)
    snapshot = replace(snapshot, seq=workflow.seq, live=snapshot.live & ~np.isin(snapshot.versions, removed_versions))
    count = records.fresh_count(db, workflow, since)
    if not count:
        return snapshot
    added_vectors = records.fresh_vectors(db, workflow, since)
    return _appended(_with_room(snapshot, count, records.space(db).dimensions), added_vectors)


def _appended(snapshot: View, added_vectors: Iterator[tuple[int, int, bytes]]) -> View:
    """Append vectors, read in parts straight into the buffer, because the memory of a full copy is not freed."""
    old_count = end = len(snapshot.rows)
    rows, versions = [snapshot.rows], [snapshot.versions]
    while part := list(islice(added_vectors, PART)):
        part_rows, part_versions, part_blobs = zip(*part, strict=True)
        vectors = np.frombuffer(b"".join(part_blobs), dtype=np.float32).reshape(len(part), -1)
        snapshot.buffer[end : end + len(part)] = _unit(vectors)  # after the rows that earlier snapshots show
        end += len(part)
        rows.append(np.array(part_rows, dtype=np.int64))
        versions.append(np.array(part_versions, dtype=np.int64))
    return replace(
        snapshot,
        rows=np.concatenate(rows),
        versions=np.concatenate(versions),
        live=np.concatenate([snapshot.live, np.ones(end - old_count, dtype=bool)]),
        vectors=snapshot.buffer[:end],
    )


def _with_room(snapshot: View, count: int, dimensions: int) -> View:
    """Return the snapshot with room for `count` more vectors; a new buffer leaves out vectors of removed chunks.

    The dimensions change only when another model's vectors are written to a store whose vectors were all removed.
    """
    if len(snapshot.rows) + count <= len(snapshot.buffer) and snapshot.buffer.shape[1] == dimensions:
        return snapshot
    live_positions = np.flatnonzero(snapshot.live)
    row_count = len(live_positions) + count
    buffer = np.empty((row_count + row_count // 4, dimensions), dtype=np.float32)
    if len(live_positions):
        buffer[: len(live_positions)] = snapshot.vectors[live_positions]
    return replace(
        snapshot,
        rows=snapshot.rows[live_positions],
        versions=snapshot.versions[live_positions],
        live=snapshot.live[live_positions],
        vectors=buffer[: len(live_positions)],
        buffer=buffer,
    )


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _nth_best(scores: NDArray[np.floating], depth: int) -> float:
    position = max(0, len(scores) - depth)
    return float(np.partition(scores, position)[position])


@functools.cache
def _one_blas_thread() -> None:
    """Limit BLAS to one thread: two are slower on small products, and much slower on a busy machine."""
    threadpool_limits(limits=1, user_api="blas")
