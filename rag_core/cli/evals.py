"""`rag eval`: what the rankings are worth, on labelled questions."""

import json
import sys
from argparse import Namespace
from typing import Any

from rag_core.core import settings


def run(chosen: Namespace) -> int:
    """Score the legs and pipelines on a labelled collection, and print a row for each."""
    from rag_core.cli import show
    from rag_core.evaluation import retrieval

    with show.progress(sys.stderr) as bar:
        report = retrieval.run(chosen.folder, **_said(chosen), progress=show.counting(bar))
    print(json.dumps(report.json(), indent=2) if chosen.json else report.table())
    return 0


def compare(chosen: Namespace) -> int:
    """Every preset against the first, paired over the questions; then the same for each half of them."""
    return _tried(chosen, {said: said for said in chosen.presets}, chosen.presets[0])


def ablate(chosen: Namespace) -> int:
    """The table of S1-61 to S1-65 on a corpus of one's own."""
    from rag_core.evaluation.ablation import ABLATED, BASE

    presets = {name: said for name, (said, _) in ABLATED.items()}
    return _tried(chosen, presets, BASE, expected={name: promise for name, (_, promise) in ABLATED.items()})


def gate(chosen: Namespace) -> int:
    """Score the fixed sets; status 1 when one ranks worse than was agreed, beyond chance."""
    from rag_core.evaluation import gate as gates
    from rag_core.evaluation.cache import CACHE

    found, agreed = gates.measure(CACHE), gates.agreed()
    print(gates.report(found, agreed))
    if chosen.update:
        gates.agree(found)
        return 0
    drops = gates.drops(found, agreed)
    for drop in drops:
        print(f"worse: {drop}", file=sys.stderr)
    return 1 if drops else 0


def _tried(chosen: Namespace, presets: dict[str, str], base: str, **beside: Any) -> int:
    from rag_core.cli import show
    from rag_core.evaluation import ablation

    with show.progress(sys.stderr) as bar:
        counting = show.counting(bar)
        found = ablation.tried(
            chosen.folder, presets, base, **beside, **_said(chosen), hosted=chosen.hosted, progress=counting
        )
    print(json.dumps(found.json(), indent=2) if chosen.json else found.report())
    return 0


def _said(chosen: Namespace) -> dict[str, Any]:
    """What the commands on a labelled folder have in common."""
    said = ("queries", "half", "workflow_field")
    return {name: getattr(chosen, name) for name in said} | {"settings": settings.load()}
