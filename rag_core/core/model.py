"""The records of the domain: documents, chunks, queries, rankings, answers, citations and what is saved of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SearchType = Literal["vector", "keyword", "hybrid", "semantic"]
Scalar = str | int | float | bool
Vector = Sequence[float]
Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in points from the top left of the page as displayed


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that a caller may see; every read and write of the index requires one.

    A document with an owner is visible to that user and to the groups that it names, one without to its whole
    workflow. A scope without a user therefore shows less, never more. Empty `document_ids` means all documents of
    the workflow.
    """

    workflow_id: str
    user_id: str | None = None
    groups: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """The place in the document of characters `start` to `end` (end excluded) of a chunk's content.

    `page` counts from 1 and is None for formats without pages; lines count from 1 through the whole document, both
    ends included; `bbox` is None where the format gives no geometry, otherwise there is one span per line.
    `section` is the section path (headings, outermost first) where it differs from the chunk's.
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
    """A typed name that occurs in a chunk, such as ("dtc", "P0700") or ("acronym", "TCM")."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document as extracted, with its line breaks.

    `kind` is "heading", "paragraph", "row" or "table". `text` has one line for each of `line_start` to `line_end`,
    except that a row has one line per cell. `boxes` has one box per line of the text, or is empty. `headings` is the
    section path, outermost first. `fields` are a row's named values. `page_label` is the page number printed on the
    page where it differs from `page`.
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
    """The text that an extractor has read from a document.

    `pages` is None for formats without pages; `notes` are warnings to the reader, in words. `title` is the one in
    the document's own metadata, "" when it has none.
    """

    blocks: tuple[Block, ...]
    pages: int | None
    extractor: str
    notes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The record of an indexed document.

    `pages` is None for formats without pages. `deleted_at` is when it was deleted (ISO 8601, UTC), None for a live
    document.
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
    """A stored passage with everything needed to cite it; its score in a search belongs to a `Hit`.

    `spans` are in order of `start` and cover `content` except for the breaks between blocks, and between lines that
    have a box each.
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
        """The page on which the chunk begins, from 1; None for formats without pages."""
        return self.spans[0].page if self.spans else None

    @property
    def place(self) -> Span | None:
        """The page, lines and box of the whole content; None when they are not known."""
        return self.locate(0, len(self.content))

    def locate(self, start: int, end: int) -> Span | None:
        """Return the page, lines and box of characters `start` to `end` of the content; None when no span has them.

        The text of a block has its line breaks, so a line number is the span's first line plus the line breaks
        before; in a row, which has a line per cell, all lines of the span are given. The page is the one on which
        the passage begins, and the box encloses all of its lines there.
        """
        spans = self._find_overlapping_spans(start, end)
        if not spans:
            return None
        first, last = spans[0], spans[-1]
        line_start, line_end = self._find_line_range(first, start, end)[0], self._find_line_range(last, start, end)[1]
        return Span(
            start,
            end,
            first.page,
            line_start,
            line_end,
            _enclose_boxes(self.locate_boxes(start, end)),
            first.section or self.heading_path,
        )

    def locate_boxes(self, start: int, end: int) -> tuple[Box, ...]:
        """Return the boxes of the lines of characters `start` to `end`, on the page where they begin."""
        spans = self._find_overlapping_spans(start, end)
        return tuple(dict.fromkeys(s.bbox for s in spans if s.bbox is not None and s.page == spans[0].page))

    def _find_overlapping_spans(self, start: int, end: int) -> list[Span]:
        """Return the spans that overlap characters `start` to `end`."""
        return [s for s in self.spans if s.start < end and start < s.end]

    def _find_line_range(self, span: Span, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line in the document of the part of `span` within `start` to `end`."""
        # a line break belongs to the line that it ends
        breaks = [self.content.count("\n", span.start, min(at, span.end)) for at in (start, end - 1, span.end)]
        if span.line_start + breaks[2] != span.line_end:  # a row, whose text has one line per cell
            return span.line_start, span.line_end
        return span.line_start + breaks[0], span.line_start + breaks[1]


def _enclose_boxes(boxes: Sequence[Box]) -> Box | None:
    """Return the smallest box that encloses all boxes; None for an empty sequence."""
    if not boxes:
        return None
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


@dataclass(frozen=True, slots=True)
class Caption:
    """The sentence of a passage that best matches the query; `highlights` marks shared words with <em>."""

    text: str
    highlights: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk as found by a search.

    `score` is the search's own and stays when a model reorders the hits; `signals` holds the score of each leg and
    model: "words" (BM25), "meaning" (cosine similarity), "semantic" (cross-encoder, 0..1), "grade" (LLM grading,
    0..10). `found_by` holds the labels of the probes that found it.
    """

    chunk: Chunk
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    captions: tuple[Caption, ...] = ()
    found_by: tuple[str, ...] = ()


Ranking = Sequence[Hit]  # best first; each chunk once


ANY_ENTITY_FIELD = "entity_codes"  # the field with the entities of all types of a chunk
CHUNK_FIELDS = (ANY_ENTITY_FIELD, "title", "source", "document_id", "page")  # besides entity types and metadata


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a field of chunks, applied before ranking.

    Fields: "document_id", "title", "source", "page", "entity_codes" (any entity), an entity type such as
    "dtc", or "metadata.NAME". A chunk with several values of a field matches when one of them does.
    """

    field: str
    op: Literal["eq", "ne", "in", "gt", "ge", "lt", "le"]
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class FacetBucket:
    """A value of a facet and the number of chunks that have it."""

    value: Scalar
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of a field, most frequent first, ties by value; `total` is the exact number of distinct values."""

    field: str
    total: int
    buckets: tuple[FacetBucket, ...]


@dataclass(frozen=True, slots=True)
class SemanticAnswer:
    """A sentence of the index that may answer the query by itself; `score` is 0..1."""

    text: str
    score: float
    chunk_id: str


@dataclass(frozen=True, slots=True)
class QueryVariant:
    """A text that is searched for a query; `label` is "original", "expanded1", … or "hyde"."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a pipeline: hits, and the query variants that were searched to find them."""

    hits: Ranking = ()
    variants: tuple[QueryVariant, ...] = ()
    answers: tuple[SemanticAnswer, ...] = ()
    facets: tuple[Facet, ...] = ()
    reranked: bool = False


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


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a text (characters `start` to `end`) with the verdict of its verification against the index.

    `reasons` say why it is not verified, as "kind: word", for example "number: 45" when no passage has the 45.
    """

    text: str
    start: int
    end: int
    verdict: Verdict
    citations: tuple[Citation, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage from which an answer is written: characters `start` to `end` of a chunk, cited as `id` ("e1", …)."""

    id: str
    hit: Hit
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text of the passage."""
        return self.hit.chunk.content[self.start : self.end]

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
    `evidence` has the nearest passages. `origin` says who wrote the text.
    """

    text: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    claims: tuple[Claim, ...]
    confidence: Confidence
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class IndexingResult:
    """The result of indexing a document: counts of chunks; `failed` has the ids of chunks that are not searchable."""

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
    """An indexing job: a document that was accepted before it is in the index. `scope` is that of the caller.

    `document_id` is None until the text has been read, where it is derived from the text. `embedded` of its `chunks`
    (0 until they are counted) have their vectors; `attempts` counts from the last attempt that added vectors.
    `lexical_only` says that its text is searchable while vectors are missing. `error` is the reported error: why the
    job failed, or why it waits. `run_notes` has the `degraded` and `warnings` of its run. Times are ISO 8601, UTC.
    """

    id: str
    scope: Scope
    document_id: str | None
    state: Literal["queued", "running", "done", "failed"]
    attempts: int
    embedded: int
    chunks: int
    lexical_only: bool
    error: Mapping[str, Any] | None
    result: IndexingResult | None
    run_notes: Mapping[str, Any]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An entity of the graph; `count` is the number of chunks in which it occurs."""

    id: str
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """Two entities that occur together in `count` chunks; `chunk_ids` names some of them."""

    source: str
    target: str
    count: int
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """A part of the entity graph; `paths` list node ids from the first entity to the target."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


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


VectorStatus = Literal["no_vec", "to_vec", "vec", "vec_err"]  # S0-87; to_vec: edited since it was embedded


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query saved in the archive with the output of each workbench step (S0-86).

    `id` counts from 1 and is 0 before it is saved. It belongs to its workflow and, where it names one, to its user
    alone. `origin` is "workbench" or the operation that saved it. The contexts are None until their step has run.
    `space` is the embedding space, `preset` has the numbers it is run with, and `steps` has a record of each step:
    "ms", "went_in", "came_out", "techniques", "input_tokens", "output_tokens", "cost_usd", "degraded", "warnings".
    `version` counts its changes, `results_count` its results. Times are ISO 8601, UTC.
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
    """A response to a saved query (S0-88); `model` is the model that wrote it, "" when it was pasted.

    `details` has the inputs and the cost of the response; times are ISO 8601, UTC.
    """

    id: int
    query_id: int
    response_text: str
    model: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class Original:
    """The uploaded bytes of a document (S0-93), kept to be displayed and to be extracted again.

    `content_hash` is that of the `Document`; an original whose hash differs from the indexed version's is not
    displayed. `kind` is that of its extractor ("pdf", "markdown", …).
    """

    document_id: str
    workflow_id: str
    title: str
    filename: str
    kind: str
    content_hash: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PageImage:
    """A rendered page as PNG: number `page` (from 1) of `pages`; `width` and `height` are in points, as in a `Box`."""

    page: int
    pages: int
    width: float
    height: float
    png: bytes
