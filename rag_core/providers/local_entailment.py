"""The small model of this project that compares a claim, or a question, with a passage: `evals/train_entailment.py`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag_core.core.ports import PassageScores
from rag_core.providers.bert import BertModel, compute_probabilities
from rag_core.providers.local_models import ENTAILMENT_FILE
from rag_core.text.windows import split_windows

MAX_PAIR_TOKENS = 221  # of both texts together, as the model was trained, without its three special tokens
MAX_FIRST_TOKENS = 96  # of the claim or question, whose end is left out
WINDOW_OVERLAP_TOKENS = 32
SUPPORTED, CONTRADICTED, ANSWERED = 0, 1, 3  # of the model's outputs; 2 is "not stated"


class LocalEntailment:
    """A cross-encoder of four outputs: three share a claim's probability, and the fourth is that of an answer.

    Its lower half is that of the packaged cross-encoder in `weights_folder`, whose tokenizer it reads.
    """

    def __init__(self, weights_folder: Path, *, threads: int) -> None:
        self._model = BertModel(weights_folder, threads=threads, model_file=ENTAILMENT_FILE)

    async def score_claim(self, claim: str, passages: Sequence[str]) -> Sequence[PassageScores]:
        """Return the scores of a claim in each passage; of a long passage those of the window that says most."""
        claim_ids = self._model.tokenize(claim)[:MAX_FIRST_TOKENS]
        return await self._model.map(lambda passage: self._score_claim(claim_ids, passage), passages)

    async def score_answers(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """Return the probability that each passage has what is asked; of a long passage that of its best window."""
        question_ids = self._model.tokenize(question.rstrip("? "))[:MAX_FIRST_TOKENS]  # as it was trained
        return await self._model.map(
            lambda passage: max(
                float(compute_probabilities(logits[ANSWERED:])[0]) for logits in self._run(question_ids, passage)
            ),
            passages,
        )

    def _score_claim(self, claim_ids: Sequence[int], passage: str) -> PassageScores:
        found = []
        for logits in self._run(claim_ids, passage):
            shares = compute_probabilities(logits[:ANSWERED])
            found.append(PassageScores(float(shares[SUPPORTED]), float(shares[CONTRADICTED])))
        return max(found, key=lambda scores: max(scores.support, scores.contradiction))

    def _run(self, first_ids: Sequence[int], passage: str) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        """Return the outputs for each window of a passage, of which there is one at least."""
        tokens = self._model.tokenize(passage)
        windows = split_windows(tokens, MAX_PAIR_TOKENS - len(first_ids), overlap=WINDOW_OVERLAP_TOKENS)
        return [self._model.run(first_ids, window) for window in windows]
