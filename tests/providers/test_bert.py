from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from evals.optimize_graphs import optimize_graph
from rag_core.core.errors import Misconfigured
from rag_core.providers import local_models
from rag_core.providers.bert import MAX_SEQUENCE_TOKENS, ROW_COUNT, BertModel, _load_bert, load_onnx_session
from tests import local


class Recorder:
    """Stands in for a session and keeps what it was fed."""

    def run(self, names: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.feed = {name: array.tolist() for name, array in feed.items()}
        return [np.zeros((1, 1))]


def test_the_second_text_of_a_pair_is_marked_as_such() -> None:
    model, recorder = BertModel(local.folder("reranker"), threads=1), Recorder()
    inputs = frozenset(("input_ids", "attention_mask", "token_type_ids"))
    model._loaded = replace(_load_bert(model.folder), session=recorder, inputs=inputs)
    model.run([7, 8], [9])
    cls, sep = 101, 102
    assert recorder.feed == {
        "input_ids": [[cls, 7, 8, sep, 9, sep]],
        "attention_mask": [[1] * 6],
        "token_type_ids": [[0, 0, 0, 0, 1, 1]],
    }


@pytest.mark.parametrize(("model", "tokenizer"), [(b"junk", b"{}"), (b"", b"not json")])
def test_a_damaged_model_is_for_the_operator_to_put_right(tmp_path: Path, model: bytes, tokenizer: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(model)
    (tmp_path / "tokenizer.json").write_bytes(tokenizer)
    with pytest.raises(Misconfigured, match="cannot be loaded"):
        BertModel(tmp_path, threads=1).run([1])


def test_the_optimized_graph_of_the_embedder_gives_what_the_model_gives() -> None:
    """To the bit where all rows are computed; its weights are those of the package."""
    folder = local.folder("embedder")
    for given, optimized in compare_outputs(folder, find_shipped_graph(folder)):
        assert np.array_equal(given, optimized)


def test_the_first_row_of_the_embedder_alone_differs_by_the_rounding_of_its_last_layer() -> None:
    """So little that vectors which an index holds from before can be compared with it."""
    folder = local.folder("embedder")
    for given, optimized in compare_outputs(folder, find_shipped_graph(folder), row_count=1):
        assert optimized.shape[1] == 1
        first, alone = given[0, 0], optimized[0, 0]
        assert first @ alone > 0.9999 * np.linalg.norm(first) * np.linalg.norm(alone)


def test_the_optimized_graph_of_the_reranker_differs_by_the_rounding_of_its_last_layer(tmp_path: Path) -> None:
    """Its last layer is quantized by the range of one row; with all rows it gives what the model gives, to the bit."""
    folder, all_rows = local.folder("reranker"), tmp_path / "all_rows.onnx"
    onnx.save(optimize_graph(folder / "model.onnx"), str(all_rows))
    for given, optimized in compare_outputs(folder, all_rows):
        assert np.array_equal(given, optimized)
    for given, optimized in compare_outputs(folder, find_shipped_graph(folder)):
        assert np.abs(given - optimized).max() < 0.02  # log odds


def find_shipped_graph(folder: Path) -> Path:
    graph = local_models.find_optimized_graph(folder)
    assert graph is not None
    return graph


def compare_outputs(
    folder: Path, graph: Path, *, row_count: int = MAX_SEQUENCE_TOKENS
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the outputs of the package's model and of a graph that reads its weights, for texts of three lengths."""
    sessions = (
        load_onnx_session(folder / "model.onnx", folder.name),
        load_onnx_session(graph, folder.name, weights_folder=folder, is_optimized=True),
    )
    for length in (3, 40, 300):
        ids = np.random.default_rng(length).integers(1000, 30000, (1, length))
        kinds = (np.arange(length) > length // 2).astype(np.int64)[None]
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
        feed[ROW_COUNT] = np.array([row_count])
        given, optimized = (
            session.run(None, {one.name: feed[one.name] for one in session.get_inputs()})[0] for session in sessions
        )
        yield given, optimized


def test_a_model_of_ones_own_is_opened_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another")
    assert local_models.find_optimized_graph(tmp_path) is None
