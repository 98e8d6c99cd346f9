"""`python -m evals.multihop DATA [--half first|second]`: questions that need two documents, where one names the other.

The questions of evals/data/multihop/questions.jsonl are asked of the collections of COLLECTIONS together, which are
folders of DATA and no part of the repository. Shown are the shares of the questions of which both documents, and of
which one at least, are among the first ten.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_core.evaluation import beir, markdown_tables, metrics
from rag_core.evaluation.evaluation_report import EvaluationReport, EvaluationRow
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.pipeline_evaluation import evaluate_pipelines

QUESTIONS_FILE = Path(__file__).parent / "data" / "multihop" / "questions.jsonl"
COLLECTIONS = ("retrieval/xquad", "domain/psychology", "domain/governance/arbitrum", "retrieval/claude-docs")
PIPELINES = ("standard:semantic=0", "standard", "rerank", "advanced")


def evaluate_questions(data: Path, *, half: str, pipelines: Sequence[str] = PIPELINES) -> EvaluationReport:
    """Index the collections together and score each pipeline on one half of the questions, or on all for ""."""
    with tempfile.TemporaryDirectory() as folder:
        write_collection(data, Path(folder) / "multihop")
        return evaluate_pipelines(Path(folder) / "multihop", half=half, pipelines=pipelines)


def write_collection(data: Path, folder: Path) -> None:
    """Write the documents of all collections, the questions and their two documents as one BEIR folder."""
    folder.mkdir()
    questions = list(beir.read_jsonl_records(QUESTIONS_FILE))
    documents = (
        record for name in COLLECTIONS for record in beir.read_jsonl_records(beir.find_corpus_file(data / name))
    )
    _write_records(folder / "corpus.jsonl", documents)
    _write_records(folder / beir.QUERIES_FILE, questions)
    judgements = [f"{question['_id']}\t{document}\t1" for question in questions for document in question["documents"]]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judgements]), "utf-8")


def _write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")


def format_report(report: EvaluationReport) -> str:
    """Format a row for each search and pipeline; `*` marks a difference of nDCG@10 beyond chance."""
    columns = ["", "both in ten", "one in ten", "nDCG@10", "against", "CPU ms"]
    heading = f"{report.collection}: {report.document_count} documents, {len(report.rows[0].scores)} questions"
    return f"{heading}\n\n{markdown_tables.format_table(columns, map(_format_row, report.rows))}"


def _format_row(row: EvaluationRow) -> list[str]:
    recalls = [scores["recall@10"] for scores in row.scores.values()]
    shares = [sum(recall >= least for recall in recalls) / len(recalls) for least in (1.0, 0.5)]
    mean = metrics.average_measure(row.scores, "ndcg@10")
    difference = f"{row.compared_to} {row.difference}" if row.difference else ""
    return [row.pipeline, *(f"{share:.2f}" for share in (*shares, mean)), difference, f"{row.to_json()['cpu_ms']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=HALVES, default="second")
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    given = parser.parse_args()
    print(format_report(evaluate_questions(given.data, half=given.half, pipelines=given.pipelines)))


if __name__ == "__main__":
    main()
