"""The nouns: what a question, a piece of evidence and an answer are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SearchType = Literal["vector", "keyword", "hybrid", "semantic"]
Scalar = str | int | float | bool
Vector = Sequence[float]
Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in points from the top left of the page as it is shown


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose documents may be seen. Required by every read and write of the index.

    A document with an owner is seen by that user and by the groups it names; one without is seen by its
    whole workflow. Leaving out the user therefore shows less, never more. Empty `document_ids` means all
    documents of the workflow.
    """

    workflow_id: str
    user_id: str | None = None
    groups: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """Where characters `start` to `end` (end excluded) of a chunk's content stand in the document.

    `page` counts from 1 and is None for formats without pages; lines count from 1 through the whole document,
    both ends included; `bbox` is None where the format gives no geometry. A format that gives it has a span a line.
    `section` is the chain of headings above, outermost first, where that is another than its chunk's.
    """

    start: int
    end: int
    page: int | None
    line_start: int
    line_end: int
    bbox: Box | None = None
    section: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """A typed name that stands in a chunk: ("dtc", "P0700"), ("acronym", "TCM")."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document as its extractor found it, with its lines kept as they stood.

    `kind` is "heading", "paragraph", "row" or "table". `text` has one line for each of `line_start` to
    `line_end`, but for a row, which has a line a cell. `boxes` has a box for each line of the text, or is empty.
    `headings` is the chain above it, outermost first. `fields` are a row's named values. `page_label` is the number
    that is printed on the page, where that is another than `page`.
    """

    text: str
    kind: str
    line_start: int
    line_end: int
    page: int | None = None
    bbox: Box | None = None
    headings: tuple[str, ...] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    boxes: tuple[Box, ...] = ()
    page_label: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A document as text. `pages` is None for formats without pages; `notes` say what the reader should know.

    `title` is the one that the document gives itself, "" when it gives none.
    """

    blocks: tuple[Block, ...]
    pages: int | None
    extractor: str
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of a document as a whole. `pages` is None for formats without pages.

    `deleted_at` is when it was deleted (ISO 8601, UTC), None of one that is there.
    """

    id: str
    workflow_id: str
    title: str
    source: str
    content_hash: str
    extractor: str
    pages: int | None = None
    summary: str = ""
    user_id: str | None = None
    groups: tuple[str, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    deleted_at: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored passage with everything needed to cite it. It has no score: that belongs to a `Hit`.

    `spans` are in order of `start` and cover `content` but for the breaks between blocks, and between lines
    that have a box each.
    """

    id: str
    document_id: str
    ordinal: int
    content: str
    title: str
    source: str
    content_hash: str
    spans: tuple[Span, ...] = ()
    parent_id: str | None = None
    heading_path: tuple[str, ...] = ()
    summary: str = ""
    entities: tuple[Entity, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def page(self) -> int | None:
        """The page on which the chunk begins."""
        return self.spans[0].page if self.spans else None

    def place(self, start: int, end: int) -> Span | None:
        """The page, lines and box of characters `start` to `end` of the content; None when nothing is known.

        A block's lines are kept in its text, so a line number is the span's first plus the line breaks before; where
        they are not, as in a row, the lines are all of the span's. The page is the one on which the passage begins,
        and the box holds all of its lines there.
        """
        touched = self._touched(start, end)
        if not touched:
            return None
        first, last = touched[0], touched[-1]
        line_start, line_end = self._lines(first, start, end)[0], self._lines(last, start, end)[1]
        return Span(
            start,
            end,
            first.page,
            line_start,
            line_end,
            _around(self.boxes(start, end)),
            first.section or self.heading_path,
        )

    def boxes(self, start: int, end: int) -> tuple[Box, ...]:
        """The boxes of the lines of characters `start` to `end`, on the page where they begin."""
        touched = self._touched(start, end)
        return tuple(dict.fromkeys(s.bbox for s in touched if s.bbox is not None and s.page == touched[0].page))

    def _touched(self, start: int, end: int) -> list[Span]:
        return [s for s in self.spans if s.start < end and start < s.end]

    def _lines(self, span: Span, start: int, end: int) -> tuple[int, int]:
        # a break belongs to the line that it ends
        breaks = [self.content.count("\n", span.start, min(at, span.end)) for at in (start, end - 1, span.end)]
        if span.line_start + breaks[2] != span.line_end:  # laid out anew: a row has a line a cell
            return span.line_start, span.line_end
        return span.line_start + breaks[0], span.line_start + breaks[1]


def _around(boxes: Sequence[Box]) -> Box | None:
    """The smallest box that holds all of these."""
    if not boxes:
        return None
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


@dataclass(frozen=True, slots=True)
class Caption:
    """The sentence of a passage that speaks to the question; `highlights` marks the shared words with <em>."""

    text: str
    highlights: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk as found. `score` is the search's own and stays when a judge reorders; `signals` keeps each judge's.

    Signals: "words" (BM25), "meaning" (cosine), "semantic" (ranker, 0..1), "grade" (0..10).
    `found_by` holds the labels of the probes that found it.
    """

    chunk: Chunk
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    captions: tuple[Caption, ...] = ()
    found_by: tuple[str, ...] = ()


Ranking = Sequence[Hit]  # best first; each chunk once


ANY_ENTITY = "entity_codes"  # the field that holds every entity of a chunk, whatever its type
FIELDS = (ANY_ENTITY, "title", "source", "document_id", "page")  # of every chunk, besides its entity types and metadata


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a chunk's field, checked before ranking.

    Fields: "document_id", "title", "source", "page", "entity_codes" (any entity), an entity type such as
    "dtc", or "metadata.NAME". A chunk with several values of a field passes when one of them does.
    """

    field: str
    op: Literal["eq", "ne", "in", "gt", "ge", "lt", "le"]
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """One value of a facet and in how many chunks it stands."""

    value: Scalar
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of a field, most frequent first, ties by value. `total` counts all distinct ones, exactly."""

    field: str
    total: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class SemanticAnswer:
    """A sentence of the index that may answer the question by itself. `score` is 0..1."""

    text: str
    score: float
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Query:
    """A validated question with every number resolved. A count of 0 switches its stage off.

    `how` chooses the legs; `rewordings` paraphrases and `imaginings` hypothetical answers are asked besides the
    text; the best `rerank` candidates are graded; `semantic` candidates go through the semantic ranker;
    standing first in the search counts `prior` of log odds beside what the local cross-encoder says;
    the best `captions` hits get captions by the ranker, and up to `answers` semantic answers are given;
    a search asks for `top_k` hits, times `overretrieve` when grading, and never for fewer than `candidates`;
    `rrf_k` is the constant of fusion by rank: of two legs where a store does not fuse by score, of several wordings;
    an answer is made from the best `top_n` passages, of at most `context_tokens`.
    Of the classical pipeline: a passage gives at most `context_chars` to an answer, none when its relevance is below
    `relevance_min`, and brings `neighbours` on each side; below `confidence_min` an answer is not written but quoted.
    Of the workbench: a passage gains up to `entity_boost` and `intent_boost` of its score; passages at most `line_gap`
    lines apart become one, which has at least `coverage_min` of its lines and `context_min_chars`.
    """

    text: str
    scope: Scope
    how: SearchType
    top_k: int
    rewordings: int
    imaginings: int
    rerank: int
    semantic: int
    prior: int
    captions: int
    answers: int
    candidates: int
    overretrieve: int
    rrf_k: int
    facet_limit: int
    top_n: int
    context_tokens: int
    context_chars: int
    neighbours: int
    relevance_min: float
    confidence_min: float
    entity_boost: float
    intent_boost: float
    line_gap: int
    coverage_min: float
    context_min_chars: int
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A wording put to the index. `label` is "original", "expanded1", … or "hyde"."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a pipeline gives: evidence, and what was asked to find it."""

    hits: Ranking = ()
    asked: tuple[Asked, ...] = ()
    answers: tuple[SemanticAnswer, ...] = ()
    facets: tuple[Facet, ...] = ()
    reranked: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """The words of a document that bear on a claim, and where they stand. `score` is 0..1.

    `boxes` has a box a line, to be drawn on the page; `page_label` is the number printed there, where it is another.
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


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a text (characters `start` to `end`), and what the index says to it.

    `reasons` say why it is not verified, as "kind: word", for example "number: 45" when no passage near has the 45.
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    citations: tuple[Citation, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage put before an answerer: characters `start` to `end` of a chunk, cited as `id` ("e1", "e2", …)."""

    id: str
    hit: Hit
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.hit.chunk.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Confidence:
    """How far an answer can be relied on, 0..1, with the numbers it was made of and how, in words."""

    value: float
    inputs: Mapping[str, float]
    formula: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and what it stands on; its `claims` are its sentences, each with a verdict and citations.

    `status` "unknown" is a result, not a failure: the text then says so, there are no claims, and `evidence` has the
    nearest passages. `origin` says who wrote it.
    """

    text: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    claims: tuple[Claim, ...]
    confidence: Confidence
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Indexed:
    """What became of a document: counts of chunks, and `failed` names each chunk that is not searchable."""

    document_id: str
    chunks: int
    embedded: int
    unchanged: int
    removed: int
    pages: int | None
    extractor: str
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A document on its way into the index, acknowledged before it is there. `scope` is who asked for it.

    `document_id` is None until the text has been read, where only that tells it. Of its `chunks` (0 until they are
    counted) `embedded` have their vectors; `attempts` counts since the last that gained some. `words_only` says that
    its text is searchable while vectors are missing. `error` is the error contract: why it failed, or why it waits.
    `told` is what its reader should know: the `degraded` and `warnings` of the work. Times are ISO 8601, UTC.
    """

    id: str
    scope: Scope
    document_id: str | None
    state: Literal["queued", "running", "done", "failed"]
    attempts: int
    embedded: int
    chunks: int
    words_only: bool
    error: Mapping[str, Any] | None
    result: Indexed | None
    told: Mapping[str, Any]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Node:
    """An entity of the graph; `count` is the number of chunks in which it stands."""

    id: str
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class Edge:
    """Two entities that stand in the same `count` chunks, some of which are named."""

    source: str
    target: str
    count: int
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A part of the entity graph. `paths` list node ids from the first entity to the target."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class PiiSpan:
    """Where a text tells of a person, and what: the value itself is never kept. `score` is 0..1, 1 by a checksum."""

    start: int
    end: int
    type: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text whose spans are replaced by `[TYPE]`. `spans` are places in the text as it was."""

    text: str
    spans: tuple[PiiSpan, ...] = ()


VectorStatus = Literal["no_vec", "to_vec", "vec", "vec_err"]  # S0-87; to_vec: edited since it was embedded


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A question that is kept, with what each step made of it (S0-86). `id` counts from 1; 0 is not kept yet.

    It belongs to its workflow and, where it names one, to its user alone. `origin` is "workbench" or the operation
    that was kept. The contexts are None until their step was taken. `space` names the model of the embeddings,
    `preset` has the numbers it is run with, and `steps` has an account of each step taken: "ms", "went_in", "came_out",
    "techniques", "input_tokens", "output_tokens", "cost_usd", "degraded", "warnings". `version` counts its changes.
    `results_count` is how many results it has. Times are ISO 8601, UTC.
    """

    id: int
    workflow_id: str
    original_query: str
    user_id: str | None = None
    expanded_queries: tuple[str, ...] = ()
    hyde_answer: str = ""
    intent: str = ""
    entities: tuple[str, ...] = ()
    vector_status: VectorStatus = "no_vec"
    embedding_original: Vector | None = None
    embeddings_mqe: tuple[Vector, ...] = ()
    embedding_hyde: Vector | None = None
    space: str = ""
    retrieved_context: tuple[Mapping[str, Any], ...] | None = None
    clean_retrieval_context: tuple[Mapping[str, Any], ...] | None = None
    origin: str = "workbench"
    preset: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    results_count: int = 0
    version: int = 1
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class SavedResult:
    """A response to a kept question (S0-88). `model` is who wrote it, "" when it was pasted.

    `details` has what the response was made with and what it cost; times are ISO 8601, UTC.
    """

    id: int
    query_id: int
    response_text: str
    model: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """A document as it came (S0-93): its bytes, to be shown and to be read again.

    `content_hash` is its `Document`'s: of another version than the one that is indexed, nothing is shown. `kind` is
    that of its extractor ("pdf", "markdown", …).
    """

    document_id: str
    workflow_id: str
    title: str
    filename: str
    kind: str
    content_hash: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """A page (from 1) of so many, as PNG; `width` and `height` are the page's own, in points as a `Box` has them."""

    page: int
    pages: int
    width: float
    height: float
    png: bytes
