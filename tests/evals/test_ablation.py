"""What a stage is worth on labelled questions: `rag eval compare`, `ablate` and `gate`."""

import json
from pathlib import Path

import pytest

from evals import ablation, gate
from rag_core.cli import main
from rag_core.errors import InvalidRequest

TINY = Path(__file__).parents[1] / "data" / "beir_tiny"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "evals.sqlite3"


@pytest.fixture(scope="module")
def found(cache: Path) -> dict[str, ablation.Tried]:
    return ablation.tried(TINY, {name: said for name, (said, _) in ablation.ABLATED.items()}, cache=cache)


def test_each_stage_has_a_row_against_hybrid_with_its_time_and_its_price(found: dict[str, ablation.Tried]) -> None:
    """S1-61, S1-62, S1-63, S1-64, S1-65: vector only, hybrid, and what expansion, HyDE and reranking add, measured."""
    promised = {name: promise for name, (_, promise) in ablation.ABLATED.items()}
    lines = ablation.table(found, ablation.BASE, beside=promised).splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:]] == list(ablation.ABLATED)
    assert len({line.count("|") for line in lines}) == 1
    assert all(promise in line for promise, line in zip(promised.values(), lines[2:], strict=True))


def test_the_rows_search_as_they_are_called(found: dict[str, ablation.Tried]) -> None:
    """S1-61: no word of the third question is in the corpus, and no vector tells codes apart."""
    recall = {name: one.row.scores["meaning"]["recall@10"] for name, one in found.items()}
    assert recall["vector only"] == recall["hybrid"] == 1
    assert found["+ reranking"].usd > found["hybrid"].usd == 0
    assert found["full advanced"].usd > found["+ expansion"].usd > 0


def test_the_halves_share_no_question_and_leave_none_out(found: dict[str, ablation.Tried]) -> None:
    halves = [set(half[ablation.BASE].row.scores) for _, half in ablation.halves(found)]
    assert not halves[0] & halves[1]
    assert halves[0] | halves[1] == set(found[ablation.BASE].row.scores)


def test_a_number_that_no_preset_has_is_refused(cache: Path) -> None:
    for said in ("advanced:speed=3", "advanced:rerank=many", "fastest"):
        with pytest.raises(InvalidRequest):
            ablation.tried(TINY, {said: said}, cache=cache)


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
    assert gate.drops(gate.measure(cache), gate.agreed()) == []


def test_the_gate_finds_a_drop_and_a_question_that_was_left_out() -> None:
    """A planted one: the Chinese questions as they were ranked before scripts were told apart."""
    agreed = gate.agreed()
    worse = json.loads(json.dumps(agreed))
    for number, of_question in enumerate(worse["xquad-zh"]["judged"].values()):
        of_question[gate.MEASURE] *= 0.6 if number % 2 else 1
    worse["dtc"]["words"].popitem()
    assert [drop.partition(":")[0] for drop in gate.drops(worse, agreed)] == ["dtc, words", "xquad-zh, judged"]
