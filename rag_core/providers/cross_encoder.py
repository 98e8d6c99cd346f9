"""Relevance of passages on this machine, by a cross-encoder of a folder."""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from rag_core.providers import local_models
from rag_core.providers.bert import Bert, windows
from rag_core.text.codes import codes, share

WINDOW = 128  # tokens: a fact among 400 others is overlooked, and short passages are what MS MARCO taught the model
OVERLAP = 32
QUESTION = 510 - 1 - WINDOW  # tokens kept of a question, so that a window has room beside it
OTHER_CODE = 0.1  # of its score is left to a passage without the question's codes: the model reads them in pieces
REMEMBERED = 2048  # pairs: some 10 MB, and a request asks about at most a few hundred


class CrossEncoder:
    """Scores one pair a call. The last pairs are remembered: ranker and grading of one request pay once for both."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._folder = folder
        self._model = Bert(folder, threads=threads)
        self._score = lru_cache(REMEMBERED)(self._judge)

    @property
    def name(self) -> str:
        known = local_models.fingerprint(self._folder) == local_models.MINILM_L12
        return "ms-marco-MiniLM-L-12-v2 int8 (local)" if known else f"{self._folder.name} (local)"

    async def scores(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        local_models.check_script(text, self._folder)
        judged = await self._model.map(lambda passage: self._score(text, passage), passages)
        wanted = codes(text)
        shares = [share(wanted, passage) for passage in passages]
        return [score * (OTHER_CODE + (1 - OTHER_CODE) * held) for score, held in zip(judged, shares, strict=True)]

    def _judge(self, text: str, passage: str) -> float:
        """The sigmoid of the highest logit over the passage's windows; only a question's first tokens are read."""
        question = self._model.tokens(text)[:QUESTION]
        cut = windows(self._model.tokens(passage), WINDOW, overlap=OVERLAP)
        return 1 / (1 + math.exp(-max(float(self._model.run(question, window)[0]) for window in cut)))
