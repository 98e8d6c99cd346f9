"""Indexing jobs: the handlers that show and cancel one, and the 202 reply of an upload that becomes one."""

from typing import Literal, TypedDict, cast

from pydantic import Field

from functions.operations import Call, operation
from functions.requests import Identifier, Request
from rag_core.core.errors import Conflict, ErrorDetail, NotFound
from rag_core.core.model import IndexingResult, Job
from rag_core.run_reply import Done, format_run

AcceptedStatus = Literal["queued", "running", "failed"]  # the result of one that is done is a 200


class JobRequest(Request):
    """The id of an indexing job; one of another workflow than a `workflow_id` that is given is not shown."""

    job_id: Identifier
    workflow_id: Identifier | None = Field(default=None, description="the job's workflow; default: any of the caller's")


class AcceptedReply(Done):
    """A document accepted for indexing. `document_id` is null when it is derived from text not yet extracted."""

    job_id: str
    document_id: str | None
    status: AcceptedStatus
    status_url: str
    words_only: bool
    workflow_id: str


class IndexedReply(TypedDict):
    """The result of indexing a document."""

    document_id: str
    chunks: int
    embedded: int
    unchanged: int
    removed: int
    pages: int | None
    extractor: str
    failed: list[str]


class ProgressReply(TypedDict):
    """Chunks that have their vectors, and all chunks; both are 0 before the document is chunked.

    `pages_done` of `pages` have all of theirs; both are null where the document has no pages, or they are not counted.
    """

    chunks_done: int
    chunks: int
    pages_done: int | None
    pages: int | None


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


@operation(
    "Get the progress of an indexing job, for the caller who started it.",
    errors=(400, 404, 503, 504),
    example={"job_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9"},
)
async def handle_index_job(request: JobRequest, call: Call) -> JobReply:
    """Reply with a job to the caller who started it. Raises NotFound for everybody else."""
    return _format_job(await _load_callers_job(request, call), call)


@operation(
    "Cancel an indexing job that has not ended, for the caller who started it.",
    errors=(400, 404, 409, 503, 504),
    example={"job_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9"},
)
async def handle_cancel_index_job(request: JobRequest, call: Call) -> JobReply:
    """Cancel a job and reply with it; one that has failed is returned as it is. Raises Conflict when it is done."""
    await _load_callers_job(request, call)
    job = await call.kit.jobs.cancel(request.job_id, call.principal.user_id)
    if job is None:
        raise _make_unknown_job_error()
    if job.state == "done":
        message = "the document is indexed already: delete the document to take it back"
        raise Conflict(message, code="job_done", field="job_id")
    return _format_job(job, call)


async def _load_callers_job(request: JobRequest, call: Call) -> Job:
    """Return a job that the caller started in a workflow of theirs. Raises NotFound for everybody else."""
    job = await call.kit.jobs.get(request.job_id, call.principal.user_id)
    workflows = call.principal.workflows
    if job is None or (workflows is not None and job.scope.workflow_id not in workflows):
        raise _make_unknown_job_error()
    if request.workflow_id not in (None, job.scope.workflow_id):
        raise _make_unknown_job_error()
    return job


def _make_unknown_job_error() -> NotFound:
    return NotFound("there is no such job", code="job_not_found", field="job_id")


def _format_job(job: Job, call: Call) -> JobReply:
    """Return a job as plain data."""
    return {
        **format_run(call.run),
        "job_id": job.id,
        "document_id": job.document_id,
        "status": job.state,
        "attempts": job.attempts,
        "progress": {
            "chunks_done": job.progress.embedded,
            "chunks": job.progress.chunks,
            "pages_done": job.progress.pages_done,
            "pages": job.progress.pages,
        },
        "words_only": job.lexical_only,
        "error": cast(ErrorDetail | None, job.error),
        "result": format_indexing_result(job.result) if job.result else None,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "workflow_id": job.scope.workflow_id,
        **cast(Done, job.run_notes),  # {} or more: what the job's own run says takes the place of this call's
    }


def format_accepted_job(job: Job, call: Call) -> AcceptedReply:
    """Return the reply for a document that is indexed as a job; its `status_url` makes the status 202."""
    return {
        **format_run(call.run),
        "job_id": job.id,
        "document_id": job.document_id,
        "status": cast(AcceptedStatus, job.state),
        "status_url": f"/api/index_jobs/{job.id}",
        "words_only": job.lexical_only,
        "workflow_id": job.scope.workflow_id,
    }


def format_indexing_result(result: IndexingResult) -> IndexedReply:
    """Return the result of indexing as plain data."""
    return {
        "document_id": result.document_id,
        "chunks": result.chunks,
        "embedded": result.embedded,
        "unchanged": result.unchanged,
        "removed": result.removed,
        "pages": result.pages,
        "extractor": result.extractor,
        "failed": list(result.failed),
    }
