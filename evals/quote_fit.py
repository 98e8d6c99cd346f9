"""`python -m evals.quote_fit DATA`: fit the probability that quotes are what was asked for, and say how far it holds.

The questions are those of `evals.written_questions`, both files, and those of `evals.conversations` as they would be
asked alone: written in people's own words, by three writers. Every question is answered, however little is found. The
regression is fitted on all collections, which gives `FitWeights`; what is reported of each collection is from a fit on
the others.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evals.answers import CACHE
from evals.conversations import load_conversations
from evals.written_questions import (
    MORE_QUESTIONS_FILE,
    QUESTIONS_FILE,
    QuestionOutcome,
    WrittenQuestion,
    ask_written_questions,
    load_written_questions,
)
from rag_core.answering import answer, confidence
from rag_core.evaluation.calibration import format_reliability
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.retrieval import extractive_answers

RIDGE = 1.0  # on standardized inputs
Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def load_all_questions() -> list[WrittenQuestion]:
    """Return the questions of the three sets."""
    alone = [
        WrittenQuestion(one.question.id, one.question.collection, one.standalone, one.question.answers)
        for one in load_conversations()
    ]
    return [*load_written_questions(QUESTIONS_FILE), *load_written_questions(MORE_QUESTIONS_FILE), *alone]


def build_inputs(outcomes: Sequence[QuestionOutcome], *, cross_encoder: bool) -> Matrix:
    """Return a row for each answer: its relevance, or coverage, names, kind, and with models `answered` and margin."""
    rows = []
    for outcome in outcomes:
        inputs = outcome.answer.confidence.inputs
        log_odds = confidence.compute_bounded_log_odds(inputs["relevance"])
        rows.append([log_odds if cross_encoder else inputs["coverage"], inputs["names"], inputs["kind"]])
        if cross_encoder:
            models = (inputs["answered"], inputs.get("margin", 0.5))
            rows[-1] += map(confidence.compute_bounded_log_odds, models)
    return np.array(rows)


def fit_weights(inputs: Matrix, right: Matrix) -> confidence.FitWeights:
    """Fit a logistic regression by Newton's method, with a ridge on the standardized inputs."""
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    rows = np.hstack([np.ones((len(inputs), 1)), (inputs - mean) / scale])
    weights, ridge = np.zeros(rows.shape[1]), np.diag([1e-6, *[RIDGE] * inputs.shape[1]])
    for _ in range(50):
        guessed = 1 / (1 + np.exp(-rows @ weights))
        slope = (rows * (guessed * (1 - guessed) + 1e-9)[:, None]).T @ rows + ridge
        weights -= np.linalg.solve(slope, rows.T @ (guessed - right) + ridge @ weights)
    raw = weights[1:] / scale
    return confidence.FitWeights(*(round(float(weight), 2) for weight in (weights[0] - raw @ mean, *raw)))


def estimate(weights: confidence.FitWeights, inputs: Matrix) -> Matrix:
    """Return the probability of each row."""
    factors = [weights.relevance, weights.names, weights.kind, weights.answered, weights.margin]
    score = weights.intercept + inputs @ np.array(factors[: inputs.shape[1]])
    return np.asarray(1 / (1 + np.exp(-score)))


def format_report(outcomes: Sequence[QuestionOutcome]) -> str:
    """Format the weights and the reliability on each collection by the others, with and without a cross-encoder."""
    right = np.array([float(outcome.is_right) for outcome in outcomes])
    collections = np.array([outcome.question.collection for outcome in outcomes])
    sections = []
    for cross_encoder in (True, False):
        inputs = build_inputs(outcomes, cross_encoder=cross_encoder)
        held_out = np.zeros(len(outcomes))
        for collection in set(collections):
            other = collections != collection
            held_out[~other] = estimate(fit_weights(inputs[other], right[other]), inputs[~other])
        title = "With a cross-encoder" if cross_encoder else "Without one"
        table = format_reliability(held_out.tolist(), [bool(one) for one in right])
        sections.append(f"{title}: {fit_weights(inputs, right)}\n\n{table}")
    return "\n\n".join(sections)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    chosen = parser.parse_args()
    confidence.WITH_BOTH_MODELS = replace(confidence.WITH_BOTH_MODELS, least=0.0)  # every question is answered
    extractive_answers.MIN_ANSWERABILITY = extractive_answers.OPEN_ANSWERABILITY = 0.0
    for name in ("find_unmet_conditions", "find_unknown_names"):
        setattr(answer, name, lambda *_: ())
    cache = EvaluationCache(CACHE)
    try:
        outcomes = asyncio.run(ask_written_questions(chosen.data, load_all_questions(), cache))
    finally:
        cache.close()
    print(format_report([outcome for outcome in outcomes if outcome.answer.status == "answered"]))


if __name__ == "__main__":
    main()
