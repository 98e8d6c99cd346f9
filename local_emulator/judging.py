"""The prompt "judge" on the side of the model: its claims read back, and judgements written as its reply."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core import prompts
from rag_core.answering.entailment import check_entailment
from rag_core.answering.facts.comparison import compute_word_share, find_contradictions
from rag_core.core.model import Judgement
from rag_core.core.ports import ClaimToJudge

MIN_SHARED_WORDS = 0.6  # share of a claim's words that a passage must have for the claim to be about the same


class WordJudge:
    """A judge without a model: copied words support a claim, and another fact contradicts it.

    What else shares at least MIN_SHARED_WORDS with a passage is unclear, and the rest is not stated.
    """

    name = "words and facts"
    is_multilingual = True  # as the chat model is for which it stands in

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        """Return a judgement for each claim, in order."""
        return [self._judge_claim(claim) for claim in claims]

    def _judge_claim(self, claim: ClaimToJudge) -> Judgement:
        for number, passage in enumerate(claim.passages):
            if check_entailment(claim.text, passage).is_entailed:
                return Judgement("supported", 0.95, number, passage, judge=self.name)
        if not claim.passages:
            return Judgement("not_stated", 0.0, judge=self.name)
        nearest = max(range(len(claim.passages)), key=lambda n: compute_word_share(claim.text, claim.passages[n]))
        passage = claim.passages[nearest]
        if find_contradictions(claim.text, passage, context=claim.question):
            return Judgement("contradicted", 0.05, nearest, passage, judge=self.name)
        if compute_word_share(claim.text, passage) < MIN_SHARED_WORDS:
            return Judgement("not_stated", 0.1, nearest, passage, judge=self.name)
        return Judgement("unclear", 0.4, nearest, passage, judge=self.name)


def read_claims(inputs: Mapping[str, Any]) -> dict[str, ClaimToJudge]:
    """Return the claims of a prompt's inputs by id."""
    texts = {passage["id"]: passage["text"] for passage in inputs["passages"]}
    return {
        claim["id"]: ClaimToJudge(
            claim["text"], tuple(texts[id] for id in claim["passages"]), str(inputs.get("question", ""))
        )
        for claim in inputs["claims"]
    }


def encode_judgement(
    id: str, claim: ClaimToJudge, judgement: Judgement, inputs: Mapping[str, Any]
) -> dict[str, object]:
    """Return a judgement as an item of the reply, from which `ChatJudge` reads the same finding and support.

    What is "unclear" is written as "supported" with a probability below one half.
    """
    passage_ids: Sequence[str] = next(item["passages"] for item in inputs["claims"] if item["id"] == id)
    is_unclear = judgement.finding == "unclear" and judgement.passage is not None
    verdict = "supported" if is_unclear else "not_stated" if judgement.finding == "unclear" else judgement.finding
    probability = judgement.support if verdict == "supported" else max(0.0, 1 - 2 * judgement.support)
    return {
        "claim": id,
        "passage": prompts.NO_PASSAGE if judgement.passage is None else passage_ids[judgement.passage],
        "words": judgement.words,
        "verdict": verdict,
        "probability": min(probability, 0.49) if is_unclear else probability,
    }
