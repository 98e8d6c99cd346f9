"""What the pages say is what the code does."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from rag_core.cli import parser
from rag_core.core import settings
from rag_core.core.errors import Misconfigured
from tests import requirements

ROOT = Path(__file__).parents[1]
SETTINGS = re.findall(r"^\| `(\w+)` \| ?(?:`(.*?)`)? \| (.*?) \|", (ROOT / "docs" / "settings.md").read_text(), re.M)
README = (ROOT / "README.md").read_text()


def test_every_setting_that_is_read_has_its_row() -> None:
    read = set(re.findall(r'"([A-Z]+_[A-Z_]+)"', (ROOT / "rag_core" / "core" / "settings.py").read_text()))
    assert {name for name, _, _ in SETTINGS} == read


@pytest.mark.parametrize(("name", "default"), [(name, default) for name, default, _ in SETTINGS if default])
def test_a_default_of_the_page_is_the_default(name: str, default: str) -> None:
    assert settings.load({name: default}) == settings.load({})


@pytest.mark.parametrize("name", ["RAG_DATA_DIR", "RAG_MODELS_DIR"])
def test_an_empty_folder_is_one_that_is_not_set(name: str) -> None:
    assert settings.load({name: ""}) == settings.load({})


@pytest.mark.parametrize(("name", "span"), [(name, span) for name, _, span in SETTINGS if re.match(r"\d+ to", span)])
def test_a_range_of_the_page_is_the_range(name: str, span: str) -> None:
    low, high = (int(number) for number in span.split(" to "))
    settings.load({name: str(low)})
    settings.load({name: str(high)})
    for outside in (low - 1, high + 1, "many"):
        with pytest.raises(Misconfigured, match=name):
            settings.load({name: str(outside)})


def test_the_page_of_requirements_is_current() -> None:
    page = requirements.PAGE.read_text("utf-8")
    assert page == requirements.current(page), "run `make requirements`"


def test_a_range_of_ids_names_each_of_them() -> None:
    assert list(requirements.identities("S1-09..11 and C12: both")) == ["S1-09", "S1-10", "S1-11", "C12"]


def test_every_make_command_of_the_readme_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"\bmake ([a-z-]+)", README)) <= targets


@pytest.mark.parametrize("line", re.findall(r"^\.venv/bin/rag (.+)$", README, re.M))
def test_every_rag_command_of_the_readme_is_understood(line: str) -> None:
    assert parser().parse_args(shlex.split(line, comments=True)).command


def test_make_alone_lists_every_target_with_a_line() -> None:
    listed = subprocess.run(
        ["make", "-C", ROOT, "--no-print-directory"], capture_output=True, text=True, check=True
    ).stdout
    for target in ("install", "demo", "demo-azure", "test", "check", "serve", "bench", "soak", "clean"):
        assert re.search(rf"^  make {target} +\S", listed, re.M)


def test_ci_runs_what_a_developer_runs() -> None:
    assert re.search(r"^exec make check\b", (ROOT / ".ci" / "run").read_text(), re.M)
