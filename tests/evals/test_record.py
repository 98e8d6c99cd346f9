"""What was found is kept with what it takes to find it again."""

import json
from pathlib import Path

import pytest

from evals import bench_cold_start, bench_http, bench_store, cost, record
from evals.bench_store import STORE_MEASURES, Contestant
from rag_core.evaluation.model_usage import PRICED_MODELS, ModelUsage


def test_a_result_stands_with_its_command_date_machine_load_and_versions(tmp_path: Path) -> None:
    record.record_result(tmp_path / "x.json", "python -m evals.x", lambda: {"a": [{"ms": 1.23456}], "n": 7})
    told = record.read_result("x", tmp_path)
    assert told["command"] == "python -m evals.x"
    assert told["found"] == {"a": [{"ms": 1.2346}], "n": 7}
    assert len(told["load"]) == 2
    assert told["date"].endswith(" UTC")
    assert told["machine"] == record.describe_machine()
    assert {"python", "numpy"} <= set(told["versions"])


def test_nothing_is_kept_when_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []
    record.record_result(None, "python -m evals.x", lambda: {"asked": asked.append("x")})
    assert asked == ["x"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", sorted(record.RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_every_kept_result_says_where_it_is_from(file: Path) -> None:
    told = json.loads(file.read_text("utf-8"))
    assert told["command"].startswith("python -m evals.")
    assert list(told) == ["command", "date", "machine", "load", "versions", "found"]


def test_everything_in_the_tables_of_a_store_is_kept() -> None:
    one = Contestant("one", [], None, 2.0, 10.0, 100.0, [1.0], [2.0], [3.0], [4.0], [1.0], [5.0], [6.0], 1000)
    kept = bench_store.list_figures(one)
    assert list(kept) == [name for name, _, _ in STORE_MEASURES]
    assert (kept["hybrid p50 ms"], kept["2 % filter p50 ms"], kept["chunks/s"]) == (2.0, 3.0, 500.0)


def test_a_question_over_http_is_kept_in_milliseconds() -> None:
    assert bench_http.RequestTimes([0.001, 0.002, 0.003], [0.2, 0.3]).summarize_times()["p50 ms"] == pytest.approx(2)
    assert bench_http.RequestTimes([0.001, 0.002, 0.003], [0.2, 0.3]).summarize_times()["requests/s"] == 6


def test_a_cold_start_keeps_what_it_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        bench_cold_start, "measure_process", lambda code, folder: bench_cold_start.ProcessCost(0.1, 0.4)
    )
    found = bench_cold_start.bench_startup(1, "nowhere")
    assert found["import function_app"] == {"ms CPU": 100, "ms": 400}
    assert "| import function_app | 100 | 1.00 |" in capsys.readouterr().out


def test_the_money_of_a_question_is_the_mean_of_a_thousand() -> None:
    asked = ModelUsage(["rerank"], 1_000_000, 0, 0), ModelUsage(["rerank", "answer"], 0, 0, 0)
    kept = cost.summarize_usage(asked)
    assert (kept["tasks"], kept["calls"], kept["most"]) == (["rerank", "answer"], 1.5, 2)
    assert kept["usd"][PRICED_MODELS[0]] == pytest.approx(1000 * asked[0].estimate_usd(PRICED_MODELS[0]) / 2)
    assert (
        cost.format_cost_table({"find: rerank": kept})
        .splitlines()[2]
        .startswith("| find: rerank | rerank, answer | 500,")
    )
