"""What commands print: JSON where it is asked for, sentences as they are checked, what an interruption has kept."""

import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from rag_core.cli import main
from rag_core.cli.answer_stream import AnswerStream
from rag_core.core.model import Answer, Citation, Claim, Confidence
from rag_core.stores.embedded import records
from tests.cli.test_cli import NOTES
from tests.ingestion.office_files import make_zip
from tests.ingestion.pdf_files import lines, pdf


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def notes(data: Path) -> Path:
    (data / "notes.md").write_text(NOTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_MODELS_DIR", str(data / "none"))
        assert main(["index", "--data", str(data / "index"), str(data / "notes.md")]) == 0
    return data / "notes.md"


@pytest.fixture
def here(notes: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options that name the folder in which the notes are indexed, without models."""
    monkeypatch.setenv("RAG_MODELS_DIR", str(data / "none"))
    capsys.readouterr()
    return ["--data", str(data / "index")]


def read_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(words) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["setup"], "done"),
        (["ask", "What does P0700 mean?"], "answer"),
        (["query", "P0700"], "documents"),
        (["facets", "source"], "buckets"),
        (["graph", "P0700"], "nodes"),
        (["summary", "notes.md"], "text"),
        (["cite", "P0700 means that the TCM has stored a fault."], "claims"),
        (["check"], "damages"),
        (["open", "notes.md"], "address"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_json_is_one_object(words: list[str], key: str, here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert key in read_json([*words, *here, "--json"], capsys)


@pytest.mark.parametrize("words", [["documents"], ["replay"], ["models"], ["log"]], ids=lambda words: words[0])
def test_json_of_a_list_is_one_array(words: list[str], here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(read_json([*words, *here, "--json"], capsys), list)


def test_json_of_indexing_has_each_file_and_nothing_else(
    here: list[str], notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    indexed = read_json(["index", *here, "--json", str(notes)], capsys)
    assert [(one["path"], one["status"]) for one in indexed["files"]] == [(str(notes), "unchanged")]
    assert read_json(["index", *here, "--json", "--plan", str(notes)], capsys)["plan"]["documents"]


def test_json_of_deleting_says_what_was_done(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    deleted = read_json(["delete", "notes.md", *here, "--json"], capsys)
    restored = read_json(["restore", deleted["document_id"], *here, "--json"], capsys)
    assert (deleted["done"], restored["done"]) == ("deleted", "restored")


def test_of_many_deleted_documents_the_last_twenty_are_shown_and_the_others_counted(
    here: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the times of deletion are set by hand; one name fits all, and `rag restore` shows some ids of those too."""
    there = ["--workflow", "attic", *here]
    for n in range(23):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}" / "old.txt").write_text(f"Valve {n} is closed.")
    assert read_json(["index", str(tmp_path), *there, "--json"], capsys)["files"]
    deletions = iter(range(23))
    monkeypatch.setattr(records, "move_version_to_deleted", at_minute(records.move_version_to_deleted, deletions))
    ids = [document["id"] for document in read_json(["documents", *there, "--json"], capsys)]
    for id in ids:
        assert main(["delete", id, *there]) == 0
    capsys.readouterr()
    assert main(["documents", "--deleted", *there]) == 0
    *lines, more = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ids[:2:-1]
    assert more == "… and 3 that were deleted before; --json lists all."
    assert len(read_json(["documents", "--deleted", *there, "--json"], capsys)) == 23
    assert main(["restore", "old.txt", *there]) == 2
    assert capsys.readouterr().err.endswith(f"{ids[3]} and 3 more\n")


def at_minute(move: Callable[..., None], minutes: Iterator[int]) -> Callable[..., None]:
    return lambda *args: move(*args[:3], f"2026-11-29T00:{next(minutes):02}:00+00:00")


def test_json_of_a_conversation_is_a_line_for_each_answer(
    here: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("What does P0700 mean?\nWhat is P0715?\n"))
    assert main(["chat", *here, "--json"]) == 0
    assert [json.loads(line)["question"] for line in capsys.readouterr().out.splitlines()] == [
        "What does P0700 mean?",
        "What is P0715?",
    ]


def test_the_number_of_a_citation_opens_its_page(
    here: list[str], notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the browser that the system names; the answer is remembered where the index is, for its owner alone."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert main(["ask", "What does P0700 mean?", *here]) == 0
    assert main(["open", "1", *here]) == 0
    assert opened == [notes.as_uri()]
    assert (Path(here[1]) / "last-citations.json").stat().st_mode & 0o077 == 0
    assert main(["open", "99", *here]) == 2
    assert "CITATION must be one of 1" in capsys.readouterr().err


def test_the_second_of_two_files_of_one_long_name_within_a_zip_is_opened_at_its_page(
    here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its label ends in "(2)", by which no browser knows a PDF, and its name had more bytes than a file may have."""
    first, second = pdf(lines("The pump is red.")), pdf(lines("The pump is blue."))
    with zipfile.ZipFile(archive := tmp_path / "twice.zip", "w") as package, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's, of two files of one name
        for data in (first, second):
            package.writestr(f"{'東' * 200}.pdf", data)
    assert main(["index", *here, str(archive)]) == 0
    capsys.readouterr()
    address, _, page = read_json(["open", "twice.zip", "--page", "2", *here, "--json"], capsys)["address"].partition(
        "#"
    )
    assert (page, address.endswith(".pdf")) == ("page=1", True)
    assert Path(unquote(urlsplit(address).path)).read_bytes() == second


def test_a_page_of_a_pdf_within_a_zip_is_opened_in_that_pdf(
    here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The zip was opened, of which a browser shows nothing; a text in it is still opened by the zip."""
    manual = (Path(__file__).parents[2] / "examples" / "tcm-diagnostic-manual.pdf").read_bytes()
    (archive := tmp_path / "all.zip").write_bytes(make_zip({"n.txt": b"The pump is blue.", "docs/m, n.pdf": manual}))
    assert main(["index", *here, str(archive)]) == 0
    capsys.readouterr()
    opened = read_json(["open", "all.zip", "--page", "4", *here, "--json"], capsys)
    address, _, page = opened["address"].partition("#")
    assert (opened["page"], page, unquote(address).endswith("/m, n.pdf")) == (4, "page=3", True)
    assert Path(unquote(urlsplit(address).path)).read_bytes() == manual
    assert read_json(["open", "all.zip", "--page", "1", *here, "--json"], capsys)["address"] == archive.as_uri()


def test_a_page_that_the_document_does_not_have_is_refused_by_name(
    here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was ignored, and the document opened on its first page."""
    manual = tmp_path / "manual.pdf"
    manual.write_bytes((Path(__file__).parents[2] / "examples" / "tcm-diagnostic-manual.pdf").read_bytes())
    assert main(["index", *here, str(manual)]) == 0
    capsys.readouterr()
    pages = read_json(["summary", "manual.pdf", *here, "--json"], capsys)["document"]["pages"]
    opened = read_json(["open", "manual.pdf", "--page", str(pages), *here, "--json"], capsys)
    assert opened["address"] == f"{manual.as_uri()}#page={pages}"
    assert main(["open", "manual.pdf", "--page", "77", "--print", *here]) == 2
    assert (
        f"“Transmission Control Module: Diagnostic Manual” must be from 1 to {pages}, the last page"
        in capsys.readouterr().err
    )
    assert main(["open", "notes.md", "--page", "3", "--print", *here]) == 2
    assert "“Transmission notes”, which has no pages" in capsys.readouterr().err


def test_a_document_whose_file_is_gone_is_opened_from_its_original(
    here: list[str], notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone.txt"
    gone.write_text("The valve body is at the bottom.")
    assert main(["index", *here, str(gone)]) == 0
    gone.unlink()
    capsys.readouterr()
    address = read_json(["open", "gone.txt", *here, "--json"], capsys)["address"]
    assert Path(address.removeprefix("file://")).read_text() == "The valve body is at the bottom."


CITED = Citation("c1", "manual", "Manual", "manual.pdf", "Every 60,000 km.", 0.9)
CLAIMS = (
    Claim("Change it every 60,000 km.", 0, 26, "verified", (CITED,)),
    Claim("It opens at 7 bar.", 27, 45, "verified", (CITED,)),
)


def make_answer(text: str, claims: tuple[Claim, ...]) -> Answer:
    return Answer(text, "answered", "model", claims, Confidence(0.8, {}, ""), ())


def test_a_sentence_is_printed_when_it_is_checked_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    """`rag ask` streams: what the run tells of is on the terminal before the answer is whole."""
    stream = AnswerStream("numbers", None)
    stream.show_event("step", {"step": "search"})
    stream.show_event("claims", list(CLAIMS[:1]))
    assert capsys.readouterr().out == "Change it every 60,000 km. [1]"
    stream.finish(make_answer("Change it every 60,000 km. It opens at 7 bar.", CLAIMS))
    assert capsys.readouterr().out == " It opens at 7 bar. [1]\n"


def test_an_answer_that_became_another_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    stream = AnswerStream("numbers", None)
    stream.show_event("claims", list(CLAIMS[:1]))
    stream.finish(make_answer("I don't know.", ()))
    assert capsys.readouterr().out.endswith("\n\nAfter all sentences were checked:\n\nI don't know.\n")


INTERRUPTED = """\
import asyncio, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background begins without
from rag_core.rag import RAG
index, done = RAG.index, set()
kept = sys.argv.pop(1)
async def interrupted(rag, source, **options):
    if source.filename[0] not in kept:
        while done < set(kept):
            await asyncio.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
    result = await index(rag, source, **options)
    done.add(source.filename[0])
    return result
RAG.index = interrupted
from rag_core.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("a", "Kept: 1 file, 0 pages, 1 passage. The same command does the 2 files left."),
        ("ac", "Kept: 2 files, 0 pages, 2 passages. The same command does the 1 file left."),
    ],
)
def test_ctrl_c_says_what_was_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: str, said: str) -> None:
    """A real signal in the midst of the second file; the first is in the index, and the third where it was quicker."""
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(f"Valve {name} is at the bottom.")
    words = ["index", "--data", str(tmp_path / "data"), *(str(tmp_path / f"{name}.txt") for name in "abc")]
    environment = {**os.environ, "RAG_MODELS_DIR": str(tmp_path)}
    command = [sys.executable, "-c", INTERRUPTED, kept, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert done.returncode == 130
    assert done.stderr == f"Stopped. {said}\n"
    capsys.readouterr()
    assert main(["documents", "--data", str(tmp_path / "data")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(kept)


class Terminal(io.StringIO):
    """Where a person reads along."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_is_being_done_until_the_answer_stands_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a model no sentence streams, and the steps take seconds; where nobody reads along nothing is added."""
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with AnswerStream("numbers", None, stream) as shown:
            for step in ("search", "rerank", "audit"):
                shown.show_event("step", {"step": step, "state": "started"})
            shown.finish(make_answer("It is 40.", ()))
            shown.show_event("step", {"step": "verify", "state": "started"})
    assert "reading passages" in terminal.getvalue()
    assert "checking" not in terminal.getvalue()
    assert "audit" not in terminal.getvalue()
    assert file.getvalue() == ""
    assert capsys.readouterr().out == "It is 40.\n" * 2
