"""The evaluation of the proposal corpus, on a small one."""

import json
from pathlib import Path

import pytest

from evals.proposals import (
    ProposalAnswer,
    answer_questions,
    format_answer_counts,
    format_score_table,
    score_known_items,
    withhold_title,
)
from rag_core.evaluation import beir
from rag_core.evaluation.evaluation_cache import EvaluationCache
from tests import local

ROOT = Path(__file__).parents[2]
AAVE = ROOT / "tests" / "data" / "proposals" / "aave.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_bytes(AAVE.read_bytes())
    titles = {r["_id"]: r["metadata"]["title"] for r in beir.read_jsonl_records(AAVE)}
    queries = [json.dumps({"_id": f"q{n}", "text": title}) for n, title in enumerate(titles.values())]
    (tmp_path / "queries.jsonl").write_text("\n".join(queries))
    judged = [f"q{n}\t{id}\t1" for n, id in enumerate(titles)]
    (tmp_path / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    return tmp_path


async def test_known_items_are_found_by_their_titles_and_what_has_no_stage_is_not(folder: Path, tmp_path: Path) -> None:
    """S2-58, S2-59."""
    assert local.folder("embedder")
    cache = EvaluationCache(tmp_path / "cache")
    scores = await score_known_items(folder, cache, every=1)
    cache.close()
    assert [name.rpartition(", ")[2] for name in scores] == ["titles kept"] * 2 + ["titles withheld"] * 2
    assert [one["mrr"] for one in scores["proposals, titles kept"].values()] == [1, 1, 1, 1, 1, 0]
    assert format_score_table(scores).split("\n")[2].startswith("| proposals, titles kept | 0.833")


def test_a_title_is_withheld_from_the_documents_alone() -> None:
    record = next(iter(beir.read_jsonl_records(AAVE)))
    assert record["metadata"]["title"]
    assert withhold_title(record)["metadata"] == {**record["metadata"], "title": ""}


async def test_the_questions_of_the_loop_are_answered_with_the_expected_citation(folder: Path, tmp_path: Path) -> None:
    """S2-58: those of evals/data on the proposals that are here."""
    questions = list(beir.read_jsonl_records(ROOT / "evals" / "data" / "proposals" / "questions.jsonl"))[:1]
    cache = EvaluationCache(tmp_path / "cache")
    answered = await answer_questions(folder, questions, cache)
    cache.close()
    assert format_answer_counts(answered) == "the expected one cited first 1, cited 1, its words said 1, of 1"


def test_a_question_that_cannot_be_answered_is_right_when_nothing_is_cited() -> None:
    """S2-42, S2-58."""
    told = format_answer_counts(
        [ProposalAnswer("?", "", "", "I don't know", ()), ProposalAnswer("?", "", "", "Five.", ("b",))]
    )
    assert told.split("\n")[1] == "unanswerable refused 1 of 2"


def test_a_miss_is_told() -> None:
    missed = ProposalAnswer("?", "a", "four", "It is five.", ("b",))
    assert format_answer_counts([missed]).split("\n") == [
        "the expected one cited first 0, cited 0, its words said 0, of 1",
        "- ? -> 'It is five.' ['b']",
    ]
