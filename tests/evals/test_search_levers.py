"""What each lever of hybrid search brings alone, and beside the others."""

import json
from pathlib import Path

import pytest

from evals import search_levers
from rag_core.core import index
from rag_core.core.rankings import sort_by_code_matches
from rag_core.stores.embedded import lexical_index

TEXTS = {
    "d1": "P0301: a cylinder misfires.",
    "d2": "What the code means: what a fault code of the engine means, and what it does not mean.",
    "d3": "Mud.",
}


def test_each_lever_is_compared_alone_and_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "domain" / "codes"
    folder.mkdir(parents=True)
    lines = [json.dumps({"_id": id, "title": "", "text": text}) for id, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    question = "what does the fault code P0301 mean for the engine?"
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": question}), "utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(search_levers, "SETS", {"domain/codes": {}, "domain/absent": {}})
    monkeypatch.setattr("sys.argv", ["search_levers", str(tmp_path), "--half", "first"])
    search_levers.main()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["lever", "codes", "all questions"]
    gains = {name: float(of.split()[0]) for name, of, _ in rows[2:]}
    assert len(gains) == 2 * len(search_levers.LEVERS) + 1
    assert gains["codes first: alone"] > 0.3
    assert gains["together"] > 0.3
    assert gains["codes first: beside the others"] >= 0
    assert gains["titles at 0.7, not 1: alone"] == 0


def test_a_lever_is_off_within_its_block_and_on_after_it() -> None:
    weight = lexical_index.FIELD_WEIGHTS["title"]
    with search_levers.switch_off(search_levers.LEVERS):
        assert lexical_index.FIELD_WEIGHTS["title"] == 1.0
        assert vars(index)["sort_by_code_matches"] is not sort_by_code_matches
    assert weight == lexical_index.FIELD_WEIGHTS["title"]
    assert vars(index)["sort_by_code_matches"] is sort_by_code_matches
