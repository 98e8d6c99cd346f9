"""The container file: there is no engine here, so its steps are checked one by one against what they need."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from rag_core.cli import build_parser, main
from tests.test_package import BUILT_FROM, list_git_files

ROOT = Path(__file__).parents[1]
STEPS = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8")).splitlines()


def list_arguments(instruction: str) -> list[list[str]]:
    """The words of each step of a kind."""
    return [step.split()[1:] for step in STEPS if step.startswith(f"{instruction} ")]


def test_all_that_the_package_is_built_from_is_copied() -> None:
    copied = {name for words in list_arguments("COPY") if not words[0].startswith("--") for name in words[:-1]}
    assert copied >= set(BUILT_FROM) - {"requirements.txt"} | {"rag_core", "functions", "local_emulator", "web"}
    assert all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert copied.isdisjoint(ignored)


def test_it_installs_what_the_package_offers_by_pins_and_hashes() -> None:
    (installing,) = (step for step in STEPS if "pip install" in step)
    assert '".[embedded,mcp]"' in installing
    assert "-c constraints.txt" in installing
    assert "--require-hashes -r requirements-local.txt" in installing


def test_what_it_starts_is_understood_and_wants_a_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other containers reach it: without a key it does not start, and never as an administrator."""
    (entry,), (words,) = (
        [json.loads(step.partition(" ")[2]) for step in STEPS if step.startswith(f"{name} ")]
        for name in ("ENTRYPOINT", "CMD")
    )
    assert entry == ["rag"]
    assert build_parser().parse_args(words).host == "0.0.0.0"
    monkeypatch.delenv("RAG_FUNCTIONS_KEY", raising=False)
    assert main([*words, "--port", "0"]) == 2
    assert "RAG_FUNCTIONS_KEY" in capsys.readouterr().err
    monkeypatch.setenv("RAG_FUNCTIONS_KEY", "k")
    assert main([*words, "--admin"]) == 2


def test_it_runs_as_nobody_in_particular_with_the_data_in_a_volume() -> None:
    assert [words[0] for words in list_arguments("USER")] == ["rag"]
    assert list_arguments("VOLUME") == [["/data"]]
    expected = {"RAG_DATA_DIR=/data", "MALLOC_ARENA_MAX=2", "MALLOC_MMAP_THRESHOLD_=131072"}
    assert any(expected <= set(words) for words in list_arguments("ENV"))


def test_the_files_of_the_image_are_in_the_repository() -> None:
    assert {"Dockerfile", ".dockerignore"} <= list_git_files("--cached", "--others", "--exclude-standard")


def test_its_health_check_is_python(tmp_path: Path) -> None:
    (words,) = (json.loads(step.partition("CMD ")[2]) for step in STEPS if step.startswith("HEALTHCHECK"))
    done = subprocess.run(["python3", *words[1:]], capture_output=True, text=True, check=False)
    assert "URLError" in done.stderr or done.returncode == 0  # nothing answers there, or somebody's server does
