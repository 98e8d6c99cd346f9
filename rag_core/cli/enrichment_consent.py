"""What entities and summaries by a chat model cost is said, and agreed to, before anything is spent."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from rag_core.cli import input_files
from rag_core.cli.indexing_output import format_enrichment_price
from rag_core.composition.index_assembly import build_embedding_tariff
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.ingestion.plan import DryRun
from rag_core.rag import INDEXING_TIMEOUT_S, RAG


async def ask_for_enrichment(arguments: Namespace, rag: RAG, files: Mapping[Path, bool]) -> float:
    """Return how much a chat model may cost for all files: what the command says, else what the terminal agrees to.

    It is 0 where no model is configured for it, or nobody is there to agree.
    """
    model = rag.kit.enrichment
    if model is None:
        return 0.0
    if arguments.enrichment_usd is not None:
        return float(arguments.enrichment_usd)
    if not sys.stdin.isatty() or arguments.json:
        print(
            f"Entities and summaries are found without {model.name}: say --enrichment-usd N to pay for them",
            file=sys.stderr,
        )
        return 0.0
    rehearsal = DryRun(rag.kit, build_embedding_tariff(rag.settings))
    rehearsed, run = RAG(rehearsal.kit, rag.settings), Run(INDEXING_TIMEOUT_S)
    for path, is_named in files.items():
        await input_files.index_file(path, is_named, rehearsed, Scope(arguments.workflow), run)
    estimate = rehearsal.build_plan().enrichment
    if estimate is None or not estimate.calls or estimate.usd is None:
        return 0.0
    print(f"{format_enrichment_price(estimate)}, {model.budget_usd:g} USD a document at most.")
    print("Pay for them? [y/N] ", end="", flush=True)
    return estimate.usd if sys.stdin.readline().strip().casefold() in ("y", "yes") else 0.0
