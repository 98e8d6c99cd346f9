"""Handlers that index (S1-57), summarize (S1-58), delete and restore documents (S3-16)."""

from base64 import b64decode
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, NotRequired, TypedDict, cast

from pydantic import Field, StrictFloat, StringConstraints

from functions.jobs import AcceptedReply, IndexedReply, format_accepted_job, format_indexing_result
from functions.operations import Call, operation
from functions.requests import NO_OTHER_KEYS, CountFromOne, ExactInt, FieldName, Identifier, LineText, Request
from functions.shared_documents import change_document
from rag_core.answering.summaries import SummaryOrigin
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Block, IndexingResult, Job, Scope
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import derive_document_id
from rag_core.ingestion.plan import IndexingPlan
from rag_core.ingestion.upload import Upload, lower_budget
from rag_core.replies import EntityReply, format_entity
from rag_core.run_reply import Done, format_run

BoxInput = Annotated[
    tuple[StrictFloat, StrictFloat, StrictFloat, StrictFloat], Field(strict=False)
]  # JSON has no tuples
MetadataValue = Annotated[str, StringConstraints(max_length=256)] | bool | ExactInt | float
MAX_IDEMPOTENCY_KEY_CHARS = 128


class UploadedBlock(Request):
    """A piece of a document with its position. Without `line_start` it follows the block before it.

    Boxes are x0, y0, x1, y1 with x0 <= x1 and y0 <= y1, in points from the top left of the page as displayed; `boxes`
    has one for each line of the text. `line_end` is needed where the line breaks of the text are not the document's.
    """

    text: Annotated[str, StringConstraints(min_length=1)]
    kind: Literal["heading", "paragraph", "row", "table"] = "paragraph"
    page: CountFromOne | None = None
    page_label: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = None
    bbox: BoxInput | None = None
    boxes: Annotated[list[BoxInput], Field(max_length=10_000)] = Field(default=[])
    line_start: CountFromOne | None = None
    line_end: CountFromOne | None = None
    headings: Annotated[list[LineText], Field(max_length=20)] = Field(default=[])


class ChunkingOptions(Request):
    """Options for chunking, sizes in tokens. `overlap` is at most half of `chunk_size` and by default a quarter."""

    strategy: Literal["tokens", "semantic", "headings", "rows", "blocks"] | None = None
    chunk_size: Annotated[int, Field(ge=32, le=8000)] | None = None
    overlap: Annotated[int, Field(ge=0, le=4000)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class IndexRequest(Request):
    """A document to be indexed, given as exactly one of text, file in base64 with its name, or blocks."""

    content: Annotated[str, StringConstraints(min_length=1)] | None = None
    content_base64: str | None = None
    filename: LineText | None = None
    blocks: Annotated[list[UploadedBlock], Field(min_length=1, max_length=100_000)] | None = None
    document_id: Identifier | None = None
    title: LineText | None = None
    source: LineText | None = None
    workflow_id: Identifier = "default"
    metadata: Annotated[dict[FieldName, MetadataValue], Field(max_length=64, **NO_OTHER_KEYS)] = Field(default={})
    chunking: ChunkingOptions = ChunkingOptions()
    enrichment_budget_usd: Annotated[float, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="most that a chat model may cost for entities and summaries, below the operator's; 0 asks none",
    )
    layout_budget_usd: Annotated[float, Field(ge=0, le=1000)] | None = Field(
        default=None,
        description="most that Document Intelligence may cost for this upload, below the operator's; 0 sends nothing",
    )
    estimate: bool = Field(default=False, description="say what indexing would cost, and index nothing")
    later: bool = Field(default=False, alias="async", description="answer 202 at once, also for a short document")
    idempotency_key: Identifier | None = Field(
        default=None, description="a repeated key returns the result of its first call"
    )


class EstimateReply(TypedDict):
    """What indexing would cost at most: `usd` is null where a price is not known.

    `enrichment` is the part of entities and summaries by a chat model, `layout` that of pages read by a layout service,
    null where none is asked; `budget_usd` is where it would stop.
    """

    action: Literal["add", "update", "skip"]
    embedding_tokens: int
    embedding_usd: float | None
    enrichment: "EnrichmentReply | None"
    layout: "LayoutEstimateReply | None"
    usd: float | None


class EnrichmentReply(TypedDict):
    """What entities and summaries by a chat model cost at most, in calls, tokens and USD."""

    model: str
    passages: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    budget_usd: float


class LayoutEstimateReply(TypedDict):
    """The pages that would be sent to a layout service, and their price; a Word file counts as one page or more."""

    reader: str
    pages: int
    usd: float
    budget_usd: float


class IndexReply(IndexedReply, Done):
    """The result of indexing a document at once; with `estimate`, what it would be and cost."""

    workflow_id: str
    estimate: NotRequired[EstimateReply]


@operation(
    "Index a document, replacing its earlier version.",
    errors=(400, 404, 409, 413, 415, 422, 503, 504, 507),
    example={
        "document_id": "transmission-notes",
        "title": "Transmission notes",
        "content": "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor.",
        "metadata": {"model_year": 2021},
    },
    takes_upload=True,
    can_be_partial=True,
    heavy=True,
)
async def handle_index_document(request: IndexRequest, call: Call) -> IndexReply | AcceptedReply:
    """Index a document, or accept it as a job when it is long or the caller prefers an asynchronous reply."""
    upload, scope = _upload_from_request(request), call.resolve_scope(request.workflow_id)
    chunking = _chunking_from_options(request.chunking)
    if request.estimate:
        plan = await call.rag.estimate(upload, scope=scope, chunking=chunking, run=call.run)
        return _format_estimate(plan, upload, scope, request, call)
    outcome = await call.rag.submit(
        upload,
        scope=scope,
        chunking=chunking,
        key=request.idempotency_key or _read_idempotency_key(call),
        as_job=request.later or _has_respond_async_preference(call),
        run=call.run,
    )
    if isinstance(outcome, Job):
        return format_accepted_job(outcome, call)
    return _format_indexed(outcome, request, call)


def _format_indexed(result: IndexingResult, request: IndexRequest, call: Call) -> IndexReply:
    indexed = {**format_run(call.run), **format_indexing_result(result), "workflow_id": request.workflow_id}
    return cast(IndexReply, indexed)


def _format_estimate(plan: IndexingPlan, upload: Upload, scope: Scope, request: IndexRequest, call: Call) -> IndexReply:
    would_be = _describe_planned_result(plan, upload, scope)
    described, operator = plan.enrichment, call.rag.kit.enrichment
    wanted = request.enrichment_budget_usd
    enrichment: EnrichmentReply | None = None
    if described and operator and wanted != 0:
        budget_usd = lower_budget(wanted, operator.budget_usd)
        enrichment = {
            "model": described.model,
            "passages": described.passages,
            "calls": described.calls,
            "input_tokens": described.input_tokens,
            "output_tokens": described.output_tokens,
            "usd": described.usd,
            "budget_usd": budget_usd,
        }
    embedding_usd = plan.tariff.price_usd(plan.token_count)
    layout = _format_layout_estimate(plan, request, call)
    parts = [embedding_usd, enrichment["usd"] if enrichment else 0.0, layout["usd"] if layout else 0.0]
    estimate: EstimateReply = {
        "action": plan.documents[0].action if plan.documents else "add",
        "embedding_tokens": plan.token_count,
        "embedding_usd": embedding_usd,
        "enrichment": enrichment,
        "layout": layout,
        "usd": None if None in parts else sum(part for part in parts if part is not None),
    }
    return {**_format_indexed(would_be, request, call), "estimate": estimate}


def _describe_planned_result(plan: IndexingPlan, upload: Upload, scope: Scope) -> IndexingResult:
    """Return what indexing would return; of a document that only the layout service can read, its pages."""
    for step in plan.documents:
        document = step.document
        return IndexingResult(document.id, step.chunk_count, 0, 0, 0, document.pages, document.extractor)
    layout = plan.layout
    document_id = derive_document_id(upload, scope) or ""
    reader, pages = (layout.reader, layout.pages) if layout else ("", None)
    return IndexingResult(document_id, 0, 0, 0, 0, pages, reader)


def _format_layout_estimate(plan: IndexingPlan, request: IndexRequest, call: Call) -> LayoutEstimateReply | None:
    wanted, operator_usd = request.layout_budget_usd, call.rag.settings.layout_budget_usd
    if plan.layout is None or wanted == 0:
        return None
    budget_usd = lower_budget(wanted, operator_usd)
    return {"reader": plan.layout.reader, "pages": plan.layout.pages, "usd": plan.layout.usd, "budget_usd": budget_usd}


class SummaryRequest(Request):
    """A document to be summarized; `refresh` replaces its stored summary."""

    document_id: Identifier
    workflow_id: Identifier = "default"
    refresh: bool = False


class SummaryReply(Done):
    """A document in a few sentences, with the entities that occur in it."""

    document_id: str
    summary: str
    origin: SummaryOrigin
    title: str
    entities: list[EntityReply]
    pages: int | None
    chunks: int
    workflow_id: str


@operation(
    "Get a document's summary; a POST writes and stores it when there is none.",
    advice="Use it to learn what one document is about before you read it.",
    errors=(400, 404, 413, 415, 503, 504),
    example={"document_id": "transmission-notes"},
    heavy=True,
)
async def handle_get_document_summary(request: SummaryRequest, call: Call) -> SummaryReply:
    """Return a document's stored summary, or write one when there is none or `refresh` is set; by GET write none."""
    if call.is_read and request.refresh:
        raise InvalidRequest("refresh", "must be sent by POST, as JSON: a GET changes nothing")
    summary = await call.rag.summarize(
        request.document_id,
        scope=call.resolve_scope(request.workflow_id),
        refresh=request.refresh,
        write=not call.is_read,
        run=call.run,
    )
    return {
        **format_run(call.run),
        "document_id": request.document_id,
        "summary": summary.text,
        "origin": summary.origin,
        "title": summary.document.title,
        "entities": [format_entity(entity) for entity in summary.entities],
        "pages": summary.document.pages,
        "chunks": summary.chunks,
        "workflow_id": request.workflow_id,
    }


class DeleteRequest(Request):
    """A document to be deleted. With `purge` its text is erased and it cannot be restored."""

    document_id: Identifier
    workflow_id: Identifier = "default"
    purge: bool = False


class DeleteReply(Done):
    """A deleted document; `purged` says whether its text was erased for good."""

    document_id: str
    deleted: Literal[True]
    purged: bool
    workflow_id: str


@operation(
    "Delete a document from every search at once; until it is purged it can be restored.",
    errors=(400, 404, 413, 415, 503, 504, 507),
    example={"document_id": "transmission-notes"},
)
async def handle_delete_document(request: DeleteRequest, call: Call) -> DeleteReply:
    """Hide a document from every search; with `purge`, erase it for good."""
    delete = partial(call.rag.delete, request.document_id, purge=request.purge, run=call.run)
    await change_document(lambda scope: delete(scope=scope), call.resolve_scope(request.workflow_id), call.principal)
    return {
        **format_run(call.run),
        "document_id": request.document_id,
        "deleted": True,
        "purged": request.purge,
        "workflow_id": request.workflow_id,
    }


class RestoreRequest(Request):
    """A deleted document to be restored."""

    document_id: Identifier
    workflow_id: Identifier = "default"


class RestoreReply(Done):
    """A document that was restored."""

    document_id: str
    restored: Literal[True]
    workflow_id: str


@operation(
    "Restore a deleted document as it was; only an index that keeps no vectors embeds it again.",
    errors=(400, 404, 409, 413, 415, 503, 504, 507),
    example={"document_id": "transmission-notes"},
)
async def handle_restore_document(request: RestoreRequest, call: Call) -> RestoreReply:
    """Make a deleted document searchable again."""
    restore = partial(call.rag.restore, request.document_id, run=call.run)
    await change_document(lambda scope: restore(scope=scope), call.resolve_scope(request.workflow_id), call.principal)
    return {
        **format_run(call.run),
        "document_id": request.document_id,
        "restored": True,
        "workflow_id": request.workflow_id,
    }


def _has_respond_async_preference(call: Call) -> bool:
    """Return whether the header Prefer has `respond-async` (RFC 7240, section 4.1)."""
    preferences = call.headers.get("prefer", "").split(",")
    return "respond-async" in [preference.partition(";")[0].strip().lower() for preference in preferences]


def _read_idempotency_key(call: Call) -> str | None:
    key = call.headers.get("idempotency-key", "").strip('"')
    if len(key) > MAX_IDEMPOTENCY_KEY_CHARS or not key.isprintable():
        raise InvalidRequest("Idempotency-Key", f"must have at most {MAX_IDEMPOTENCY_KEY_CHARS} printable characters")
    return key or None


def _chunking_from_options(chunking_options: ChunkingOptions) -> Chunking:
    """Return the chunking that a request asks for; a chunk size without an overlap gets an overlap of a quarter."""
    options = chunking_options.model_dump(exclude_none=True)
    if chunking_options.chunk_size:
        options.setdefault("overlap", min(Chunking().overlap, chunking_options.chunk_size // 4))
    return Chunking(**options)


def _upload_from_request(request: IndexRequest) -> Upload:
    return Upload(
        content=request.content,
        data=None if request.content_base64 is None else _decode_upload(request.content_base64),
        filename=request.filename,
        blocks=None if request.blocks is None else _blocks_from_request(request.blocks),
        document_id=request.document_id,
        title=request.title,
        source=request.source,
        metadata=request.metadata,
        enrichment_budget_usd=request.enrichment_budget_usd,
        layout_budget_usd=request.layout_budget_usd,
    )


def _decode_upload(content_base64: str) -> bytes:
    try:
        return b64decode(content_base64, validate=True)
    except ValueError:  # binascii.Error, and what is not ASCII
        raise InvalidRequest("content_base64", "must be base64 without line breaks") from None


def _blocks_from_request(uploaded_blocks: Sequence[UploadedBlock]) -> tuple[Block, ...]:
    """Return the blocks of a request; one without `line_start` begins on the line after the block before it."""
    blocks: list[Block] = []
    for block in uploaded_blocks:
        line_start = block.line_start or (blocks[-1].line_end + 1 if blocks else 1)
        blocks.append(
            Block(
                text=block.text,
                kind=block.kind,
                line_start=line_start,
                line_end=block.line_end or line_start + block.text.count("\n"),
                page=block.page,
                bbox=block.bbox,
                headings=tuple(block.headings),
                boxes=tuple(block.boxes),
                page_label=block.page_label,
            )
        )
    return tuple(blocks)
