import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Scope
from rag_core.core.presets import NUMBER_RANGES, PRESETS, Query, resolve_preset


def test_rerank_asks_for_three_times_and_grades_twenty() -> None:
    """S1-08, S1-14, C09."""
    preset = resolve_preset("rerank")
    assert (preset.grading.overretrieve, preset.grading.graded_hits) == (3, 20)


def test_fusion_has_the_constant_of_its_authors() -> None:
    """C03: 60 in every preset."""
    assert {preset.search.rrf_k for preset in PRESETS.values()} == {60}


@pytest.mark.parametrize("field", NUMBER_RANGES)
def test_every_number_has_both_its_ends(field: str) -> None:
    low, high = NUMBER_RANGES[field]
    name = next(preset.name for preset in PRESETS.values() if field in preset.list_numbers())
    assert resolve_preset(name, **{field: low}).list_numbers()[field] == low
    assert resolve_preset(name, **{field: high}).list_numbers()[field] == high
    kind = "number" if isinstance(low, float) else "whole number"
    half = () if isinstance(low, float) else ((low + high) / 2,)
    for wrong in (low - 1, high + 1, True, "1", None, *half):
        with pytest.raises(InvalidRequest, match=f"{field} must be a {kind} from {low:g} to {high:g}$"):
            resolve_preset(name, **{field: wrong})


@pytest.mark.parametrize(
    ("name", "number"), [("advanced", "speed"), ("standard", "rewordings"), ("rerank", "line_gap")]
)
def test_a_number_that_the_preset_does_not_have_is_refused_with_those_that_it_has(name: str, number: str) -> None:
    message = f"{number} is not a number of the preset {name}; those are search_type, top_k, "
    with pytest.raises(InvalidRequest, match=message):
        resolve_preset(name, **{number: 3})


def test_a_query_carries_its_question_and_scope_and_its_preset_the_numbers() -> None:
    scope, preset = Scope("garage"), resolve_preset("rerank", top_k=7)
    query = preset.build_query("Why?", scope, facets=("dtc",))
    assert query == Query("Why?", scope, preset, (), ("dtc",))
    assert query.override(top_k=9).preset.list_numbers() == preset.list_numbers() | {"top_k": 9}


def test_a_reply_shows_only_the_numbers_that_the_pipeline_has() -> None:
    shown = {name: set(preset.export_numbers()) for name, preset in PRESETS.items()}
    assert [name for name in shown if "context_chars" in shown[name]] == ["classical"]
    assert [name for name in shown if "rerank" in shown[name]] == ["rerank", "advanced", "workbench"]
    assert [name for name in shown if "line_gap" in shown[name]] == ["workbench"]
    assert "top_n" not in shown["facets"]
    assert all({"name", "pipeline", "search_type", "top_k", "hash"} <= numbers for numbers in shown.values())


def test_numbers_carry_a_hash_that_any_change_changes() -> None:
    one, same, other = (resolve_preset("advanced", top_k=k).export_numbers()["hash"] for k in (5, 5, 6))
    assert one == same != other


def test_the_classical_preset_has_the_documents_numbers() -> None:
    """S4-10, S4-13, S4-19, S4-21, S4-26, S4-28, S4-39, S4-41, C46."""
    preset = resolve_preset("classical")
    assert (preset.search.candidates, preset.search.top_k, preset.guard.context_chars) == (10, 3, 400)
    assert (preset.guard.confidence_min, preset.guard.relevance_min) == (0.7, 0.35)
    assert (preset.expansion.expanded_queries, preset.guard.neighbours) == (0, 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "half"])
def test_a_share_is_from_nought_to_one(value: object) -> None:
    with pytest.raises(InvalidRequest, match="relevance_min must be a number from 0 to 1"):
        resolve_preset("classical", relevance_min=value)
