import math
import shutil
from pathlib import Path

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.evaluation import pipeline_evaluation
from rag_core.evaluation.evaluation_report import EvaluationReport

TINY = Path(__file__).parents[1] / "data" / "beir_tiny"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "evals.sqlite3"


@pytest.fixture(scope="module")
def report(cache: Path) -> EvaluationReport:
    return pipeline_evaluation.evaluate_pipelines(TINY, cache_file=cache)


def test_every_leg_and_pipeline_has_a_row_in_the_promised_fields(report: EvaluationReport) -> None:
    rows = report.to_json()["rows"]
    assert [row["pipeline"] for row in rows] == ["words", "meaning", "hybrid", "standard", "rerank", "advanced"]
    assert all(
        list(row) == ["pipeline", "ndcg@10", "recall@10", "mrr", "p50_ms", "p95_ms", "cpu_ms", "n"] for row in rows
    )
    assert all(row["n"] == 3 for row in rows)


def test_the_words_row_is_the_one_worked_out_by_hand(report: EvaluationReport) -> None:
    """S1-13: the code is found first; `lamp` second, for another says it thrice; no word of the third is there."""
    words = report.to_json()["rows"][0]
    assert words["ndcg@10"] == pytest.approx((1 + 1 / math.log2(3) + 0) / 3, abs=1e-4)
    assert words["mrr"] == pytest.approx((1 + 1 / 2 + 0) / 3, abs=1e-4)
    assert words["recall@10"] == pytest.approx(2 / 3, abs=1e-4)


def test_meaning_finds_what_no_word_names_and_hybrid_has_both(report: EvaluationReport) -> None:
    """S1-13: vectors find synonyms, words find codes."""
    by_name = {row.pipeline: row.scores for row in report.rows}
    assert by_name["words"]["meaning"]["mrr"] == 0
    assert by_name["meaning"]["meaning"]["mrr"] == 1
    assert by_name["hybrid"]["meaning"]["mrr"] == by_name["hybrid"]["code"]["mrr"] == 1


def test_the_table_compares_hybrid_with_its_better_leg_and_pipelines_with_hybrid(
    report: EvaluationReport,
) -> None:
    assert [row.compared_to for row in report.rows] == ["", "", "meaning", "hybrid", "hybrid", "hybrid"]
    table = report.format_table().splitlines()
    assert table[0] == "beir_tiny: 10 documents, 10 chunks, 3 queries"
    assert len({line.count("|") for line in table[2:]}) == 1


def test_a_second_run_gives_the_same_scores(report: EvaluationReport, cache: Path) -> None:
    steps: set[str] = set()
    again = pipeline_evaluation.evaluate_pipelines(
        TINY, pipelines=["rerank"], cache_file=cache, progress=lambda step, done, of: steps.add(step)
    )
    assert [row.scores for row in again.rows] == [row.scores for row in report.rows if row.pipeline in steps]
    assert steps == {"index", "words", "meaning", "hybrid", "rerank"}


def test_documents_may_have_any_id_and_may_be_empty(tmp_path: Path, cache: Path) -> None:
    folder = shutil.copytree(TINY, tmp_path / "set")
    with (folder / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "empty", "text": " "}\n{"_id": "https://any/ id?", "text": "A violin."}\n')
    with (folder / "qrels.tsv").open("a") as qrels:
        qrels.write("unanswerable\thttps://any/ id?\t1\n")
    report = pipeline_evaluation.evaluate_pipelines(folder, pipelines=[], cache_file=cache)
    assert (report.document_count, report.chunk_count) == (12, 11)
    assert report.rows[-1].scores["unanswerable"]["recall@10"] == 1


def test_an_unknown_pipeline_is_refused_before_anything_is_indexed(cache: Path) -> None:
    with pytest.raises(InvalidRequest, match="must be one of"):
        pipeline_evaluation.evaluate_pipelines(TINY, pipelines=["fastest"], cache_file=cache, progress=pytest.fail)
