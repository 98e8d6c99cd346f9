"""What the commands of `rag` refuse: in one line that a person can act on, with --json as the HTTP API says it."""

import gzip
import io
import json
import shlex
import sqlite3
from pathlib import Path

import pytest

from rag_core.cli import build_parser, main

NOTES = "P0700 means that the transmission control module has stored a fault of its own."
REFUSED = 2
# a command, and the words that its refusal must have; {here} has the files below
REFUSALS = {
    "eval run {here}/none": "there is no such folder",
    "eval compare {here}/none standard": "there is no such folder",
    "eval ablate {here}/empty.jsonl": "is a file",
    "eval run {here}/folder": "has no qrels.tsv",
    "eval run {here}/broken": "queries.jsonl: line 2 is no JSON object",
    "eval run {here}/spans": "questions.jsonl: line 1 is no JSON object",
    "eval claims {here}/none": "no such file",
    "eval claims {here}/folder": "is a directory",
    "eval claims {here}/empty.jsonl": "has no claim",
    "eval claims {here}/broken.jsonl": "line 1 is no JSON object",
    "eval claims {here}/binary.jsonl": "is not UTF-8 text",
    "eval claims {here}/broken.jsonl.gz": "no whole gzip file",
    "eval answers {here}/list.jsonl": "line 1 is no JSON object",
    "eval answers {here}/empty.jsonl": "has no answer",
    "eval schema {here}/none": "there is no such folder",
    "eval schema {here}/folder": "schemas.json cannot be read: no such file",
    "index --data {here}/data {here}/none": "no such file or folder",
    "index --data {here}/data {here}/folder": "no file in the folder",
    "index --data {here}/empty.jsonl {here}/notes.txt": "--data must be a folder",
    "index --data {here}/data --database sqlite:///{here}/none": "no such database file",
    "index --data {here}/data --database sqlite:///{here}/notes.txt": "is no SQLite database",
    "index --data {here}/data --database sqlite:///{here}/empty.jsonl": "is an empty file",
    "index --data {here}/data --database sqlite:///{here}/good.db --questions {here}/none": "no such file",
    "index --data {here}/data --database sqlite:///{here}/good.db --questions {here}/broken.jsonl": "line 1 has none",
    "index --data {here}/data --database sqlite:///{here}/good.db --descriptions {here}/none": "no such file",
    "ingest --data {here}/data {here}/none": "no such file",
    "ingest --data {here}/data {here}/folder": "is a folder",
    "ingest --data {here}/data {here}/empty.jsonl": "is empty",
    "ingest --data {here}/data {here}/binary.jsonl": "must be UTF-8 text",
    "ingest --data {here}/data {here}/broken.jsonl": "line 1 is not",
    "backup --data {here}/data {here}/empty.jsonl": "exists",
    "backup --data {here}/data {here}/empty.jsonl/below": "not a directory",
    "backup --data {here}/none {here}/out": "there is no index",
    "restore-backup --data {here}/new {here}/none": "a folder that rag backup made",
    "restore-backup --data {here}/new {here}/empty.jsonl": "a folder that rag backup made",
    "restore-backup --data {here}/new {here}/folder": "a folder that rag backup made",
    "restore --data {here}/data none": "deleted document",
    "models --data {here}/empty.jsonl": "--data must be a folder",
    "models fetch nli-deberta-v3-small --into {here}/empty.jsonl": "--into must be a folder",
    "link --data {here}/none hi": "there is no index",
    "link --data {here}/data hi": "no such database",
    "log --data {here}/none": "there is no index",
    "check --data {here}/none": "there is no index",
    "documents --data {here}/empty.jsonl": "--data must be a folder",
    "open --data {here}/data 7": "last answer",
    "ask --data {here}/data ' '": "query must be a text that is not blank",
}
WITH_JSON = [command for command in REFUSALS if not command.startswith(("eval claims", "eval answers"))]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that are none, and an index of one document."""
    here = tmp_path_factory.mktemp("here")
    for name in ("folder", "broken", "spans"):
        (here / name).mkdir()
    (here / "empty.jsonl").touch()
    (here / "notes.txt").write_text(NOTES)
    (here / "broken.jsonl").write_text('{"question": ')
    (here / "list.jsonl").write_text("[1, 2]")
    (here / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    (here / "broken.jsonl.gz").write_bytes(gzip.compress(b'{"claim": "a"}')[:-9])
    (here / "broken" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    (here / "broken" / "queries.jsonl").write_text('{"_id": "q", "text": "t"}\n{"_id": ')
    (here / "spans" / "questions.jsonl").write_text("no JSON")
    with sqlite3.connect(here / "good.db") as database:
        database.execute("create table shops (id integer primary key, city text)")
    database.close()
    assert main(["index", "--data", str(here / "data"), str(here / "notes.txt")]) == 0
    return here


def refuse(command: str, here: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Return the one line that a command is refused with."""
    capsys.readouterr()
    assert main([*shlex.split(command.format(here=here)), *more]) == REFUSED
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


@pytest.mark.parametrize("command", REFUSALS)
def test_what_is_wrong_with_a_path_is_said_in_words(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refuse(command, here, capsys)
    assert line.startswith("rag: ")
    assert REFUSALS[command].casefold() in line.casefold()
    assert "Error" not in line  # the name of an exception is for us, not for the user
    assert not (here / "none").exists()


@pytest.mark.parametrize("command", WITH_JSON)
def test_with_json_a_refusal_has_the_shape_of_the_http_api(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = json.loads(refuse(command, here, capsys, "--json"))
    assert refused["success"] is False
    assert set(refused["error"]) == {"code", "message", "field", "retryable", "details"}
    assert REFUSALS[command].casefold() in refused["error"]["message"].casefold()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["ask", "--json"], None),
        (["open", "1", "--page", "zero", "--json"], "--page"),
        (["--json", "nothing"], "COMMAND"),
        (["documents", "--json", "--wokflow", "x"], None),
    ],
)
def test_with_json_a_command_that_is_not_understood_says_so_in_json(
    arguments: list[str], field: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (REFUSED, "")
    assert (json.loads(printed.err)["error"]["code"], json.loads(printed.err)["error"]["field"]) == (
        "invalid_request",
        field,
    )


def test_a_chat_with_json_says_on_a_line_what_it_refuses_and_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("What does P0700 mean?\nAnd what is stored?\n"))
    capsys.readouterr()
    assert main(["chat", "--data", str(here / "data"), "--preset", "facets", "--json"]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line)["error"]["code"] for line in printed.err.splitlines()] == ["invalid_request"] * 2
    assert printed.out == ""


def test_help_says_where_a_refusal_stands() -> None:
    assert "with --json it is the error object of the HTTP API" in " ".join(build_parser().format_help().split())
