"""`python -m evals.answer_fit`: what the confidence of chat models' answers says, and the weight that fits it best.

The answers are those of evals/data/answers_by_hand/answers.jsonl, whose sentences a reader has labelled. They are
judged three times: by the facts alone, by the labels, as a competent judge would, and by the labels of which one in ten
is turned round. No hosted model is asked; `rag eval answers` with a configured one measures that.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evals.answers import CACHE
from rag_core.answering.confidence import ASSERTED_WEIGHT, compute_fit
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Finding, Judgement
from rag_core.core.ports import ClaimToJudge
from rag_core.evaluation.calibration import (
    compute_auc,
    compute_calibration_error,
    compute_reliability,
    format_reliability,
)
from rag_core.evaluation.evaluation_cache import CachedReranker, EvaluationCache
from rag_core.evaluation.labelled_answers import GivenAnswer, give_labelled_answers, load_labelled_answers
from rag_core.evaluation.markdown_tables import format_table
from rag_core.text.normalization import parse_word_forms
from rag_core.text.terms import extract_terms

ANSWERS_FILE = Path(__file__).parent / "data" / "answers_by_hand" / "answers.jsonl"
SUPPORT: Mapping[Finding, float] = {"supported": 0.95, "not_stated": 0.05, "contradicted": 0.02}
TURNED: Mapping[Finding, Finding] = {"supported": "not_stated", "not_stated": "supported", "contradicted": "supported"}
TURNED_SHARE = 0.1
SEED = 14
WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
Labels = Sequence[tuple[str, Finding]]


class LabelledJudge:
    """A judge that knows the labels of sentences: a claim has that of the sentence with which it shares most words.

    The passage with most of its numbers and then of its words decides. `turned` is the share of judgements that are
    turned round.
    """

    name = "a reader's labels"
    is_multilingual = True

    def __init__(self, labels: Labels, *, turned: float = 0.0, seed: str = "") -> None:
        self._labels, self._turned, self._random = labels, turned, random.Random(seed)

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        """Return a judgement for each claim, in order."""
        return [self._judge_claim(claim) for claim in claims]

    def _judge_claim(self, claim: ClaimToJudge) -> Judgement:
        terms = extract_terms(claim.text)
        _, finding = max(self._labels, key=lambda label: _compute_overlap(terms, extract_terms(label[0])))
        if self._random.random() < self._turned:
            finding = TURNED[finding]
        words = parse_word_forms(claim.text)  # "four" is 4, too
        numbers = {word for word in words if word[:1].isdigit()}
        shared = [words & parse_word_forms(passage) for passage in claim.passages]
        passage = max(range(len(shared)), key=lambda n: (len(shared[n] & numbers), len(shared[n])))
        return Judgement(finding, SUPPORT[finding], passage, judge=self.name)


def _compute_overlap(terms: frozenset[str], others: frozenset[str]) -> float:
    return len(terms & others) / max(1, len(terms | others))


def load_sentence_labels(file: Path = ANSWERS_FILE) -> list[Labels]:
    """Return the labels of the sentences of each answer, in the order of the file."""
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return [[(sentence["text"], sentence["label"]) for sentence in row["sentences"]] for row in rows]


async def give_judged_answers(kit: Kit, *, turned: float | None, every: int = 1) -> list[GivenAnswer]:
    """Return what the service makes of one answer in `every` with a judge that knows the labels; with none for None."""
    given: list[GivenAnswer] = []
    answers = list(zip(load_labelled_answers(ANSWERS_FILE), load_sentence_labels(), strict=True))
    for n, (answer, labels) in enumerate(answers[::every]):
        judge = None if turned is None else LabelledJudge(labels, turned=turned, seed=f"{SEED} {n}")
        given += await give_labelled_answers([answer], replace(kit, judge=judge))
    return given


def recompute_confidence(given: GivenAnswer, asserted_weight: float) -> float:
    """Return the confidence that the answer would have with another weight of `asserted`."""
    if not given.kept:
        return 0.0
    inputs = given.answer.confidence.inputs
    return inputs["certainty"] * inputs["support"] * compute_fit(inputs, asserted_weight=asserted_weight)


def format_weights(given: Sequence[GivenAnswer]) -> str:
    """Format AUC, calibration error and mean log likelihood by weight, for answers of even and of odd number."""
    rows: list[list[object]] = []
    for weight in WEIGHTS:
        cells: list[object] = [f"{weight:g}{' (in use)' if weight == ASSERTED_WEIGHT else ''}"]
        for half in (given[::2], given[1::2]):
            scores = [recompute_confidence(one, weight) for one in half]
            right = [one.labelled.right for one in half]
            error = compute_calibration_error(compute_reliability(scores, right))
            cells += [f"{compute_auc(scores, right):.3f}", f"{error:.3f}", f"{_compute_likelihood(scores, right):.3f}"]
        rows.append(cells)
    half_columns = ("AUC", "calibration error", "log likelihood")
    columns = ("weight", *(f"{name}, {half}" for half in ("even", "odd") for name in half_columns))
    return format_table(columns, rows)


def _compute_likelihood(scores: Sequence[float], right: Sequence[bool]) -> float:
    chances = [score if label else 1 - score for score, label in zip(scores, right, strict=True)]
    return float(np.mean(np.log(np.maximum(0.01, chances))))


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    cache, kit = EvaluationCache(CACHE), assembly.build_in_memory_kit()
    kit = replace(kit, reranker=CachedReranker(kit.reranker, cache, recompute=False))
    for name, turned in (("the facts alone", None), ("the labels", 0.0), ("labels, 1 of 10 turned", TURNED_SHARE)):
        given = asyncio.run(give_judged_answers(kit, turned=turned))
        print(f"Judged by {name}:\n")
        print(format_reliability([one.confidence for one in given], [one.labelled.right for one in given]))
        print(f"\n{format_weights(given)}\n")
    cache.close()


if __name__ == "__main__":
    main()
