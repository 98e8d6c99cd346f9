"""The figures of whether a schema answers a question, worked by hand."""

import pytest

from evals.schema_answerable import Estimate, _calibrate, _compute_auc, _format_refused


def test_the_figures_are_those_of_their_definitions() -> None:
    assert _compute_auc([0.9, 0.4], [0.4, 0.1]) == pytest.approx(3.5 / 4)
    found = [Estimate(-3.0, None), Estimate(0.0, 0.01), Estimate(0.0, 0.9), Estimate(3.0, 0.01)]
    assert _format_refused("x", found) == ["x", "4", "0.500", "0.250"]
    assert _calibrate([0.8, 0.6], [0.6, 0.02]) == ["0.02 0.00 (1)", "0.60 0.50 (2)", "0.80 1.00 (1)"]
