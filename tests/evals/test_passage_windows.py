"""What reading fewer windows of a passage loses and saves."""

import json
from pathlib import Path

import pytest

from evals import passage_windows

FILLER = "The harvest of barley went well and the mill was closed for repairs of its wheel. " * 12
DOCUMENTS = {"d1": f"{FILLER}Signing keys are rotated every 90 days. {FILLER}", "d2": FILLER}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"_id": id, "title": "", "text": text}) for id, text in DOCUMENTS.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    questions = [json.dumps({"_id": f"q{n}", "text": "how often are the signing keys rotated?"}) for n in (1, 2)]
    (tmp_path / "queries.jsonl").write_text("\n".join(questions), "utf-8")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t1\n", "utf-8")
    return tmp_path


def test_the_orders_by_some_windows_are_compared_with_that_by_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["passage_windows", str(folder), "--questions", "1"])
    passage_windows.main()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()[4:]]
    assert [row[:3] for row in rows] == [
        ["all", "1.000", ""],
        *([n, "1.000", "+0.000 [+0.000, +0.000]"] for n in ("3", "2", "2 where undecided", "1")),
    ]
    assert float(rows[0][3]) > float(rows[-1][3]) > 0
