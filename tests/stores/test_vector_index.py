"""The vector index chooses the best rows of a long list of scores without sorting it."""

import numpy as np
import pytest

from rag_core.stores.embedded import vector_index
from rag_core.stores.embedded.vector_index import SCORES_PER_GROUP, VectorSnapshot

DEPTH = 5


@pytest.mark.parametrize(
    "count", [1, DEPTH, SCORES_PER_GROUP, DEPTH * SCORES_PER_GROUP, 6 * SCORES_PER_GROUP + 1, 9999]
)
@pytest.mark.parametrize("distinct", [2, 40, 10**9], ids="{} scores".format)
def test_the_score_of_the_last_of_the_best_is_that_of_a_sorted_list(count: int, distinct: int) -> None:
    draw = np.random.default_rng(count)
    scores = (draw.integers(0, distinct, count) / distinct).astype(np.float32)
    best_first = np.sort(scores)[::-1]
    assert vector_index._find_nth_best_score(scores, DEPTH) == best_first[min(DEPTH, count) - 1]


def test_the_best_may_all_stand_in_one_group_or_after_the_last_whole_one() -> None:
    scores = np.zeros(9 * SCORES_PER_GROUP + 3, dtype=np.float32)
    scores[10:14], scores[-1] = 0.5, 0.9
    assert vector_index._find_nth_best_score(scores, DEPTH) == 0.5


def test_a_score_that_is_no_number_counts_as_best_as_in_a_list_that_numpy_sorts() -> None:
    scores = np.linspace(0, 1, 20 * SCORES_PER_GROUP, dtype=np.float32)
    scores[[3, 500]] = np.nan
    assert vector_index._find_nth_best_score(scores, DEPTH) == np.sort(scores)[-DEPTH]


def test_each_of_several_probes_finds_what_it_finds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    vectors = draw.normal(size=(500, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(len(vectors))
    snapshot = VectorSnapshot(1, rows, rows, np.ones(len(rows), dtype=bool), vectors, vectors)
    probes = draw.normal(size=(3, 8)).tolist()
    alone = [snapshot.search([probe], None, DEPTH)[0] for probe in probes]
    monkeypatch.setattr(vector_index, "BLOCK_BYTES", 7 * vectors[0].nbytes)
    assert snapshot.search(probes, None, DEPTH) == alone
    cosines = vectors.astype(np.float64) @ np.asarray(probes[0]) / np.linalg.norm(probes[0])
    assert {row for row, _ in alone[0]} == set(np.argsort(-cosines)[:DEPTH].tolist())


def test_of_rows_in_any_order_those_with_a_live_vector_are_found_once() -> None:
    """Row 5 has no vector and would stand where 6 does, 9 is beyond all, 4 was removed."""
    rows, live = np.array([1, 2, 4, 6, 8]), np.array([True, True, False, True, True])
    snapshot = VectorSnapshot(1, rows, rows, live, np.zeros((5, 2), np.float32), np.zeros((5, 2), np.float32))
    asked = np.array([9, 6, 5, 1, 4, 6, 1])
    assert snapshot.find_positions_of_rows(asked).tolist() == [0, 3]
    assert snapshot.find_positions_of_rows(asked[::-1]).tolist() == [0, 3]
    assert snapshot.find_positions_of_rows(asked[:0]).tolist() == []
