"""What a stage is worth on labelled questions: `rag eval compare`, `ablate` and `gate`."""

import json
from pathlib import Path

import pytest

from rag_core.cli import main
from rag_core.core.errors import InvalidRequest
from rag_core.evaluation import ablation, gate
from rag_core.evaluation.model_usage import NO_HYDE_ANSWER

TINY = Path(__file__).parents[1] / "data" / "beir_tiny"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "evals.sqlite3"


@pytest.fixture(scope="module")
def found(cache: Path) -> ablation.Comparison:
    presets = {name: said for name, (said, _) in ablation.ABLATION_PRESETS.items()}
    promised = {name: promise for name, (_, promise) in ablation.ABLATION_PRESETS.items()}
    return ablation.compare_presets(TINY, presets, ablation.ABLATION_BASELINE, expected=promised, cache_file=cache)


def test_each_stage_has_a_row_against_hybrid_with_its_time_and_its_price(found: ablation.Comparison) -> None:
    """S1-61, S1-62, S1-63, S1-64, S1-65: vector only, hybrid, and what expansion, HyDE and reranking add, measured."""
    lines = found.format_table().splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:]] == list(ablation.ABLATION_PRESETS)
    assert len({line.count("|") for line in lines}) == 1
    assert all(promise in line for promise, line in zip(found.expected.values(), lines[2:], strict=True))


def test_quality_stands_beside_the_processor_time_that_it_costs(found: ablation.Comparison) -> None:
    """A busy machine hardly changes it: what reads pairs costs more than what reads none."""
    assert "CPU ms" in found.format_table().splitlines()[0]
    cpu_ms = {row["name"]: row["cpu_ms"] for row in found.to_json()["rows"]}
    assert cpu_ms["+ reranking"] > cpu_ms["hybrid"] > 0


def test_the_rows_search_as_they_are_called(found: ablation.Comparison) -> None:
    """S1-61: no word of the third question is in the corpus, and no vector tells codes apart."""
    recall = {name: row.scores["meaning"]["recall@10"] for name, row in found.rows.items()}
    assert recall["vector only"] == recall["hybrid"] == 1
    usd = {name: row.usd_per_1000["gpt-4o-mini"] or 0 for name, row in found.rows.items()}
    assert usd["+ reranking"] > usd["hybrid"] == 0
    assert usd["full advanced"] > usd["+ expansion"] > 0


def test_a_row_in_which_nothing_is_imagined_says_so(found: ablation.Comparison) -> None:
    """Without a chat model the row of HyDE searches as hybrid does."""
    told = {row["name"]: row["lesser"] for row in found.to_json()["rows"]}
    assert told["+ HyDE"] == told["full advanced"] == {NO_HYDE_ANSWER: 3}
    assert told["+ expansion"] == {}
    assert f"+ HyDE: 3 of 3 questions degraded: {NO_HYDE_ANSWER}" in found.format_report()


def test_the_halves_share_no_question_and_leave_none_out(found: ablation.Comparison) -> None:
    halves = [set(half.rows[ablation.ABLATION_BASELINE].scores) for half in found.split_halves().values()]
    assert not halves[0] & halves[1]
    assert halves[0] | halves[1] == set(found.rows[ablation.ABLATION_BASELINE].scores)


def test_the_numbers_are_those_of_the_table(found: ablation.Comparison) -> None:
    told = json.loads(json.dumps(found.to_json()))
    rows = {row["name"]: row for row in told["rows"]}
    assert (told["set"], told["questions"], told["base"], told["hosted"]) == ("beir_tiny", 3, "hybrid", False)
    assert told["measures"] == ["recall@10", "precision@5", "ndcg@10"]
    assert rows["hybrid"]["differences"] == rows["hybrid"]["lesser"] == {}
    gap = rows["vector only"]["differences"]["ndcg@10"]
    assert gap["mean"] == pytest.approx(rows["vector only"]["ndcg@10"] - rows["hybrid"]["ndcg@10"])
    assert gap["low"] <= gap["mean"] <= gap["high"]
    assert set(rows["+ reranking"]["usd_per_1000"]) == {"gpt-4o-mini", "gpt-4o"}
    assert [half["questions"] for half in told["halves"].values()] == [2, 1]


def test_a_number_that_no_preset_has_is_refused(cache: Path) -> None:
    for said in ("advanced:speed=3", "advanced:rerank=many", "fastest"):
        with pytest.raises(InvalidRequest):
            ablation.compare_presets(TINY, {said: said}, said, cache_file=cache)


def test_compare_prints_each_preset_against_the_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # the cache
    assert main(["eval", "compare", str(TINY), "standard:how=keyword", "standard:semantic=0"]) == 0
    printed = capsys.readouterr().out
    assert "ndcg@10 against standard:how=keyword" in printed
    assert "second half" in printed


def test_the_rankings_of_the_fixed_sets_are_no_worse_than_agreed(cache: Path) -> None:
    """The gate: words, meaning, judging, codes, German and Chinese, each on some 30 questions."""
    assert gate.find_regressions(gate.score_gate_sets(cache), gate.load_baseline()) == []


def test_the_gate_finds_a_drop_and_a_question_that_was_left_out() -> None:
    """A planted one: the Chinese questions as they were ranked before scripts were told apart."""
    agreed = gate.load_baseline()
    worse = json.loads(json.dumps(agreed))
    for number, of_question in enumerate(worse["xquad-zh"]["judged"].values()):
        of_question[gate.GATE_MEASURE] *= 0.6 if number % 2 else 1
    worse["dtc"]["words"].popitem()
    assert [drop.partition(":")[0] for drop in gate.find_regressions(worse, agreed)] == [
        "dtc, words",
        "xquad-zh, judged",
    ]
