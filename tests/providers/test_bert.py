from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.errors import Misconfigured
from rag_core.providers.bert import BertModel, _load_bert, split_windows
from tests import local


@given(length=st.integers(0, 3000), overlap=st.integers(0, 64), more=st.integers(1, 446))
def test_windows_are_equal_in_length_cover_everything_and_overlap(length: int, overlap: int, more: int) -> None:
    cut = split_windows(range(length), overlap + more, overlap=overlap)
    assert {token for window in cut for token in window} == set(range(length))
    assert len({len(window) for window in cut}) == 1
    assert len(cut[0]) <= overlap + more
    assert all(len(set(a) & set(b)) >= overlap for a, b in pairwise(cut))


def test_no_more_windows_are_made_than_needed() -> None:
    assert [len(split_windows(range(n), 510, overlap=64)) for n in (0, 510, 511, 956, 957)] == [1, 1, 2, 2, 3]


class Recorder:
    """Stands in for a session and keeps what it was fed."""

    def run(self, names: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.feed = {name: array.tolist() for name, array in feed.items()}
        return [np.zeros((1, 1))]


def test_the_second_text_of_a_pair_is_marked_as_such() -> None:
    model, recorder = BertModel(local.folder("reranker"), threads=1), Recorder()
    model._loaded = replace(_load_bert(model.folder), session=recorder)
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
