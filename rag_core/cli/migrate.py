"""`rag migrate`: the move of the data folder's index to Azure AI Search or PostgreSQL, without embedding anew."""

import asyncio
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings
from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.composition.migration_assembly import MigrationPlan
    from rag_core.ingestion.migration import IndexDifferences, MovedContent

MAX_NAMED = 5  # documents that are named of those that differ


def run_migrate_command(arguments: Namespace) -> int:
    """Copy every document, compare both indexes and say what to set. Return 1 when they differ."""
    return asyncio.run(_migrate(load_command_settings(arguments), as_json=arguments.json))


async def _migrate(settings: Settings, *, as_json: bool) -> int:
    from rag_core.cli import terminal_layout
    from rag_core.composition import migration_assembly
    from rag_core.ingestion import migration

    plan = await migration_assembly.open_migration(settings)
    try:
        with terminal_layout.create_progress_bar(sys.stderr if as_json else sys.stdout) as bar:
            progress = terminal_layout.create_progress_callback(bar)
            moved = await migration.copy_documents(plan.documents, plan.old, plan.new, progress)
            differences = await migration.find_index_differences(plan.documents, plan.old, plan.new, progress)
    finally:
        await plan.old.store.close()
        await plan.new.store.close()
    if as_json:
        print_json({"moved": moved, "differences": differences, "embedding_provider": plan.embedding_provider})
    else:
        _print_migration(plan, moved, differences)
    return 0 if differences.is_same and not moved.failed else 1


def _print_migration(plan: "MigrationPlan", moved: "MovedContent", differences: "IndexDifferences") -> None:
    from rag_core.cli.terminal_layout import format_count

    documents, passages = format_count(moved.documents, "document"), format_count(moved.chunks, "passage")
    print(plan.setup)
    print(f"Copied {documents} and {passages}, {moved.vectors} with their vectors; nothing was embedded.")
    if moved.failed:
        print(f"Not yet found: {format_count(len(moved.failed), 'passage')}; run the command again.")
    print(_format_differences(differences))
    deleted = format_count(plan.deleted, "deleted document")
    print(f"Not moved: {deleted}; originals, saved queries and jobs, which stay in the archive.")
    print(f"The service must keep the embedding model: RAG_EMBEDDING_PROVIDER={plan.embedding_provider}")


def _format_differences(differences: "IndexDifferences") -> str:
    names = ", ".join(differences.documents[:MAX_NAMED])
    same = f"Different or missing: {len(differences.documents)} ({names})" if names else "Every document is the same."
    return (
        f"{same} Of {differences.questions} questions {differences.same_by_vector} find the same five passages by "
        f"vector, {differences.same_first} the same first one by hybrid search, where stores rank words differently."
    )
