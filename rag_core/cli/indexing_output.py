"""The output of commands that index: the outcome of each file, the plan, the price and the totals."""

from collections.abc import Sequence
from pathlib import Path

from rich.progress import Progress

from rag_core.answering.citation_styles import to_printable_line
from rag_core.cli.indexing_progress import IndexingProgress
from rag_core.cli.input_files import FileOutcome
from rag_core.cli.terminal_layout import format_count, join_source_parts
from rag_core.core.model import Document
from rag_core.core.run import Run
from rag_core.ingestion.model_enrichment import EnrichmentEstimate
from rag_core.ingestion.plan import IndexingPlan, Tariff, format_usd
from rag_core.proposals.ingest import IngestionReport

MAX_LISTED_GONE = 20  # files that are no longer there
MAX_LISTED_PROPOSALS = 20  # names of skipped proposals that are shown


def print_file_outcome(outcome: FileOutcome, bar: Progress, *, is_quiet: bool) -> None:
    """Print the outcome of a file; quietly only when it was skipped or refused."""
    if not is_quiet or outcome.status in ("skipped", "refused"):
        _print_file_line(bar, outcome.status, outcome.path, outcome.note)


def print_file_warnings(path: Path, run: Run, bar: Progress) -> None:
    """Print the warnings that the run has about a file, and take them out of it: they do not name their file."""
    for warning in run.warnings:
        _print_file_line(bar, "note", path, warning.message)
    run.warnings.clear()


def _print_file_line(bar: Progress, label: str, path: Path, text: str) -> None:
    line = f"{label:<9} {path}: {to_printable_line(text)}"
    bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_gone_documents(documents: Sequence[Document]) -> None:
    """Print the documents whose file is no longer in its folder: they still answer until they are deleted."""
    for document in documents[:MAX_LISTED_GONE]:
        source = to_printable_line(document.source or "")
        print(f"gone      {source}: its document is kept: rag delete {document.id}")
    if len(documents) > MAX_LISTED_GONE:
        print(f"gone      {len(documents) - MAX_LISTED_GONE} more; rag documents lists all")


def format_interruption(progress: IndexingProgress) -> str:
    """Say what an interrupted indexing has kept: a document is written as a whole or not at all."""
    done = sum(progress.counts[status] for status in ("indexed", "unchanged"))
    left = format_count(progress.files_left, "file")
    kept = f"{format_count(done, 'file')}, {progress.describe_size()}"
    return f"Stopped. Kept: {kept}. The same command does the {left} left."


def print_indexing_plan(plan: IndexingPlan) -> None:
    """Print the plan of an indexing: a line per document that would change, the totals and the cost."""
    for step in plan.documents:
        if step.action != "skip":
            size = f"{format_count(step.chunk_count, 'passage')}, {step.token_count:,} tokens"
            print(f"{step.action:<9} {join_source_parts(step.document.title, size, step.document.source)}")
    print(", ".join(f"{count} to {action}" for action, count in plan.action_counts.items()))
    print(f"{format_count(plan.page_count, 'page')}, {format_count(plan.chunk_count, 'passage')}")
    print(f"To embed: {format_token_price(plan.token_count, plan.tariff)}")
    if plan.enrichment:
        print(format_enrichment_price(plan.enrichment))


def format_token_price(tokens: int, tariff: Tariff) -> str:
    """Format a number of tokens with their model and price."""
    usd = tariff.price_usd(tokens)
    cost = "at an unknown price" if usd is None else f"for {format_usd(usd)} USD"
    return f"{tokens:,} tokens by {tariff.model}, {cost}"


def format_enrichment_price(estimate: EnrichmentEstimate) -> str:
    """Format what entities and summaries by a chat model cost at most."""
    cost = (
        "at an unknown price, so they are not asked for" if estimate.usd is None else f"{format_usd(estimate.usd)} USD"
    )
    size = f"{format_count(estimate.passages, 'passage')} in {format_count(estimate.calls, 'call')}"
    return f"Entities and summaries by {estimate.model}: {size}, at most {cost}"


def print_embedding_price(tokens: int, tariff: Tariff) -> None:
    """Print the number and price of the embedded tokens, unless it is 0."""
    if tokens:
        print(f"Used: {format_token_price(tokens, tariff)}")


def print_ingestion(result: IngestionReport, plan: IndexingPlan | None) -> None:
    """Print the result or the plan of an ingestion, and the proposals that were refused or skipped."""
    for failure in result.failed:
        print(f"refused   {to_printable_line(failure)}")
    documents, passages = format_count(result.documents, "document"), format_count(result.chunks, "passage")
    print(f"{format_count(result.proposals, 'proposal')}: {documents}, {passages}")
    counts = {name: getattr(result, name) for name in ("embedded", "unchanged", "removed", "cleared")}
    if plan:
        print_indexing_plan(plan)
    else:
        print(", ".join(f"{count} {name}" for name, count in counts.items()))
    if result.skipped:
        listed = ", ".join(result.skipped[:MAX_LISTED_PROPOSALS])
        print(f"{len(result.skipped)} without a stage: {to_printable_line(listed)}")
