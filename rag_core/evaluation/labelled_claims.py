"""Claims with labels, judged as the service judges them: what is called supported, by kind, and the AUC of support.

A file has one claim a line: {"claim", "label": "supported" | "contradicted" | "not_stated", "kind", "evidence": [text,
…]}, with an optional "id", "question" and "source" (of the passages).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rag_core.answering.citations import evidence_from_hits
from rag_core.answering.statements import make_claims, relate_parts
from rag_core.answering.verification import cite_claims, judge_claims
from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Claim, Evidence, Hit
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.beir import read_jsonl_records
from rag_core.evaluation.calibration import compute_auc
from rag_core.evaluation.metrics import compute_wilson_interval
from rag_core.text.layout import split_into_parts

T = TypeVar("T")

CLAIM_LABELS = ("supported", "contradicted", "not_stated")
FINDINGS = ("supported", "unclear", "not_stated", "contradicted")
FINDING_COLUMNS = ("claims", "n", "supported", "unclear", "not stated", "contradicted", "supported, 95 %")


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim with its author's label and kind, and the passages it is judged by."""

    text: str
    label: str
    kind: str
    question: str
    evidence: tuple[Evidence, ...]


def load_labelled_claims(file: Path) -> list[LabelledClaim]:
    """Return the claims in the order of the file. Raises as `load_labelled_rows` does."""
    example = '{"claim": "…", "label": "supported", "kind": "…", "evidence": ["…"]}'
    return load_labelled_rows(file, _parse_labelled_claim, what="claim", example=example)


def load_labelled_rows(file: Path, parse: Callable[[int, Mapping[str, Any]], T], *, what: str, example: str) -> list[T]:
    """Return what `parse` makes of the number, from 1, and the record of each line, in order.

    Raises:
        Misconfigured: the file is missing or empty, or a line is malformed; the message names it, or gives the example.
    """
    try:
        parsed = [parse(number, row) for number, row in enumerate(read_jsonl_records(file), start=1)]
    except (KeyError, TypeError, ValueError) as error:
        reason = f"a {what} has no {error}" if isinstance(error, KeyError) else str(error)
        raise Misconfigured(
            f"{file} is no file of labelled {what}s ({reason}): one {what} a line, as {example}"
        ) from error
    if not parsed:
        raise Misconfigured(f"{file} has no {what}: one {what} a line, as {example}")
    return parsed


def _parse_labelled_claim(number: int, row: Mapping[str, Any]) -> LabelledClaim:
    if row["label"] not in CLAIM_LABELS:
        raise ValueError(f"the label of claim {number} must be one of {', '.join(CLAIM_LABELS)}")
    return LabelledClaim(
        row["claim"], row["label"], row["kind"], row.get("question", ""), build_labelled_evidence(str(number), row)
    )


def build_labelled_evidence(id: str, row: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Return the passages of a row as evidence, in order, of one document without a title."""
    source = str(row.get("source", ""))
    chunks = [Chunk(f"{id}/{n}", id, n, text, "", source, f"{id}/{n}") for n, text in enumerate(row["evidence"])]
    return evidence_from_hits([Hit(chunk, 1.0) for chunk in chunks])


async def judge_labelled_claims(claims: Sequence[LabelledClaim], kit: Kit) -> list[Claim]:
    """Return the claims with their judgements, in order, by the judge of the kit."""
    judged = []
    for one in claims:
        run, evidence = Run(), [one.evidence]
        cited = await cite_claims([_read_claim(one)], evidence, kit, run)
        judged += await judge_claims(cited, evidence, kit, run, question=one.question)
    return judged


def _read_claim(labelled: LabelledClaim) -> Claim:
    """Return the claim as it is read in a text; one that is read as several, or as none, is taken as it is."""
    claims = make_claims(relate_parts(split_into_parts(labelled.text), question=labelled.question))
    return claims[0] if len(claims) == 1 else Claim(labelled.text, 0, len(labelled.text), "unsupported")


def format_findings(claims: Sequence[LabelledClaim], judged: Sequence[Claim]) -> str:
    """Format findings by label and kind, with the share that was called supported and its 95 % interval."""
    counts: Mapping[str, Counter[str]] = defaultdict(Counter)
    for one, claim in zip(claims, judged, strict=True):
        for row in (f"{one.label}: {one.kind}", one.label, "false" if one.label != "supported" else "true"):
            counts[row][_get_finding(claim)] += 1
    return markdown_tables.format_table(FINDING_COLUMNS, (_build_row(row, counts[row]) for row in sorted(counts)))


def list_misjudged_claims(
    claims: Sequence[LabelledClaim], judged: Sequence[Claim], kind: str | None
) -> list[tuple[LabelledClaim, Claim]]:
    """Return the claims of a kind, "all" for every one, whose finding is not their label."""
    return [
        (one, claim)
        for one, claim in zip(claims, judged, strict=True)
        if kind in (one.kind, "all") and _get_finding(claim) != one.label
    ]


def compute_support_auc(claims: Sequence[LabelledClaim], judged: Sequence[Claim]) -> float:
    """Return the probability that a true claim has a higher support than a false one; equal ones count half."""
    support = [claim.judgement.support if claim.judgement else 0.5 for claim in judged]
    return compute_auc(support, [one.label == "supported" for one in claims])


def _get_finding(claim: Claim) -> str:
    return claim.judgement.finding if claim.judgement else "unclear"


def _build_row(name: str, count: Counter[str]) -> list[object]:
    n = count.total()
    low, high = compute_wilson_interval(count["supported"], n)
    share = f"{count['supported'] / n:.1%} [{low:.1%}, {high:.1%}]"
    return [name, n, *(count[finding] for finding in FINDINGS), share]
