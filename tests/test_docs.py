"""What the pages say is what the code does."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from functions.routes import ROUTES
from rag_core.cli import build_parser
from rag_core.core import settings
from rag_core.core.errors import Misconfigured
from tests import docs_blocks, requirements
from tests.docs_blocks.every import BLOCKS

ROOT = Path(__file__).parents[1]
SETTINGS = re.findall(
    r"^\| `(\w+)` \| ?(?:`(.*?)`)? \| (.*?) \|", (ROOT / "docs" / "reference" / "settings.md").read_text(), re.M
)
README = (ROOT / "README.md").read_text()
GUIDE = "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "guide").glob("*.md")))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MOST_WORDS = 29_500  # two hours of reading, at 240 words a minute
SOURCES = [
    path
    for folder in ("rag_core", "functions", "local_emulator", "evals", "examples", "infra", "tests", "web")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".toml", ".bicep", ".html", ".js"} and "vendor" not in path.parts
]
SOURCES += [ROOT / name for name in ("Makefile", "azure.yaml", "CHANGELOG.md", "function_app.py", "pyproject.toml")]


def test_every_setting_that_is_read_has_its_row() -> None:
    read = set(re.findall(r'"([A-Z]+_[A-Z_]+)"', (ROOT / "rag_core" / "core" / "settings.py").read_text()))
    assert {name for name, _, _ in SETTINGS} == read


@pytest.mark.parametrize(("name", "default"), [(name, default) for name, default, _ in SETTINGS if default])
def test_a_default_of_the_page_is_the_default(name: str, default: str) -> None:
    assert settings.load_settings({name: default}) == settings.load_settings({})


@pytest.mark.parametrize("name", ["RAG_DATA_DIR", "RAG_MODELS_DIR"])
def test_an_empty_folder_is_one_that_is_not_set(name: str) -> None:
    assert settings.load_settings({name: ""}) == settings.load_settings({})


@pytest.mark.parametrize(("name", "span"), [(name, span) for name, _, span in SETTINGS if re.match(r"\d+ to", span)])
def test_a_range_of_the_page_is_the_range(name: str, span: str) -> None:
    low, high = (int(number) for number in span.split(" to "))
    settings.load_settings({name: str(low)})
    settings.load_settings({name: str(high)})
    for outside in (low - 1, high + 1, "many"):
        with pytest.raises(Misconfigured, match=name):
            settings.load_settings({name: str(outside)})


def test_the_page_of_requirements_is_current() -> None:
    page = requirements.PAGE.read_text("utf-8")
    assert page == requirements.current(page), "run `make requirements`"


def test_the_page_of_requirements_lists_all_300() -> None:
    ids = re.findall(r"^\| (S\d)-\d+ \|", requirements.PAGE.read_text("utf-8"), re.M)
    assert {prefix: ids.count(prefix) for prefix in ids} == {"S0": 100, "S1": 65, "S2": 62, "S3": 21, "S4": 52}


def test_every_generated_block_is_current() -> None:
    for path, text in docs_blocks.fill_pages(BLOCKS).items():
        assert path.read_text("utf-8") == text, f"{path.name}: run `make docs`"


def test_a_block_is_written_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = "before\n<!-- make docs, x: begin -->\n{}\n<!-- make docs, x: end -->\nafter\n"
    (tmp_path / "p.md").write_text(page.format("old"), "utf-8")
    filled = docs_blocks.fill_pages({"x": ("p.md", lambda: "new\n")}, folder=tmp_path)
    assert filled == {tmp_path / "p.md": page.format("new")}


def test_every_mark_on_a_page_has_its_generator() -> None:
    marks = {name for path in PAGES for name in re.findall(r"<!-- make docs, (.+?): begin -->", path.read_text())}
    assert marks == set(BLOCKS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_of_a_page_resolves(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", without_code(path.read_text("utf-8")))
    assert [link for link in links if not resolves(path, link)] == []


def resolves(page: Path, link: str) -> bool:
    """Return whether the link's file exists, and has the heading that its anchor names."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    return target.exists() and (not anchor or anchor in anchors(target.read_text("utf-8")))


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def without_code(text: str) -> str:
    """Return the text without code blocks and code in backticks."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def test_every_page_that_a_file_or_page_names_exists() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), page)
        for path in [*SOURCES, *PAGES]
        for page in re.findall(r"(?<![\w/])docs/[\w/-]+\.md\b", path.read_text("utf-8"))
    }
    assert [(path, page) for path, page in sorted(named) if not (ROOT / page).exists()] == []


def test_the_checklist_of_a_first_deployment_names_what_there_is() -> None:
    """Its routes are mounted, its commands known, its variables given by azd or defined on the page."""
    page = (ROOT / "docs" / "first-deployment.md").read_text("utf-8")
    assert set(re.findall(r"\$U/(api/[\w/]+)", page)) <= {route.path for route in ROUTES}
    for command in re.findall(r"bin/rag ([^`]+)`", page):
        build_parser().parse_args(shlex.split(command))
    outputs = set(re.findall(r"^output (\w+)", (ROOT / "infra" / "main.bicep").read_text("utf-8"), re.M))
    defined = set(re.findall(r"^(\w)=", page, re.M))
    assert set(re.findall(r"\$(\w+)", page)) <= outputs | defined
    rows = [line for line in page.splitlines() if re.match(r"\| \d+ ", line)]
    assert [line.count(" | ") for line in rows] == [3] * len(rows)


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    reached, waiting = {index}, [index]
    while waiting:
        page = waiting.pop()
        links = re.findall(r"\]\((?!https?:)([^)#\s]+\.md)", page.read_text("utf-8"))
        fresh = {(page.parent / link).resolve() for link in links} - reached
        reached |= fresh
        waiting += [path for path in fresh if path.exists()]
    pages = {path for folder in ("guide", "reference") for path in (ROOT / "docs" / folder).glob("*.md")}
    assert pages - reached == set()


def test_guide_and_reference_can_be_read_in_an_afternoon() -> None:
    assert not (ROOT / "docs" / "old").exists()
    pages = [path for folder in ("guide", "reference") for path in (ROOT / "docs" / folder).glob("*.md")]
    words = {path.name: len(path.read_text("utf-8").split()) for path in pages if path != requirements.PAGE}
    assert sum(words.values()) < MOST_WORDS, sorted(words.items(), key=lambda item: -item[1])


def test_a_range_of_ids_names_each_of_them() -> None:
    assert list(requirements.identities("S1-09..11 and C12: both")) == ["S1-09", "S1-10", "S1-11", "C12"]


def test_every_make_command_of_readme_and_guide_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = re.findall(r"\bmake ([a-z-]+)", README) + re.findall(r"(?:^|`)make ([a-z-]+)", GUIDE, re.M)
    assert set(named) <= targets


@pytest.mark.parametrize("line", re.findall(r"^\.venv/bin/rag (.+)$", f"{README}\n{GUIDE}", re.M))
def test_every_rag_command_of_readme_and_guide_is_understood(line: str) -> None:
    assert build_parser().parse_args(shlex.split(line, comments=True)).command


def test_make_alone_lists_every_target_with_a_line() -> None:
    listed = subprocess.run(
        ["make", "-C", ROOT, "--no-print-directory"], capture_output=True, text=True, check=True
    ).stdout
    for target in ("install", "demo", "demo-azure", "test", "check", "serve", "bench", "soak", "clean"):
        assert re.search(rf"^  make {target} +\S", listed, re.M)


def test_ci_runs_what_a_developer_runs() -> None:
    assert re.search(r"^exec make check\b", (ROOT / ".ci" / "run").read_text(), re.M)
