"""`rag ingest`, and the names under which package.json has it."""

import json
import shlex
from pathlib import Path

import pytest

from rag_core.cli import build_parser, main
from tests.proposal_records import RECORDS, sqlite_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The proposals as JSON, in a place of their own and without models."""
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    path = tmp_path / "dao.json"
    path.write_text(json.dumps(RECORDS))
    return path


def test_ingest_says_what_was_done_and_the_second_time_that_nothing_was(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S2-09, S2-17, S2-56."""
    assert main(["ingest", str(source)]) == 0
    assert capsys.readouterr().out.startswith(
        "2 proposals: 4 documents, 4 passages\n0 embedded, 0 unchanged, 0 removed, 0 cleared\n"
    )
    assert main(["ingest", str(source)]) == 0
    assert "0 embedded, 4 unchanged, 0 removed, 0 cleared" in capsys.readouterr().out


def test_a_plan_says_what_an_ingestion_would_do_and_then_that_nothing_is_left(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S2-17."""
    assert main(["ingest", str(source), "--plan"]) == 0
    assert "4 to add, 0 to update, 0 to skip, 0 to delete" in capsys.readouterr().out
    assert main(["ingest", str(source)]) == 0
    assert main(["ingest", str(source), "--plan"]) == 0
    assert "0 to add, 0 to update, 4 to skip, 0 to delete" in capsys.readouterr().out
    assert main(["ingest", str(source), "--plan", "--clear"]) == 0
    assert "0 to add, 4 to update, 0 to skip, 0 to delete" in capsys.readouterr().out
    assert main(["documents", "--workflow", "arbitrum-proposals"]) == 0


def test_clear_removes_what_is_there_first(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S2-20, S2-57."""
    assert main(["ingest", str(source)]) == 0
    source.write_text(json.dumps(RECORDS[1:]))
    capsys.readouterr()
    assert main(["ingest", str(source), "--clear", "--no-bodies"]) == 0
    assert "0 removed, 4 cleared" in capsys.readouterr().out
    assert main(["documents", "--workflow", "arbitrum-proposals"]) == 0
    listed = capsys.readouterr().out
    assert "misfire" in listed
    assert "gearbox" not in listed


def test_the_source_may_be_a_setting_and_a_database(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2-11, S2-23, S2-56: the recommended workflow needs no argument."""
    assert main(["ingest"]) == 2
    assert "RAG_PROPOSALS_SOURCE" in capsys.readouterr().err
    monkeypatch.setenv("RAG_PROPOSALS_SOURCE", str(sqlite_file(tmp_path / "dao.sqlite")))
    assert main(["ingest", "--workflow", "dao"]) == 0
    assert "2 proposals: 4 documents" in capsys.readouterr().out


def test_a_proposal_that_is_refused_is_named_and_makes_the_command_fail(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text(json.dumps([{"id": "a:b"}, {"id": "bare"}]))
    assert main(["ingest", str(source)]) == 1
    told = capsys.readouterr().out
    assert told.startswith("refused   record 1: id of a proposal must be")
    assert "1 without a stage: bare" in told


def test_what_was_there_stays_when_the_source_cannot_be_read(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S2-20: nothing is cleared before the records are read."""
    assert main(["ingest", str(source)]) == 0
    source.write_text("[")
    assert main(["ingest", str(source), "--clear"]) == 2
    capsys.readouterr()
    assert main(["documents", "--workflow", "arbitrum-proposals"]) == 0
    assert "gearbox" in capsys.readouterr().out


def test_package_json_has_the_documented_names() -> None:
    """S2-55, S2-56, S2-57, C41: and each calls a command that there is, `rag:ingest --clear` too."""
    scripts = json.loads((ROOT / "package.json").read_text())["scripts"]
    assert set(scripts) == {"rag:setup", "rag:ingest"}
    for name, arguments, command in (
        ("rag:setup", [], "setup"),
        ("rag:ingest", [], "ingest"),
        ("rag:ingest", ["--clear"], "ingest"),
    ):
        program, *said = [*shlex.split(scripts[name]), *arguments]
        assert program == ".venv/bin/rag"
        assert said[0] == command
        assert build_parser().parse_args(said).command
