"""Whether a confidence means a probability: its AUC, its reliability by bins, and its calibration error."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag_core.evaluation import markdown_tables
from rag_core.evaluation.metrics import compute_wilson_interval

CONFIDENCE_BINS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The outcomes whose confidence lies in low..high: their number, mean confidence and share that was right."""

    low: float
    high: float
    count: int
    mean_confidence: float
    share_right: float


def compute_auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the probability that a true item has a higher score than a false one; equal ones count half.

    It is 0.5 where there are none of either.
    """
    true = np.array([score for score, label in zip(scores, labels, strict=True) if label])
    false = np.array([score for score, label in zip(scores, labels, strict=True) if not label])
    if not len(true) or not len(false):
        return 0.5
    return float(((true[:, None] > false).sum() + 0.5 * (true[:, None] == false).sum()) / (len(true) * len(false)))


def compute_reliability(scores: Sequence[float], labels: Sequence[bool]) -> list[ReliabilityBin]:
    """Return the bins of CONFIDENCE_BINS that have items; each includes its lower limit, the last its upper one."""
    confidence, right = np.array(scores), np.array(labels, dtype=float)
    bins = []
    for low, high in CONFIDENCE_BINS:
        inside = (confidence >= low) & ((confidence < high) | ((high == 1.0) & (confidence == 1.0)))
        if count := int(inside.sum()):
            bins.append(ReliabilityBin(low, high, count, confidence[inside].mean(), right[inside].mean()))
    return bins


def compute_calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: the mean gap of confidence and share right, weighted by the bins' sizes.

    Naeini, Cooper and Hauskrecht, AAAI 2015.
    """
    total = sum(bin.count for bin in bins)
    return sum(bin.count * abs(bin.mean_confidence - bin.share_right) for bin in bins) / max(1, total)


def format_reliability(scores: Sequence[float], labels: Sequence[bool]) -> str:
    """Format a Markdown table of the bins, then a line with the number of answers, AUC and calibration error."""
    bins = compute_reliability(scores, labels)
    columns = ("confidence", "answers", "mean confidence", "right, 95 %")
    table = markdown_tables.format_table(columns, map(_build_reliability_row, bins))
    auc, error = compute_auc(scores, labels), compute_calibration_error(bins)
    return f"{table}\n\n{len(scores)} answers, AUC {auc:.3f}, calibration error {error:.3f}"


def _build_reliability_row(bin: ReliabilityBin) -> list[object]:
    low, high = compute_wilson_interval(round(bin.share_right * bin.count), bin.count)
    share = f"{bin.share_right:.2f} [{low:.2f}, {high:.2f}]"
    return [f"{bin.low:.1f} to {bin.high:.1f}", bin.count, f"{bin.mean_confidence:.2f}", share]
