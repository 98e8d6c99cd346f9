"""Whether an answer and the passages that it cites have what is asked, by the small model that compares both."""

import asyncio
from collections.abc import Sequence

from rag_core.answering.citations import rank_passages_for_judge
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Evidence
from rag_core.core.run import Run
from rag_core.text.periods import write_out_periods

MAX_CITED_PASSAGES = 2
WINDOWS_PER_PASSAGE = 3
SCORING_TIMEOUT_S = 60.0


async def score_answered(
    query_text: str, claims: Sequence[Claim], cited: Sequence[Evidence], kit: Kit, run: Run
) -> float | None:
    """Return the probability, 0..1, that the claims or a passage they cite have what is asked; None without the model.

    Each is read under its document's title, which a terse passage leaves out, and both with their periods in words:
    the model does not know that "FY22" is fiscal 2022.
    """
    if kit.entailment_scorer is None or not cited:
        return None
    windows = await asyncio.to_thread(_select_windows, query_text, cited[:MAX_CITED_PASSAGES])
    windows.append(f"{cited[0].hit.chunk.title}: {' '.join(claim.text for claim in claims)}")
    scores = await run.attempt(
        "answerability",
        kit.entailment_scorer.score_answers(write_out_periods(query_text), list(map(write_out_periods, windows))),
        otherwise=(),
        fallback="relevance and words of the question",
        within_s=SCORING_TIMEOUT_S,
    )
    return max(scores, default=None)


def _select_windows(query_text: str, cited: Sequence[Evidence]) -> list[str]:
    """Return of each passage the sentences that share most terms with the question, under the document's title."""
    return [
        f"{window.chunk.title}: {window.text}"
        for passage in cited
        for window in rank_passages_for_judge(query_text, [passage])[:WINDOWS_PER_PASSAGE]
    ]
