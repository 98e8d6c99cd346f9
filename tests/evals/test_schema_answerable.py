"""The figures of whether a schema answers a question, worked by hand."""

import pytest

from evals.schema_answerable import Estimate, _calibrate, _compute_auc, _format_refused
from rag_core.schema.model import Column, Database, Table


def test_the_figures_are_those_of_their_definitions() -> None:
    assert _compute_auc([0.9, 0.4], [0.4, 0.1]) == pytest.approx(3.5 / 4)
    described = Database("d", (Table("t", (Column("c", description="a column"),)),))
    found = [Estimate(*one, described) for one in ((-3.0, None), (0.0, 0.01), (0.0, 0.9), (3.0, 0.01))]
    assert _format_refused("x", found) == ["x", "4", "0.500", "0.250"]
    assert _calibrate([0.8, 0.6], [0.6, 0.02]) == ["0.02 0.00 (1)", "0.60 0.50 (2)", "0.80 1.00 (1)"]
