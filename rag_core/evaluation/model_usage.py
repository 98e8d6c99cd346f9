"""Token usage and cost of hosted models in an evaluation: measured, or estimated from the prompts of a local run."""

from collections import Counter
from dataclasses import dataclass, field

from rag_core.core.ports import LLM, Completion, Prompt, Reranker, RerankingLLM
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.providers.prices import calculate_cost_usd
from rag_core.text.tokens import count_tokens

PRICED_MODELS = ("gpt-4o-mini", "gpt-4o")
PRICED_EMBEDDER = "text-embedding-3-small"
HYDE_ANSWER_TOKENS = 100  # 3 to 5 sentences as the prompt asks, of 25 tokens each as in the contoso handbooks
NO_HYDE_ANSWER = "query_expansion: no answer is imagined without a chat model"


@dataclass(slots=True)
class ModelUsage:
    """The chat calls, as names of their tasks, and tokens of an evaluation.

    `paid_usd` is the real cost of a hosted model's calls, embeddings included; None when a price is unknown.
    `degradations` counts the questions whose result was degraded, by step and reason.
    """

    chat_tasks: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_tokens: int = 0
    paid_usd: float | None = 0.0
    degradations: Counter[str] = field(default_factory=Counter)

    def add_run(self, run: Run, query: Query) -> None:
        """Add the usage and degradations of one question's run; only hosted models report tokens."""
        self.input_tokens += run.input_tokens
        self.output_tokens += run.output_tokens
        self.paid_usd = None if self.paid_usd is None or run.cost_usd is None else self.paid_usd + run.cost_usd
        self.degradations.update({f"{degradation.step}: {degradation.code}" for degradation in run.degraded})
        if query.preset.expansion.hyde_answers and run.techniques.get("query_expansion", "").startswith("local:"):
            self.degradations[NO_HYDE_ANSWER] += 1

    def estimate_usd(self, model: str) -> float:
        """Estimate the cost of all tokens with this chat model. Raises KeyError for a model without a listed price."""
        chat_usd = calculate_cost_usd(model, input_tokens=self.input_tokens, output_tokens=self.output_tokens)
        embedding_usd = calculate_cost_usd(PRICED_EMBEDDER, input_tokens=self.embedded_tokens)
        if chat_usd is None or embedding_usd is None:
            raise KeyError(f"no price is listed for {model} or {PRICED_EMBEDDER}")
        return chat_usd + embedding_usd


@dataclass(frozen=True, slots=True)
class CountingLLM:
    """A chat model that counts the tokens which a hosted model would read and write.

    Local techniques generate no HyDE answer: where one is requested, HYDE_ANSWER_TOKENS are counted as output and as
    embedded, because the answer would be used in the search.
    """

    inner: LLM
    usage: ModelUsage

    @property
    def name(self) -> str:
        return self.inner.name

    def replace_reranker(self, reranker: Reranker) -> "CountingLLM":
        """Return this with a local technique that ranks by another reranker; a chat model has none."""
        if not isinstance(self.inner, RerankingLLM):
            return self
        return CountingLLM(self.inner.replace_reranker(reranker), self.usage)

    async def complete(self, prompt: Prompt) -> Completion:
        completion = await self.inner.complete(prompt)
        self.usage.chat_tasks.append(prompt.task)
        self.usage.input_tokens += count_tokens(prompt.system) + count_tokens(prompt.user)
        hyde_tokens = HYDE_ANSWER_TOKENS if completion.local and prompt.inputs.get("imagine") else 0
        self.usage.output_tokens += count_tokens(completion.text) + hyde_tokens
        self.usage.embedded_tokens += hyde_tokens
        return completion
