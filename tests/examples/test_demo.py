"""`make demo`: it shows the functions on any folder, and its check of the pages can fail."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "examples" / "tcm-diagnostic-manual.pdf"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples" / "demo.py")
    assert spec
    assert spec.loader
    module = sys.modules["demo"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder: Path, cwd: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--docs", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_it_shows_every_function_on_a_folder_it_never_saw(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    shutil.copy(MANUAL, folder / "manual.pdf")
    (folder / "notes.txt").write_text("The relay K9 feeds the TCM.\nP0700 was stored after the relay was changed.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = run(folder, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for function in ("index_document", "consult_rag, advanced", "consult_rag, standard", "consult_rag, rerank"):
        assert f"== {function}: " in done.stdout
    for function in (
        "consult_rag, facets",
        "graph_query, neighbors",
        "get_document_summary",
        "extract_citations",
        "ask",
    ):
        assert f"== {function}: " in done.stdout
    assert "refused  picture.png: " in done.stdout
    assert "manual.pdf, p. " in done.stdout
    assert "✗" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["documents"]


def test_the_same_goes_through_the_clients_of_azure(tmp_path: Path) -> None:
    """S1-23, S1-21, C33: by configuration alone, over Azure AI Search, Azure OpenAI and Document Intelligence."""
    folder = tmp_path / "documents"
    folder.mkdir()
    shutil.copy(MANUAL, folder / "manual.pdf")
    shutil.copy(MANUAL.parent / "service-bulletin.docx", folder / "bulletin.docx")
    done = run(folder, tmp_path, "--azure")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "azure_search       http://127.0.0.1:" in done.stdout
    assert "bulletin.docx: 1 passage, extractor docx (Document Intelligence prebuilt-layout)" in done.stdout
    assert "manual.pdf, p. " in done.stdout
    assert "✗" not in done.stdout
    assert "Degraded" not in done.stdout
    assert done.stderr == ""


def test_a_row_of_a_table_is_looked_up_without_the_names_of_its_columns(demo: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code,description\nP0700,Transmission Control System\n")
    check = demo.SourceCheck(tmp_path)
    assert check.mark("code: P0700 description: Transmission Control", "codes.csv", None, [2, 2]) == "✓"
    assert check.mark("code: P0701 description: Transmission Control", "codes.csv", None, [2, 2]) == "✗"


def test_a_folder_with_nothing_to_read_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = run(tmp_path, tmp_path)
    assert done.returncode == 0
    assert "No file could be indexed, so there is nothing to ask about." in done.stdout


def test_words_on_another_page_are_found_out(demo: ModuleType) -> None:
    check = demo.SourceCheck(MANUAL.parent)
    words = "P0700 means that the transmission control module"
    assert check.mark(words, MANUAL.name, 2, [24, 47]) == "✓"
    assert check.mark(words, MANUAL.name, 3, [24, 47]) == "✗"
    assert demo.print_check_result(check) == 1


def test_words_in_other_lines_are_found_out(demo: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n")
    check = demo.SourceCheck(tmp_path)
    assert check.mark("two", "notes.txt", None, [2, 2]) == "✓"
    assert check.mark("two", "notes.txt", None, [3, 3]) == "✗"


def test_a_passage_that_runs_on_to_the_next_page_begins_on_its_own(demo: ModuleType) -> None:
    from pypdf import PdfReader

    second, third = (PdfReader(MANUAL).pages[at].extract_text() for at in (1, 2))
    over = second[-40:] + third[:40]
    check = demo.SourceCheck(MANUAL.parent)
    assert check.mark(over, MANUAL.name, 2, None) == "✓"
    assert check.mark(third[:40], MANUAL.name, 2, None) == "✗"
