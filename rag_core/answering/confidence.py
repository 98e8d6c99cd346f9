"""The confidence in an answer: how well its own sentences are supported, and whether they are what was asked for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_core.answering.conditions import extract_evidence_terms
from rag_core.core.model import Claim, Confidence, Evidence
from rag_core.retrieval.extractive_answers import extract_name_terms, to_log_odds
from rag_core.text.answer_types import find_missing_kinds
from rag_core.text.languages import is_frequent_word
from rag_core.text.periods import remove_periods
from rag_core.text.terms import WORD_PATTERN, extract_terms

MAX_LOG_ODDS = 9.2  # of a relevance: more says nothing more

CONFIDENCE_FORMULA = (
    "certainty x support x fit. certainty: the share of sentences that cite given evidence and do not hedge, 1 for "
    "sentences quoted from it; support: the mean probability, by the judge of each sentence, that the evidence has "
    "it, sentences that were left out included, or the lowest where it contradicts one; fit: the probability that "
    "they are what was asked for, logistic in "
    "answered, margin, relevance, names, kind and asserted. answered: the probability, by a small model, that the "
    "answer or a cited passage has what is asked, where there is that model; margin: how far the best quote is above "
    "the best sentence of another passage that says something else, 0.5 where they are level; relevance: the "
    "cross-encoder's best score of a cited passage, replaced by coverage where there is none; coverage: the share of "
    "the question's terms in the cited passages and titles; names: the same of its names; kind: 0 where the answer "
    "lacks the kind of thing asked for, such as a number; asserted: 1 where a chat model says that this answers the "
    "question, 0 for quotes"
)


@dataclass(frozen=True, slots=True)
class FitWeights:
    """A logistic regression: its intercept, and the weight of each input; quotes below `least` are no answer.

    `least` is compared with a confidence without `margin`.
    """

    intercept: float
    relevance: float  # of the log odds of the relevance, or of the coverage itself
    names: float
    kind: float
    answered: float = 0.0  # of its log odds
    margin: float = 0.0  # of its log odds
    least: float = 0.45


# of an answer that a chat model gives for one, in both regressions: `python -m evals.answer_fit`,
# docs/decisions/0036-confidence-of-answers.md
ASSERTED_WEIGHT = 4.0
# by `python -m evals.quote_fit`, docs/decisions/0031-confidence-of-quotes.md; with both models decision 75
WITH_CROSS_ENCODER = FitWeights(-3.39, 0.34, 1.27, 1.32)
WITH_BOTH_MODELS = FitWeights(-2.86, 0.22, 0.93, 1.71, answered=0.28, least=0.5)
WITH_MARGIN = FitWeights(-4.85, 0.24, 0.12, 3.63, answered=0.35, margin=0.33)  # decision 111
WITHOUT_CROSS_ENCODER = FitWeights(-3.98, 2.74, 1.39, 1.40)


def compute_confidence(
    query_text: str,
    certainty: float,
    claims: Sequence[Claim],
    cited: Sequence[Evidence],
    *,
    quoted: bool,
    left_out: Sequence[Claim] = (),
    answered: float | None = None,
    margin: float | None = None,
) -> Confidence:
    """Compute the confidence of an answer by CONFIDENCE_FORMULA, with its inputs rounded to four decimals.

    `cited` are the passages that the claims cite; `quoted` says that the claims are quotes; `left_out` are the
    sentences of the draft that nothing supports; `answered` is what `score_answered` says of them, and `margin` that
    of the quotes' draft.
    Without claims the confidence is 0.
    """
    inputs = {
        "certainty": certainty,
        "support": _compute_support((*claims, *left_out)) if claims else 0.0,
        "coverage": compute_coverage(query_text, cited),
    }
    relevance = [passage.hit.signals["relevance"] for passage in cited if "relevance" in passage.hit.signals]
    if relevance:
        inputs["relevance"] = max(relevance)
    if answered is not None:
        inputs["answered"] = answered
    if margin is not None:
        inputs["margin"] = 1 / (1 + math.exp(-margin))
    inputs |= _compare_with_question(query_text, claims, cited)
    inputs["asserted"] = 0.0 if quoted else 1.0
    rounded = {name: round(number, 4) for name, number in inputs.items()}
    return Confidence(_compute_value(inputs), rounded, CONFIDENCE_FORMULA)


def _compute_support(judged: Sequence[Claim]) -> float:
    """Return the mean support of the sentences, or the lowest: an answer with one that is contradicted is wrong."""
    supports = [claim.judgement.support if claim.judgement else 0.0 for claim in judged]
    if any(claim.judgement and claim.judgement.finding == "contradicted" for claim in judged):
        return min(supports)
    return sum(supports) / len(supports)


def explain_low_confidence(confidence: Confidence) -> str:
    """Return why quotes of this confidence are no answer; "" where they are one, whatever their margin.

    Where several documents say the same in other words, right quotes have a small margin; and quotes with a large one
    may answer another question.
    """
    weighed = {name: number for name, number in confidence.inputs.items() if name != "margin"}
    least, reached = _choose_weights(weighed).least, _compute_value(weighed)
    if reached >= least:
        return ""
    return f"the quotes that were found reached {reached:.2f} of {least:.2f}, so no answer is given"


def _compute_value(inputs: Mapping[str, float]) -> float:
    return round(inputs["certainty"] * inputs["support"] * compute_fit(inputs), 4)


def _compare_with_question(query_text: str, claims: Sequence[Claim], cited: Sequence[Evidence]) -> dict[str, float]:
    missing = find_missing_kinds(query_text, " ".join(claim.text for claim in claims))
    return {"names": compute_name_share(query_text, cited), "kind": 0.0 if missing else 1.0}


def compute_fit(inputs: Mapping[str, float], *, asserted_weight: float = ASSERTED_WEIGHT) -> float:
    """Return the probability that an answer with these inputs is what was asked for."""
    weights, relevance = _choose_weights(inputs), inputs["coverage"]
    if "relevance" in inputs:
        relevance = compute_bounded_log_odds(inputs["relevance"])
    score = weights.margin * compute_bounded_log_odds(inputs.get("margin", 0.5))
    score += weights.answered * compute_bounded_log_odds(inputs.get("answered", 0.5))
    score += weights.relevance * relevance + weights.names * inputs["names"] + weights.kind * inputs["kind"]
    return 1 / (1 + math.exp(-weights.intercept - score - asserted_weight * inputs["asserted"]))


def _choose_weights(inputs: Mapping[str, float]) -> FitWeights:
    if "relevance" not in inputs:
        return WITHOUT_CROSS_ENCODER
    if "answered" not in inputs:
        return WITH_CROSS_ENCODER
    return WITH_MARGIN if "margin" in inputs else WITH_BOTH_MODELS


def compute_bounded_log_odds(relevance: float) -> float:
    """Return the log odds of a relevance of 0..1, at most MAX_LOG_ODDS either way."""
    return max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, to_log_odds(relevance)))


def compute_name_share(query_text: str, evidence: Sequence[Evidence]) -> float:
    """Return the share of the terms of the question's names that the evidence has, 0..1; 1 without names."""
    names = extract_name_terms(remove_periods(query_text))
    return len(names & extract_evidence_terms(evidence)) / len(names) if names else 1.0


def select_cited_passages(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence whose chunks the claims cite, in order."""
    cited_ids = {citation.chunk_id for claim in claims for citation in claim.citations}
    return [passage for passage in evidence if passage.hit.chunk.id in cited_ids]


def compute_coverage(query_text: str, evidence: Sequence[Evidence]) -> float:
    """Return the share of the question's terms that occur in the evidence, its titles or headings, 0..1."""
    query_terms = extract_terms(query_text)
    return len(query_terms & extract_evidence_terms(evidence)) / max(1, len(query_terms))


def find_missing_words(query_text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the words of the question that the evidence, its titles and headings do not have, in order, each once.

    The words that a question in whatever language asks with are none: "wie", "much".
    """
    known = extract_evidence_terms(evidence)
    words = [word for word in dict.fromkeys(WORD_PATTERN.findall(query_text)) if not is_frequent_word(word)]
    return tuple(word for word in words if (terms := extract_terms(word)) and not terms & known)
