"""The `rag` command, as a user types it: real parts, a folder of its own."""

import asyncio
import io
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_core.cli import doctor, main
from rag_core.cli.terminal_layout import join_source_parts
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Scope
from rag_core.core.settings import load_settings
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG
from rag_core.rag import open as open_rag
from rag_core.replies import AnswerReply
from tests.entailment import write_entailment_model
from tests.ingestion.pictures import draw_page, save_pages

NOTES = """# Transmission notes

P0700 means that the transmission control module has stored a fault of its own.
Read the TCM before anything else is replaced.

# Sensors

P0715 is the input speed sensor. P0700 often stands beside P0715 in the same TCM.
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    path = tmp_path_factory.mktemp("documents") / "notes.md"
    path.write_text(NOTES)
    assert main(["index", "--data", str(data), str(path)]) == 0
    return path


@pytest.fixture
def here(notes: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The option that names the folder in which the notes are indexed."""
    capsys.readouterr()
    return ["--data", str(data)]


def test_index_says_what_became_of_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "good.txt").write_text("The valve body is at the bottom of the case.")
    (folder / "recording.mp3").write_bytes(b"ID3\x04")
    (folder / ".hidden.txt").write_text("not for the index")
    assert main(["index", "--data", str(tmp_path / "data"), str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("indexed") and "good.txt: 1 passage," in line for line in lines)
    assert any(line.startswith("skipped") and "recording.mp3: " in line and "pdf" in line for line in lines)
    assert not any("hidden" in line for line in lines)
    assert lines[-1] == "1 indexed, 1 skipped"


def test_a_picture_without_text_is_skipped_in_a_folder_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that cannot be read is refused as before, and so is what was named itself."""
    (folder := tmp_path / "documents").mkdir()
    (folder / "good.txt").write_text("The valve body is at the bottom of the case.")
    icon = folder / "icon.png"
    icon.write_bytes(save_pages([draw_page(size=(40, 40))], "PNG"))
    arguments = ["index", "--data", str(tmp_path / "data")]
    assert main([*arguments, str(folder)]) == 0
    out = capsys.readouterr().out
    assert f"skipped   {icon}: there is no text in it; it has 40 pixels at most on a side" in out
    assert out.endswith("1 indexed, 1 skipped\n")
    assert main([*arguments, str(icon)]) == 1
    (folder / "broken.png").write_bytes(icon.read_bytes()[:60])
    assert main([*arguments, str(folder)]) == 1


def test_a_plan_does_not_say_that_a_file_was_indexed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder := tmp_path / "documents").mkdir()
    (folder / "good.txt").write_text("The valve body is at the bottom of the case.")
    (folder / "empty.txt").write_text("")
    assert main(["index", "--plan", "--data", str(tmp_path / "data"), str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["refused", "add"]
    assert lines[2] == "1 to add, 0 to update, 0 to skip, 0 to delete"


@pytest.mark.parametrize("make_first", [False, True])
def test_a_plan_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], *, make_first: bool) -> None:
    """Neither where there is no data folder yet, nor in an empty one; a reindex without an index makes none either."""
    (note := tmp_path / "note.txt").write_text("The valve body is at the bottom of the case.")
    data = tmp_path / "data"
    if make_first:
        data.mkdir()
    assert main(["index", "--plan", "--data", str(data), str(note)]) == 0
    assert "1 to add, 0 to update, 0 to skip, 0 to delete" in capsys.readouterr().out
    assert main(["reindex", "--plan", "--data", str(data), "--profile", "local"]) == 2
    assert "rag index PATH makes one" in capsys.readouterr().err
    assert data.exists() is make_first
    assert not list(data.rglob("*"))


def test_a_plan_leaves_an_index_as_it_is(tmp_path: Path) -> None:
    """Byte for byte, in every file of the data folder."""
    (note := tmp_path / "note.txt").write_text("The valve body is at the bottom of the case.")
    data = tmp_path / "data"
    assert main(["index", "--data", str(data), str(note)]) == 0
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    note.write_text("The valve body is at the top of the case.")
    assert main(["index", "--plan", "--data", str(data), str(note)]) == 0
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


def test_index_names_the_documents_whose_file_is_no_longer_in_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are kept, since the folder may be read from elsewhere; a file outside of the folder is not missed."""
    (folder := tmp_path / "documents").mkdir()
    for path in (folder / "kept.txt", folder / "gone.txt", tmp_path / "outside.txt"):
        path.write_text(f"The valve body of {path.stem} is at the bottom of the case.")
    here = ["--data", str(tmp_path / "data")]
    assert main(["index", *here, str(folder), str(tmp_path / "outside.txt")]) == 0
    assert "gone " not in capsys.readouterr().out
    (folder / "gone.txt").unlink()
    (tmp_path / "outside.txt").unlink()
    for more in ([], ["--plan"]):
        assert main(["index", *here, *more, str(folder)]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gone ")]
        assert [line.split(": ")[0] for line in lines] == [f"gone      {folder}/gone.txt"]
    assert main(["index", *here, "--json", str(folder)]) == 0
    advice = lines[0].rpartition(": ")[2]
    assert [f"rag delete {one}" for one in json.loads(capsys.readouterr().out)["gone"]] == [advice]
    assert main([*advice.split()[1:], *here]) == 0
    capsys.readouterr()
    assert main(["index", *here, str(folder)]) == 0
    assert "gone " not in capsys.readouterr().out


def test_a_document_of_a_user_refuses_its_file_and_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who signed in has taken the id of the file; the files after it are indexed."""
    (folder := tmp_path / "documents").mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"The valve body of {name} is at the bottom of the case.")
    here = ["--data", str(tmp_path / "data")]
    assert main(["index", *here, str(folder / "a.txt")]) == 0

    async def take_over() -> None:
        async with open_rag(replace(load_settings({}), data_dir=tmp_path / "data")) as rag:
            taken = (await rag.documents()).documents[0].id
            await rag.delete(taken, purge=True)
            await rag.index(Upload(content="A note of Ann.", document_id=taken), scope=Scope("default", "ann"))

    asyncio.run(take_over())
    capsys.readouterr()
    assert main(["index", *here, str(folder)]) == 1
    out = capsys.readouterr().out
    assert f"refused   {folder}/a.txt: a document that belongs to a user" in out
    assert out.endswith("1 refused, 1 indexed\n")


def test_index_prints_what_was_noted_about_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was left out of a file is said by its name, once, also in a plan."""
    (tmp_path / "hiding.txt").write_text("The valve body is at the bottom.\u202e\n")
    (tmp_path / "plain.txt").write_text("The pump is in front of it.")
    paths = [str(tmp_path / name) for name in ("hiding.txt", "plain.txt")]
    for more in ([], ["--plan"]):
        assert main(["index", "--data", str(tmp_path / "data"), *more, *paths]) == 0
        notes = [line for line in capsys.readouterr().out.splitlines() if "hidden text" in line]
        assert notes == [f"note      {tmp_path}/hiding.txt: hidden text was left out: 1 characters"]


def test_a_file_that_was_named_and_cannot_be_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    liar = tmp_path / "liar.pdf"
    liar.write_text("no PDF at all")
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert main(["index", "--data", str(tmp_path / "data"), str(liar), str(picture)]) == 1
    out = capsys.readouterr().out
    assert f"refused   {liar}: " in out
    assert f"refused   {picture}: " in out
    assert out.endswith("2 refused\n")


def test_a_file_may_take_longer_than_a_request_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=partial(next, count(step=3600)), perf_counter=time.perf_counter)
    monkeypatch.setattr("rag_core.core.run.time", clock)
    (tmp_path / "notes.md").write_text(NOTES)
    assert main(["index", "--data", str(tmp_path / "data"), str(tmp_path / "notes.md")]) == 0


def test_the_same_file_again_is_unchanged(notes: Path, here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", *here, str(notes)]) == 0
    assert capsys.readouterr().out.startswith("unchanged")


def test_index_says_that_it_made_no_vectors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("The valve body is at the bottom of the case.")
    assert main(["index", "--data", str(tmp_path / "data"), str(tmp_path / "*.txt")]) == 0
    assert capsys.readouterr().out.count("Degraded: index: ") == 1


def test_a_glob_is_understood_and_one_that_finds_nothing_is_refused(
    notes: Path, here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", *here, f"{notes.parent}/*.md"]) == 0
    assert main(["index", *here, f"{notes.parent}/*.docx"]) == 2
    assert "*.docx: no such file" in capsys.readouterr().err


def test_query_prints_a_ranking_with_its_places(
    notes: Path, here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", *here, "What does P0700 mean?", "--preset", "standard", "--top-k", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("standard: 1 passage")
    assert str(notes) in out
    assert "lines " in out
    assert "P0700 means that the transmission control module" in out


def test_query_as_json_is_what_the_function_replies(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", *here, "P0715", "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["success"]
    assert reply["pipeline"] == "advanced"
    assert "P0715" in reply["documents"][0]["content"]


def test_a_step_that_gave_a_lesser_answer_is_named(
    here: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    assert main(["query", *here, "P0715", "--preset", "standard"]) == 0
    assert "Degraded: embed: " in capsys.readouterr().out


def test_ask_answers_and_shows_which_words_bear_it_out(
    notes: Path, here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """C31: sentences with marks, then each source with its verdict, place and words."""
    assert main(["ask", *here, "What is P0715?", "--preset", "standard"]) == 0
    answer, sources = capsys.readouterr().out.split("\nSources\n")
    assert "P0715 is the input speed sensor. [1]" in answer
    assert "[1] ✓ verified · " in sources
    assert "line 8" in sources
    assert str(notes) in sources
    assert "“P0715 is the input speed sensor." in sources
    assert "Confidence " in sources


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_answer_is_printed_where_the_terminal_does_not_know_its_signs(here: list[str], options: list[str]) -> None:
    """A console or file in the code page of Windows has no "✓": the answer was cut off there by a traceback."""
    command = [sys.executable, "-m", "rag_core.cli", "ask", "What does P0700 mean — “exactly”?", *here, *options]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    printed = subprocess.run(command, capture_output=True, env=environment, check=True).stdout.decode("ascii")
    if options:
        assert json.loads(printed)["question"] == "What does P0700 mean — “exactly”?"
    else:
        assert "\\u2713 verified" in printed


def test_an_address_is_shown_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path has one slash where an address has two; a file below the working folder is named from there."""
    monkeypatch.chdir(tmp_path)
    assert join_source_parts("Manual", "p. 2", "https://a.example//m") == "Manual · p. 2 · https://a.example//m"
    assert join_source_parts("Manual", "", str(tmp_path / "notes" / "m.md")) == "Manual · notes/m.md"


def test_ask_says_so_when_nobody_wrote_it_and_shows_what_comes_nearest(
    here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """S2-42."""
    assert main(["ask", *here, "Who painted the ceiling of the Sistine Chapel?", "--preset", "standard"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("I don't know")
    assert "The nearest passages\n  1. " in out
    assert "Sources" not in out


def test_ask_as_json_is_what_the_function_replies(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["What is P0715?", "--preset", "standard", "--style", "pages", "--json"]
    assert main(["ask", *here, *words]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert (reply["status"], reply["style"]) == ("answered", "pages")
    assert "[Source: Lines 8-8]" in reply["cited_answer"]


def test_ask_looks_only_in_the_documents_named(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["ask", *here, "What is P0715?", "--preset", "standard"]
    assert main([*asked, "--document", "notes.md"]) == 0
    assert "[1] ✓ verified" in capsys.readouterr().out
    assert main([*asked, "--document", "nowhere.pdf"]) == 2
    assert capsys.readouterr().err.startswith("rag: no document")


def test_chat_reads_a_question_after_those_before_and_goes_on_after_a_bad_one(
    here: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = ["What is P0715?", "", "x" * 9000, "And what does it mean?"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(questions)))
    asked: list[tuple[str, list[str]]] = []
    answer = RAG.answer

    async def note(self: RAG, text: str, **fields: Any) -> AnswerReply:
        asked.append((text, [turn.content for turn in fields["history"]]))
        if len(text) > 8000:
            raise InvalidRequest("query", "must have at most 8000 characters")
        return await answer(self, text, **fields)

    monkeypatch.setattr(RAG, "answer", note)
    assert main(["chat", *here, "--preset", "standard"]) == 0
    out, err = capsys.readouterr()
    assert "P0715 is the input speed sensor. [1]" in out
    assert err == "rag: query must have at most 8000 characters\n"
    assert [history for _, history in asked][1:] == [["What is P0715?", "P0715 is the input speed sensor."]] * 2


def test_chat_at_a_terminal_ends_where_somebody_wants_to_leave(
    here: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO("What is P0715?\nQuit\nWhat is P0720?\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["chat", *here, "--preset", "standard"]) == 0
    out = capsys.readouterr().out
    assert "P0715 is the input speed sensor. [1]" in out
    assert out.count("\n> ") == 2
    assert terminal.read() == "What is P0720?\n"


def test_ask_by_a_preset_that_counts_is_refused(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", *here, "How many codes?", "--preset", "facets"]) == 2
    assert "facets counts and does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "listed"), [("ask", False), ("replay", False), ("query", True)])
def test_the_help_lists_the_presets_that_are_taken(
    command: str, listed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    presets = capsys.readouterr().out.partition("standard, rerank")[2]
    assert ("facets" in presets, "classical" in presets) == (listed, True)


@pytest.mark.parametrize("columns", [40, 200])
def test_an_answer_fits_the_terminal_and_keeps_names_of_files_whole(
    columns: int, notes: Path, here: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["ask", *here, "What does P0700 mean?", "--preset", "standard"]) == 0
    answer = capsys.readouterr().out.partition("\nTechniques: ")[0]
    assert str(notes) in answer
    assert all(len(line) <= min(columns, 100) for line in answer.replace(str(notes), "").splitlines())


def test_the_facets_pipeline_counts_what_the_question_means(
    here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", *here, "How many unique DTC codes?", "--preset", "facets"]) == 0
    assert "dtc: 2 distinct values" in capsys.readouterr().out


def test_facets_counts_the_values_of_a_field(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facets", *here, "dtc"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("dtc: 2 distinct values")
    assert "P0700" in out
    assert main(["facets", *here, "colour"]) == 2
    assert "field must be one of " in capsys.readouterr().err
    assert main(["facets", *here, "dct"]) == 2
    assert capsys.readouterr().err.endswith("; did you mean dtc?\n")


def test_graph_shows_what_stands_together(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", *here, "P0700"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("P0700 (dtc) occurs in ")
    assert "P0715" in out
    assert main(["graph", *here, "P0700", "--to", "P0715"]) == 0
    assert "P0700 → P0715" in capsys.readouterr().out
    assert main(["graph", *here, "P9999"]) == 2


def test_graph_says_that_there_is_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(tmp_path / "data")]
    for code in ("P0700", "P0715"):
        (tmp_path / f"{code}.txt").write_text(code)
    assert main(["index", *data, str(tmp_path / "P0700.txt"), str(tmp_path / "P0715.txt")]) == 0
    assert main(["graph", *data, "P0700", "--to", "P0715"]) == 0
    assert "P0700 to P0715: no path within 6 steps" in capsys.readouterr().out
    assert main(["graph", *data, "P0700"]) == 0
    assert capsys.readouterr().out.endswith("No other entity occurs with it.\n")


@pytest.mark.parametrize("name", ["notes.md", "path"])
def test_summary_takes_a_title_or_a_path(
    name: str, notes: Path, here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", *here, str(notes) if name == "path" else name]) == 0
    out = capsys.readouterr().out
    assert "Summary: " in out
    assert "transmission" in out


def test_an_unknown_document_is_refused_with_those_there_are(
    here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", *here, "nowhere.pdf"]) == 2
    refused = capsys.readouterr().err
    assert refused.startswith("rag: no document")
    assert "ransmission" in refused or "notes" in refused


def test_cite_marks_each_sentence(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = "P0715 is the input speed sensor. The moon is made of green cheese."
    assert main(["cite", *here, text]) == 0
    out = capsys.readouterr().out
    assert "✓ verified: P0715 is the input speed sensor." in out
    assert "✗ unsupported: The moon is made of green cheese." in out
    assert "· line 8 ·" in out


def test_cite_says_what_differs(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", *here, "P0716 is the input speed sensor."]) == 0
    out = capsys.readouterr().out
    assert "verified" not in out
    assert "\n     Why: says “P0716”; the passage says “P0715”.\n" in out
    assert "Nearest words: “P0715 is the input speed sensor." in out


def test_cite_reads_standard_input(data: Path, notes: Path) -> None:
    command = [sys.executable, "-m", "rag_core.cli", "cite", "--data", str(data), "-"]
    done = subprocess.run(command, input="P0715 is the input speed sensor.", capture_output=True, text=True, check=True)
    assert "verified" in done.stdout


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of two documents and a question, in BEIR's layout."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "labelled"
    folder.mkdir()
    passages = {"a": "P0700 is a fault of the transmission.", "b": "The moon is a long way off."}
    corpus = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in passages.items()]
    (folder / "corpus.jsonl").write_text("\n".join(corpus))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "What is P0700?"}))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    return folder


def test_eval_run_prints_a_row_for_each_pipeline(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "run", str(labelled), "--queries", "1", "--json"]) == 0
    rows = {row["pipeline"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {"standard", "rerank", "advanced"} <= set(rows)
    assert set(rows["standard"]) >= {"ndcg@10", "recall@10", "mrr", "p50_ms", "p95_ms"}
    assert rows["standard"]["ndcg@10"] == 1


def test_eval_run_of_a_folder_without_questions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "run", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("rag: ")


def test_another_workflow_sees_nothing(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", *here, "--workflow", "other", "P0700"]) == 0
    assert "0 passages" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["query", "x", "--preset", "fast"], ["query", "x", "--top-k", "0"], ["query", " "]])
def test_a_wrong_argument_is_one_line_and_no_traceback(
    wrong: list[str], here: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([wrong[0], *here, *wrong[1:]]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rag: ")
    assert err.count("\n") == 1


def test_a_port_in_use_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    expected = f"rag: --port {port} at 127.0.0.1 cannot be served on (Address already in use): name another"
    assert capsys.readouterr().err.startswith(expected)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (["serve", "--port", "-1"], "a whole number from 0 to 65535"),
        (["serve", "--port", "65536"], "a whole number from 0 to 65535"),
        (["facets", "dtc", "--limit", "-5"], "a whole number from 1 to 1000000"),
        (["eval", "run", ".", "--queries", "0"], "a whole number from 1 to 1000000"),
        (["index", ".", "--workflow", "no/id"], "1 to 128 of A-Z a-z 0-9 . _ : -"),
    ],
)
def test_an_option_out_of_its_range_is_told_what_it_may_be(
    command: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(command)
    assert f"must be {wanted}" in capsys.readouterr().err


def test_doctor_names_the_parts_in_use(here: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *here]) == 0
    out = capsys.readouterr().out
    assert "1 documents" in out
    assert "✓ embedder" in out
    assert "✓ reranker" in out
    assert out.endswith("Nothing required is broken.\n")


def test_doctor_says_what_is_missing_and_why(
    here: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    assert main(["doctor", *here]) == 0  # vectors are kept that nothing can be compared with: words still find
    out = capsys.readouterr().out
    assert "– embedder" in out
    assert "RAG_MODELS_DIR names has no embedder/model.onnx" in out
    assert "RAG_MODELS_DIR names has no reranker/model.onnx" in out


def test_doctor_tries_the_entailment_model(
    here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_entailment_model(tmp_path / "entailment") / "model.onnx"
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path))
    assert main(["doctor", *here]) == 0
    assert "✓ judge                     entailment model counting-nli" in capsys.readouterr().out
    model.write_bytes(model.read_bytes()[:-200])
    assert main(["doctor", *here]) == 1
    assert "✗ judge                     the model counting-nli cannot be loaded" in capsys.readouterr().out


def test_doctor_names_a_setting_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_TIMEOUT_S", "soon")
    assert main(["doctor"]) == 1
    assert "✗ settings" in capsys.readouterr().out


def test_doctor_names_every_import_that_fails() -> None:
    failures = list(doctor.check_imports(["json", "no_such_module", "no_such_package.part"], required=True))
    assert [(failure.state, failure.name) for failure in failures] == [
        ("broken", "no_such_module"),
        ("broken", "no_such_package.part"),
    ]


@pytest.mark.parametrize(
    "command", ["serve", "setup", "index", "query", "ask", "facets", "graph", "summary", "cite", "eval", "doctor"]
)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert "usage: rag" in capsys.readouterr().out


HOSTED = {
    "AZURE_SEARCH_ENDPOINT": "https://contoso.search.windows.net",
    "AZURE_SEARCH_API_KEY": "s3cret",
    "AZURE_OPENAI_ENDPOINT": "https://contoso.openai.azure.com",
    "AZURE_OPENAI_API_KEY": "s3cret",
}


def test_doctor_says_what_is_used_on_azure_without_asking_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """C40: with sockets to anything but this machine refused, a question to a service would fail."""
    for name, value in HOSTED.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor", "--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Azure AI Search: https://contoso.search.windows.net, index rag-chunks; with the key in" in out
    for deployment in ("gpt-5.4-mini", "text-embedding-3-small"):
        assert f"Azure OpenAI: https://contoso.openai.azure.com, deployment {deployment}, with the key in" in out
    assert out.count("not checked (use rag doctor --live)") == 3
    assert "s3cret" not in out


def test_doctor_finds_nothing_broken_in_what_is_deployed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """C40: with requirements.txt alone the embedded store's libraries are missing, and on Azure nothing wants them."""
    monkeypatch.setattr(doctor, "OFFLINE_MODULES", ("no_such_engine",))
    for name, value in HOSTED.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor", "--data", str(tmp_path)]) == 0
    assert "– no_such_engine" in capsys.readouterr().out


def test_doctor_live_asks_and_says_who_does_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_SEARCH_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", "s3cret")
    assert main(["doctor", "--live", "--data", str(tmp_path)]) == 1
    assert "✗ store" in capsys.readouterr().out


def test_doctor_names_what_half_a_configuration_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """C40: what is missing, and which setting wants it."""
    monkeypatch.setenv("RAG_LLM_PROVIDER", "azure")
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", "s3cret")
    assert main(["doctor", "--data", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "RAG_LLM_PROVIDER is azure, which requires AZURE_OPENAI_ENDPOINT: it is not set" in out
    assert "– no effect" in out
    assert "AZURE_SEARCH_API_KEY has no effect: AZURE_SEARCH_ENDPOINT is not set" in out


def test_setup_makes_the_folder_of_the_embedded_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "index"
    assert main(["setup", "--data", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder} is ready: 0 documents, 0 chunks\n"
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("module", "command", "named"),
    [
        ("rich.console", "log", "rich is not installed: pip install 'azure-rag[local]'"),
        ("pytrec_eval", "eval compare . standard pages", "pytrec_eval is not installed: pip install 'azure-rag[eval]'"),
    ],
)
def test_a_library_that_is_not_installed_is_named(here: list[str], module: str, command: str, named: str) -> None:
    """With what brings it: the deployed app's requirements have no rich, and `make install-demo` measures nothing."""
    call = f"from rag_core.cli import main; sys.exit(main({[*command.split(), *(here if command == 'log' else ())]}))"
    without = f"import sys; sys.modules['{module}'] = None; {call}"
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"rag: {named}\n"
