"""`rag eval gate`: a regression test of the rankings of the small fixed sets in `gate_sets`.

`baseline.json` holds the accepted scores; `--update` replaces them by the current ones.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.ablation import compare_presets
from rag_core.evaluation.evaluation_report import EvaluationRow

GATE_SETS_DIR = Path(__file__).parent / "gate_sets"
BASELINE_FILE = Path(__file__).parent / "baseline.json"
GATE_PRESETS = {"words": "standard:how=keyword", "hybrid": "standard:semantic=0", "judged": "standard:semantic=10"}
GATE_MEASURE = "ndcg@10"

GateScores = Mapping[str, Mapping[str, metrics.MeasureScores]]  # by set, then by search


def score_gate_sets(cache_file: Path) -> GateScores:
    """Score every set by every search of GATE_PRESETS."""
    folders = sorted(folder for folder in GATE_SETS_DIR.iterdir() if folder.is_dir())
    return {
        folder.name: _round_gate_scores(
            compare_presets(folder, GATE_PRESETS, next(iter(GATE_PRESETS)), cache_file=cache_file).rows
        )
        for folder in folders
    }


def _round_gate_scores(rows: Mapping[str, EvaluationRow]) -> dict[str, metrics.MeasureScores]:
    """Round the scores as the baseline stores them, so that floating-point noise is no difference."""
    return {
        search: {query: {GATE_MEASURE: round(scores[GATE_MEASURE], 4)} for query, scores in row.scores.items()}
        for search, row in rows.items()
    }


def find_regressions(scores: GateScores, baseline: GateScores) -> list[str]:
    """Return a line for each search that is worse beyond its 95 % interval, or whose questions differ."""
    return [
        line
        for set_name, searches in baseline.items()
        for search in searches
        for line in _describe_regression(set_name, search, scores, baseline)
    ]


def _describe_regression(set_name: str, search: str, scores: GateScores, baseline: GateScores) -> Iterator[str]:
    baseline_scores, current_scores = baseline[set_name][search], scores.get(set_name, {}).get(search, {})
    if baseline_scores.keys() != current_scores.keys():
        yield f"{set_name}, {search}: the questions are not those of the baseline; accept them with --update"
    elif (difference := metrics.compare_scores(current_scores, baseline_scores, GATE_MEASURE)).high < 0:
        before, after = (
            metrics.average_measure(baseline_scores, GATE_MEASURE),
            metrics.average_measure(current_scores, GATE_MEASURE),
        )
        yield f"{set_name}, {search}: {GATE_MEASURE} {before:.3f}, now {after:.3f}, {difference}"


def format_gate_report(scores: GateScores, baseline: GateScores) -> str:
    """Format a Markdown table of the baseline, the current scores and their differences."""
    lines = [f"| set | questions | search | {GATE_MEASURE} baseline | now | difference, 95 % interval |"]
    lines.append("| --- | ---: | --- | ---: | ---: | --- |")
    for set_name, searches in scores.items():
        for search, current_scores in searches.items():
            baseline_scores = baseline.get(set_name, {}).get(search, {})
            before = f"{metrics.average_measure(baseline_scores, GATE_MEASURE):.3f}" if baseline_scores else "-"
            after = f"{metrics.average_measure(current_scores, GATE_MEASURE):.3f}"
            is_comparable = baseline_scores.keys() == current_scores.keys()
            difference = (
                str(metrics.compare_scores(current_scores, baseline_scores, GATE_MEASURE)) if is_comparable else "-"
            )
            lines.append(markdown_tables.format_row([set_name, len(current_scores), search, before, after, difference]))
    return "\n".join(lines)


def load_baseline() -> GateScores:
    """Read the baseline; {} when there is none."""
    baseline: GateScores = json.loads(BASELINE_FILE.read_text("utf-8")) if BASELINE_FILE.is_file() else {}
    return baseline


def save_baseline(scores: GateScores) -> None:
    """Write these scores as the new baseline."""
    BASELINE_FILE.write_text(json.dumps(scores, indent=1, sort_keys=True) + "\n", "utf-8")
