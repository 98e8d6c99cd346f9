"""The models and services that are asked: embedder, chat model, reranker, layout reader, redactor, web search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rag_core.core.model import Extraction, Judgement, PiiSpan, Vector


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a chat model.

    `task` is the template's name ("query_expansion", "rerank", "summary"), `inputs` the values that filled it, from
    which a local technique works. `schema` is the JSON schema of the completion, None for plain text. With
    `needs_whole_reply`, a reply that is cut short is useless, so no provider's own cap applies to `max_tokens`.
    """

    task: str
    system: str
    user: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    schema: Mapping[str, object] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float | None = None  # None: the provider's default
    needs_whole_reply: bool = False

    @property
    def text(self) -> str:
        """The system and user messages as one text, to be displayed or pasted into a chat."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True)
class Completion:
    """The completion of a prompt; `model` names what wrote it: a deployment, or a local technique."""

    text: str
    model: str
    local: bool = False


class Embedder(Protocol):
    """An embedding model with unit vectors.

    `space` names the embedding space: the model and everything else that changes its vectors. `dimensions` is 0 where
    there is no model.
    """

    @property
    def space(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a query text. Raises Unavailable."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector per text, in order. Raises Unavailable."""
        ...


class LLM(Protocol):
    """A chat model, or a local technique in its place; `name` is shown to the user."""

    @property
    def name(self) -> str: ...
    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's completion of a prompt.

        Raises Unavailable, also for a task for which there is no local technique.
        """
        ...


class Reranker(Protocol):
    """A cross-encoder that scores query-passage pairs; `name` is shown to the user."""

    @property
    def name(self) -> str: ...
    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        """Return the relevance of each passage to a text, 0..1, in order; comparable within one call only.

        Raises Unavailable.
        """
        ...


@runtime_checkable
class RerankingLLM(Protocol):
    """A local technique in place of a chat model, which grades passages and chooses sentences by a reranker."""

    def replace_reranker(self, reranker: Reranker) -> LLM:
        """Return the same technique with another reranker."""
        ...


@dataclass(frozen=True, slots=True)
class LocatedWords:
    """A text and the character ranges of its words; an empty range is a word that the text does not have so."""

    text: str
    ranges: tuple[tuple[int, int], ...]


class WordComparer(Protocol):
    """A model that says how near words are in meaning where they stand."""

    async def compare_words(
        self, first: LocatedWords, others: Sequence[LocatedWords]
    ) -> Sequence[Sequence[Sequence[float]]]:
        """Return for each other text the similarity, -1..1, of each word of the first (rows) to each of its words.

        A word that is not in its text, or beyond what the model reads, is similar to none (0). Raises Unavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class PassageScores:
    """The probabilities, 0..1, that a passage states a claim, and that it says otherwise; what is left is neither."""

    support: float
    contradiction: float


class EntailmentScorer(Protocol):
    """A small model whose probabilities the local technique weighs beside facts and words; no judge by itself."""

    async def score_claim(self, claim: str, passages: Sequence[str]) -> Sequence[PassageScores]:
        """Return the scores of a claim in each passage, in order. Raises Unavailable."""
        ...

    async def score_answers(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """Return the probability, 0..1, that each passage has what is asked, in order. Raises Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimToJudge:
    """A claim with the passages, best first, that it is judged by, and the question that it answers ("": none)."""

    text: str
    passages: tuple[str, ...]
    question: str = ""


class Judge(Protocol):
    """A model that says whether passages support a claim; `name` is shown to the user.

    `is_multilingual` says that a claim may be in another language than the passages.
    """

    @property
    def name(self) -> str: ...
    @property
    def is_multilingual(self) -> bool: ...
    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        """Return a judgement for each claim, in order; None for a claim that the model left out or got wrong.

        Raises Unavailable; a missing or malformed reply is never a judgement.
        """
        ...


class LayoutReader(Protocol):
    """A service that extracts text from the layout of pages.

    `kinds` are the kinds of document that it is used for: "scan" (a PDF without text), "image", and kinds of files.
    `usd_per_page` is what each page that it reads costs, 0 for nothing.
    """

    @property
    def name(self) -> str: ...
    @property
    def kinds(self) -> frozenset[str]: ...
    @property
    def usd_per_page(self) -> float: ...
    async def read(self, data: bytes, kind: str) -> Extraction:
        """Extract a document of one of `kinds`. Raises Unavailable, also for a document that the service refuses."""
        ...

    async def close(self) -> None: ...


class Redactor(Protocol):
    """A detector of personal data (PII) in texts; `name` is shown to the user."""

    @property
    def name(self) -> str: ...
    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        """Return the spans with personal data, in any order; they may overlap.

        Raises Unavailable; the caller must then not use the text.
        """
        ...


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page listed by a web search; `snippet` is the search engine's excerpt, the page itself was not read."""

    title: str
    url: str
    snippet: str


class WebSearch(Protocol):
    """A web search engine, used when the index has no answer."""

    @property
    def name(self) -> str: ...
    async def search(self, text: str, limit: int) -> Sequence[WebResult]:
        """Return at most `limit` results, best first; none where web search is off. Raises Unavailable."""
        ...

    async def close(self) -> None: ...
