"""`rag migrate`: the move of the data folder's index to Azure AI Search or PostgreSQL, without embedding anew."""

import asyncio
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from rag_core.cli.opened_service import load_command_settings
from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.ingestion.migration import IndexDifferences

MAX_NAMED = 5  # documents that are named of those that differ


def run_migrate_command(arguments: Namespace) -> int:
    """Copy every document, compare both indexes and say what to set. Return 1 when they differ."""
    return asyncio.run(_migrate(load_command_settings(arguments)))


async def _migrate(settings: Settings) -> int:
    from rag_core.cli import terminal_layout
    from rag_core.composition import migration_assembly
    from rag_core.ingestion import migration

    plan = await migration_assembly.open_migration(settings)
    print(plan.setup)
    try:
        with terminal_layout.create_progress_bar(sys.stdout) as bar:
            progress = terminal_layout.create_progress_callback(bar)
            moved = await migration.copy_documents(plan.documents, plan.old, plan.new, progress)
            differences = await migration.compare_indexes(plan.documents, plan.old, plan.new, progress)
    finally:
        await plan.old.store.close()
        await plan.new.store.close()
    documents = terminal_layout.format_count(moved.documents, "document")
    passages = terminal_layout.format_count(moved.chunks, "passage")
    print(f"Copied {documents} and {passages}, {moved.vectors} with their vectors; nothing was embedded.")
    if moved.failed:
        print(f"Not yet found: {terminal_layout.format_count(len(moved.failed), 'passage')}; run the command again.")
    print(_format_differences(differences))
    deleted = terminal_layout.format_count(plan.deleted, "deleted document")
    print(f"Not moved: {deleted}; originals, saved queries and jobs, which stay in the archive.")
    print(f"The service must keep the embedding model: RAG_EMBEDDING_PROVIDER={plan.embedding_provider}")
    return 0 if differences.is_same and not moved.failed else 1


def _format_differences(differences: "IndexDifferences") -> str:
    names = ", ".join(differences.documents[:MAX_NAMED])
    same = f"Different or missing: {len(differences.documents)} ({names})" if names else "Every document is the same."
    return (
        f"{same} Of {differences.questions} questions {differences.same_by_vector} find the same five passages by "
        f"vector, {differences.same_first} the same first one by hybrid search, where stores rank words differently."
    )
