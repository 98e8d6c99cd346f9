"""The figures of the hand-made sets stay within their bounds; `python -m evals.hand_made_gate` prints them."""

import pytest

from evals.hand_made_gate import MEASUREMENTS, Figures, build_words_only_kit, find_failures


@pytest.mark.parametrize("measure", MEASUREMENTS, ids=lambda measure: measure.__name__)
async def test_the_figures_are_within_their_bounds(measure: object) -> None:
    """Issue 14, part 8: false accepts, false rejects by kind, AUC, calibration error, refusals."""
    figures: Figures = await measure(build_words_only_kit())  # type: ignore[operator]
    assert find_failures(figures) == []


def test_a_figure_out_of_its_bounds_is_told() -> None:
    name = "facts alone: false claims supported"
    assert find_failures({name: 0.02}) == []
    assert find_failures({name: 0.03}) == [f"{name}: 0.030 is not from 0 to 0.02"]
