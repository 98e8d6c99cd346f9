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
from rag_core.stores.embedded.records import ScoredRow, WorkflowState

MAX_GATHERED_SHARE = 0.2  # of all rows: copying out more than this costs more than scoring all of them
# above the float32 error of a product of unit vectors; rows this close are scored again in float64
FLOAT32_SCORE_SLACK = 1e-4
BLOCK_BYTES = 1 << 19  # of vectors, which a core keeps in its own cache from one probe to the next
SCORES_PER_GROUP = 64  # of which the best tells whether one may be among the best of all
VECTORS_PER_READ = 4096  # vectors read at a time
COSINE_DECIMALS = 6  # precision of float32: equal vectors get equal scores at every position of the matrix

Float32Array = NDArray[np.float32]
Int64Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    """The vectors as they were at `seq`, each with its chunk's row and version and whether the chunk still exists.

    `vectors` is a view of the first rows of `buffer`, which may have room for more.
    """

    seq: int
    rows: Int64Array
    versions: Int64Array
    live: NDArray[np.bool_]
    vectors: Float32Array
    buffer: Float32Array

    def find_positions_of_versions(self, versions: Int64Array) -> Int64Array:
        """Return the positions of the live vectors of these document versions."""
        return np.flatnonzero(self.live & np.isin(self.versions, versions))

    def find_positions_of_rows(self, rows: Int64Array) -> Int64Array:
        """Return the positions of the live vectors of these chunk rows, which may come in any order and repeatedly.

        Rows only ever grow, so that `self.rows` is sorted and a binary search finds each.
        """
        positions = np.searchsorted(self.rows, rows)
        is_found = np.append(self.rows, -1)[positions] == rows  # -1 stands for rows beyond all of them
        is_admitted = np.zeros(len(self.rows), dtype=bool)
        is_admitted[positions[is_found]] = True
        return np.flatnonzero(is_admitted & self.live)

    def search(self, probes: Sequence[Sequence[float]], among: Int64Array | None, depth: int) -> list[list[ScoredRow]]:
        """Rank rows by cosine for each probe: the best `depth` of all, or of `among`, and any ties with the last."""
        unit_probes = _normalize_vectors(np.asarray(probes, dtype=np.float32))
        positions = np.flatnonzero(self.live) if among is None else among
        if not len(positions):
            return [[] for _ in probes]
        is_gathered = len(positions) < MAX_GATHERED_SHARE * len(self.rows)
        vectors = self.vectors[positions] if is_gathered else self.vectors
        has_all = len(vectors) == len(positions)
        return [
            self._rank_exactly(positions, scores if has_all else scores[positions], probe, depth)
            for probe, scores in zip(unit_probes, _multiply_by_probes(vectors, unit_probes), strict=True)
        ]

    def _rank_exactly(
        self, positions: Int64Array, scores: Float32Array, probe: Float32Array, depth: int
    ) -> list[ScoredRow]:
        close_positions = positions[scores >= _find_nth_best_score(scores, depth) - FLOAT32_SCORE_SLACK]
        cosines = np.einsum("ij,j->i", self.vectors[close_positions].astype(np.float64), probe.astype(np.float64))
        cosines = np.clip(cosines, -1.0, 1.0).round(COSINE_DECIMALS)
        is_best = cosines >= _find_nth_best_score(cosines, depth)
        return list(zip(self.rows[close_positions[is_best]].tolist(), cosines[is_best].tolist(), strict=True))


class VectorIndex:
    """The vector index of one workflow."""

    def __init__(self) -> None:
        _limit_blas_to_one_thread()
        self._lock = threading.Lock()
        no_vectors = np.empty((0, 0), dtype=np.float32)
        no_rows = np.empty(0, dtype=np.int64)
        self._snapshot = VectorSnapshot(0, no_rows, no_rows, no_rows.astype(bool), no_vectors, no_vectors)

    def get_snapshot(self, db: apsw.Connection, workflow: WorkflowState) -> VectorSnapshot:
        """Return the vectors with at least every change that `db` sees, applying those that are missing."""
        if self._snapshot.seq < workflow.seq:
            with self._lock:
                if self._snapshot.seq < workflow.seq:
                    self._snapshot = _apply_vector_changes(self._snapshot, db, workflow)
        return self._snapshot


def _apply_vector_changes(snapshot: VectorSnapshot, db: apsw.Connection, workflow: WorkflowState) -> VectorSnapshot:
    since = snapshot.seq
    removed_versions = records.list_removed_versions(db, workflow, since)
    live = snapshot.live
    if removed_versions:  # of an empty list numpy would import its masked arrays, at a fiftieth of a first answer
        live = live & ~np.isin(snapshot.versions, removed_versions)
    snapshot = replace(snapshot, seq=workflow.seq, live=live)
    count = records.count_added_chunks(db, workflow, since)
    if not count:
        return snapshot
    added_vectors = records.iter_added_vectors(db, workflow, since)
    return _append_vectors(
        _reserve_rows(snapshot, count, records.load_sqlite_embedding_space(db).dimensions), added_vectors
    )


def _append_vectors(snapshot: VectorSnapshot, added_vectors: Iterator[tuple[int, int, bytes]]) -> VectorSnapshot:
    """Append vectors, read in parts straight into the buffer, because the memory of a full copy is not freed."""
    old_count = end = len(snapshot.rows)
    rows, versions = [snapshot.rows], [snapshot.versions]
    while part := list(islice(added_vectors, VECTORS_PER_READ)):
        part_rows, part_versions, part_blobs = zip(*part, strict=True)
        vectors = np.frombuffer(b"".join(part_blobs), dtype=np.float32).reshape(len(part), -1)
        snapshot.buffer[end : end + len(part)] = _normalize_vectors(
            vectors
        )  # after the rows that earlier snapshots show
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


def _reserve_rows(snapshot: VectorSnapshot, count: int, dimensions: int) -> VectorSnapshot:
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


def _normalize_vectors(vectors: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Float32Array = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _multiply_by_probes(vectors: Float32Array, probes: Float32Array) -> Float32Array:
    """Return a row of products for each probe, reading the vectors from memory once.

    The first probe brings a block from memory, where products row by row are up to twice as fast as BLAS's of a matrix
    and a vector; the others find it in the core's cache, where BLAS is faster.
    """
    scores = np.empty((len(probes), len(vectors)), dtype=np.float32)
    size = max(1, BLOCK_BYTES // max(1, vectors[0].nbytes)) if len(probes) > 1 else len(vectors)
    for start in range(0, len(vectors), size):
        block = vectors[start : start + size]
        np.vecdot(block, probes[0], out=scores[0, start : start + size])
        for of_probe, probe in zip(scores[1:], probes[1:], strict=True):
            np.matmul(block, probe, out=of_probe[start : start + size])
    return scores


def _find_nth_best_score(scores: NDArray[np.floating], depth: int) -> float:
    """Return the score that `depth` scores reach, or the lowest of fewer; only those that may be it are sorted.

    `depth` groups have a best score of at least `bound`, and so many scores reach it.
    """
    group_count = len(scores) // SCORES_PER_GROUP
    if group_count > depth:
        best_of_groups = scores[: group_count * SCORES_PER_GROUP].reshape(group_count, -1).max(axis=1)
        bound = np.partition(best_of_groups, -depth)[-depth]
        scores = scores[~(scores < bound)]  # what is no number counts as best, as where all are sorted
    position = max(0, len(scores) - depth)
    return float(np.partition(scores, position)[position])


@functools.cache
def _limit_blas_to_one_thread() -> None:
    """Limit BLAS to one thread: two are slower on small products, and much slower on a busy machine."""
    threadpool_limits(limits=1, user_api="blas")
