"""Where the data folder is found, and that a command that only reads makes none."""

import json
from pathlib import Path

import pytest

from rag_core.cli import main
from rag_core.cli.data_location import find_data_dir, get_user_data_dir


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's data directory of its own, and no models, so that nothing is slow."""
    monkeypatch.delenv("RAG_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path / "none"))
    return tmp_path


def test_the_nearest_folder_upwards_is_the_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "a" / "b" / "c").mkdir(parents=True)
    (home / ".rag").mkdir()
    (home / "a" / ".rag").mkdir()
    assert find_data_dir(home / "a" / "b" / "c") == home / "a" / ".rag"
    assert find_data_dir(home) == home / ".rag"


def test_without_one_upwards_the_users_own_is_used_where_there_is_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert find_data_dir(home) == home / ".rag"
    assert main(["setup", "--user"]) == 0
    assert get_user_data_dir() == home / "share" / "azure-rag"
    assert find_data_dir(home) == home / "share" / "azure-rag"
    monkeypatch.chdir(home)
    assert main(["documents"]) == 0
    assert not (home / ".rag").exists()


def test_what_is_indexed_in_a_folder_is_found_from_below_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "notes.txt").write_text("P0700 is stored by the TCM.")
    (home / "below").mkdir()
    monkeypatch.chdir(home)
    assert main(["index", "notes.txt"]) == 0
    monkeypatch.chdir(home / "below")
    capsys.readouterr()
    assert main(["documents", "--json"]) == 0
    assert [document["title"] for document in json.loads(capsys.readouterr().out)] == ["notes"]


READING = (
    ["query", "x"],
    ["ask", "x"],
    ["chat"],
    ["documents"],
    ["facets", "source"],
    ["summary", "x"],
    ["delete", "x"],
    ["cite", "x"],
    ["link", "x"],
    ["open", "1"],
    ["mcp"],
)


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_a_command_that_reads_names_the_empty_folder_instead_of_making_it(
    words: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    assert main(words) == 2
    assert f"there is no index in {home / '.rag'}: rag index PATH makes one" in capsys.readouterr().err
    assert not (home / ".rag").exists()
