"""Indexing jobs: the handler that shows one to its owner, the 202 reply, and the run that works through them."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies
from rag_core.core.errors import NotFound
from rag_core.core.kit import Kit
from rag_core.core.model import Job
from rag_core.core.settings import Settings
from rag_core.ingestion.indexing import Limits
from rag_core.jobs import long_work
from rag_core.jobs.long_work import Terms

if TYPE_CHECKING:
    from functions.wire import JobRequest


async def index_job(asked: "JobRequest", call: Call) -> dict[str, Any]:
    """Reply with a job to the caller who started it. Raises NotFound for everybody else."""
    job = await call.kit.jobs.get(asked.job_id, call.who.user_id)
    workflows = call.who.workflows
    if job is None or (workflows is not None and job.scope.workflow_id not in workflows):
        raise NotFound("there is no such job", code="job_not_found", field="job_id")
    return {"success": True, **_told(job), **replies.diary(call.run), **job.told}


def accepted(job: Job, call: Call) -> dict[str, Any]:
    """Return the reply for a document that is indexed as a job; its `status_url` makes the status 202."""
    return {
        "success": True,
        "job_id": job.id,
        "document_id": job.document_id,
        "status": job.state,
        "status_url": f"/api/index_jobs/{job.id}",
        "words_only": job.words_only,
        "workflow_id": job.scope.workflow_id,
        **replies.diary(call.run),
    }


def terms(settings: Settings) -> Terms:
    """Return the limits for indexing that the settings give."""
    limits = Limits(settings.max_upload_bytes, settings.parse_timeout_s)
    return Terms(limits, settings.inline_max_bytes, settings.inline_max_chunks, settings.require_vectors)


async def drain(settings: Settings, kit: Kit, *, within_s: float) -> None:
    """Work through the pending jobs for at most `within_s` seconds."""
    await long_work.drain(kit, terms(settings), within_s=within_s)


def _told(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "document_id": job.document_id,
        "status": job.state,
        "attempts": job.attempts,
        "progress": {"chunks_done": job.embedded, "chunks": job.chunks},
        "words_only": job.words_only,
        "error": job.error,
        "result": job.result and asdict(job.result),
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "workflow_id": job.scope.workflow_id,
    }
