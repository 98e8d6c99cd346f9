"""Relevance scores from a local cross-encoder."""

import math
from collections.abc import Sequence
from pathlib import Path

from rag_core.providers import local_models
from rag_core.providers.bert import BertModel
from rag_core.text.codes import compute_code_share, find_codes
from rag_core.text.periods import write_out_periods
from rag_core.text.terms import extract_terms
from rag_core.text.windows import choose_windows, split_title, split_windows

WINDOW_TOKENS = 128  # long windows hide a single fact, and MS MARCO trained the model on short passages
WINDOW_OVERLAP_TOKENS = 32
MAX_TITLE_TOKENS = 32  # of the title before each window: company, kind and period of a filing have 20 to 30
READ_WINDOWS = 2  # of a passage: as good as all, in a third of the time (docs/decisions/0049-two-windows-a-passage.md)
UNDECIDED_LOGITS = (-2.0, 3.0)  # of the first window, at which the second is read: probabilities of 0.12 and 0.95
MAX_QUERY_TOKENS = (
    128  # some 500 characters; MS MARCO's queries have 6 words on average, and each token costs in each pair
)
MISSING_CODES_FACTOR = 0.1  # share of the score left to a passage without the query's codes: the tokenizer splits codes


class CrossEncoder:
    """A local reranker; of a long passage it reads the `read_windows` that say most in the query's terms.

    After the first it stops where that decides: a second one hardly makes an answer of what is none, or more of one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        threads: int,
        read_windows: int = READ_WINDOWS,
        undecided_logits: tuple[float, float] = UNDECIDED_LOGITS,
    ) -> None:
        self._folder = folder
        self._read_windows = read_windows
        self._undecided_logits = undecided_logits
        self._model = BertModel(folder, threads=threads)

    @property
    def name(self) -> str:
        is_default = local_models.hash_model(self._folder) == local_models.MINILM_L12_SHA256
        return "ms-marco-MiniLM-L-12-v2 int8 (local)" if is_default else f"{self._folder.name} (local)"

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        local_models.check_query_language(text, self._folder)
        text, passages = write_out_periods(text), [write_out_periods(passage) for passage in passages]
        query_tokens = _shorten_query(self._model.tokenize(text))
        query_terms = extract_terms(text)
        pair_scores = await self._model.map(
            lambda passage: self._score_pair(query_tokens, query_terms, passage), passages
        )
        query_codes = find_codes(text)
        factors = [
            MISSING_CODES_FACTOR + (1 - MISSING_CODES_FACTOR) * compute_code_share(query_codes, passage)
            for passage in passages
        ]
        return [score * factor for score, factor in zip(pair_scores, factors, strict=True)]

    def _score_pair(self, query_tokens: Sequence[int], query_terms: frozenset[str], passage: str) -> float:
        """Return the sigmoid of the highest logit over the windows that are read."""
        windows = self._select_windows(query_terms, passage)
        logit = self._run(query_tokens, windows[0])
        low, high = self._undecided_logits
        if low < logit < high:
            logit = max([logit, *(self._run(query_tokens, window) for window in windows[1:])])
        return 1 / (1 + math.exp(-logit))

    def _run(self, query_tokens: Sequence[int], window: Sequence[int]) -> float:
        return float(self._model.run(query_tokens, window)[0])

    def _select_windows(self, query_terms: frozenset[str], passage: str) -> list[Sequence[int]]:
        """Return the token ids of the windows of a passage that are to be scored, the most promising first.

        Each begins with the title, so that what it says is known to be of that document; they are chosen without it.
        """
        title, text = split_title(passage)
        title_ids = self._model.tokenize(title)[:MAX_TITLE_TOKENS]
        tokens = self._model.locate_tokens(text)
        windows = split_windows(tokens, WINDOW_TOKENS, overlap=WINDOW_OVERLAP_TOKENS)
        texts = [text[window[0].start : window[-1].end] for window in windows if window]
        chosen = choose_windows(query_terms, texts, self._read_windows)
        return [[*title_ids, *(token.id for token in windows[n])] for n in chosen] or [title_ids]


def _shorten_query(tokens: Sequence[int]) -> Sequence[int]:
    """Return the beginning and the end of a long query: what is asked stands before a pasted text, or after it."""
    half = MAX_QUERY_TOKENS // 2
    return tokens if len(tokens) <= MAX_QUERY_TOKENS else [*tokens[:half], *tokens[-half:]]
