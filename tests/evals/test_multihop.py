"""Questions that need two documents: the collection that is made for them, and the shares that are told."""

import gzip
import json
from pathlib import Path

from evals import multihop
from rag_core.evaluation import beir
from rag_core.evaluation.evaluation_report import EvaluationReport, EvaluationRow
from rag_core.evaluation.model_usage import ModelUsage


def test_the_collections_become_one_in_which_each_question_has_its_two_documents(tmp_path: Path) -> None:
    needed = [question["documents"] for question in beir.read_jsonl_records(multihop.QUESTIONS_FILE)]
    for name in multihop.COLLECTIONS:
        (tmp_path / name).mkdir(parents=True)
        with gzip.open(tmp_path / name / "corpus.jsonl.gz", "wt") as file:
            file.write(json.dumps({"_id": name, "title": "", "text": "A text."}))
    multihop.write_collection(tmp_path, tmp_path / "together")
    collection = beir.load_beir_collection(tmp_path / "together")
    assert {document.id for document in collection.documents} == set(multihop.COLLECTIONS)
    assert [list(judged) for judged in collection.judgements.values()] == needed
    assert all(len(set(documents)) == 2 for documents in needed)


def test_a_question_counts_as_whole_only_with_both_documents() -> None:
    recalls = {"1": 1.0, "2": 0.5, "3": 0.0, "4": 0.5}
    scores = {id: {"recall@10": recall, "ndcg@10": recall} for id, recall in recalls.items()}
    row = EvaluationRow("standard", scores, (1.0,), (1.0,), ModelUsage(), {})
    report = multihop.format_report(EvaluationReport("multihop", 9, 9, (row,)))
    assert report.splitlines()[-1].split(" | ")[1:4] == ["0.25", "0.75", "0.50"]
