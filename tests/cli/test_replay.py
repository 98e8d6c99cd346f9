"""`rag replay`, as a user types it, on questions that `rag query` and `rag ask` have kept."""

from pathlib import Path

import pytest

from rag_core.cli import main
from tests.cli.test_cli import NOTES


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The option that names a folder in which notes are indexed; without models, and calls are kept."""
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("RAG_KEEP_RUNS", "1")
    (tmp_path / "notes.md").write_text(NOTES)
    option = ["--data", str(tmp_path / "data")]
    assert main(["index", *option, str(tmp_path / "notes.md")]) == 0
    capsys.readouterr()
    return option


def test_a_kept_question_is_listed_and_replayed_side_by_side(
    here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """S0-85: the two rankings in columns, with how each passage has moved."""
    assert main(["query", *here, "Which module stores P0700?", "--preset", "standard"]) == 0
    assert "Saved: rag replay 1 --preset NAME" in capsys.readouterr().out
    assert main(["ask", *here, "What is P0715?", "--preset", "standard"]) == 0
    capsys.readouterr()
    assert main(["replay", *here]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["id", "2", "1"]
    assert "consult_rag" in listed[2]
    assert "Which module stores P0700?" in listed[2]
    assert main(["replay", *here, "1", "--preset", "standard"]) == 0
    out = capsys.readouterr().out
    assert "saved: standard" in out
    assert "now: standard" in out
    assert "Transmission notes" in out or "notes" in out
    assert "Overlap of the first ten: 100%. No longer found: 0." in out


def test_what_cannot_be_replayed_is_refused_in_a_line(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """S0-15: another workflow's question is as one that is not there."""
    assert main(["query", *here, "Which module stores P0700?", "--preset", "standard"]) == 0
    for wrong in (["7"], ["1", "--workflow", "other"]):
        assert main(["replay", *here, *wrong]) == 2
        assert capsys.readouterr().err == "rag: there is no such saved query in this workflow\n"
    assert main(["replay", *here, "1", "--preset", "facets"]) == 2
    assert "counts and does not rank" in capsys.readouterr().err


def test_where_nothing_is_kept_the_list_says_how_to(
    here: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAG_KEEP_RUNS")
    assert main(["query", *here, "Which module stores P0700?", "--preset", "standard"]) == 0
    assert "Saved" not in capsys.readouterr().out
    assert main(["replay", *here]) == 0
    assert capsys.readouterr().out == "No saved queries. With RAG_KEEP_RUNS=1 queries are saved.\n"
