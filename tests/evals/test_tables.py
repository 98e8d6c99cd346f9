"""The tables of the pages say what the committed results hold."""

import json
from pathlib import Path

import pytest

from evals import record, tables
from evals.page_sections import fill_section


def test_every_page_holds_the_tables_of_the_committed_results() -> None:
    for path, text in tables.fill_pages().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run make pictures"


def test_a_page_changes_with_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = record.read_result("http")
    told["found"]["an empty function"]["requests/s"] = 4321.0
    (tmp_path / "http.json").write_text(json.dumps(told))
    monkeypatch.setattr(tables, "PAGE_TABLES", {"http": tables.PAGE_TABLES["http"]})
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    ((_, page),) = tables.fill_pages().items()
    assert "| an empty function | 4321 | 1.00 |" in page


def test_the_page_has_every_row_of_the_largest_size_with_peers_and_two_of_each_other_case() -> None:
    of = {name: dict.fromkeys((*tables.STORE_ROWS, "chunks/s"), 1.0) for name in ("embedded", "peer")}
    alone = {"embedded": of["embedded"]}
    printed = tables.format_store_tables({"5 chunks": of, "8 chunks": of, "PDFs with spans": of, "9 chunks": alone})
    full, others = printed.split("\n\n")
    assert full.startswith("| 8 chunks | embedded | peer |")
    assert [len(table.splitlines()) - 2 for table in (full, others)] == [len(tables.STORE_ROWS), 6]
    assert "| PDFs with spans, hybrid p50 ms | 1.00 | 1.00 |" in others
    assert "| 9 chunks, hybrid p50 ms | 1.00 |  |" in others
    assert "chunks/s" not in printed


def test_a_stage_is_starred_only_beyond_chance() -> None:
    sure, unsure = {"mean": 0.02, "low": 0.01, "high": 0.03}, {"mean": -0.02, "low": -0.05, "high": 0.01}
    base = {"name": "hybrid", "recall@10": 0.9, "ndcg@10": 0.8}
    others = [name for name in tables.ABLATION_PRESETS if name != "hybrid"]
    rows = [{"name": name, "differences": {"recall@10": sure, "ndcg@10": unsure}} for name in others]
    printed = tables.format_stage_table({"tiny": {"rows": [rows[0], base, *rows[1:]]}})
    assert "| tiny | +0.020 *, -0.020 | 0.900, 0.800 | +0.020 *, -0.020 |" in printed
    assert "| the specification expects | fast, medium recall and precision | medium, high recall |" in printed


def test_a_page_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no section x"):
        fill_section("nothing", "x", "made")
