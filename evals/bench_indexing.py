"""What indexing a page of a PDF costs with the local embedder: CPU by stage, each stage by itself and the whole.

python -m evals.bench_indexing FOLDER [--documents NAME,NAME] [--json FILE]

FOLDER has PDFs below it. The whole is one upload after another through `index_document`, its children counted; the
stages call what it calls, once each, on one thread. The models are loaded before.
"""

import argparse
import asyncio
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals import record
from evals.answers import SCOPE
from rag_core.composition import assembly
from rag_core.core.contextual_vectors import build_chunk_text, embed_passages
from rag_core.core.kit import Kit
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import DEFAULT_CHUNKING, DEFAULT_UPLOAD_LIMITS, EVALUATION_TIMEOUT_S
from rag_core.ingestion.extract import extract_as_kind
from rag_core.ingestion.indexing import index_document, prepare_document
from rag_core.ingestion.upload import Upload, upload_from_file

WHOLE = "the whole, with its child process"


@dataclass(frozen=True, slots=True)
class DocumentCost:
    """The CPU seconds of a document by stage, and its pages."""

    pages: int
    cpu_s: dict[str, float]


def read_cpu_s() -> float:
    """Return the CPU seconds of this process and of the children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


async def measure_document(upload: Upload, kit: Kit) -> DocumentCost:
    """Return what one PDF costs; it is indexed in the kit."""
    options: dict[str, Any] = {"chunking": DEFAULT_CHUNKING, "limits": DEFAULT_UPLOAD_LIMITS}
    cpu_s: dict[str, float] = {}

    began = read_cpu_s()
    result = await index_document(upload, SCOPE, kit, Run(EVALUATION_TIMEOUT_S), **options)
    cpu_s[WHOLE] = read_cpu_s() - began
    began = read_cpu_s()
    extract_as_kind("pdf", upload.data or b"")
    cpu_s["reading the PDF, in this process"] = read_cpu_s() - began
    began = read_cpu_s()
    _, chunks = await prepare_document(upload, SCOPE, kit, Run(EVALUATION_TIMEOUT_S), **options)
    cpu_s["reading it in a child, chunks, entities, titles"] = read_cpu_s() - began
    began = read_cpu_s()
    await embed_passages([build_chunk_text(chunk) for chunk in chunks], kit.index.embedder)
    cpu_s["embedding"] = read_cpu_s() - began
    return DocumentCost(result.pages or 0, cpu_s)


async def measure_documents(uploads: Sequence[Upload]) -> list[DocumentCost]:
    """Return what each upload costs in a new index whose models are loaded."""
    kit = assembly.build_in_memory_kit()
    try:
        await kit.index.embed_queries(["warm up"])
        return [await measure_document(upload, kit) for upload in uploads]
    finally:
        await kit.close()


async def measure_uploads(uploads: Sequence[Upload]) -> record.Result:
    """Return the CPU milliseconds a page by stage, over all uploads, and print them as a table."""
    costs = await measure_documents(uploads)
    by_stage = {stage: compute_ms_a_page(costs, stage) for stage in costs[0].cpu_s}
    pages = sum(cost.pages for cost in costs)
    print(markdown_tables.format_table(["stage", "ms CPU a page"], ([k, f"{v:.1f}"] for k, v in by_stage.items())))
    print(f"{len(costs)} documents, {pages} pages. Load {record.read_load()}")
    return {"documents": len(costs), "pages": pages, "ms CPU a page": by_stage}


def compute_ms_a_page(costs: Sequence[DocumentCost], stage: str) -> float:
    """Return the CPU milliseconds of a stage, of all documents, by their pages."""
    return 1000 * sum(cost.cpu_s[stage] for cost in costs) / sum(cost.pages for cost in costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", default="", help="names of files, with commas between them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was found")
    given = parser.parse_args()
    names = [name for name in given.documents.split(",") if name]
    files = [path for path in sorted(given.folder.rglob("*.pdf")) if not names or path.name in names]
    if not files:
        parser.error(f"{given.folder} has no such PDF")

    def measure() -> record.Result:
        return asyncio.run(measure_uploads([upload_from_file(path) for path in files]))

    record.record_result(given.json, "python -m evals.bench_indexing FOLDER", measure)


if __name__ == "__main__":
    main()
