"""`python -m evals.hand_made_gate`: figures of verdicts, confidence and refusals that CI holds, with their bounds.

They are over the sets in evals/data that readers wrote by hand, and need no model folder and no chat model: claims and
answers are judged by their words and facts, by a judge that knows their labels, by a capable chat model as it was
recorded, and by a judge that says yes to everything.
The bounds are near the figures of 2026-11-23, so that a change for the worse is seen. Not held here, because they
take minutes or collections that are not in this repository: quotes by the local models (`evals.quote_fit`,
`evals.written_questions`), refusals of questions on whole collections, and a hosted judge (`rag eval claims`).
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evals import recorded_judge
from evals.answer_fit import LabelledJudge, give_judged_answers
from rag_core.answering.answer import answer_by_extraction
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Judgement
from rag_core.core.ports import ClaimToJudge
from rag_core.core.run import Run
from rag_core.evaluation.calibration import compute_auc, compute_calibration_error, compute_reliability
from rag_core.evaluation.labelled_answers import load_labelled_answers
from rag_core.evaluation.labelled_claims import LabelledClaim, judge_labelled_claims, load_labelled_claims
from rag_core.evaluation.markdown_tables import format_table
from rag_core.providers.null_models import NoReranker

DATA = Path(__file__).parent / "data"
CLAIMS_FILE = DATA / "claims_by_hand" / "tuning.jsonl"
ANSWERS_FILE = DATA / "answers_by_hand" / "answers.jsonl"
AMOUNT_KINDS = ("number", "unit", "date")
EVERY = 2  # one answer in so many is judged, to save time
# the lowest and highest that a figure may be
BOUNDS: Mapping[str, tuple[float, float]] = {
    "facts alone: false claims supported": (0.0, 0.02),
    "facts alone: claims of changed facts contradicted": (0.3, 1.0),
    "facts alone: true claims contradicted": (0.0, 0.035),
    "a judge that knows: false claims supported": (0.0, 0.02),
    "a judge that knows: true claims in light paraphrase not supported": (0.0, 0.05),
    "a judge that knows: true claims in own words not supported": (0.0, 0.14),
    "a recorded judge: false claims supported": (0.0, 0.02),
    "a recorded judge: true claims in light paraphrase not supported": (0.0, 0.05),
    "a recorded judge: true claims in own words not supported": (0.0, 0.10),
    "a recorded judge: claims of changed facts contradicted": (0.9, 1.0),
    "a judge that says yes: changed numbers, units and dates supported": (0.0, 0.45),
    "a judge that knows: AUC of the confidence of answers": (0.8, 1.0),
    "a judge that knows: calibration error of the confidence": (0.0, 0.17),
    "a judge that knows: right answers given": (0.96, 1.0),
    "quotes: answerable questions refused": (0.0, 0.6),
    "quotes: questions on other documents refused": (0.9, 1.0),
}
Figures = Mapping[str, float]


class YesJudge:
    """A judge that finds every claim supported by the first passage that it is shown."""

    name, is_multilingual = "says yes", True

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        """Return a judgement for each claim, in order."""
        return [Judgement("supported", 0.95, 0, judge=self.name) for _ in claims]


def build_words_only_kit() -> Kit:
    """Return a kit without models, in memory."""
    return replace(assembly.build_in_memory_kit(), reranker=NoReranker("none"), judge=None, word_comparer=None)


async def measure_claims_by_facts(kit: Kit) -> Figures:
    """Judge the claims by their words and facts alone."""
    claims = load_labelled_claims(CLAIMS_FILE)
    findings = _get_findings(await judge_labelled_claims(claims, kit))
    return {
        "facts alone: false claims supported": _share(claims, findings, _is_false, "supported"),
        "facts alone: claims of changed facts contradicted": _share(
            claims, findings, lambda claim: claim.label == "contradicted", "contradicted"
        ),
        "facts alone: true claims contradicted": _share(
            claims, findings, lambda claim: not _is_false(claim), "contradicted"
        ),
    }


async def measure_claims_by_labels(kit: Kit) -> Figures:
    """Judge the claims by their labels, over which the facts have their veto."""
    claims, findings = load_labelled_claims(CLAIMS_FILE), []
    for claim in claims:
        judge = LabelledJudge([(claim.text, claim.label)])  # type: ignore[list-item]
        findings += _get_findings(await judge_labelled_claims([claim], replace(kit, judge=judge)))
    return _measure_supported("a judge that knows", claims, findings)


async def measure_recorded_judge(kit: Kit) -> Figures:
    """Judge the claims of the final half as a capable chat model did, over which the facts have their veto."""
    claims = load_labelled_claims(recorded_judge.FOLDER / "final.jsonl")
    findings = _get_findings(await recorded_judge.judge_by_recorded_model(claims, kit))
    contradicted = _share(claims, findings, lambda claim: claim.label == "contradicted", "contradicted")
    return {
        **_measure_supported("a recorded judge", claims, findings),
        "a recorded judge: claims of changed facts contradicted": contradicted,
    }


async def measure_veto(kit: Kit) -> Figures:
    """Judge the claims whose amounts were changed by a judge that says yes."""
    claims = [claim for claim in load_labelled_claims(CLAIMS_FILE) if claim.kind in AMOUNT_KINDS]
    findings = _get_findings(await judge_labelled_claims(claims, replace(kit, judge=YesJudge())))
    share = _share(claims, findings, _is_false, "supported")
    return {"a judge that says yes: changed numbers, units and dates supported": share}


async def measure_answers(kit: Kit) -> Figures:
    """Judge answers as chat models write them by the labels of their sentences."""
    given = await give_judged_answers(kit, turned=0.0, every=EVERY)
    confidence, right = [one.confidence for one in given], [one.labelled.right for one in given]
    kept = [one.kept for one in given if one.labelled.right]
    return {
        "a judge that knows: AUC of the confidence of answers": compute_auc(confidence, right),
        "a judge that knows: calibration error of the confidence": compute_calibration_error(
            compute_reliability(confidence, right)
        ),
        "a judge that knows: right answers given": sum(kept) / len(kept),
    }


async def measure_quotes(kit: Kit) -> Figures:
    """Quote answers to the questions of the answers from their own passages, and from those of other documents."""
    answers = load_labelled_answers(ANSWERS_FILE)
    others = answers[len(answers) // 2 :] + answers[: len(answers) // 2]
    refused = []
    for sources in (answers, others):
        quoted = [
            await answer_by_extraction(one.question, source.evidence, kit, Run())
            for one, source in list(zip(answers, sources, strict=True))[::EVERY]
        ]
        refused.append(sum(answer.status == "unknown" for answer in quoted) / len(quoted))
    names = ("quotes: answerable questions refused", "quotes: questions on other documents refused")
    return dict(zip(names, refused, strict=True))


MEASUREMENTS: Sequence[Callable[[Kit], Awaitable[Figures]]] = (
    measure_claims_by_facts,
    measure_claims_by_labels,
    measure_recorded_judge,
    measure_veto,
    measure_answers,
    measure_quotes,
)


async def measure_all(kit: Kit) -> Figures:
    """Return every figure of BOUNDS."""
    return {name: value for measure in MEASUREMENTS for name, value in (await measure(kit)).items()}


def find_failures(figures: Figures) -> list[str]:
    """Return a line for each figure that is out of its bounds."""
    return [
        f"{name}: {value:.3f} is not from {BOUNDS[name][0]:g} to {BOUNDS[name][1]:g}"
        for name, value in figures.items()
        if not BOUNDS[name][0] <= value <= BOUNDS[name][1]
    ]


def _get_findings(claims: Sequence[Claim]) -> list[str]:
    return [claim.judgement.finding if claim.judgement else "" for claim in claims]


def _is_false(claim: LabelledClaim) -> bool:
    return claim.label != "supported"


def _measure_supported(judge: str, claims: Sequence[LabelledClaim], findings: Sequence[str]) -> Figures:
    """Return which share of the false claims a judge supports, and of the true ones in other words does not."""
    false = {f"{judge}: false claims supported": _share(claims, findings, _is_false, "supported")}
    return false | {
        f"{judge}: true claims in {kind.replace('_', ' ')} not supported": 1
        - _share(claims, findings, lambda claim, kind=kind: claim.kind == kind, "supported")  # type: ignore[misc]
        for kind in ("light_paraphrase", "own_words")
    }


def _share(
    claims: Sequence[LabelledClaim], findings: Sequence[str], is_meant: Callable[[LabelledClaim], bool], finding: str
) -> float:
    """Return the share of the claims that are meant whose finding is this."""
    meant = [found for claim, found in zip(claims, findings, strict=True) if is_meant(claim)]
    return meant.count(finding) / len(meant)


def main() -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    figures = asyncio.run(measure_all(build_words_only_kit()))
    rows = [[name, f"{value:.3f}", *(f"{bound:g}" for bound in BOUNDS[name])] for name, value in figures.items()]
    print(format_table(("figure", "now", "lowest", "highest"), rows))
    failures = find_failures(figures)
    print(*failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
