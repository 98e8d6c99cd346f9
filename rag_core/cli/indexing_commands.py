"""The commands that index files and proposals, within a budget."""

import sys
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import run_with_rag
from rag_core.core.errors import InvalidRequest, Misconfigured
from rag_core.core.model import Scope
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.ingestion.plan import DryRun
    from rag_core.rag import RAG

EXIT_BUDGET_SPENT = 3  # exit code


@run_with_rag
async def run_index_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Index files, with a progress bar on a terminal, else a line per file. Return 1 when a file was refused.

    With --database the schema of a database is indexed instead.
    """
    if arguments.database:
        from rag_core.cli import schema_commands

        return await schema_commands.index_database(arguments, rag)
    if not arguments.paths:
        raise InvalidRequest("PATH", "must be given, or --database")
    from rag_core.cli.file_indexing import FileIndexing

    budgeted, rehearsal = _apply_budget(arguments, rag)
    indexing = FileIndexing(arguments, rag, rehearsal)
    stopped = await indexing.index_files(budgeted)
    await indexing.report(stopped)
    refused = indexing.progress.counts["refused"]
    return _give_exit_code(stopped, refused) if arguments.json else _report_end(stopped, refused)


@run_with_rag
async def run_ingest_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Index proposals, with a progress bar on a terminal. Return 1 when a record or chunk was not indexed."""
    from rag_core.cli import indexing_output, terminal_layout, terminal_output
    from rag_core.proposals import sources
    from rag_core.proposals.ingest import ingest_proposals
    from rag_core.rag import INDEXING_TIMEOUT_S, RAG
    from rag_core.run_reply import format_run

    loaded = rag.settings
    source = arguments.source or loaded.proposals_source
    if source is None:
        raise Misconfigured("name a SOURCE, or set RAG_PROPOSALS_SOURCE", field="RAG_PROPOSALS_SOURCE")
    records, indexing_run = list(sources.read_proposal_records(source)), Run(INDEXING_TIMEOUT_S)
    scope, bodies = Scope(arguments.workflow or loaded.collection), not arguments.no_bodies
    unpaid = RAG(replace(rag.kit, enrichment=None), rag.settings)
    budgeted, rehearsal = _apply_budget(arguments, unpaid)
    with terminal_layout.create_progress_bar(sys.stderr if arguments.json else sys.stdout) as bar:
        tracked = bar.track(records, description="ingesting")
        ingested_proposals = await ingest_proposals(
            tracked, scope, budgeted.kit, indexing_run, include_bodies=bodies, clear=arguments.clear
        )
    plan, refused = rehearsal.build_plan() if rehearsal else None, len(ingested_proposals.failed)
    if arguments.json:
        print_json({"ingested": ingested_proposals, "plan": plan, **format_run(indexing_run)})
        return _give_exit_code(ingested_proposals.stopped, refused)
    indexing_output.print_ingestion(ingested_proposals, plan)
    terminal_output.print_run(indexing_run)
    return _report_end(ingested_proposals.stopped, refused)


def _apply_budget(arguments: Namespace, rag: "RAG") -> "tuple[RAG, DryRun | None]":
    """Return the service limited to the budget; with --plan, a dry run of it that indexes and pays nothing."""
    from rag_core.composition import index_assembly
    from rag_core.ingestion.plan import DryRun, meter_embedding
    from rag_core.rag import RAG

    if not arguments.plan and arguments.budget_usd is None:
        return rag, None  # nobody asks how many tokens are sent
    tariff = index_assembly.build_embedding_tariff(rag.settings)
    if not arguments.plan:
        return RAG(meter_embedding(rag.kit, tariff, arguments.budget_usd), rag.settings), None
    dry_run = DryRun(rag.kit, tariff, arguments.budget_usd)
    return RAG(dry_run.kit, rag.settings), dry_run


def _report_end(stopped: str, refused: int) -> int:
    """Return the exit code of an indexing command; print why the budget stopped it, if it did."""
    if stopped:
        print(f"Stopped: {stopped}. Run the same command again to continue from here.")
    return _give_exit_code(stopped, refused)


def _give_exit_code(stopped: str, refused: int) -> int:
    if stopped:
        return EXIT_BUDGET_SPENT
    return 1 if refused else 0
