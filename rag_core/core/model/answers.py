"""Answers and what supports them: evidence, claims with their verdicts, citations, and personal data found in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag_core.core.model.documents import Box, Scalar, Span
from rag_core.core.model.search import Hit


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote of a document as evidence on a claim, with its place; `score` is 0..1.

    `boxes` has one box per line, to be drawn on the page; `page_label` is the printed page number where it differs
    from the page.
    """

    chunk_id: str
    document_id: str
    title: str
    source: str
    quote: str
    score: float
    section: tuple[str, ...] = ()
    place: Span | None = None
    boxes: tuple[Box, ...] = ()
    page_label: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


Verdict = Literal["verified", "partial", "unsupported"]
Finding = Literal["supported", "contradicted", "not_stated", "unclear"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge finds about a claim in its passages; "unclear" where it cannot tell "supported" from "not_stated".

    `support` is the probability, 0..1, that the passages support the claim. `passage` is the index of the passage that
    decides, None where none does; `words` are the words of it that decide. `reasons` say why the claim is not
    supported, as "kind: word". `judge` names who judged.
    """

    finding: Finding
    support: float
    passage: int | None = None
    words: str = ""
    reasons: tuple[str, ...] = ()
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a claim is read: `statement` is what it states, without Markdown, with its lead-in, header or question.

    `context` is the sentence before one that begins with a pronoun, else "". `frames` are the headings, lead-ins and
    table header that are shown above the claim, outermost first, and `indent` the spaces before its line.
    """

    statement: str
    context: str = ""
    frames: tuple[str, ...] = ()
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a text (characters `start` to `end`) with the verdict of its verification against the index.

    `reasons` say why it is not verified, as "kind: word", for example "number: 45" when no passage has the 45.
    `judgement` is what the verdict follows from; None for a claim that nobody has judged yet. `reading` says how the
    text around it is read with it; None for a claim that stands alone.
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    citations: tuple[Citation, ...] = ()
    reasons: tuple[str, ...] = ()
    judgement: Judgement | None = None
    reading: Reading | None = None

    @property
    def statement(self) -> str:
        """The text by which the claim is judged."""
        return (self.reading and self.reading.statement) or self.text

    @property
    def context(self) -> str:
        """The text before that the claim is read with."""
        return self.reading.context if self.reading else ""

    def write_in_context(self) -> str:
        """Return what the claim states, with the sentence before in brackets where it begins with a pronoun."""
        return f"({self.context}) {self.statement}" if self.context else self.statement


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage from which an answer is written: characters `start` to `end` of a chunk, cited as `id` ("e1", …).

    `said` is how a prompt says it, where that is not as it stands: table rows as sentences with their heads (S4-45).
    """

    id: str
    hit: Hit
    start: int
    end: int
    said: str = ""

    @property
    def text(self) -> str:
        """The text of the passage."""
        return self.hit.chunk.content[self.start : self.end]

    @property
    def prompt_text(self) -> str:
        """The text as a prompt for an answer says it."""
        return self.said or self.text

    @property
    def place(self) -> Span | None:
        """The page, lines and box of the passage in its document; None when they are not known."""
        return self.hit.chunk.locate(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Confidence:
    """The confidence in an answer, 0..1, with its input numbers and its formula in words."""

    value: float
    inputs: Mapping[str, float]
    formula: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its evidence; its `claims` are its sentences, each with a verdict and citations.

    `status` "unknown" is a refusal to answer, not a failure: the text then says so, there are no claims, and
    `evidence` has the nearest passages. `origin` says who wrote the text. `missing_words` are those of the question
    that no cited passage has; of a refusal, those that the best passage of the evidence lacks.
    """

    text: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    claims: tuple[Claim, ...]
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    missing_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PiiSpan:
    """A range of a text with personal data of a type, without the value; `score` is 0..1, 1 for a valid checksum."""

    start: int
    end: int
    type: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text whose PII spans are replaced by `[TYPE]`; `spans` are ranges in the text before."""

    text: str
    spans: tuple[PiiSpan, ...] = ()
