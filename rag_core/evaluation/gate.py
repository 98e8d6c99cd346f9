"""`rag eval gate`: a regression test of the rankings of the small fixed sets in `gate_sets`.

`baseline.json` holds the accepted scores; `--update` replaces them by the current ones.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from evals import markdown
from rag_core.evaluation import metrics
from rag_core.evaluation.ablation import tried
from rag_core.evaluation.retrieval import Row

SETS = Path(__file__).parent / "gate_sets"
BASELINE = Path(__file__).parent / "baseline.json"
WAYS = {"words": "standard:how=keyword", "hybrid": "standard:semantic=0", "judged": "standard:semantic=10"}
MEASURE = "ndcg@10"

Found = Mapping[str, Mapping[str, metrics.Scores]]  # by set, then by search


def measure(cache: Path, *, sets: Path = SETS) -> Found:
    """Score every set by every search of WAYS."""
    folders = sorted(folder for folder in sets.iterdir() if folder.is_dir())
    return {folder.name: _scores(tried(folder, WAYS, next(iter(WAYS)), cache=cache).rows) for folder in folders}


def _scores(rows: Mapping[str, Row]) -> dict[str, metrics.Scores]:
    """Round the scores as the baseline stores them, so that floating-point noise is no difference."""
    return {
        search: {query: {MEASURE: round(scores[MEASURE], 4)} for query, scores in row.scores.items()}
        for search, row in rows.items()
    }


def drops(found: Found, agreed: Found) -> list[str]:
    """Return a line for each search that is worse beyond its 95 % interval, or whose questions differ."""
    return [
        line
        for set_name, searches in agreed.items()
        for search in searches
        for line in _drop(set_name, search, found, agreed)
    ]


def _drop(name: str, way: str, found: Found, agreed: Found) -> Iterator[str]:
    baseline_scores, current_scores = agreed[name][way], found.get(name, {}).get(way, {})
    if baseline_scores.keys() != current_scores.keys():
        yield f"{name}, {way}: the questions are not those of the baseline; accept them with --update"
    elif (difference := metrics.compare(current_scores, baseline_scores, MEASURE)).high < 0:
        before, after = metrics.mean(baseline_scores, MEASURE), metrics.mean(current_scores, MEASURE)
        yield f"{name}, {way}: {MEASURE} {before:.3f}, now {after:.3f}, {difference}"


def report(found: Found, agreed: Found) -> str:
    """Format a Markdown table of the baseline, the current scores and their differences."""
    lines = [f"| set | questions | search | {MEASURE} baseline | now | difference, 95 % interval |"]
    lines.append("| --- | ---: | --- | ---: | ---: | --- |")
    for set_name, searches in found.items():
        for search, current_scores in searches.items():
            baseline_scores = agreed.get(set_name, {}).get(search, {})
            before = f"{metrics.mean(baseline_scores, MEASURE):.3f}" if baseline_scores else "-"
            after = f"{metrics.mean(current_scores, MEASURE):.3f}"
            is_comparable = baseline_scores.keys() == current_scores.keys()
            difference = str(metrics.compare(current_scores, baseline_scores, MEASURE)) if is_comparable else "-"
            lines.append(markdown.line([set_name, len(current_scores), search, before, after, difference]))
    return "\n".join(lines)


def agreed() -> Found:
    """Read the baseline; {} when there is none."""
    baseline: Found = json.loads(BASELINE.read_text("utf-8")) if BASELINE.is_file() else {}
    return baseline


def agree(found: Found) -> None:
    """Write these scores as the new baseline."""
    BASELINE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
