import numpy as np

from rag_core.providers.bert import BertModel
from tests import local
from tests.remembered_models import RememberingSession


class Counting:
    """A session that counts how often it ran."""

    runs = 0

    def run(self, _: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.runs += 1
        return [feed["input_ids"] + 0.5]


def test_what_is_remembered_is_what_the_model_returned_for_that_input() -> None:
    session = RememberingSession(counting := Counting())
    first, second = ({"input_ids": np.array([[id]])} for id in (1, 2))
    outputs = [session.run(None, feed)[0].tolist() for feed in (first, second, first)]
    assert (outputs, counting.runs) == ([[[1.5]], [[2.5]], [[1.5]]], 2)


def test_a_caller_that_changes_an_output_changes_no_other() -> None:
    session, feed = RememberingSession(Counting()), {"input_ids": np.array([[1]])}
    session.run(None, feed)[0][:] = 0
    assert session.run(None, feed)[0].tolist() == [[1.5]]


def test_the_models_of_a_process_are_loaded_once_and_are_the_real_ones() -> None:
    one, other = (BertModel(local.folder("reranker"), threads=1) for _ in range(2))
    assert one.run([7, 8], [9]).tobytes() == other.run([7, 8], [9]).tobytes()
    assert one._load_once().session is other._load_once().session
    real = one._load_once().session._session
    ids = np.array([[101, 7, 8, 102, 9, 102]])
    feed = {"input_ids": ids, "token_type_ids": np.array([[0, 0, 0, 0, 1, 1]])}
    assert real.run(None, feed)[0][0].tobytes() == one.run([7, 8], [9]).tobytes()
