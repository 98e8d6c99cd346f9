"""What the cross-encoder's order adds to that of the search, by several rules."""

import json
from pathlib import Path

import pytest

from evals import judged_orders

TEXTS = {
    "d1": "Signing keys are rotated every 90 days.",
    "d2": "Keys, keys and signing: how often we sign.",
    "d3": "Mud.",
}


def test_each_rule_is_compared_with_the_order_of_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "domain" / "keys"
    folder.mkdir(parents=True)
    lines = [json.dumps({"_id": id, "title": "", "text": text}) for id, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    question = "how often are the signing keys rotated?"
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": question}), "utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judged_orders, "SETS", {"domain/keys": {}, "domain/absent": {}})
    monkeypatch.setattr("sys.argv", ["judged_orders", str(tmp_path), "--half", "first"])
    judged_orders.main()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["order", "keys", "mean of sets", "all questions"]
    assert [row[0] for row in rows[2:]] == list(judged_orders.RULES)
    assert all(float(row[2]) >= 0 for row in rows[2:])
