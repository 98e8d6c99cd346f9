"""`python -m evals.semantic_ranking FOLDER`: the pipeline `advanced` with the search service's own ranker.

The emulated service ranks by the local cross-encoder, with scores spread as those recorded of the service. The table
shows what the service's ranker adds to a question (requests, ranked queries and their price) and what changes in the
order; not how well Microsoft's ranker orders, which nobody here has met.
"""

import argparse
import asyncio
import io
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from local_emulator.azure import SemanticRanker
from local_emulator.search_service import SearchService
from local_emulator.search_service.serving import Application, serve_wsgi
from rag_core.composition import assembly, model_assembly
from rag_core.core.settings import Settings
from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.evaluation_report import EvaluationRow
from rag_core.evaluation.labelled_collection import load_labelled_collection
from rag_core.evaluation.pipeline_evaluation import IndexedCollection, parse_preset, run_on_collection

PRESETS = ("advanced", "advanced:semantic=20")
USD_PER_RANKED_QUERY = 0.001  # plan `standard`, after 1,000 a month
KEY = "key"


class CountedService:
    """The emulated service with its searches counted, and among them those that its ranker orders."""

    def __init__(self, service: Application) -> None:
        self.service = service
        self.searches = self.ranked = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"].endswith("search.post.search"):
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            environ = environ | {"wsgi.input": io.BytesIO(body)}
            self.searches += 1
            self.ranked += json.loads(body).get("queryType") == "semantic"
        return self.service(environ, start_response)


def measure_presets(folder: Path, questions: int) -> list[list[str]]:
    """Return the rows of the table."""
    collection = load_labelled_collection(folder, max_questions=questions)
    service = CountedService(
        SearchService(None, keys={KEY}, reranker=SemanticRanker(model_assembly.build_local_reranker(Settings())))
    )

    async def measure(indexed: IndexedCollection) -> list[list[str]]:
        rows = []
        for spec in PRESETS:
            service.searches = service.ranked = 0
            row = await indexed.evaluate_search(spec, indexed.build_pipeline_search(parse_preset(spec)))
            rows.append(_format_row(row, service.searches, service.ranked))
        return rows

    with serve_wsgi(service) as url, tempfile.TemporaryDirectory() as data:
        settings = Settings(data_dir=Path(data), azure_search_endpoint=url, azure_search_key=KEY, llm_provider="local")
        asyncio.run(assembly.set_up_stores(settings))
        cache = Path(data) / "cache.sqlite3"
        return run_on_collection(
            collection, measure, settings=settings, cache_file=cache, progress=lambda *_: None, hosted=True
        )


def _format_row(row: EvaluationRow, searches: int, ranked: int) -> list[str]:
    count, asked = len(row.scores), len(row.scores) + 1  # and a warm-up question, which is counted and not scored
    measures = metrics.select_measures(row.scores, metrics.REPORTED_MEASURES)
    means = [f"{metrics.average_measure(row.scores, measure):.3f}" for measure in measures]
    price = 1000 * USD_PER_RANKED_QUERY * ranked / asked
    return [row.pipeline, str(count), *means, f"{searches / asked:.1f}", f"{ranked / asked:.1f}", f"{price:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=50)
    args = parser.parse_args()
    columns = ["preset", "questions", *metrics.REPORTED_MEASURES, "searches", "ranked", "USD per 1,000 questions"]
    print(markdown_tables.format_table(columns, measure_presets(args.folder, args.questions)))


if __name__ == "__main__":
    main()
