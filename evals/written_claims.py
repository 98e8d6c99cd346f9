"""How claims written by hand are judged: true ones in other words, false ones that look alike, and unstated ones.

    python -m evals.written_claims [--final] [--judge] [--show KIND]

Each claim is judged by the passages that its author gave it, as the service judges them. `--judge` uses the
judge that the settings choose (an entailment model in RAG_MODELS_DIR, or a chat model), else copied words and facts
decide.
See evals/data/claims_by_hand/README.md.
"""

import argparse
import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_core.answering.citations import evidence_from_hits
from rag_core.answering.verification import cite_claims, judge_claims
from rag_core.composition.assembly import build_kit
from rag_core.core.model import Chunk, Claim, Evidence, Hit
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.metrics import compute_wilson_interval

FOLDER = Path(__file__).parent / "data" / "claims_by_hand"
FINDINGS = ("supported", "unclear", "not_stated", "contradicted")


@dataclass(frozen=True, slots=True)
class WrittenClaim:
    """A claim with its author's label and kind, and the passages it is judged by."""

    text: str
    label: str
    kind: str
    question: str
    evidence: tuple[Evidence, ...]


def load_written_claims(*, final: bool) -> list[WrittenClaim]:
    """Return the claims of a half, in the order of the file."""
    lines = (FOLDER / ("final.jsonl" if final else "tuning.jsonl")).read_text("utf-8").splitlines()
    return [
        WrittenClaim(row["claim"], row["label"], row["kind"], row.get("question", ""), _build_evidence(row))
        for row in map(json.loads, lines)
    ]


def _build_evidence(row: Mapping[str, str | list[str]]) -> tuple[Evidence, ...]:
    source = str(row["source"])
    chunks = [
        Chunk(f"{row['id']}/{n}", source, n, text, "", source, f"{row['id']}/{n}")
        for n, text in enumerate(row["evidence"])
    ]
    return evidence_from_hits([Hit(chunk, 1.0) for chunk in chunks])


async def judge_written_claims(claims: Sequence[WrittenClaim], *, with_judge: bool) -> list[Claim]:
    """Return the claims with their judgements."""
    kit = build_kit(Settings())
    if not with_judge:
        kit = replace(kit, judge=None)
    judged = []
    for one in claims:
        run, evidence = Run(), [one.evidence]
        cited = await cite_claims([Claim(one.text, 0, len(one.text), "unsupported")], evidence, kit, run)
        judged += await judge_claims(cited, evidence, kit, run, question=one.question)
    await kit.close()
    return judged


def format_findings(claims: Sequence[WrittenClaim], judged: Sequence[Claim]) -> list[str]:
    """Format findings by label and kind, with the share that was called supported and its 95 % interval."""
    counts: Mapping[str, Counter[str]] = defaultdict(Counter)
    for one, claim in zip(claims, judged, strict=True):
        finding = claim.judgement.finding if claim.judgement else "unclear"
        for row in (f"{one.label}: {one.kind}", one.label, "false" if one.label != "supported" else "true"):
            counts[row][finding] += 1
    lines = ["| claims | n | supported | unclear | not stated | contradicted | supported, 95 % |", "|---|" + "---|" * 6]
    return lines + [_format_row(row, counts[row]) for row in sorted(counts)]


def _format_row(row: str, count: Counter[str]) -> str:
    n = count.total()
    low, high = compute_wilson_interval(count["supported"], n)
    share = f"{count['supported'] / n:.1%} [{low:.1%}, {high:.1%}]"
    return markdown_tables.format_row([row, n, *(count[finding] for finding in FINDINGS), share])


def compute_support_auc(claims: Sequence[WrittenClaim], judged: Sequence[Claim]) -> float:
    """Return the probability that a true claim has a higher support than a false one; equal ones count half."""
    support = [claim.judgement.support if claim.judgement else 0.5 for claim in judged]
    true = [value for one, value in zip(claims, support, strict=True) if one.label == "supported"]
    false = [value for one, value in zip(claims, support, strict=True) if one.label != "supported"]
    wins = sum((a > b) + (a == b) / 2 for a in true for b in false)
    return wins / (len(true) * len(false))


async def _print_report(chosen: argparse.Namespace) -> None:
    claims = load_written_claims(final=chosen.final)
    began = time.perf_counter()
    judged = await judge_written_claims(claims, with_judge=chosen.judge)
    took = time.perf_counter() - began
    print(*format_findings(claims, judged), sep="\n")
    auc = compute_support_auc(claims, judged)
    print(f"\n{len(claims)} claims, AUC of support {auc:.2f}, {took / len(claims) * 1000:.0f} ms a claim")
    for one, claim in zip(claims, judged, strict=True):
        found = claim.judgement.finding if claim.judgement else ""
        if chosen.show in (one.kind, "all") and found != one.label:
            print("", f"{one.label} {one.kind}: {found} {claim.reasons}", one.text, *claim.citations[:1], sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--final", action="store_true", help="the half that nobody tuned on")
    parser.add_argument("--judge", action="store_true", help="with the judge that the settings choose")
    parser.add_argument("--show", help="print the wrongly judged claims of a kind ('all': of every kind)")
    asyncio.run(_print_report(parser.parse_args()))


if __name__ == "__main__":
    main()
