"""What the files for contributors name is there, and CI checks each Python that the package allows."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.adversarial.shapes import SHAPES

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS = ("rag_core/", "functions/", "tests/", "docs/", "local_emulator/", "evals/", "web/", ".ci/")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_file_and_folder_that_is_named_is_there(path: Path) -> None:
    named = re.findall(r"[\w./-]+", " ".join(re.findall(r"`([^`\n]+)`", path.read_text("utf-8"))))
    assert [name for name in named if name.startswith(FOLDERS) and not (ROOT / name).exists()] == []


def test_as_many_shapes_are_promised_as_are_tried() -> None:
    assert f"({len(SHAPES)} shapes of text)" in (ROOT / "SECURITY.md").read_text("utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_make_command_is_a_target(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", path.read_text("utf-8"), re.M)) <= targets


def test_every_function_and_class_that_is_to_be_edited_is_where_it_is_said_to_be() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    placed = re.findall(r"`(\w+)` (?:of|in) `((?:rag_core|functions|tests)/[\w/]+\.py)`", text)
    assert len(placed) > 5
    for name, path in placed:
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text("utf-8")), f"{path} has no {name}"


def test_ci_runs_the_developers_checks_on_every_python_that_is_allowed() -> None:
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]["check"]
    low, high = re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(int(low), int(high))]
    assert job["steps"][-1] == {"run": ".ci/run"}


def test_what_is_checked_before_a_commit_is_checked_by_the_pinned_ruff() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert [hook["entry"].split()[0] for repository in hooks for hook in repository["hooks"]] == [".venv/bin/ruff"] * 2
    assert any(re.fullmatch(r"ruff==[\d.]+", package) for package in PROJECT["project"]["optional-dependencies"]["dev"])
