"""Token usage and cost of hosted models in an evaluation: measured, or estimated from the prompts of a local run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_core.core.model import Query, Vector
from rag_core.core.ports import LLM, Embedder, Prompt, Reply
from rag_core.core.run import Run
from rag_core.providers.prices import cost_usd
from rag_core.text.sentences import count_tokens

MODELS = ("gpt-4o-mini", "gpt-4o")
EMBEDDER = "text-embedding-3-small"
IMAGINED_TOKENS = 100  # 3 to 5 sentences as the prompt asks, of 25 tokens each as in the contoso handbooks
NOT_IMAGINED = "query_expansion: no answer is imagined without a chat model"


@dataclass(slots=True)
class Bill:
    """The chat calls, as names of their tasks, and tokens of an evaluation.

    `paid_usd` is the real cost of a hosted model's calls, embeddings included; None when a price is unknown.
    `lesser` counts the questions whose result was degraded, by step and reason.
    """

    calls: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_tokens: int = 0
    paid_usd: float | None = 0.0
    lesser: Counter[str] = field(default_factory=Counter)

    def book(self, run: Run, query: Query) -> None:
        """Add the usage and degradations of one question's run; only hosted models report tokens."""
        self.input_tokens += run.input_tokens
        self.output_tokens += run.output_tokens
        self.paid_usd = None if self.paid_usd is None or run.cost_usd is None else self.paid_usd + run.cost_usd
        self.lesser.update({f"{degradation.step}: {degradation.code}" for degradation in run.degraded})
        if query.imaginings and run.techniques.get("query_expansion", "").startswith("local:"):
            self.lesser[NOT_IMAGINED] += 1

    def usd(self, model: str) -> float:
        """Estimate the cost of all tokens with this chat model. Raises KeyError for a model without a listed price."""
        chat_usd = cost_usd(model, input_tokens=self.input_tokens, output_tokens=self.output_tokens)
        embedding_usd = cost_usd(EMBEDDER, input_tokens=self.embedded_tokens)
        if chat_usd is None or embedding_usd is None:
            raise KeyError(f"no price is listed for {model} or {EMBEDDER}")
        return chat_usd + embedding_usd


@dataclass(frozen=True, slots=True)
class CountedLLM:
    """A chat model that counts the tokens which a hosted model would read and write.

    Local techniques generate no HyDE answer: where one is requested, IMAGINED_TOKENS are counted as output and as
    embedded, because the answer would be used in the search.
    """

    inner: LLM
    bill: Bill

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        completion = await self.inner.complete(prompt)
        self.bill.calls.append(prompt.task)
        self.bill.input_tokens += count_tokens(prompt.system) + count_tokens(prompt.user)
        hyde_tokens = IMAGINED_TOKENS if completion.local and prompt.inputs.get("imagine") else 0
        self.bill.output_tokens += count_tokens(completion.text) + hyde_tokens
        self.bill.embedded_tokens += hyde_tokens
        return completion


@dataclass(frozen=True, slots=True)
class CountedEmbedder:
    """An embedder that counts the tokens which a hosted model would read."""

    inner: Embedder
    bill: Bill

    @property
    def space(self) -> str:
        return self.inner.space

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    async def embed_query(self, text: str) -> Vector:
        self.bill.embedded_tokens += count_tokens(text)
        return await self.inner.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.bill.embedded_tokens += sum(map(count_tokens, texts))
        return await self.inner.embed_documents(texts)
