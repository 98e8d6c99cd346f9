"""`rag eval`: evaluation of the pipelines on labelled questions."""

import json
import sys
from argparse import Namespace
from typing import Any

from rag_core.core import settings


def run(chosen: Namespace) -> int:
    """Score each leg and pipeline on a labelled collection and print a row for each."""
    from rag_core.cli import show
    from rag_core.evaluation import retrieval

    with show.progress(sys.stderr) as bar:
        report = retrieval.run(chosen.folder, **_said(chosen), progress=show.counting(bar))
    print(json.dumps(report.json(), indent=2) if chosen.json else report.table())
    return 0


def compare(chosen: Namespace) -> int:
    """Compare every preset with the first, paired by question; then again on each half of the questions."""
    return _tried(chosen, {spec: spec for spec in chosen.presets}, chosen.presets[0])


def ablate(chosen: Namespace) -> int:
    """Print the ablation table (S1-61 to S1-65) for a labelled folder."""
    from rag_core.evaluation.ablation import ABLATED, BASE

    presets = {name: spec for name, (spec, _) in ABLATED.items()}
    return _tried(chosen, presets, BASE, expected={name: expectation for name, (_, expectation) in ABLATED.items()})


def gate(chosen: Namespace) -> int:
    """Score the fixed sets; return 1 when a ranking is significantly worse than the baseline."""
    from rag_core.evaluation import gate as gates
    from rag_core.evaluation.cache import CACHE

    scores, baseline = gates.measure(CACHE), gates.agreed()
    print(gates.report(scores, baseline))
    if chosen.update:
        gates.agree(scores)
        return 0
    regressions = gates.drops(scores, baseline)
    for regression in regressions:
        print(f"worse: {regression}", file=sys.stderr)
    return 1 if regressions else 0


def _tried(chosen: Namespace, presets: dict[str, str], base: str, **beside: Any) -> int:
    from rag_core.cli import show
    from rag_core.evaluation import ablation

    with show.progress(sys.stderr) as bar:
        progress = show.counting(bar)
        comparison = ablation.tried(
            chosen.folder, presets, base, **beside, **_said(chosen), hosted=chosen.hosted, progress=progress
        )
    print(json.dumps(comparison.json(), indent=2) if chosen.json else comparison.report())
    return 0


def _said(chosen: Namespace) -> dict[str, Any]:
    """Return the options that the commands on a labelled folder share."""
    names = ("queries", "half", "workflow_field")
    return {name: getattr(chosen, name) for name in names} | {"settings": settings.load()}
