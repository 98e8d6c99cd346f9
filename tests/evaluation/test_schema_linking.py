"""`rag eval schema`: figures worked by hand on a folder of one small database."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.cli import main
from rag_core.core.errors import Misconfigured
from rag_core.evaluation import schema_linking
from rag_core.evaluation.schema_collection import SchemaCollection, load_schema_collection
from rag_core.schema.model import ForeignKey
from tests.fakes import ScriptedLLM
from tests.schema.heroes import build_schema_kit

HERO = ["id", "name", "eye_colour_id", "height_cm"]
SQL = "SELECT height_cm FROM hero JOIN colour ON eye_colour_id = colour.id WHERE colour = 'Blue'"


def _describe(name: str, **further: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("type", "original_name", "description", "value_description", "unique_count"))
    return {"name": name, **texts, "null_fraction": None, "sample_values": [], "foreign_keys": [], **further}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    eyes = {"foreign_keys": [{"reference_table": "COLOUR", "reference_column": "id"}], "type": "integer"}
    hero = [_describe(name, **(eyes if name == "eye_colour_id" else {})) for name in HERO]
    colour = [_describe("id", sample_values=[1]), _describe("colour", type="text", sample_values=["Blue", "Green"])]
    tables = [
        {"name": name, "primary_key": ["id"], "row_count": 3, "columns": columns}
        for name, columns in (("hero", hero), ("colour", colour))
    ]
    needed = ["hero.height_cm", "hero.eye_colour_id", "colour.id", "Colour.colour"]
    questions = [
        {"text": "How tall are heroes with blue eyes?", "metadata": {"db": "h", "columns": needed, "gold_sql": SQL}},
        {"text": "Name them", "metadata": {"db": "h", "columns": ["hero.name"], "gold_sql": "SELECT name FROM hero"}},
    ]
    (tmp_path / "schemas.json").write_text(json.dumps([{"name": "h", "tables": tables}]))
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)))
    return tmp_path


@pytest.fixture
def collection(folder: Path) -> SchemaCollection:
    return load_schema_collection(folder)


def test_names_are_read_in_the_spelling_of_the_schema(collection: SchemaCollection) -> None:
    assert ("colour", "colour") in collection.questions[0].needed
    assert collection.databases["h"].foreign_keys == (ForeignKey("hero", "eye_colour_id", "colour", "id"),)


async def test_every_way_finds_all_of_a_schema_that_fits_and_the_sql_runs(collection: SchemaCollection) -> None:
    report = await schema_linking.evaluate_schema_linking(collection, build_schema_kit())
    ways = report.to_json()["ways"]
    assert len(ways) == 4
    assert [ways[way][figure] for way in ways for figure in ("columns", "tables", "runs")] == [1.0] * 12
    assert ways["the whole schema"]["tokens"] == 1.0 == ways["`link_schema`"]["joins"]
    assert (report.values.matched, report.values.right, report.values.found) == (1, 1.0, 1.0)
    few, *_, many = report.budgets
    assert (many.column_recall, few.tokens, few.column_recall <= 1) == (1.0, 150, True)


async def test_a_half_is_every_second_question(collection: SchemaCollection) -> None:
    report = await schema_linking.evaluate_schema_linking(collection, build_schema_kit(), half="second")
    assert report.title.endswith(", second half: 1 questions of 1 databases")
    lines = report.format_tables().splitlines()
    assert next(line for line in lines if "the whole schema" in line).split(" | ")[4:6] == ["-", "1.000 ± 0.000"]
    assert lines[-1].startswith("values: - of 0 matches")


async def test_by_model_the_tables_are_chosen_by_the_chat_model_in_a_row_of_its_own(
    collection: SchemaCollection,
) -> None:
    llm = ScriptedLLM(link_schema='{"tables": ["t1"]}')
    kit = replace(build_schema_kit(), llm=llm, has_chat_model=True)
    report = await schema_linking.evaluate_schema_linking(collection, kit, max_questions=1, by_model=True)
    assert list(report.scores)[-1] == "`link_schema` by model"
    assert len(llm.prompts) == 1
    with pytest.raises(Misconfigured, match="needs a chat model"):
        await schema_linking.evaluate_schema_linking(collection, replace(kit, has_chat_model=False), by_model=True)


async def test_past_questions_are_those_of_the_other_half_in_rows_of_their_own(folder: Path) -> None:
    """The other half has a question that is nearly the one that is asked: the last row is without it."""
    again = {"text": "How tall are heroes with blue eyes?", "metadata": {"db": "h", "columns": ["hero.name"]}}
    again["metadata"] |= {"gold_sql": "SELECT name FROM hero"}
    queries = folder / "queries.jsonl"
    first = queries.read_text().splitlines()[0]
    queries.write_text(f"{first}\n{json.dumps(again)}")
    collection = load_schema_collection(folder)
    report = await schema_linking.evaluate_schema_linking(
        collection, build_schema_kit(), half="first", past_questions=True
    )
    assert list(report.scores)[-2:] == [
        "`link_schema` with past questions (1)",
        "with past questions, none from 0.8 alike (0)",
    ]
    with pytest.raises(Misconfigured, match="needs --half"):
        await schema_linking.evaluate_schema_linking(collection, build_schema_kit(), past_questions=True)


def test_the_command_prints_a_row_a_way(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "schema", str(folder), "--queries", "1"]) == 0
    printed = capsys.readouterr().out
    assert "| found by | column recall@10 | @20 | table recall@4 | join recall | SQL runs |" in printed
    assert "\n| `link_schema` | 1.000 ± 0.000 |" in printed


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("schemas.json", None, "schemas.json"),
        ("schemas.json", "[{}]", "'name' is missing"),
        ("queries.jsonl", "", "has no question"),
        ("queries.jsonl", '{"text": "", "metadata": {"db": "h", "columns": ["hero.age"], "gold_sql": ""}}', "hero.age"),
    ],
)
def test_a_folder_in_another_form_is_refused_with_what_is_wrong(
    folder: Path, file: str, content: str | None, message: str
) -> None:
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_text(content)
    with pytest.raises(Misconfigured) as caught:
        load_schema_collection(folder)
    assert message in str(caught.value)
