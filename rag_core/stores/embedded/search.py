"""Hybrid search: both legs rank within one state of the database, each in a projection brought up to that state."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import apsw

from rag_core.core.errors import Conflict, StorageFull, Unavailable
from rag_core.core.model import Chunk, Filter, Hit, Ranking, Scope, Vector
from rag_core.core.ports import Probe
from rag_core.core.rankings import best_first, best_standing, reciprocal_rank
from rag_core.stores.access import reads_as
from rag_core.stores.embedded import records, words
from rag_core.stores.embedded.analysis import ANALYSIS_VERSION
from rag_core.stores.embedded.filters import bearing, mark, marks, visible
from rag_core.stores.embedded.meanings import Integers, Meanings, View
from rag_core.stores.embedded.records import Workflow
from rag_core.stores.embedded.truth import Truth, words_folder
from rag_core.stores.embedded.words import DamagedError, Words

LEG_DEPTH = 50  # at least, before fusion: a chunk at rank 50 in both legs still outscores the first of only one leg
ATTEMPTS = 8  # to find a moment in which no other thread or process updates a projection

Leg = list[records.ScoredRow]


class StaleError(Exception):
    """A projection already has changes that the current read transaction does not see."""


class Sight(NamedTuple):
    """One state of the database, and the scope and filters of a search in it.

    The versions are those of the documents that the scope may read; None means all, and no chunk is tested then.
    """

    db: apsw.Connection
    workflow: Workflow
    scope: Scope
    filters: Sequence[Filter]
    versions: Sequence[int] | None
    depth: int


class Search:
    """The search of an embedded store, with the projections of every workflow, opened when first used."""

    def __init__(self, database: Truth, folder: Path | None) -> None:
        self._database = database
        self._folder = folder
        self._lock = threading.Lock()
        self._lexical_indexes: dict[int, tuple[int, Words]] = {}  # by workflow id, with the generation
        self._vector_indexes: dict[int, Meanings] = {}

    def rankings(
        self, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
    ) -> list[Ranking]:
        """Return one ranking per probe, all from one state of the database. A damaged lexical index is rebuilt once.

        Raises:
            Unavailable: other writers leave no consistent moment, or the lexical index cannot be built.
        """
        try:
            return self._at_one_moment(scope, probes, filters, limit, rrf_k)
        except DamagedError as error:
            generation = error.generation
        try:
            self._rebuild(scope.workflow_id, generation)
            return self._at_one_moment(scope, probes, filters, limit, rrf_k)
        except (DamagedError, StorageFull) as failure:
            raise Unavailable("the lexical index cannot be written: check the disk", code="words_failed") from failure

    def _at_one_moment(
        self, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
    ) -> list[Ranking]:
        for _ in range(ATTEMPTS):
            with self._database.reading() as db:
                workflow = records.workflow(db, scope.workflow_id)
                snapshot = Sight(db, workflow, scope, filters, _visible(db, workflow, scope), max(limit, LEG_DEPTH))
                with suppress(StaleError):
                    return self._rankings(snapshot, probes, limit, rrf_k)
        raise Unavailable("other writers kept changing the index during the search: try again", code="store_busy")

    def catch_up(self, name: str) -> None:
        """Bring the lexical index of a workflow up to date; errors are ignored here and show at the next search."""
        with self._database.reading() as db:
            workflow = records.workflow(db, name)
            with suppress(DamagedError, Unavailable):
                self._words_of(db, workflow).at(db, workflow)

    def discard(self, workflow: Workflow) -> None:
        """Remove the files of the lexical indexes of this generation and of all before it."""
        with self._database.reading() as db:
            store = records.space(db).store
        for generation in range(workflow.generation + 1):
            if folder := self._folder_of(store, workflow._replace(generation=generation)):
                words.remove(folder)

    def _rankings(self, snapshot: Sight, probes: Sequence[Probe], limit: int, rrf_k: int) -> list[Ranking]:
        if not snapshot.workflow.chunks:
            return [()] * len(probes)
        legs = {"words": self._by_words(snapshot, probes), "meaning": self._by_meaning(snapshot, probes)}
        rows = {row for scored_legs in legs.values() for scored_rows in scored_legs for row, _ in scored_rows}
        ids = records.chunk_ids(snapshot.db, list(rows))
        if len(ids) < len(rows):
            raise DamagedError(snapshot.workflow.generation)
        rankings = [
            _fused(
                [
                    _leg(scored_legs[position], signal, probe.label, ids)[: snapshot.depth]
                    for signal, scored_legs in legs.items()
                ],
                both=bool(probe.words) and probe.vector is not None,
                rrf_k=rrf_k,
            )[:limit]
            for position, probe in enumerate(probes)
        ]
        return _hydrated(snapshot.db, rankings, {id: row for row, id in ids.items()})

    def _by_words(self, snapshot: Sight, probes: Sequence[Probe]) -> list[Leg]:
        if not any(probe.words for probe in probes):
            return [[] for _ in probes]
        index = self._words_of(snapshot.db, snapshot.workflow)
        lexical_snapshot = index.at(snapshot.db, snapshot.workflow)
        _check(lexical_snapshot.seq, snapshot.workflow)
        conditions = _conditions(snapshot)
        return [
            index.find(lexical_snapshot, probe.words, conditions, snapshot.depth) if probe.words else []
            for probe in probes
        ]

    def _by_meaning(self, snapshot: Sight, probes: Sequence[Probe]) -> list[Leg]:
        vectors = [probe.vector for probe in probes if probe.vector is not None]
        if not vectors:
            return [[] for _ in probes]
        _refuse_other_dimensions(snapshot.db, vectors)
        vector_snapshot = self._meanings_of(snapshot.workflow).at(snapshot.db, snapshot.workflow)
        _check(vector_snapshot.seq, snapshot.workflow)
        scored_legs = iter(vector_snapshot.nearest(vectors, _admitted(snapshot, vector_snapshot), snapshot.depth))
        return [[] if probe.vector is None else next(scored_legs) for probe in probes]

    def _words_of(self, db: apsw.Connection, workflow: Workflow) -> Words:
        with self._lock:
            generation, index = self._lexical_indexes.get(workflow.id, (-1, None))
            if index is None or generation != workflow.generation:
                index = Words(self._folder_of(records.space(db).store, workflow), workflow)
                self._lexical_indexes[workflow.id] = workflow.generation, index
            return index

    def _meanings_of(self, workflow: Workflow) -> Meanings:
        with self._lock:
            return self._vector_indexes.setdefault(workflow.id, Meanings())

    def _rebuild(self, name: str, generation: int) -> None:
        """Start a new generation of the lexical index, unless another process did; every process leaves the old one."""
        with self._database.writing() as db:
            workflow = records.workflow(db, name)
            if workflow.generation != generation:
                return
            records.new_generation(db, workflow)
            folder = self._folder_of(records.space(db).store, workflow)
        if folder:
            words.remove(folder)

    def _folder_of(self, store: str, workflow: Workflow) -> Path | None:
        """Return a folder that no other database, workflow, generation or analysis version uses; None in memory."""
        name = f"{store}-{workflow.id}-{workflow.generation}-{ANALYSIS_VERSION}"
        return words_folder(self._folder) / name if self._folder else None


def _check(seq: int, workflow: Workflow) -> None:
    if seq != workflow.seq:
        raise StaleError


def _refuse_other_dimensions(db: apsw.Connection, vectors: Sequence[Vector]) -> None:
    dimensions = records.space(db).dimensions
    if dimensions and {len(vector) for vector in vectors} != {dimensions}:
        raise Conflict(f"the stored vectors have {dimensions} dimensions", code="reindex_required")


def _visible(db: apsw.Connection, workflow: Workflow, scope: Scope) -> Sequence[int] | None:
    condition = visible(workflow.id, scope)
    rows = db.execute(f"select version from documents where {condition.sql}", condition.values)
    versions = [version for (version,) in rows]
    return None if len(versions) == workflow.documents else versions


def _conditions(snapshot: Sight) -> list[tuple[str, Sequence[str]]]:
    """Build the lexical index's conditions: fields, each with the terms of which a chunk must have at least one."""
    conditions: list[tuple[str, Sequence[str]]] = [
        ("facts", terms) for terms in marks(snapshot.db, snapshot.workflow.id, snapshot.filters)
    ]
    if snapshot.versions is None:
        return conditions
    document_terms = [mark("document_id", id) for id in snapshot.scope.document_ids]
    return [
        ("readers", reads_as(snapshot.scope)),
        *([("facts", document_terms)] if document_terms else []),
        *conditions,
    ]


def _admitted(snapshot: Sight, vector_snapshot: View) -> Integers | None:
    """Return the positions in the matrix that may be ranked; None for all."""
    if not snapshot.filters:
        return None if snapshot.versions is None else vector_snapshot.of_versions(snapshot.versions)
    condition = bearing(snapshot.workflow.id, snapshot.filters)
    if snapshot.versions is not None:
        condition = condition.also(*visible(snapshot.workflow.id, snapshot.scope))
    rows = snapshot.db.execute(f"select row from facts where {condition.sql}", condition.values)
    return vector_snapshot.of_rows([row for (row,) in rows])


def _leg(scored_rows: Leg, signal: str, label: str, chunk_ids: Mapping[int, str]) -> list[Hit]:
    return best_first(
        [Hit(_named(chunk_ids[row]), score, {signal: score}, found_by=(label,)) for row, score in scored_rows]
    )


def _fused(legs: list[list[Hit]], *, both: bool, rrf_k: int) -> list[Hit]:
    """Fuse two legs by score, ties by reciprocal rank (docs/decisions/0016); a single leg keeps its order."""
    return best_standing(reciprocal_rank(*legs, k=rrf_k)) if both else [hit for leg in legs for hit in leg]


def _named(id: str) -> Chunk:
    """Return a chunk that has only its id; the rest is loaded for the hits that are returned."""
    return Chunk(id, "", 0, "", "", "", "")


def _hydrated(db: apsw.Connection, rankings: list[list[Hit]], rows_by_id: Mapping[str, int]) -> list[Ranking]:
    hit_rows = {rows_by_id[hit.chunk.id] for ranking in rankings for hit in ranking}
    chunks = records.chunks(db, records.among("row", list(hit_rows)))
    return [[replace(hit, chunk=chunks[rows_by_id[hit.chunk.id]]) for hit in ranking] for ranking in rankings]
