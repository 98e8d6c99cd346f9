"""Rankings: each leg from its projection, brought up to the moment at which the database is read."""

# ruff: noqa: S608 - the SQL is put together from this package's own words; values are bound

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
from rag_core.stores.embedded.meanings import Integers, Meanings
from rag_core.stores.embedded.meanings import View as Matrix
from rag_core.stores.embedded.records import Workflow
from rag_core.stores.embedded.truth import Truth, words_folder
from rag_core.stores.embedded.words import DamagedError, Words

LEG_DEPTH = 50  # at least, before fusion: what stands 50th in both legs still outscores the first of only one
ATTEMPTS = 8  # to catch a moment in which no other thread or process moves a projection on

Leg = list[tuple[int, float]]  # rows with their scores


class StaleError(Exception):
    """A projection has been moved past the moment at which the database is being read."""


class Sight(NamedTuple):
    """What a search may see: one moment of the database, and in it what a scope and filters admit.

    `versions` are the documents that the scope sees; None for all, which is then not tested chunk by chunk.
    """

    db: apsw.Connection
    workflow: Workflow
    scope: Scope
    filters: Sequence[Filter]
    versions: Sequence[int] | None
    depth: int


class Search:
    """The projections of every workflow, made when first asked for."""

    def __init__(self, truth: Truth, folder: Path | None) -> None:
        self._truth = truth
        self._folder = folder
        self._making = threading.Lock()
        self._words: dict[int, tuple[int, Words]] = {}  # by workflow, with the generation
        self._meanings: dict[int, Meanings] = {}

    def rankings(
        self, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
    ) -> list[Ranking]:
        """One ranking a probe, all of one moment. A damaged word index is built anew, once.

        Raises:
            Unavailable: others never stop writing, or the word index cannot be built.
        """
        try:
            return self._at_one_moment(scope, probes, filters, limit, rrf_k)
        except DamagedError as damaged:
            generation = damaged.generation
        try:
            self._rebuild(scope.workflow_id, generation)
            return self._at_one_moment(scope, probes, filters, limit, rrf_k)
        except (DamagedError, StorageFull) as failure:
            raise Unavailable("the word index cannot be written: see the disk", code="words_failed") from failure

    def _at_one_moment(
        self, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
    ) -> list[Ranking]:
        for _ in range(ATTEMPTS):
            with self._truth.reading() as db:
                workflow = records.workflow(db, scope.workflow_id)
                sight = Sight(db, workflow, scope, filters, _visible(db, workflow, scope), max(limit, LEG_DEPTH))
                with suppress(StaleError):
                    return self._rankings(sight, probes, limit, rrf_k)
        raise Unavailable("the index is being written to without a pause", code="store_busy")

    def catch_up(self, name: str) -> None:
        """Bring the word index of a workflow up to date; what hinders that is left to the next question."""
        with self._truth.reading() as db:
            workflow = records.workflow(db, name)
            with suppress(DamagedError, Unavailable):
                self._words_of(db, workflow).at(db, workflow)

    def discard(self, workflow: Workflow) -> None:
        """Remove the files of a word index whose generation is over, and of those before it."""
        with self._truth.reading() as db:
            store = records.space(db).store
        for generation in range(workflow.generation + 1):
            if folder := self._folder_of(store, workflow._replace(generation=generation)):
                words.remove(folder)

    def _rankings(self, sight: Sight, probes: Sequence[Probe], limit: int, rrf_k: int) -> list[Ranking]:
        if not sight.workflow.chunks:
            return [()] * len(probes)
        legs = {"words": self._by_words(sight, probes), "meaning": self._by_meaning(sight, probes)}
        rows = {row for found in legs.values() for leg in found for row, _ in leg}
        ids = records.chunk_ids(sight.db, list(rows))
        if len(ids) < len(rows):
            raise DamagedError(sight.workflow.generation)
        ranked = [
            _fused(
                [_leg(found[place], signal, probe.label, ids)[: sight.depth] for signal, found in legs.items()],
                both=bool(probe.words) and probe.vector is not None,
                rrf_k=rrf_k,
            )[:limit]
            for place, probe in enumerate(probes)
        ]
        return _hydrated(sight.db, ranked, {id: row for row, id in ids.items()})

    def _by_words(self, sight: Sight, probes: Sequence[Probe]) -> list[Leg]:
        if not any(probe.words for probe in probes):
            return [[] for _ in probes]
        index = self._words_of(sight.db, sight.workflow)
        view = index.at(sight.db, sight.workflow)
        _check(view.seq, sight.workflow)
        conditions = _conditions(sight)
        return [index.find(view, probe.words, conditions, sight.depth) if probe.words else [] for probe in probes]

    def _by_meaning(self, sight: Sight, probes: Sequence[Probe]) -> list[Leg]:
        vectors = [probe.vector for probe in probes if probe.vector is not None]
        if not vectors:
            return [[] for _ in probes]
        _refuse_other_dimensions(sight.db, vectors)
        view = self._meanings_of(sight.workflow).at(sight.db, sight.workflow)
        _check(view.seq, sight.workflow)
        found = iter(view.nearest(vectors, _admitted(sight, view), sight.depth))
        return [[] if probe.vector is None else next(found) for probe in probes]

    def _words_of(self, db: apsw.Connection, workflow: Workflow) -> Words:
        with self._making:
            generation, index = self._words.get(workflow.id, (-1, None))
            if index is None or generation != workflow.generation:
                index = Words(self._folder_of(records.space(db).store, workflow), workflow)
                self._words[workflow.id] = workflow.generation, index
            return index

    def _meanings_of(self, workflow: Workflow) -> Meanings:
        with self._making:
            return self._meanings.setdefault(workflow.id, Meanings())

    def _rebuild(self, name: str, generation: int) -> None:
        """Have a word index built anew, unless another has seen to it: all who use the old one leave it."""
        with self._truth.writing() as db:
            workflow = records.workflow(db, name)
            if workflow.generation != generation:
                return
            records.new_generation(db, workflow)
            folder = self._folder_of(records.space(db).store, workflow)
        if folder:
            words.remove(folder)

    def _folder_of(self, store: str, workflow: Workflow) -> Path | None:
        """A name that no other database, workflow, generation or analysis of words has."""
        name = f"{store}-{workflow.id}-{workflow.generation}-{ANALYSIS_VERSION}"
        return words_folder(self._folder) / name if self._folder else None


def _check(seq: int, workflow: Workflow) -> None:
    if seq != workflow.seq:
        raise StaleError


def _refuse_other_dimensions(db: apsw.Connection, vectors: Sequence[Vector]) -> None:
    kept = records.space(db).dimensions
    if kept and {len(vector) for vector in vectors} != {kept}:
        raise Conflict(f"the stored vectors have {kept} dimensions", code="reindex_required")


def _visible(db: apsw.Connection, workflow: Workflow, scope: Scope) -> Sequence[int] | None:
    where = visible(workflow.id, scope)
    found = db.execute(f"select version from documents where {where.sql}", where.values)
    versions = [version for (version,) in found]
    return None if len(versions) == workflow.documents else versions


def _conditions(sight: Sight) -> list[tuple[str, Sequence[str]]]:
    """For the word index: in each field, the marks of which a chunk must bear one."""
    facts: list[tuple[str, Sequence[str]]] = [
        ("facts", any_of) for any_of in marks(sight.db, sight.workflow.id, sight.filters)
    ]
    if sight.versions is None:
        return facts
    named = [mark("document_id", id) for id in sight.scope.document_ids]
    return [("readers", reads_as(sight.scope)), *([("facts", named)] if named else []), *facts]


def _admitted(sight: Sight, view: Matrix) -> Integers | None:
    """The places in the matrix that may be ranked; None for all."""
    if not sight.filters:
        return None if sight.versions is None else view.of_versions(sight.versions)
    where = bearing(sight.workflow.id, sight.filters)
    if sight.versions is not None:
        where = where.also(*visible(sight.workflow.id, sight.scope))
    rows = sight.db.execute(f"select row from facts where {where.sql}", where.values)
    return view.of_rows([row for (row,) in rows])


def _leg(leg: Leg, signal: str, label: str, ids: Mapping[int, str]) -> list[Hit]:
    return best_first([Hit(_named(ids[row]), score, {signal: score}, found_by=(label,)) for row, score in leg])


def _fused(legs: list[list[Hit]], *, both: bool, rrf_k: int) -> list[Hit]:
    """By what both legs scored, ranks deciding between equals (docs/decisions/0016); else as the one leg has it."""
    return best_standing(reciprocal_rank(*legs, k=rrf_k)) if both else [hit for leg in legs for hit in leg]


def _named(id: str) -> Chunk:
    """A chunk of which only the id is known yet: the rest is read for those that are returned."""
    return Chunk(id, "", 0, "", "", "", "")


def _hydrated(db: apsw.Connection, rankings: list[list[Hit]], rows: Mapping[str, int]) -> list[Ranking]:
    wanted = {rows[hit.chunk.id] for ranking in rankings for hit in ranking}
    chunks = records.chunks(db, records.among("row", list(wanted)))
    return [[replace(hit, chunk=chunks[rows[hit.chunk.id]]) for hit in ranking] for ranking in rankings]
