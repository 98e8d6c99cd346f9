"""Hybrid search: both legs rank within one state of the database, each in a projection brought up to that state."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np

from rag_core.core.errors import Conflict, Misconfigured, StorageFull, Unavailable
from rag_core.core.model import Filter, Hit, Ranking, Scope, Vector
from rag_core.core.ports import Probe
from rag_core.core.rankings import MIN_LEG_DEPTH, average_normalized_scores, sum_reciprocal_ranks
from rag_core.stores.access import list_scope_readers
from rag_core.stores.embedded import lexical_index, records
from rag_core.stores.embedded.database import IndexDatabase, get_lexical_index_folder
from rag_core.stores.embedded.filters import (
    build_filtered_field_values_condition,
    build_visible_versions_condition,
    encode_field_value_term,
    list_filter_terms,
)
from rag_core.stores.embedded.lexical_index import DamagedLexicalIndexError, LexicalIndex, UnwritableLexicalIndexError
from rag_core.stores.embedded.records import WorkflowState
from rag_core.stores.embedded.text_analysis import LEXICAL_ANALYSIS_VERSION
from rag_core.stores.embedded.vector_index import Int64Array, VectorIndex, VectorSnapshot

MAX_REPAIRS = 3  # of a lexical index within one search: it is damaged, and what takes its place cannot be written
MEMORY_INDEX_S = 60.0  # until a lexical index that could not be written is tried on the disk again
MAX_REMEMBERED_SCOPES = 16  # whose visible versions are kept until a document changes: 160 kB for 20,000 documents
MAX_SNAPSHOT_ATTEMPTS = 8  # to find a moment in which no other thread or process updates a projection

NO_ROWS = np.empty(0, dtype=np.int64)

ScoredRows = list[records.ScoredRow]


class StaleProjectionError(Exception):
    """A projection already has changes that the current read transaction does not see."""


class SearchSnapshot(NamedTuple):
    """One state of the database, and the scope and filters of a search in it.

    The versions are those of the documents that the scope may read; None means all, and no chunk is tested then.
    """

    db: apsw.Connection
    workflow: WorkflowState
    scope: Scope
    filters: Sequence[Filter]
    visible_versions: Int64Array | None
    depth: int


class FoundRow(NamedTuple):
    """The row of a chunk as a search found it: its score, and that of each leg. What is returned becomes a `Hit`."""

    row: int
    score: float
    signals: Mapping[str, float]


class EmbeddedSearch:
    """The search of an embedded store, with the projections of every workflow, opened when first used."""

    def __init__(self, database: IndexDatabase, folder: Path | None, warn: Callable[[str, str], None]) -> None:
        self._database = database
        self._folder = None if database.read_only else folder
        self._warn = warn  # of a damage, by its code and in words
        self._in_memory_until: dict[int, float] = {}  # by workflow id, monotonic time
        self._lock = threading.Lock()
        # by workflow id, with the generation and whether it is in memory
        self._lexical_indexes: dict[int, tuple[tuple[int, bool], LexicalIndex]] = {}
        self._vector_indexes: dict[int, VectorIndex] = {}
        # by workflow id, readers and document ids, the one used last at the end; with the state that they were read in
        self._visible_versions: dict[tuple[object, ...], tuple[WorkflowState, Int64Array | None]] = {}

    def search(
        self, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
    ) -> list[Ranking]:
        """Return one ranking per probe, all from one state of the database.

        A damaged lexical index is built again, in memory where it cannot be written; one that is up to date on a disk
        without room is left as it is.

        Raises:
            Unavailable: other writers leave no consistent moment, or the lexical index cannot be built.
        """
        for _ in range(MAX_REPAIRS):
            try:
                return self._search_until_consistent(scope, probes, filters, limit, rrf_k)
            except DamagedLexicalIndexError as error:
                self._replace_damaged_index(scope.workflow_id, error)
            except UnwritableLexicalIndexError:
                self._move_to_memory(scope.workflow_id)
        raise Unavailable("the lexical index cannot be built: check the disk", code="words_failed")

    def _search_until_consistent(
        self, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
    ) -> list[Ranking]:
        for _ in range(MAX_SNAPSHOT_ATTEMPTS):
            with self._database.read_transaction() as db:
                workflow = records.load_workflow_state(db, scope.workflow_id)
                snapshot = SearchSnapshot(
                    db,
                    workflow,
                    scope,
                    filters,
                    self._list_visible_versions(db, workflow, scope),
                    max(limit, MIN_LEG_DEPTH) if any(map(_is_hybrid, probes)) else limit,
                )
                with suppress(StaleProjectionError):
                    return self._search_snapshot(snapshot, probes, limit, rrf_k)
        raise Unavailable("other writers kept changing the index during the search: try again", code="store_busy")

    def update_lexical_index(self, name: str) -> None:
        """Bring the lexical index of a workflow up to date; errors are ignored here and show at the next search."""
        with self._database.read_transaction() as db:
            workflow = records.load_workflow_state(db, name)
            with suppress(DamagedLexicalIndexError, UnwritableLexicalIndexError, Unavailable):
                self._get_lexical_index(db, workflow).get_snapshot(db, workflow)

    def remove_lexical_index_files(self, workflow: WorkflowState) -> None:
        """Remove the files of the lexical indexes of this generation, of all before it and of other versions."""
        with self._database.read_transaction() as db:
            store = records.load_store_id(db)
        for generation in range(workflow.generation + 1):
            if folder := self._get_generation_folder(store, workflow._replace(generation=generation)):
                lexical_index.remove_index_folder(folder)
        self._remove_indexes_of_other_versions(store, workflow)

    def _search_snapshot(
        self, snapshot: SearchSnapshot, probes: Sequence[Probe], limit: int, rrf_k: int
    ) -> list[Ranking]:
        if not snapshot.workflow.chunk_count:
            return [()] * len(probes)
        legs = {
            "words": self._search_lexical_leg(snapshot, probes),
            "meaning": self._search_vector_leg(snapshot, probes),
        }
        rows = {row for scored_legs in legs.values() for scored_rows in scored_legs for row, _ in scored_rows}
        ids = records.load_chunk_ids_by_row(snapshot.db, list(rows))
        if len(ids) < len(rows):
            raise DamagedLexicalIndexError(snapshot.workflow.generation, "it holds chunks that the database does not")
        found = [
            _fuse_scored_rows(
                {
                    signal: _sort_scored_rows(scored_legs[position], ids)[: snapshot.depth]
                    for signal, scored_legs in legs.items()
                },
                ids,
                is_hybrid=_is_hybrid(probe),
                rrf_k=rrf_k,
                limit=limit,
            )
            for position, probe in enumerate(probes)
        ]
        return _load_hits(snapshot.db, found, [probe.label for probe in probes])

    def _search_lexical_leg(self, snapshot: SearchSnapshot, probes: Sequence[Probe]) -> list[ScoredRows]:
        if not any(probe.lexical_query for probe in probes):
            return [[] for _ in probes]
        index = self._get_lexical_index(snapshot.db, snapshot.workflow)
        lexical_snapshot = index.get_snapshot(snapshot.db, snapshot.workflow)
        _require_same_seq(lexical_snapshot.seq, snapshot.workflow)
        conditions = _build_tantivy_filter(snapshot)
        return [
            index.search(lexical_snapshot, probe.lexical_query, conditions, snapshot.depth)
            if probe.lexical_query
            else []
            for probe in probes
        ]

    def _search_vector_leg(self, snapshot: SearchSnapshot, probes: Sequence[Probe]) -> list[ScoredRows]:
        vectors = [probe.vector for probe in probes if probe.vector is not None]
        if not vectors:
            return [[] for _ in probes]
        _require_sqlite_dimensions(snapshot.db, vectors)
        vector_snapshot = self._get_vector_index(snapshot.workflow).get_snapshot(snapshot.db, snapshot.workflow)
        _require_same_seq(vector_snapshot.seq, snapshot.workflow)
        scored_legs = iter(
            vector_snapshot.search(vectors, _find_admitted_positions(snapshot, vector_snapshot), snapshot.depth)
        )
        return [[] if probe.vector is None else next(scored_legs) for probe in probes]

    def _get_lexical_index(self, db: apsw.Connection, workflow: WorkflowState) -> LexicalIndex:
        with self._lock:
            is_in_memory = self._in_memory_until.get(workflow.id, 0.0) > time.monotonic()
            key = workflow.generation, is_in_memory
            held_key, index = self._lexical_indexes.get(workflow.id, (None, None))
            if index is None or held_key != key:
                store = records.load_store_id(db)
                folder = None if is_in_memory else self._get_generation_folder(store, workflow)
                self._remove_indexes_of_other_versions(store, workflow)
                index = LexicalIndex(folder, workflow)
                self._lexical_indexes[workflow.id] = key, index
            return index

    def _move_to_memory(self, name: str) -> None:
        """Use a lexical index in memory for a while, because the one on the disk cannot be written."""
        with self._database.read_transaction() as db:
            workflow = records.load_workflow_state(db, name)
        with self._lock:
            self._in_memory_until[workflow.id] = time.monotonic() + MEMORY_INDEX_S
        self._warn("index_in_memory", "the word index cannot be written to the disk: it is held in memory meanwhile")

    def _replace_damaged_index(self, name: str, error: DamagedLexicalIndexError) -> None:
        """Let the lexical index be built again: its next generation on the disk, or in memory where it has no room."""
        message = "the word index of this workflow was damaged and has been built again from the stored texts"
        self._warn("index_rebuilt", f"{message}: {error.reason}" if error.reason else message)
        try:
            self._start_new_generation(name, error.generation)
        except (StorageFull, Misconfigured, Unavailable):
            self._move_to_memory(name)

    def _list_visible_versions(self, db: apsw.Connection, workflow: WorkflowState, scope: Scope) -> Int64Array | None:
        """List the versions that the scope may read, as they were listed last if no document has changed since.

        Every change of a document raises the workflow's `seq` in its transaction.
        """
        key = workflow.id, list_scope_readers(scope), scope.document_ids
        with self._lock:
            state, versions = self._visible_versions.pop(key, (None, None))
        if state != workflow:
            versions = _load_visible_versions(db, workflow, scope)
        with self._lock:
            self._visible_versions[key] = workflow, versions
            while len(self._visible_versions) > MAX_REMEMBERED_SCOPES:
                self._visible_versions.pop(next(iter(self._visible_versions)))
        return versions

    def _get_vector_index(self, workflow: WorkflowState) -> VectorIndex:
        with self._lock:
            return self._vector_indexes.setdefault(workflow.id, VectorIndex())

    def _start_new_generation(self, name: str, generation: int) -> None:
        """Start a new generation of the lexical index, unless another process did; every process leaves the old one."""
        with self._database.write_transaction() as db:
            workflow = records.load_workflow_state(db, name)
            if workflow.generation != generation:
                return
            records.advance_lexical_generation(db, workflow)
            folder = self._get_generation_folder(records.load_store_id(db), workflow)
        if folder:
            lexical_index.remove_index_folder(folder)

    def _remove_indexes_of_other_versions(self, store: str, workflow: WorkflowState) -> None:
        """Remove the folders that another analysis version made for the workflow, which this one does not read."""
        folders = get_lexical_index_folder(self._folder).glob(f"{store}-{workflow.id}-*") if self._folder else ()
        for folder in folders:
            if not folder.name.endswith(f"-{LEXICAL_ANALYSIS_VERSION}"):
                lexical_index.remove_index_folder(folder)

    def _get_generation_folder(self, store: str, workflow: WorkflowState) -> Path | None:
        return get_generation_folder(self._folder, store, workflow) if self._folder else None


def get_generation_folder(folder: Path, store: str, workflow: WorkflowState) -> Path:
    """Return a folder that no other database, workflow, generation or analysis version uses."""
    return get_lexical_index_folder(folder) / f"{store}-{workflow.id}-{workflow.generation}-{LEXICAL_ANALYSIS_VERSION}"


def _is_hybrid(probe: Probe) -> bool:
    """Return whether two legs are fused, which takes more of each than are returned."""
    return bool(probe.lexical_query) and probe.vector is not None


def _require_same_seq(seq: int, workflow: WorkflowState) -> None:
    if seq != workflow.seq:
        raise StaleProjectionError


def _require_sqlite_dimensions(db: apsw.Connection, vectors: Sequence[Vector]) -> None:
    dimensions = records.load_sqlite_embedding_space(db).dimensions
    if dimensions and {len(vector) for vector in vectors} != {dimensions}:
        raise Conflict(f"the stored vectors have {dimensions} dimensions", code="reindex_required")


def _load_visible_versions(db: apsw.Connection, workflow: WorkflowState, scope: Scope) -> Int64Array | None:
    condition = build_visible_versions_condition(workflow.id, scope)
    rows = db.execute(f"select version from documents where {condition.sql}", condition.values)
    versions = np.fromiter((version for (version,) in rows), dtype=np.int64)
    return None if len(versions) == workflow.document_count else versions


def _build_tantivy_filter(snapshot: SearchSnapshot) -> list[tuple[str, Sequence[str]]]:
    """Build the lexical index's conditions: fields, each with the terms of which a chunk must have at least one."""
    conditions: list[tuple[str, Sequence[str]]] = [
        ("facts", terms) for terms in list_filter_terms(snapshot.db, snapshot.workflow.id, snapshot.filters)
    ]
    if snapshot.visible_versions is None:
        return conditions
    document_terms = [encode_field_value_term("document_id", id) for id in snapshot.scope.document_ids]
    return [
        ("readers", list_scope_readers(snapshot.scope)),
        *([("facts", document_terms)] if document_terms else []),
        *conditions,
    ]


def _find_admitted_positions(snapshot: SearchSnapshot, vector_snapshot: VectorSnapshot) -> Int64Array | None:
    """Return the positions in the matrix that may be ranked; None for all."""
    if not snapshot.filters:
        return (
            None
            if snapshot.visible_versions is None
            else vector_snapshot.find_positions_of_versions(snapshot.visible_versions)
        )
    condition = build_filtered_field_values_condition(snapshot.workflow.id, snapshot.filters)
    if snapshot.visible_versions is not None:
        condition = condition.and_where(*build_visible_versions_condition(snapshot.workflow.id, snapshot.scope))
    # as one text: a hundred thousand integers of Python take longer than all else of a search
    rows = snapshot.db.execute(f"select group_concat(row) from facts where {condition.sql}", condition.values).get
    return vector_snapshot.find_positions_of_rows(np.fromstring(rows, dtype=np.int64, sep=",") if rows else NO_ROWS)


def _sort_scored_rows(scored_rows: ScoredRows, ids: Mapping[int, str]) -> ScoredRows:
    """Return the rows by score, highest first; rows of equal score are ordered by the ids of their chunks."""
    return sorted(scored_rows, key=lambda scored: (-scored[1], ids[scored[0]]))


def _fuse_scored_rows(
    legs: Mapping[str, ScoredRows], ids: Mapping[int, str], *, is_hybrid: bool, rrf_k: int, limit: int
) -> list[FoundRow]:
    """Return the best rows of two legs, fused by score, ties by reciprocal rank (docs/decisions/0016), or of one leg.

    It is `fuse_by_score` of `fuse_by_reciprocal_rank`, of rows: a hit is made for a fifth of them, and takes longer.
    """
    if not is_hybrid:
        return [FoundRow(row, score, {signal: score}) for signal, leg in legs.items() for row, score in leg[:limit]]
    scores = sum_reciprocal_ranks(([row for row, _ in leg] for leg in legs.values()), k=rrf_k)
    rows = sorted(scores, key=lambda row: (-scores[row], ids[row]))
    by_leg = {signal: dict(leg) for signal, leg in legs.items()}
    means = average_normalized_scores([[leg.get(row) for row in rows] for leg in by_leg.values()])
    best_first = sorted(range(len(rows)), key=lambda n: -means[n])[:limit]
    return [
        FoundRow(row, scores[row], {signal: leg[row] for signal, leg in by_leg.items() if row in leg})
        for row in (rows[n] for n in best_first)
    ]


def _load_hits(db: apsw.Connection, found: Sequence[Sequence[FoundRow]], labels: Sequence[str]) -> list[Ranking]:
    """Return the hits of each probe with their chunks, of which each is loaded once."""
    rows = {one.row for of_probe in found for one in of_probe}
    chunks = records.load_chunks_by_row(db, records.build_sqlite_membership_condition("row", list(rows)))
    return [
        [Hit(chunks[one.row], one.score, one.signals, (), (label,)) for one in of_probe]
        for of_probe, label in zip(found, labels, strict=True)
    ]
