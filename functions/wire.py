"""Requests and replies in the documents' field names. Loads pydantic: imported when a request first needs it."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StringConstraints,
    ValidationError,
)
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from rag_core.answering.citation_styles import Style
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Filter
from rag_core.core.presets import PRESETS
from rag_core.proposals.records import STAGES, STATUSES

M = TypeVar("M", bound=BaseModel)


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("the text should hold more than spaces")
    return text


def _counted(digits: object) -> int:
    """An id that counts from 1, as it stands in an address: no sign, space or other writing of the same number."""
    if not re.fullmatch(r"[1-9][0-9]{0,15}", str(digits)):
        raise ValueError("the number should be a whole number from 1 on, in digits")
    return int(str(digits))


EXACT = 2**53  # whole numbers up to here survive a JSON reader that makes every number a float
Whole = Annotated[int, Field(ge=-EXACT, le=EXACT)]
Said = Annotated[str, AfterValidator(_said), Field(json_schema_extra={"pattern": r"\S"})]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]
FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]
Asked = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,137}$")]  # "metadata." and any column of a table
Value = Annotated[str, StringConstraints(max_length=2000)] | bool | Whole | float
Box = Annotated[tuple[StrictFloat, StrictFloat, StrictFloat, StrictFloat], Field(strict=False)]  # JSON has no tuples
Detail = Annotated[str, StringConstraints(max_length=256)] | bool | Whole | float
Number = Annotated[int, Field(ge=1, le=EXACT), BeforeValidator(_counted)]  # of an address, in digits
Values = Annotated[list[Value], Field(min_length=1, max_length=1000)]
NO_OTHERS: dict[str, Any] = {"json_schema_extra": {"additionalProperties": False}}  # than names of the pattern


class Request(BaseModel):
    """Unknown fields are refused and nothing is coerced: "5" is not 5, and 1 is not true."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Conditions(Request):
    """All of these, at least one, must hold of a field."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    eq: Value | None = None
    ne: Value | None = None
    ge: Value | None = None
    gt: Value | None = None
    le: Value | None = None
    lt: Value | None = None
    in_: Values | None = Field(default=None, alias="in")


def _stated(conditions: Conditions) -> Conditions:
    if not conditions.model_fields_set:
        raise ValueError("must name a condition, such as eq or ge")
    return conditions


Stated = Annotated[Conditions, AfterValidator(_stated)]


class Question(Request):
    """What is asked of the index. A value stands for equality in `filters`, a list for any of its values."""

    query: Annotated[Said, StringConstraints(max_length=8000)]
    workflow_id: Id = "default"
    top_k: Annotated[int, Field(ge=1, le=100)] | None = Field(default=None, description="the preset's when not given")
    search_type: Literal["vector", "keyword", "hybrid", "semantic"] | None = None
    enable_rerank: bool | None = None
    enable_query_expansion: bool | None = None
    enable_hyde: bool | None = None
    filters: Annotated[dict[Asked, Value | Values | Stated], Field(max_length=20, **NO_OTHERS)] = {}


class ConsultRequest(Question):
    """A question that wants passages."""

    pipeline: Literal["standard", "rerank", "advanced", "facets", "classical"] | None = Field(
        default=None, description="advanced when neither this nor `preset` is given"
    )
    preset: Annotated[str, Field(json_schema_extra={"enum": list(PRESETS)})] | None = None
    facets: Annotated[list[Asked], Field(max_length=20)] = []


ANSWERING = [name for name, preset in PRESETS.items() if preset.pipeline != "facets"]


class AskRequest(Question):
    """A question that wants an answer. `document_ids` are the only ones looked in; none given are all."""

    pipeline: (
        Annotated[str, Field(json_schema_extra={"enum": ["standard", "rerank", "advanced", "classical"]})] | None
    ) = Field(default=None, description="advanced when neither this nor `preset` is given")
    preset: Annotated[str, Field(json_schema_extra={"enum": ANSWERING})] | None = None
    document_ids: Annotated[list[Id], Field(max_length=100)] = []
    top_n: Annotated[int, Field(ge=1, le=20)] | None = Field(default=None, description="passages answered from")
    max_results: Annotated[int, Field(ge=1, le=20)] | None = Field(
        default=None, description="the classical pipeline's name for top_k and top_n where these are not given"
    )
    style: Style | None = Field(default=None, description="sections for classical, numbers for the others")


class ProposalFilters(Request):
    """Any of these values; an empty list is as none."""

    stage: Annotated[list[Literal[*STAGES]], Field(max_length=len(STAGES))] = []  # type: ignore[valid-type]
    status: Annotated[list[Literal[*STATUSES]], Field(max_length=len(STATUSES))] = []  # type: ignore[valid-type]


class ProposalQuery(Request):
    """A question to the proposals, in their document's spelling."""

    query: Annotated[  # the length first: after a validator of ours it would be told as one of items
        str, StringConstraints(max_length=1000), AfterValidator(_said), Field(json_schema_extra={"pattern": r"\S"})
    ]
    filters: ProposalFilters = ProposalFilters()
    top_k: Annotated[int, Field(ge=1, le=EXACT)] | None = Field(
        default=None, alias="topK", description="5 when not given; more than 20 are 20, and a warning says so"
    )


class IngestRequest(Request):
    """Index the configured source. `clear` removes its proposals before; without bodies, only what describes them."""

    clear: bool = False
    include_bodies: bool = Field(default=True, alias="includeBodies")


class UploadedBlock(Request):
    """A piece of a document whose place is known. Without `line_start` it follows the block before.

    Boxes are x0, y0, x1, y1 with x0 <= x1 and y0 <= y1, in points from the top left of the page as it is shown;
    `boxes` has one for each line of the text. `line_end` is needed where the text has not a line for each of its lines.
    """

    text: Annotated[str, StringConstraints(min_length=1)]
    kind: Literal["heading", "paragraph", "row", "table"] = "paragraph"
    page: Annotated[int, Field(ge=1, le=EXACT)] | None = None
    page_label: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = None
    bbox: Box | None = None
    boxes: Annotated[list[Box], Field(max_length=10_000)] = []
    line_start: Annotated[int, Field(ge=1, le=EXACT)] | None = None
    line_end: Annotated[int, Field(ge=1, le=EXACT)] | None = None
    headings: Annotated[list[Line], Field(max_length=20)] = []


class ChunkingOptions(Request):
    """How the text is cut; sizes in tokens. `overlap` is at most half of `chunk_size`, a quarter when not given."""

    strategy: Literal["tokens", "semantic", "headings", "rows", "blocks"] | None = None
    chunk_size: Annotated[int, Field(ge=32, le=8000)] | None = None
    overlap: Annotated[int, Field(ge=0, le=4000)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None


UPLOADS = ("content",), ("content_base64", "filename"), ("blocks",)


class IndexRequest(Request):
    """A document as text, as a file in base64 with its name, or as blocks: exactly one of the three."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": list(way)} for way in UPLOADS]})

    content: Annotated[str, StringConstraints(min_length=1)] | None = None
    content_base64: str | None = None
    filename: Line | None = None
    blocks: Annotated[list[UploadedBlock], Field(min_length=1, max_length=100_000)] | None = None
    document_id: Id | None = None
    title: Line | None = None
    source: Line | None = None
    workflow_id: Id = "default"
    metadata: Annotated[dict[FieldName, Detail], Field(max_length=64, **NO_OTHERS)] = {}
    chunking: ChunkingOptions = ChunkingOptions()
    later: bool = Field(default=False, alias="async", description="answer 202 at once, also for a short document")
    idempotency_key: Id | None = Field(default=None, description="the same key again gives the first call's result")


class JobRequest(Request):
    """Work that was taken on."""

    job_id: Id


class SummaryRequest(Request):
    """A document whose summary is wanted; `refresh` makes it anew."""

    document_id: Id
    workflow_id: Id = "default"
    refresh: bool = False


class DeleteRequest(Request):
    """A document that is to be found no more. It can be restored; with `purge` it cannot, and its text is erased."""

    document_id: Id
    workflow_id: Id = "default"
    purge: bool = False


class RestoreRequest(Request):
    """A deleted document that is to be found again."""

    document_id: Id
    workflow_id: Id = "default"


class DocumentsRequest(Request):
    """The documents of a workflow."""

    workflow_id: Id = "default"


class DocumentRequest(Request):
    """A document to be shown; of a text as it came, the lines from `first_line` on."""

    document_id: Id
    first_line: Annotated[int, Field(ge=1, le=EXACT)] = 1
    workflow_id: Id = "default"


class PageRequest(Request):
    """A page of a document, counted from 1."""

    document_id: Id
    page: Annotated[int, Field(ge=1, le=EXACT)]
    workflow_id: Id = "default"


class CitationsRequest(Request):
    """A text whose sentences are to be held against the documents. `run_id` is echoed in `about_run`."""

    text: Annotated[Said, StringConstraints(max_length=20_000)]
    workflow_id: Id = "default"
    document_ids: Annotated[list[Id], Field(max_length=100)] = []
    style: Style = "numbers"
    run_id: Id | None = None


class GraphRequest(Request):
    """A part of the entity graph: `path` leads from `entity` to `target`, `top` needs neither."""

    operation: Literal["entity", "neighbors", "path", "top"]
    entity: Line | None = None
    target: Line | None = None
    depth: Annotated[int, Field(ge=1, le=3)] = 1
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    workflow_id: Id = "default"


QuestionText = Annotated[Said, StringConstraints(max_length=8000)]
Pasted = Annotated[Said, StringConstraints(max_length=100_000)]
TopN = Annotated[int, Field(ge=1, le=20)]


class QueriesRequest(Request):
    """The kept questions of a workflow, newest first: at most `limit`, with ids below `before`."""

    workflow_id: Id = "default"
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    before: Number | None = None


class QueryRequest(Request):
    """A kept question."""

    id: Number
    workflow_id: Id = "default"


class QueryEdit(QueryRequest):
    """A kept question and what of it is to be another. What was made of that is taken back, to be made again."""

    original_query: QuestionText | None = None
    expanded_queries: Annotated[list[QuestionText], Field(max_length=20)] | None = None
    hyde_answer: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    intent: Annotated[str, StringConstraints(max_length=50)] | None = None
    entities: Annotated[list[Line], Field(max_length=100)] | None = None


class AugmentRequest(QueryRequest):
    """A kept question whose best `top_n` contexts are put before a model."""

    top_n: TopN = 5


class AugmentRun(AugmentRequest):
    use_full_model: bool = False


class AugmentPaste(AugmentRequest):
    response_text: Pasted


class ResultRequest(QueryRequest):
    """A response to a kept question."""

    result_id: Number


class ReplayRequest(QueryRequest):
    """A kept question that is to be asked again by another preset, one that ranks."""

    preset: Annotated[str, Field(json_schema_extra={"enum": ANSWERING})]


class ExpansionRequest(Request):
    """A new question."""

    original_query: QuestionText
    workflow_id: Id = "default"


class ExpansionRun(ExpansionRequest):
    use_full_model: bool = True


class ExpansionPaste(ExpansionRequest):
    """A new question with what a model said to its expansion prompt."""

    llm_response: Pasted


class PresetRequest(Request):
    name: Line


class PresetEdit(PresetRequest):
    """The numbers of a preset that are to be others than the packaged ones."""

    config: Annotated[dict[FieldName, Whole | float | str], Field(max_length=50, **NO_OTHERS)]
    description: Annotated[str, StringConstraints(max_length=500)] = ""


class PromptRequest(Request):
    tag: Line


class PromptEdit(PromptRequest):
    wording: Annotated[Said, StringConstraints(max_length=20_000)]


class Degradation(Reply):
    step: str
    code: str
    reason: str
    fallback: str


class Advice(Reply):
    code: str
    message: str


class Usage(Reply):
    """Tokens of hosted models, embeddings included; `cost_usd` is null when a model's price is not known."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Done(Reply):
    """What every reply has: `degraded` names the steps that gave a lesser answer, `timings` are milliseconds."""

    success: Literal[True]
    run_id: str
    degraded: list[Degradation]
    warnings: list[Advice]
    timings: dict[str, float]
    techniques: dict[str, str]
    usage: Usage


class CaptionReply(Reply):
    text: str
    highlights: str


class PassageMetadata(Reply):
    """Where the passage stands; the document's own metadata stand beside these."""

    model_config = ConfigDict(extra="allow", strict=True)

    source: str
    page: int | None
    chunk_id: str
    document_id: str
    lines: Annotated[list[int], Field(min_length=2, max_length=2)] | None
    section: list[str]


class Passage(Reply):
    id: str
    title: str
    content: str
    doc_type: Literal["chunk"]
    score: float = Field(description="the search's, by reciprocal rank; the order is that of the list, best first")
    reranker_score: float | None
    rerank_score: float | None
    metadata: PassageMetadata
    summary: str
    entities: list[str]
    captions: list[CaptionReply]
    found_by: list[str]


class SemanticAnswerReply(Reply):
    text: str
    score: float
    chunk_id: str


class BucketReply(Reply):
    value: str | bool | int | float
    count: int


class ConsultReply(Done):
    documents: list[Passage]
    count: int
    queries_used: list[str]
    queries: dict[str, str]
    reranked: bool
    hyde_used: bool
    pipeline: str
    semantic_answers: list[SemanticAnswerReply]
    facets: dict[str, list[BucketReply]]
    facet_totals: dict[str, int]
    preset: dict[str, str | int | float]
    workflow_id: str
    kept: int | None = Field(default=None, description="the id under which the call was kept, where calls are")


class AcceptedReply(Done):
    """A document that was taken on. `document_id` is null where only the text will tell it."""

    job_id: str
    document_id: str | None
    status: Literal["queued", "running", "failed"]
    status_url: str
    words_only: bool
    workflow_id: str


class ProgressReply(Reply):
    """Chunks that have their vectors, of all; 0 of 0 before they are counted."""

    chunks_done: int
    chunks: int


class IndexedReply(Reply):
    """What became of a document."""

    document_id: str
    chunks: int
    embedded: int
    unchanged: int
    removed: int
    pages: int | None
    extractor: str
    failed: list[str]


class IndexReply(IndexedReply, Done):
    workflow_id: str


class EntityReply(Reply):
    type: str
    value: str


class SummaryReply(Done):
    document_id: str
    summary: str
    origin: Literal["stored", "model", "extractive"]
    title: str
    entities: list[EntityReply]
    pages: int | None
    chunks: int
    workflow_id: str


BoxReply = Annotated[list[float], Field(min_length=4, max_length=4)]
LinesReply = Annotated[list[int], Field(min_length=2, max_length=2)]


class DeleteReply(Done):
    """`purged` is whether it is gone for good."""

    document_id: str
    deleted: Literal[True]
    purged: bool
    workflow_id: str


class RestoreReply(Done):
    document_id: str
    restored: Literal[True]
    workflow_id: str


class DocumentFacts(Reply):
    """`kept` is whether the document can be shown as it came; `deleted_at` is null for one that is there."""

    document_id: str
    title: str
    source: str
    pages: int | None
    summary: str
    extractor: str
    metadata: dict[str, str | bool | int | float]
    deleted_at: str | None
    kept: bool


class DocumentsReply(Done):
    """`deleted` are those that can be restored."""

    documents: list[DocumentFacts]
    deleted: list[DocumentFacts]
    workflow_id: str


class PieceReply(Reply):
    """A chunk as it was read. The boxes, one a line, are on its page, in points from the top left."""

    id: str
    ordinal: int
    content: str
    page: int | None
    line_start: int | None
    line_end: int | None
    boxes: list[BoxReply]
    section: list[str]
    entities: list[EntityReply]


class DocumentReply(Done, DocumentFacts):
    """A document and its first 1,000 chunks. `kind` is of the original, null when none is kept.

    `lines` are some of a text original, from `first_line` on; null when it is no text.
    """

    kind: str | None
    chunks: list[PieceReply]
    lines: list[str] | None
    first_line: int
    total_lines: int | None
    workflow_id: str


class PageReply(Done):
    """A page drawn as PNG; its `width` and `height` are in points, as the boxes count."""

    document_id: str
    page: int
    pages: int
    width: float
    height: float
    media_type: Literal["image/png"]
    image_base64: str
    workflow_id: str


class CitationReply(Reply):
    """`label` is written in the style asked for; `boxes` has a box a line, on the page where the quote begins."""

    number: int
    label: str
    verdict: Literal["verified", "partial", "unsupported"]
    chunk_id: str
    document_id: str
    title: str
    source: str
    quote: str
    score: float
    section: list[str]
    page: int | None
    page_label: str | None
    bbox: BoxReply | None
    boxes: list[BoxReply]
    lines: LinesReply | None


class ClaimReply(Reply):
    """`reasons` say why it is not verified, as "kind: word"."""

    text: str
    start: int
    end: int
    verdict: Literal["verified", "partial", "unsupported"]
    reasons: list[str]
    citations: list[CitationReply]


class CitationsReply(Done):
    claims: list[ClaimReply]
    about_run: str | None
    workflow_id: str


class ConfidenceReply(Reply):
    value: float
    inputs: dict[str, float]
    formula: str


class ContextReply(Reply):
    """A passage that the answer was made from; the nearest ones where there was none to be made."""

    id: str
    chunk_id: str
    document_id: str
    title: str
    source: str
    page: int | None
    lines: LinesReply | None
    section: list[str]
    content: str
    score: float


class ChunkReply(Reply):
    """A passage in the words of the classical pipeline: `source` is what found it."""

    chunk_id: str
    document_id: str
    document_name: str
    section: str | None
    page: int | None
    content: str
    score: float
    relevance: float | None
    source: Literal["bm25", "vector", "hybrid", "fallback"]


class AskReply(Done):
    """An `unknown` answer says so in its text, has no claims, and its contexts are the nearest passages."""

    answer: str
    cited_answer: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    claims: list[ClaimReply]
    citations: list[CitationReply]
    confidence: ConfidenceReply
    contexts: list[ContextReply]
    chunks: list[ChunkReply] = Field(description="of the classical pipeline")
    style: Style
    pipeline: str
    preset: dict[str, str | int | float]
    workflow_id: str
    kept: int | None = Field(default=None, description="the id under which the call was kept, where calls are")


class ProposalCitation(Reply):
    """A proposal at one of its stages; null where something else is indexed in the collection."""

    label: str
    proposal_id: str | None
    stage: str | None
    status: str | None
    title: str
    snippet: str
    url: str | None
    source_id: str | None
    score: float


class ProposalReply(Done):
    """`citations` has each proposal and stage once; `topK` is how many passages were asked for."""

    answer: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    citations: list[ProposalCitation]
    confidence: ConfidenceReply
    top_k: int = Field(alias="topK")
    kept: int | None = Field(default=None, description="the id under which the call was kept, where calls are")


class IngestReply(Done):
    """Counts; `skipped` are proposals without a stage, `failed` says what is not searchable, and why, and `stopped` why
    the rest was not begun, "" when all was.
    """

    proposals: int
    documents: int
    chunks: int
    embedded: int
    unchanged: int
    removed: int
    cleared: int
    skipped: list[str]
    failed: list[str]
    stopped: str


class NodeReply(Reply):
    id: str
    type: str
    count: int


class EdgeReply(Reply):
    source: str
    target: str
    count: int
    chunk_ids: list[str]


class GraphReply(Done):
    nodes: list[NodeReply]
    edges: list[EdgeReply]
    paths: list[list[str]]
    workflow_id: str


class HealthReply(Done):
    parts: dict[str, str]


class OpenApiReply(BaseModel):
    """An OpenAPI 3.1 document."""

    model_config = ConfigDict(extra="allow")

    openapi: Literal["3.1.0"]


class ErrorDetail(Reply):
    code: str
    message: str
    field: str | None
    retryable: bool
    details: dict[str, Any]


class JobReply(Done):
    """A job. `words_only`: searchable by words, the vectors are not made yet. `error`: why it failed, or waits."""

    job_id: str
    document_id: str | None
    status: Literal["queued", "running", "done", "failed"]
    attempts: int
    progress: ProgressReply
    words_only: bool
    error: ErrorDetail | None
    result: IndexedReply | None
    created_at: str
    updated_at: str
    workflow_id: str


class SpanReply(Reply):
    """Where characters `start` to `end` of a content stand in the document."""

    start: int
    end: int
    page: int | None
    line_start: int
    line_end: int
    bbox: BoxReply | None
    section: list[str]


class FoundReply(Reply):
    """A retrieved passage. `scores` and `ranks` (from 1) are by who gave them; "final" is what it was ordered by."""

    id: str
    content: str
    title: str
    document_id: str
    source: str
    section: list[str]
    page: int | None
    line_start: int | None
    line_end: int | None
    boxes: list[BoxReply]
    scores: dict[str, float]
    ranks: dict[str, int]
    found_by: list[str]
    entities: list[EntityReply]
    metadata: dict[str, Any]
    parent_id: str | None
    ordinal: int
    spans: list[SpanReply]


class PartReply(Reply):
    chunk_id: str
    lines: LinesReply | None


class GroupReply(Reply):
    """Passages that were consolidated. `coverage` is the share of their section that they are, 0 to 1; `parts` says on
    which lines each of them stands.
    """

    chunk_ids: list[str]
    parent_id: str | None
    work_id: str | None
    content: str
    heading_chain: list[str]
    score: float
    title: str
    document_id: str
    source: str
    page: int | None
    line_start: int | None
    line_end: int | None
    coverage: float
    enriched: bool
    parts: list[PartReply]
    spans: list[SpanReply]


class StepReply(Reply):
    """An account of a step that was taken."""

    ms: float
    timings: dict[str, float]
    went_in: dict[str, Any]
    came_out: dict[str, Any]
    techniques: dict[str, str]
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    degraded: list[Degradation]
    warnings: list[Advice]


VectorStatus = Literal["no_vec", "to_vec", "vec", "vec_err"]
NextStep = Literal["embed", "retrieve", "consolidate", "augment"]


class QueryItem(Reply):
    """A kept question in the list. `origin` is "workbench", or the operation that it was kept of."""

    id: int
    original_query: str
    intent: str
    vector_status: VectorStatus
    has_retrieved_context: bool
    has_clean_context: bool
    results_count: int
    origin: str
    created_at: str
    next_step: NextStep


class QueriesReply(Done):
    """`total` is of all that the caller may see."""

    queries: list[QueryItem]
    total: int
    workflow_id: str


class QueryReply(Done):
    """A kept question with what each step made of it; a context that was not made yet is empty."""

    id: int
    original_query: str
    expanded_queries: list[str]
    hyde_answer: str
    intent: str
    entities: list[str]
    vector_status: VectorStatus
    retrieved_context: list[FoundReply]
    clean_retrieval_context: list[GroupReply]
    available_context_count: int
    has_retrieved_context: bool
    has_clean_context: bool
    results_count: int
    origin: str
    preset: dict[str, Any]
    steps: dict[str, StepReply]
    next_step: NextStep
    version: int
    created_at: str
    updated_at: str
    workflow_id: str


class QueryDeleted(Done):
    id: int
    deleted: Literal[True]
    workflow_id: str


class EmbedReply(Done):
    message: str
    vector_status: VectorStatus


class RetrieveReply(Done):
    message: str
    chunks_retrieved: int


class ConsolidateReply(Done):
    message: str
    original_count: int
    consolidated_count: int


class AugmentPrompt(Done):
    prompt: str
    context_count: int


class AugmentReply(Done):
    """`model` is who wrote it: a model, or a local technique."""

    result_id: int
    response_text: str
    model: str


class AugmentPasted(Done):
    result_id: int
    message: str


class ResultItem(Reply):
    """`model` is "" of one that was pasted."""

    id: int
    response_text: str
    model: str
    created_at: str


class ResultsReply(Done):
    results: list[ResultItem]
    total: int
    workflow_id: str


class ResultReply(Done):
    """`details` has what it was made with, and what it cost."""

    id: int
    query_id: int
    response_text: str
    model: str
    details: dict[str, Any]
    created_at: str
    updated_at: str
    workflow_id: str


class PlacedReply(Reply):
    rank: int
    chunk_id: str
    document_id: str
    title: str
    section: list[str]
    page: int | None
    score: float


class RankedReply(Reply):
    """A ranking, and the numbers of the preset that made it."""

    preset: dict[str, Any]
    ranking: list[PlacedReply]


class MovedReply(Reply):
    """Its ranks; null where it is not found."""

    chunk_id: str
    before: int | None
    after: int | None


class ReplayReply(Done):
    """The kept ranking and the new one. `overlap_at_10` is the share of the first ten that they have in common."""

    before: RankedReply
    after: RankedReply
    overlap_at_10: float
    moved: list[MovedReply]
    workflow_id: str


class ExpansionPromptReply(Done):
    prompt: str
    query: str


class ExpansionReply(Done):
    query_id: int
    expanded_queries: list[str]
    hyde_answer: str
    intent: str
    entities: list[str]


class ExpansionPasted(Done):
    query_id: int
    message: str


class PresetReply(Reply):
    """`numbers` are those in force, `packaged` those that we ship, `edited` where the two differ."""

    name: str
    pipeline: str
    numbers: dict[str, str | int | float]
    packaged: dict[str, str | int | float]
    edited: dict[str, str | int | float]
    description: str


class PresetsReply(Done):
    presets: list[PresetReply]


class PresetSaved(Done):
    preset: PresetReply


class PromptReply(Reply):
    """`wording` is the one in force, `packaged` ours."""

    tag: str
    wording: str
    packaged: str
    edited: bool


class PromptsReply(Done):
    prompts: list[PromptReply]


class PromptSaved(Done):
    prompt: PromptReply


class Refusal(Reply):
    """Every answer that is not 200."""

    success: Literal[False]
    error: ErrorDetail
    run_id: str


class _Requests(GenerateJsonSchema):
    """Null is taken for a field that was left out, but not advertised."""

    def nullable_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"]) if schema["default"] is None else super().default_schema(schema)


def schema(request: str) -> dict[str, Any]:
    """The JSON schema of the request model of this name, with those it is made of inside."""
    model: type[BaseModel] = globals()[request]
    return model.model_json_schema(schema_generator=_Requests)


def schemas(requests: Iterable[str], replies: Iterable[str]) -> dict[str, Any]:
    """The JSON schemas of the models of these names and of those they are made of."""
    return _schemas(requests, _Requests) | _schemas(replies, GenerateJsonSchema)


def _schemas(names: Iterable[str], generator: type[GenerateJsonSchema]) -> dict[str, Any]:
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [(globals()[name], "validation") for name in names]
    where = "#/components/schemas/{model}"
    return dict(models_json_schema(models, ref_template=where, schema_generator=generator)[1]["$defs"])


def filters(asked: Question) -> tuple[Filter, ...]:
    """The filters of a request as conditions on fields."""
    return tuple(condition for field, value in asked.filters.items() for condition in _conditions(field, value))


def _conditions(field: str, value: Any) -> list[Filter]:
    if isinstance(value, list):
        return [Filter(field, "in", tuple(value))]
    if isinstance(value, Conditions):
        said: dict[Any, Any] = value.model_dump(by_alias=True, exclude_none=True)
        return [Filter(field, op, tuple(v) if isinstance(v, list) else v) for op, v in said.items()]
    return [Filter(field, "eq", value)]


def parse(model: type[M], data: dict[str, Any], *, texts: bool = False) -> M:
    """The request in `data`; with `texts` every value is a string, as in a query string.

    Raises:
        InvalidRequest: names the first wrong field by its path; the details have up to ten of them.
    """
    try:
        return model.model_validate_strings(data) if texts else model.model_validate(data)
    except ValidationError as invalid:
        wrong: dict[str, str] = {}
        for error in invalid.errors(include_url=False, include_context=False, include_input=False):
            wrong.setdefault(*_told(error["loc"], error["type"], error["msg"]))
        first, message = next(iter(wrong.items()))
        raise InvalidRequest(first, message, fields=dict(list(wrong.items())[:10])) from None


KINDS = {  # fields whose values may be of several kinds: an error names the kind after the value, one error a kind
    "filters": "must be a text, a number, true or false, a list of these, or conditions (eq, ne, in, gt, ge, lt, le)",
    "metadata": "must be a text, a number, true or false",
}


def _told(location: tuple[int | str, ...], kind: str, message: str) -> tuple[str, str]:
    """The path of the field that an error is about, and what is wrong with it in the words of the error contract."""
    names = [str(part)[:100] for part in location]
    if names[0] in KINDS and len(names) > 2 and kind != "literal_error":
        words = KINDS[names[0]] if names[2] != "[key]" else _must(message)
        return ".".join(names[:2]), words
    known = {"missing": "is required", "extra_forbidden": "is not a field of this request"}
    return ".".join(names), known.get(kind) or _must(message)


def _must(message: str) -> str:
    return "must " + message.partition(" should ")[2]
