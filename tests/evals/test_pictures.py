"""The pictures of the pages show the numbers that are kept, and no others."""

import json
from pathlib import Path

import pytest

from evals import pictures, record


def test_every_committed_picture_is_what_the_committed_results_give() -> None:
    for path, text in pictures.draw_pictures():
        assert path.read_text("utf-8") == text, f"{path.name}: run make pictures"


def test_a_picture_is_drawn_anew_when_a_number_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = record.read_result("store")
    told["found"]["10,000 chunks"]["LanceDB"]["open s"] *= 2
    (tmp_path / "store.json").write_text(json.dumps(told))
    monkeypatch.setattr(pictures, "DRAWINGS", {"store": ("store", pictures.draw_stores)})
    ((_, before),) = pictures.draw_pictures()
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    ((_, after),) = pictures.draw_pictures()
    assert before != after


@pytest.mark.parametrize("name", pictures.DRAWINGS)
def test_a_picture_is_small_and_its_words_are_text_with_a_title(name: str) -> None:
    drawn = (pictures.PICTURES / f"{name}.svg").read_text("utf-8")
    assert len(drawn) < 60_000
    result, draw = pictures.DRAWINGS[name]
    assert f"<title>{draw.__doc__}</title>" in drawn
    assert record.read_result(result)["date"] in drawn
    assert "sans-serif" in drawn


@pytest.mark.parametrize(
    ("low", "high", "colour"),
    [(0.01, 0.03, pictures.OURS), (-0.03, -0.01, pictures.LOSS), (-0.01, 0.03, pictures.GREY)],
)
def test_only_a_difference_beyond_chance_has_the_colour_of_a_gain_or_a_loss(
    low: float, high: float, colour: str
) -> None:
    assert pictures.choose_colour({"low": low, "high": high}) == colour


def test_the_front_has_what_nothing_cheaper_is_as_good_as() -> None:
    points = {"hybrid": (7.0, 0.80), "standard": (300.0, 0.83), "words": (2.0, 0.75), "slow": (400.0, 0.83)}
    assert pictures.find_pareto_front(points) == ["words", "hybrid", "standard"]


def test_each_set_counts_once_in_the_means_that_are_drawn() -> None:
    def make_set(cpu_ms: float, ndcg: float) -> dict[str, list[dict[str, object]]]:
        return {"rows": [{"pipeline": "words", "cpu_ms": cpu_ms, "ndcg@10": ndcg}]}

    means = pictures.average_sets({"small": make_set(2, 0.5), "large": make_set(4, 1.0)})
    assert means == {"words": (3.0, 0.75)}
