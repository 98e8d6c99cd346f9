"""Whether an answer has what is asked, as the small model is asked it."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.answering.answerability import score_answered
from rag_core.core.model import Claim, Evidence
from rag_core.core.ports import PassageScores
from rag_core.core.run import Run
from tests.fakes import filled, hit, kit


class RecordingScorer:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def score_claim(self, claim: str, passages: Sequence[str]) -> list[PassageScores]:
        return [PassageScores(0.5, 0.1)] * len(passages)

    async def score_answers(self, question: str, passages: Sequence[str]) -> list[float]:
        self.asked += [question, *passages]
        return [0.7] * len(passages)


async def test_the_small_model_reads_periods_in_words() -> None:
    """Issue 14, part 6: it gave "By FY 2022 …" 0.07 for what happens in FY22."""
    scorer, quoted = RecordingScorer(), "By FY 2022, team leads are trained."
    found = hit("c1", content=quoted)
    parts = kit(await filled(found.chunk))
    parts = replace(parts, entailment_scorer=scorer)
    claims = [Claim(quoted, 0, len(quoted), "verified")]
    score = await score_answered(
        "Who is trained in FY22?", claims, [Evidence("e1", found, 0, len(quoted))], parts, Run()
    )
    assert score == 0.7
    assert all("fiscal 2022" in text and "FY" not in text for text in scorer.asked)
