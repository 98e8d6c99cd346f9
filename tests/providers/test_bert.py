from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag_core.core.errors import Misconfigured
from rag_core.providers.bert import BertModel, _load_bert
from tests import local


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
