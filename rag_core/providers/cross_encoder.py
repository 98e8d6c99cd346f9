"""Relevance scores from a local cross-encoder."""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from rag_core.providers import local_models
from rag_core.providers.bert import Bert, windows
from rag_core.text.codes import codes, share

WINDOW = 128  # long windows hide a single fact, and MS MARCO trained the model on short passages
OVERLAP = 32
QUESTION = 510 - 1 - WINDOW  # leaves room for one passage window beside the query
OTHER_CODE = 0.1  # share of the score left to a passage without the query's codes: the tokenizer splits codes
REMEMBERED = 2048  # about 10 MB; one request scores at most a few hundred pairs


class CrossEncoder:
    """A local reranker that caches its latest pair scores, so that reranking and grading of a request share them."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._folder = folder
        self._model = Bert(folder, threads=threads)
        self._score = lru_cache(REMEMBERED)(self._judge)

    @property
    def name(self) -> str:
        is_default = local_models.fingerprint(self._folder) == local_models.MINILM_L12
        return "ms-marco-MiniLM-L-12-v2 int8 (local)" if is_default else f"{self._folder.name} (local)"

    async def scores(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        local_models.check_script(text, self._folder)
        pair_scores = await self._model.map(lambda passage: self._score(text, passage), passages)
        query_codes = codes(text)
        factors = [OTHER_CODE + (1 - OTHER_CODE) * share(query_codes, passage) for passage in passages]
        return [score * factor for score, factor in zip(pair_scores, factors, strict=True)]

    def _judge(self, text: str, passage: str) -> float:
        """Return the sigmoid of the highest logit over the passage's windows; a long query is truncated."""
        query_tokens = self._model.tokens(text)[:QUESTION]
        passage_windows = windows(self._model.tokens(passage), WINDOW, overlap=OVERLAP)
        return 1 / (1 + math.exp(-max(float(self._model.run(query_tokens, window)[0]) for window in passage_windows)))
