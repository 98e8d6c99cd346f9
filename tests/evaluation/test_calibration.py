"""The measures of a confidence are those that a reader works out by hand."""

import pytest

from rag_core.evaluation.calibration import compute_auc, compute_calibration_error, compute_reliability


def test_the_auc_is_the_share_of_pairs_in_the_right_order_and_equal_ones_count_half() -> None:
    # pairs (0.9 or 0.5) against (0.5 or 0.1): three in order, one equal
    assert compute_auc([0.9, 0.5, 0.5, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)
    assert compute_auc([0.1, 0.9], [True, False]) == 0.0
    assert compute_auc([0.3, 0.7], [True, True]) == 0.5


def test_bins_have_the_share_that_was_right_and_the_error_is_their_weighted_gap() -> None:
    bins = compute_reliability([0.0, 0.1, 0.9, 1.0], [False, True, True, True])
    assert [(bin.low, bin.count, bin.mean_confidence, bin.share_right) for bin in bins] == [
        (0.0, 2, pytest.approx(0.05), 0.5),
        (0.8, 2, pytest.approx(0.95), 1.0),
    ]
    assert compute_calibration_error(bins) == pytest.approx((2 * 0.45 + 2 * 0.05) / 4)
    assert compute_calibration_error([]) == 0.0
