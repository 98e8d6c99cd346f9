"""Column recall: counted by hand on a database of three columns."""

import json
from pathlib import Path

import pytest

from evals import sql_schema

COLUMNS = {
    "heroes.superhero.hair_colour_id": "the colour of a superhero's hair",
    "heroes.superhero.weight_kg": "how heavy a superhero is, in kilograms",
    "shop.invoice.total": "the sum of an invoice",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    columns = [
        {"_id": id, "title": id.partition(".")[2], "text": text, "metadata": {"db": id.partition(".")[0]}}
        for id, text in COLUMNS.items()
    ]
    question = {"_id": "q", "text": "How heavy is he?", "metadata": {"db": "heroes", "tables": ["superhero"]}}
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, columns)))
    (tmp_path / "queries.jsonl").write_text(json.dumps(question))
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq\theroes.superhero.weight_kg\t1\nq\tshop.invoice.total\t1\n"
    )
    return tmp_path


async def test_a_question_is_given_columns_of_its_own_database_only(folder: Path) -> None:
    """S1-53..55: both needed columns are in the corpus, one of them in another database, where nobody may look."""
    columns, questions = sql_schema.load_column_questions(folder)
    rows = await sql_schema.evaluate_column_recall(columns, questions)
    assert rows == {name: {"q": 0.5} for name in rows}
    assert len(rows) == 4


def test_the_table_has_a_row_a_way_and_the_difference_from_the_first(folder: Path) -> None:
    columns, questions = sql_schema.load_column_questions(folder)
    shown = sql_schema.format_recall_table({"one": {"q": 0.5}, "other": {"q": 1.0}}, columns, questions)
    assert "1 questions, 2 needed columns of 3, top 10" in shown
    assert "| one | 0.500 |  |" in shown
    assert "| other | 1.000 | +0.500 [+0.500, +0.500] * |" in shown
