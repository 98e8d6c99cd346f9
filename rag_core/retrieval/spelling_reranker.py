"""A reranker that reads a question in the spelling of each passage: "MI" where the passage writes so."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.ports import Reranker
from rag_core.text.abbreviations import Glossary, spell_as_in


@dataclass(frozen=True, slots=True)
class SpellingReranker:
    """A `Reranker` that scores each passage with the text's abbreviations and meanings spelled as in that passage.

    A cross-encoder hardly knows abbreviations: with "hypertension" beside it, "HTN" costs a passage that has the former
    half of its score.
    """

    reranker: Reranker
    glossary: Glossary

    @property
    def name(self) -> str:
        return self.reranker.name

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        spelled = [spell_as_in([passage], text, self.glossary) for passage in passages]
        scores: dict[int, float] = {}
        for spelling in dict.fromkeys(spelled):
            places = [n for n, one in enumerate(spelled) if one == spelling]
            given = await self.reranker.score_passages(spelling, [passages[n] for n in places])
            scores.update(zip(places, given, strict=True))
        return [scores[n] for n in range(len(passages))]
