"""What was paid to a hosted model, or would have been: the tokens of real prompts on their way to a stand-in."""

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
IMAGINED_TOKENS = 100  # the prompt asks for 3 to 5 sentences; one of contoso's handbooks has 25 tokens on average
NOT_IMAGINED = "query_expansion: no answer is imagined without a chat model"


@dataclass(slots=True)
class Bill:
    """Chat calls by task, and tokens.

    `paid_usd` is what a hosted model's calls, embeddings included, really cost: None when a price is not known.
    `lesser` counts the questions for which something stood in, or was left out, by step and why.
    """

    calls: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_tokens: int = 0
    paid_usd: float | None = 0.0
    lesser: Counter[str] = field(default_factory=Counter)

    def book(self, run: Run, query: Query) -> None:
        """Add a question's own account: its tokens are those of hosted models, for no other reports any."""
        self.input_tokens += run.input_tokens
        self.output_tokens += run.output_tokens
        self.paid_usd = None if self.paid_usd is None or run.cost_usd is None else self.paid_usd + run.cost_usd
        self.lesser.update({f"{one.step}: {one.code}" for one in run.degraded})
        if query.imaginings and run.techniques.get("query_expansion", "").startswith("local:"):
            self.lesser[NOT_IMAGINED] += 1

    def usd(self, model: str) -> float:
        chat = cost_usd(model, input_tokens=self.input_tokens, output_tokens=self.output_tokens)
        vectors = cost_usd(EMBEDDER, input_tokens=self.embedded_tokens)
        if chat is None or vectors is None:
            raise KeyError(f"no price of {model} or {EMBEDDER}")
        return chat + vectors


@dataclass(frozen=True, slots=True)
class CountedLLM:
    """Counts what a hosted one would be sent, and what stands in for its replies.

    Nothing stands in for an imagined answer: where one is asked for, IMAGINED_TOKENS are counted as written, and as
    embedded, for it would be searched with.
    """

    inner: LLM
    bill: Bill

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        reply = await self.inner.complete(prompt)
        self.bill.calls.append(prompt.task)
        self.bill.input_tokens += count_tokens(prompt.system) + count_tokens(prompt.user)
        imagined = IMAGINED_TOKENS if reply.local and prompt.inputs.get("imagine") else 0
        self.bill.output_tokens += count_tokens(reply.text) + imagined
        self.bill.embedded_tokens += imagined
        return reply


@dataclass(frozen=True, slots=True)
class CountedEmbedder:
    """Counts what a hosted one would be sent."""

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
