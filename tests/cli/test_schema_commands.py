"""`rag index --database` and `rag link`."""

import re
from pathlib import Path

import pytest

from rag_core.cli import main
from tests.schema.heroes import write_heroes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_heroes(tmp_path / "heroes.sqlite")
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def test_a_database_is_indexed_and_a_question_linked_to_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "--database", f"sqlite:///{folder}/heroes.sqlite"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("heroes: 7 tables, 24 columns")
    assert "superhero.email looks like personal data" in shown.err
    assert main(["link", "How many heroes have blue eyes?"]) == 0
    shown = capsys.readouterr()
    assert "  superhero.eye_colour_id = colour.id\n" in shown.out
    assert "  colour.colour = 'Blue'\n" in shown.out
    assert "CREATE TABLE superhero (" in shown.out
    assert re.search(r"^heroes as it was at 20\S+: rag index --database reads it again$", shown.out, re.M)


@pytest.mark.parametrize("further", [["a.md"], ["--plan"]])
def test_a_database_goes_without_files_and_plans(
    folder: Path, further: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "--database", f"sqlite:///{folder}/heroes.sqlite", *further]) == 2
    assert "goes without PATH" in capsys.readouterr().err


def test_something_to_index_must_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index"]) == 2
    assert "must be given, or --database" in capsys.readouterr().err
