"""Models of all requests and replies. The module imports pydantic, so it is itself first imported by a request."""

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
    """Return the text. Raises ValueError when it is blank."""
    if not text.strip():
        raise ValueError("the text should hold more than spaces")
    return text


def _counted(digits: object) -> int:
    """Return the record id written in an address: digits from 1 on, without sign, space or leading zeros."""
    if not re.fullmatch(r"[1-9][0-9]{0,15}", str(digits)):
        raise ValueError("the number should be a whole number from 1 on, in digits")
    return int(str(digits))


EXACT = 2**53  # integers up to here survive a JSON parser that turns every number into a float
Whole = Annotated[int, Field(ge=-EXACT, le=EXACT)]
Said = Annotated[str, AfterValidator(_said), Field(json_schema_extra={"pattern": r"\S"})]
Line = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]
FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]
Asked = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,137}$")]  # "metadata." and a field name
Value = Annotated[str, StringConstraints(max_length=2000)] | bool | Whole | float
Box = Annotated[tuple[StrictFloat, StrictFloat, StrictFloat, StrictFloat], Field(strict=False)]  # JSON has no tuples
Detail = Annotated[str, StringConstraints(max_length=256)] | bool | Whole | float
Number = Annotated[int, Field(ge=1, le=EXACT), BeforeValidator(_counted)]
Values = Annotated[list[Value], Field(min_length=1, max_length=1000)]
NO_OTHERS: dict[str, Any] = {"json_schema_extra": {"additionalProperties": False}}  # than names of the pattern


class Request(BaseModel):
    """The base of all requests: unknown fields are refused and nothing is coerced ("5" is not 5, 1 is not true)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Reply(BaseModel):
    """The base of all replies."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Conditions(Request):
    """Conditions on one field, at least one; all of them must hold."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    eq: Value | None = None
    ne: Value | None = None
    ge: Value | None = None
    gt: Value | None = None
    le: Value | None = None
    lt: Value | None = None
    in_: Values | None = Field(default=None, alias="in")


def _stated(conditions: Conditions) -> Conditions:
    """Return the conditions. Raises ValueError when there are none."""
    if not conditions.model_fields_set:
        raise ValueError("must name a condition, such as eq or ge")
    return conditions


Stated = Annotated[Conditions, AfterValidator(_stated)]


class Question(Request):
    """A query with its filters: a value in `filters` must be equal to the field, a list must contain it."""

    query: Annotated[Said, StringConstraints(max_length=8000)]
    workflow_id: Id = "default"
    top_k: Annotated[int, Field(ge=1, le=100)] | None = Field(default=None, description="default: that of the preset")
    search_type: Literal["vector", "keyword", "hybrid", "semantic"] | None = None
    enable_rerank: bool | None = None
    enable_query_expansion: bool | None = None
    enable_hyde: bool | None = None
    filters: Annotated[dict[Asked, Value | Values | Stated], Field(max_length=20, **NO_OTHERS)] = {}


class ConsultRequest(Question):
    """A query for passages."""

    pipeline: Literal["standard", "rerank", "advanced", "facets", "classical"] | None = Field(
        default=None, description="default: advanced, unless `preset` is given"
    )
    preset: Annotated[str, Field(json_schema_extra={"enum": list(PRESETS)})] | None = None
    facets: Annotated[list[Asked], Field(max_length=20)] = []


ANSWERING = [name for name, preset in PRESETS.items() if preset.pipeline != "facets"]


class AskRequest(Question):
    """A question to be answered. `document_ids` restricts it to these documents; an empty list means all of them."""

    pipeline: (
        Annotated[str, Field(json_schema_extra={"enum": ["standard", "rerank", "advanced", "classical"]})] | None
    ) = Field(default=None, description="default: advanced, unless `preset` is given")
    preset: Annotated[str, Field(json_schema_extra={"enum": ANSWERING})] | None = None
    document_ids: Annotated[list[Id], Field(max_length=100)] = []
    top_n: Annotated[int, Field(ge=1, le=20)] | None = Field(default=None, description="passages to answer from")
    max_results: Annotated[int, Field(ge=1, le=20)] | None = Field(
        default=None, description="sets top_k and top_n where these are not given"
    )
    style: Style | None = Field(default=None, description="default: sections for classical, numbers for the others")


class ProposalFilters(Request):
    """Filters of the proposals: any of these values; an empty list does not filter."""

    stage: Annotated[list[Literal[*STAGES]], Field(max_length=len(STAGES))] = []  # type: ignore[valid-type]
    status: Annotated[list[Literal[*STATUSES]], Field(max_length=len(STATUSES))] = []  # type: ignore[valid-type]


class ProposalQuery(Request):
    """A question to be answered from the proposals."""

    query: Annotated[  # the length first: pydantic words it as a count of items after a validator of ours
        str, StringConstraints(max_length=1000), AfterValidator(_said), Field(json_schema_extra={"pattern": r"\S"})
    ]
    filters: ProposalFilters = ProposalFilters()
    top_k: Annotated[int, Field(ge=1, le=EXACT)] | None = Field(
        default=None, alias="topK", description="default: 5; a number above 20 becomes 20, with a warning"
    )


class IngestRequest(Request):
    """An order to index the configured source.

    `clear` first removes the indexed proposals; `includeBodies` false indexes their metadata only.
    """

    clear: bool = False
    include_bodies: bool = Field(default=True, alias="includeBodies")


class UploadedBlock(Request):
    """A piece of a document with its position. Without `line_start` it follows the block before it.

    Boxes are x0, y0, x1, y1 with x0 <= x1 and y0 <= y1, in points from the top left of the page as displayed; `boxes`
    has one for each line of the text. `line_end` is needed where the line breaks of the text are not the document's.
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
    """Options for chunking, sizes in tokens. `overlap` is at most half of `chunk_size` and by default a quarter."""

    strategy: Literal["tokens", "semantic", "headings", "rows", "blocks"] | None = None
    chunk_size: Annotated[int, Field(ge=32, le=8000)] | None = None
    overlap: Annotated[int, Field(ge=0, le=4000)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None


UPLOADS = ("content",), ("content_base64", "filename"), ("blocks",)


class IndexRequest(Request):
    """A document to be indexed, given as exactly one of text, file in base64 with its name, or blocks."""

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
    idempotency_key: Id | None = Field(default=None, description="a repeated key returns the result of its first call")


class JobRequest(Request):
    """The id of an indexing job."""

    job_id: Id


class SummaryRequest(Request):
    """A document to be summarized; `refresh` replaces its stored summary."""

    document_id: Id
    workflow_id: Id = "default"
    refresh: bool = False


class DeleteRequest(Request):
    """A document to be deleted. With `purge` its text is erased and it cannot be restored."""

    document_id: Id
    workflow_id: Id = "default"
    purge: bool = False


class RestoreRequest(Request):
    """A deleted document to be restored."""

    document_id: Id
    workflow_id: Id = "default"


class DocumentsRequest(Request):
    """A request for the list of a workflow's documents."""

    workflow_id: Id = "default"


class DocumentRequest(Request):
    """A document to be shown; of a text original, the lines from `first_line` on."""

    document_id: Id
    first_line: Annotated[int, Field(ge=1, le=EXACT)] = 1
    workflow_id: Id = "default"


class PageRequest(Request):
    """A page of a document, numbered from 1."""

    document_id: Id
    page: Annotated[int, Field(ge=1, le=EXACT)]
    workflow_id: Id = "default"


class CitationsRequest(Request):
    """A text whose sentences are checked against the documents. `run_id` is returned in `about_run`."""

    text: Annotated[Said, StringConstraints(max_length=20_000)]
    workflow_id: Id = "default"
    document_ids: Annotated[list[Id], Field(max_length=100)] = []
    style: Style = "numbers"
    run_id: Id | None = None


class GraphRequest(Request):
    """A query to the entity graph: `path` leads from `entity` to `target`; `top` needs neither."""

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
    """A page of a workflow's saved queries, newest first: at most `limit`, with ids below `before`."""

    workflow_id: Id = "default"
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    before: Number | None = None


class QueryRequest(Request):
    """The id of a saved query."""

    id: Number
    workflow_id: Id = "default"


class QueryEdit(QueryRequest):
    """New values for fields of a saved query; outputs of steps that used a changed field are discarded."""

    original_query: QuestionText | None = None
    expanded_queries: Annotated[list[QuestionText], Field(max_length=20)] | None = None
    hyde_answer: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    intent: Annotated[str, StringConstraints(max_length=50)] | None = None
    entities: Annotated[list[Line], Field(max_length=100)] | None = None


class AugmentRequest(QueryRequest):
    """A saved query whose `top_n` best contexts go into the prompt."""

    top_n: TopN = 5


class AugmentRun(AugmentRequest):
    use_full_model: bool = False


class AugmentPaste(AugmentRequest):
    response_text: Pasted


class ResultRequest(QueryRequest):
    """The id of a saved result."""

    result_id: Number


class ReplayRequest(QueryRequest):
    """A saved query to be run again with another preset, one that ranks."""

    preset: Annotated[str, Field(json_schema_extra={"enum": ANSWERING})]


class ExpansionRequest(Request):
    """A new question to be expanded."""

    original_query: QuestionText
    workflow_id: Id = "default"


class ExpansionRun(ExpansionRequest):
    use_full_model: bool = True


class ExpansionPaste(ExpansionRequest):
    """A new question with a model's response to its expansion prompt."""

    llm_response: Pasted


class PresetRequest(Request):
    name: Line


class PresetEdit(PresetRequest):
    """New values for numbers of a preset."""

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
    """Tokens used by hosted models, embeddings included; `cost_usd` is null when the price of a model is unknown."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Done(Reply):
    """The fields of every reply: `degraded` has the steps that fell back, `timings` are milliseconds by step."""

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
    """The position of a passage, together with the metadata of its document."""

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
    score: float = Field(description="of the search; the list is in the final order of the pipeline, best first")
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
    kept: int | None = Field(default=None, description="the id of the saved query, where calls are archived")


class AcceptedReply(Done):
    """A document accepted for indexing. `document_id` is null when it is derived from text not yet extracted."""

    job_id: str
    document_id: str | None
    status: Literal["queued", "running", "failed"]
    status_url: str
    words_only: bool
    workflow_id: str


class ProgressReply(Reply):
    """Chunks that have their vectors, and all chunks; both are 0 before the document is chunked."""

    chunks_done: int
    chunks: int


class IndexedReply(Reply):
    """The result of indexing a document."""

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
    """A deleted document; `purged` says whether its text was erased for good."""

    document_id: str
    deleted: Literal[True]
    purged: bool
    workflow_id: str


class RestoreReply(Done):
    document_id: str
    restored: Literal[True]
    workflow_id: str


class DocumentFacts(Reply):
    """A document; `kept` says whether its original is stored, `deleted_at` is null unless it is deleted."""

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
    """The documents of a workflow; those in `deleted` can be restored."""

    documents: list[DocumentFacts]
    deleted: list[DocumentFacts]
    workflow_id: str


class PieceReply(Reply):
    """A chunk with its position. The boxes, one for each line, are in points from the top left of its page."""

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
    """A document with its first 1,000 chunks. `kind` is that of the original, null when none is stored.

    `lines` has lines of a text original from `first_line` on, null when the original is not a text.
    """

    kind: str | None
    chunks: list[PieceReply]
    lines: list[str] | None
    first_line: int
    total_lines: int | None
    workflow_id: str


class PageReply(Done):
    """A page rendered as PNG; `width` and `height` are in points, the unit of the boxes."""

    document_id: str
    page: int
    pages: int
    width: float
    height: float
    media_type: Literal["image/png"]
    image_base64: str
    workflow_id: str


class CitationReply(Reply):
    """A citation, its `label` in the requested style; `boxes` has one for each line on the quote's first page."""

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
    """A sentence with its verdict; `reasons` say why it is not verified, as "kind: word"."""

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
    """A passage that the answer was written from; of an unknown answer, one of the nearest passages."""

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
    """A passage in the field names of the classical pipeline; `source` is the leg that found it."""

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
    """An answer; one that is `unknown` says so in its text, has no claims, and has the nearest passages as contexts."""

    answer: str
    cited_answer: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    claims: list[ClaimReply]
    citations: list[CitationReply]
    confidence: ConfidenceReply
    contexts: list[ContextReply]
    chunks: list[ChunkReply] = Field(description="of the classical pipeline only")
    style: Style
    pipeline: str
    preset: dict[str, str | int | float]
    workflow_id: str
    kept: int | None = Field(default=None, description="the id of the saved query, where calls are archived")


class ProposalCitation(Reply):
    """A citation of a proposal at a stage; fields are null for other documents of the collection."""

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
    """An answer from the proposals; `citations` has each proposal and stage once, `topK` is the number of passages."""

    answer: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    citations: list[ProposalCitation]
    confidence: ConfidenceReply
    top_k: int = Field(alias="topK")
    kept: int | None = Field(default=None, description="the id of the saved query, where calls are archived")


class IngestReply(Done):
    """Counts of an ingestion. `skipped` are proposals without a stage, `failed` names what is not searchable and why,
    and `stopped` says why the rest was not begun, "" when all of it was.
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
    """An indexing job. `words_only`: only lexical search finds it yet. `error`: why the job failed, or why it waits."""

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
    """The position in the document of characters `start` to `end` of a content."""

    start: int
    end: int
    page: int | None
    line_start: int
    line_end: int
    bbox: BoxReply | None
    section: list[str]


class FoundReply(Reply):
    """A retrieved passage. `scores` and `ranks` (from 1) are by the stage that gave them; "final" is the last."""

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
    """Consolidated passages. `coverage` is their share of the section, 0 to 1; `parts` has the lines of each."""

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
    """The record of a completed step, with its input and output."""

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
    """A saved query in a list. `origin` is "workbench" or the operation that saved it."""

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
    """A page of saved queries; `total` counts all that the caller may see."""

    queries: list[QueryItem]
    total: int
    workflow_id: str


class QueryReply(Done):
    """A saved query with the output of each step; a context is empty until its step is done."""

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
    """A saved response; `model` names the model or local technique that wrote it."""

    result_id: int
    response_text: str
    model: str


class AugmentPasted(Done):
    result_id: int
    message: str


class ResultItem(Reply):
    """A saved result in a list; `model` is "" for a pasted response."""

    id: int
    response_text: str
    model: str
    created_at: str


class ResultsReply(Done):
    results: list[ResultItem]
    total: int
    workflow_id: str


class ResultReply(Done):
    """A saved result; `details` has the inputs that it was made from, and its cost."""

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
    """A ranking with the numbers of its preset."""

    preset: dict[str, Any]
    ranking: list[PlacedReply]


class MovedReply(Reply):
    """The ranks of a passage before and after; null where it was not found."""

    chunk_id: str
    before: int | None
    after: int | None


class ReplayReply(Done):
    """The saved ranking and the new one. `overlap_at_10` is the share of the first ten that both have."""

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
    """A preset: `numbers` are in force, `packaged` are the shipped ones, `edited` those that were changed."""

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
    """A prompt: `wording` is in force, `packaged` is the shipped one."""

    tag: str
    wording: str
    packaged: str
    edited: bool


class PromptsReply(Done):
    prompts: list[PromptReply]


class PromptSaved(Done):
    prompt: PromptReply


class Refusal(Reply):
    """The reply with every error status."""

    success: Literal[False]
    error: ErrorDetail
    run_id: str


class _Requests(GenerateJsonSchema):
    """A generator that leaves null out of the schemas: null is accepted for an omitted field but not documented."""

    def nullable_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"]) if schema["default"] is None else super().default_schema(schema)


def schema(request: str) -> dict[str, Any]:
    """Return the JSON schema of a request model, with the models it refers to in `$defs`."""
    model: type[BaseModel] = globals()[request]
    return model.model_json_schema(schema_generator=_Requests)


def schemas(requests: Iterable[str], replies: Iterable[str]) -> dict[str, Any]:
    """Return the JSON schemas, by name, of these models and of the models they refer to."""
    return _schemas(requests, _Requests) | _schemas(replies, GenerateJsonSchema)


def _schemas(names: Iterable[str], generator: type[GenerateJsonSchema]) -> dict[str, Any]:
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [(globals()[name], "validation") for name in names]
    where = "#/components/schemas/{model}"
    return dict(models_json_schema(models, ref_template=where, schema_generator=generator)[1]["$defs"])


def filters(asked: Question) -> tuple[Filter, ...]:
    """Return the filters of a request."""
    return tuple(condition for field, value in asked.filters.items() for condition in _conditions(field, value))


def _conditions(field: str, value: Any) -> list[Filter]:
    if isinstance(value, list):
        return [Filter(field, "in", tuple(value))]
    if isinstance(value, Conditions):
        operands: dict[Any, Any] = value.model_dump(by_alias=True, exclude_none=True)
        return [Filter(field, op, tuple(v) if isinstance(v, list) else v) for op, v in operands.items()]
    return [Filter(field, "eq", value)]


def parse(model: type[M], data: dict[str, Any], *, texts: bool = False) -> M:
    """Validate `data` as a request; with `texts` every value is a string, as in a query string.

    Raises:
        InvalidRequest: its field is the path of the first invalid one; its details have the first ten.
    """
    try:
        return model.model_validate_strings(data) if texts else model.model_validate(data)
    except ValidationError as failure:
        invalid_fields: dict[str, str] = {}
        for error in failure.errors(include_url=False, include_context=False, include_input=False):
            invalid_fields.setdefault(*_told(error["loc"], error["type"], error["msg"]))
        first, message = next(iter(invalid_fields.items()))
        raise InvalidRequest(first, message, fields=dict(list(invalid_fields.items())[:10])) from None


KINDS = {  # by field of mixed types: pydantic reports one error for each type, with the type at the end of the path
    "filters": "must be a text, a number, true or false, a list of these, or conditions (eq, ne, in, gt, ge, lt, le)",
    "metadata": "must be a text, a number, true or false",
}


def _told(location: tuple[int | str, ...], kind: str, message: str) -> tuple[str, str]:
    """Return the path of the invalid field, and the message of the error contract."""
    names = [str(part)[:100] for part in location]
    if names[0] in KINDS and len(names) > 2 and kind != "literal_error":
        text = KINDS[names[0]] if names[2] != "[key]" else _must(message)
        return ".".join(names[:2]), text
    fixed_messages = {"missing": "is required", "extra_forbidden": "is not a field of this request"}
    return ".".join(names), fixed_messages.get(kind) or _must(message)


def _must(message: str) -> str:
    """Return pydantic's "Input should …" as "must …"."""
    return "must " + message.partition(" should ")[2]
