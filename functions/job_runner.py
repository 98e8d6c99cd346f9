"""The run that works through pending indexing jobs, for the triggers and the emulator. It loads no pydantic."""

from rag_core.core.kit import Kit
from rag_core.core.settings import Settings
from rag_core.jobs.indexer import run_due_jobs
from rag_core.rag import RAG


async def run_pending_jobs(settings: Settings, kit: Kit, *, within_s: float) -> None:
    """Work through the pending jobs for at most `within_s` seconds."""
    await run_due_jobs(kit, RAG(kit, settings).indexing_policy, within_s=within_s)
