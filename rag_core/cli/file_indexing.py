"""One run of `rag index`: its files, their budget, and what came of each."""

import asyncio
import sys
from argparse import Namespace
from pathlib import Path

from rag_core.cli import enrichment_consent, indexing_output, input_files, terminal_layout, terminal_output
from rag_core.cli.indexing_progress import IndexingProgress
from rag_core.cli.input_files import FileOutcome
from rag_core.cli.json_output import print_json
from rag_core.core.concurrency import run_in_order
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.ingestion.indexing import explain_unpaid_enrichment
from rag_core.ingestion.plan import BudgetSpent, DryRun
from rag_core.rag import INDEXING_TIMEOUT_S, RAG
from rag_core.run_reply import format_run

MAX_FILES_AT_ONCE = 4  # one is embedded while others wait for the disk; each may be read in a process of its own


class FileIndexing:
    """The files that `rag index` was given; with a `rehearsal` nothing is indexed or paid."""

    def __init__(self, arguments: Namespace, rag: RAG, rehearsal: DryRun | None) -> None:
        self._arguments = arguments
        self._rag = rag
        self._rehearsal = rehearsal
        self._scope = Scope(arguments.workflow)
        self._files_by_path = input_files.find_input_files(arguments.paths)
        self._run = Run(INDEXING_TIMEOUT_S)
        self._enrichment_usd = 0.0
        self.progress = IndexingProgress(list(self._files_by_path), sys.stderr if arguments.json else sys.stdout)

    async def index_files(self, budgeted: RAG) -> str:
        """Index all files by `budgeted`, which refuses what is beyond the budget; return why it stopped, or ""."""
        self._warn_of_unpaid_enrichment()
        if not self._rehearsal:
            self._enrichment_usd = await enrichment_consent.ask_for_enrichment(
                self._arguments, self._rag, self._files_by_path
            )
        budgeted = self.progress.watch_embedding(budgeted)
        indexing = (self._index_file(budgeted, path, is_named) for path, is_named in self._files_by_path.items())
        try:
            with self.progress.bar:
                await run_in_order(indexing, self._finish_file, at_once=1 if self._is_priced else MAX_FILES_AT_ONCE)
        except BudgetSpent as error:
            return f"{error.message}; {terminal_layout.format_count(self.progress.files_left, 'file')} left"
        except asyncio.CancelledError:  # Ctrl-C
            print(indexing_output.format_interruption(self.progress), file=sys.stderr)
            raise
        return ""

    async def report(self, stopped: str) -> None:
        """Print what came of the files, and the indexed documents whose files are gone."""
        gone = await input_files.list_gone_documents(self._arguments.paths, self._rag, self._scope)
        plan = self._rehearsal.build_plan() if self._rehearsal else None
        if self._arguments.json:
            facts = {"files": self.progress.outcomes, "gone": [document.id for document in gone], "plan": plan}
            print_json({**facts, "stopped": stopped, **format_run(self._run)})
            return
        if plan:
            indexing_output.print_indexing_plan(plan)
        else:
            print(", ".join(f"{count} {verdict}" for verdict, count in self.progress.counts.items()))
        indexing_output.print_gone_documents(gone)
        terminal_output.print_run(self._run)

    @property
    def _is_priced(self) -> bool:
        """Whether files are indexed one by one, so that each knows what those before it have spent."""
        arguments = self._arguments
        return bool(arguments.plan or arguments.budget_usd is not None or arguments.enrichment_usd)

    def _warn_of_unpaid_enrichment(self) -> None:
        if self._arguments.enrichment_usd and (reason := explain_unpaid_enrichment(self._rag.kit)):
            message = f"--enrichment-usd has no effect: {reason}"
            if self._arguments.json:
                self._run.warn("no_effect", message)
            else:
                print(message, file=sys.stderr)

    async def _index_file(self, budgeted: RAG, path: Path, is_named: bool) -> tuple[FileOutcome, Run]:
        run = self._run if self._is_priced else Run(INDEXING_TIMEOUT_S)
        spent_usd = run.cost_usd  # None: a price is not known, so no ceiling could be kept
        left_usd = 0.0 if spent_usd is None else max(0.0, self._enrichment_usd - spent_usd)
        return await input_files.index_file(path, is_named, budgeted, self._scope, run, enrichment_usd=left_usd), run

    def _finish_file(self, indexed: tuple[FileOutcome, Run]) -> None:
        outcome, run = indexed
        self.progress.finish_file(outcome)
        if not self._arguments.json:
            # a plan has indexed nothing: it says what it would
            is_quiet = self._rehearsal is not None or not self.progress.bar.disable
            indexing_output.print_file_outcome(outcome, self.progress.bar, is_quiet=is_quiet)
            indexing_output.print_file_warnings(outcome.path, run, self.progress.bar)
        if run is not self._run:
            self._run.add_part(run)
