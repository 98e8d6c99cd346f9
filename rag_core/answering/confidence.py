"""The confidence in an answer: how well its own sentences are supported, and whether they are what was asked for."""

from collections.abc import Sequence

from rag_core.answering.conditions import extract_evidence_terms
from rag_core.core.model import Claim, Confidence, Evidence
from rag_core.text.terms import WORD_PATTERN, extract_terms

CONFIDENCE_FORMULA = (
    "certainty x support x mean(relevance, coverage). certainty: the share of sentences that cite given evidence and "
    "do not hedge, 1 for sentences quoted from it; support: the mean probability, by the judge of each sentence, that "
    "the evidence supports it; relevance: the cross-encoder's best score of a cited passage, left out of the mean "
    "where there is no cross-encoder; coverage: the share of the question's terms in the cited passages and titles"
)


def compute_confidence(
    query_text: str, certainty: float, claims: Sequence[Claim], cited: Sequence[Evidence]
) -> Confidence:
    """Compute the confidence of an answer by CONFIDENCE_FORMULA, with its inputs rounded to four decimals.

    `cited` are the passages that the claims cite.
    """
    inputs = {
        "certainty": certainty,
        "support": sum(claim.judgement.support for claim in claims if claim.judgement) / max(1, len(claims)),
    }
    relevance = [passage.hit.signals["relevance"] for passage in cited if "relevance" in passage.hit.signals]
    if relevance:
        inputs["relevance"] = max(relevance)
    inputs["coverage"] = compute_coverage(query_text, cited)
    fit = (inputs.get("relevance", inputs["coverage"]) + inputs["coverage"]) / 2
    value = inputs["certainty"] * inputs["support"] * fit
    return Confidence(round(value, 4), {name: round(number, 4) for name, number in inputs.items()}, CONFIDENCE_FORMULA)


def select_cited_passages(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence whose chunks the claims cite, in order."""
    cited_ids = {citation.chunk_id for claim in claims for citation in claim.citations}
    return [passage for passage in evidence if passage.hit.chunk.id in cited_ids]


def compute_coverage(query_text: str, evidence: Sequence[Evidence]) -> float:
    """Return the share of the question's terms that occur in the evidence, its titles or headings, 0..1."""
    query_terms = extract_terms(query_text)
    return len(query_terms & extract_evidence_terms(evidence)) / max(1, len(query_terms))


def find_missing_words(query_text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the words of the question that the evidence, its titles and headings do not have, in order, each once."""
    known = extract_evidence_terms(evidence)
    words = dict.fromkeys(WORD_PATTERN.findall(query_text))
    return tuple(word for word in words if (terms := extract_terms(word)) and not terms & known)
