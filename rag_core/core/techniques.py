"""A kit whose models note in the run who did a step: a hosted model, or a local technique."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.core.kit import Kit
from rag_core.core.ports import LLM, Completion, Prompt, Reranker
from rag_core.core.run import Run


def note_techniques(kit: Kit, run: Run) -> Kit:
    """Return the same kit, its chat models and reranker noting in `run.techniques` the name of who answered a step."""
    return replace(
        kit,
        llm=_NotingLLM(kit.llm, run),
        full_llm_or_none=_NotingLLM(kit.full_llm, run),
        reranker=_NotingReranker(kit.reranker, run),
    )


@dataclass(frozen=True, slots=True)
class _NotingLLM:
    llm: LLM
    run: Run

    @property
    def name(self) -> str:
        return self.llm.name

    async def complete(self, prompt: Prompt) -> Completion:
        completion = await self.llm.complete(prompt)
        self.run.techniques[prompt.task] = completion.model
        return completion


@dataclass(frozen=True, slots=True)
class _NotingReranker:
    reranker: Reranker
    run: Run

    @property
    def name(self) -> str:
        return self.reranker.name

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        scores = await self.reranker.score_passages(text, passages)
        self.run.techniques["ranker"] = self.name
        return scores
