"""A reranker that scores each pair once in a request: ranking, grading and answering ask for some of the same pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.ports import Reranker
from rag_core.core.run import get_pair_scores


@dataclass(frozen=True, slots=True)
class SharingReranker:
    """A `Reranker` that keeps its scores in the current run; outside of a request it keeps none."""

    reranker: Reranker

    @property
    def name(self) -> str:
        return self.reranker.name

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        scores = get_pair_scores()
        missing = [passage for passage in dict.fromkeys(passages) if (text, passage) not in scores]
        given = await self.reranker.score_passages(text, missing)
        scores.update(zip([(text, passage) for passage in missing], given, strict=True))
        return [scores[text, passage] for passage in passages]
