"""`rag eval gate`: the small fixed sets of `gate_sets`, and whether a change has made their rankings worse.

What they scored when it was last agreed to is in `baseline.json`; `--update` agrees to what they score now.
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

Found = Mapping[str, Mapping[str, metrics.Scores]]  # by set, then by way of searching


def measure(cache: Path, *, sets: Path = SETS) -> Found:
    """Every set asked in every way."""
    folders = sorted(folder for folder in sets.iterdir() if folder.is_dir())
    return {folder.name: _scores(tried(folder, WAYS, next(iter(WAYS)), cache=cache).rows) for folder in folders}


def _scores(rows: Mapping[str, Row]) -> dict[str, metrics.Scores]:
    """Rounded as they are written down: a difference in the last places is none."""
    return {
        way: {query: {MEASURE: round(scores[MEASURE], 4)} for query, scores in row.scores.items()}
        for way, row in rows.items()
    }


def drops(found: Found, agreed: Found) -> list[str]:
    """Where the whole 95 % interval of new minus agreed lies below 0, a line each; also what is not there any more."""
    return [line for name, ways in agreed.items() for way in ways for line in _drop(name, way, found, agreed)]


def _drop(name: str, way: str, found: Found, agreed: Found) -> Iterator[str]:
    was, now = agreed[name][way], found.get(name, {}).get(way, {})
    if was.keys() != now.keys():
        yield f"{name}, {way}: not the questions of the baseline: agree to them with --update"
    elif (gap := metrics.compare(now, was, MEASURE)).high < 0:
        yield f"{name}, {way}: {MEASURE} {metrics.mean(was, MEASURE):.3f}, now {metrics.mean(now, MEASURE):.3f}, {gap}"


def report(found: Found, agreed: Found) -> str:
    """Markdown: what was agreed to, what is now, and the difference."""
    lines = [f"| set | questions | search | {MEASURE} agreed | now | difference, 95 % interval |"]
    lines.append("| --- | ---: | --- | ---: | ---: | --- |")
    for name, ways in found.items():
        for way, now in ways.items():
            was = agreed.get(name, {}).get(way, {})
            before, after = f"{metrics.mean(was, MEASURE):.3f}" if was else "-", f"{metrics.mean(now, MEASURE):.3f}"
            gap = str(metrics.compare(now, was, MEASURE)) if was.keys() == now.keys() else "-"
            lines.append(markdown.line([name, len(now), way, before, after, gap]))
    return "\n".join(lines)


def agreed() -> Found:
    known: Found = json.loads(BASELINE.read_text("utf-8")) if BASELINE.is_file() else {}
    return known


def agree(found: Found) -> None:
    """Take these scores as the baseline, a line a question."""
    BASELINE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
