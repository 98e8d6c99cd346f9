from typing import Any

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Scope
from rag_core.core.presets import NUMBER_RANGES, PRESETS, Query, choose_preset, resolve_preset


def test_the_defaults_are_the_documents() -> None:
    """S1-34, S1-44..46: advanced, 100 results, hybrid."""
    preset, advice = choose_preset()
    assert (preset.pipeline, preset.search.top_k, preset.search.search_type) == ("advanced", 100, "hybrid")
    assert advice == ()


def test_every_stage_of_advanced_is_on_until_it_is_switched_off() -> None:
    """S1-47..49: enable_rerank, enable_query_expansion and enable_hyde are true by default."""
    on, _ = choose_preset()
    off, advice = choose_preset(enable_rerank=False, enable_query_expansion=False, enable_hyde=False)
    assert [on.list_numbers()[stage] for stage in ("rerank", "rewordings", "imaginings")] == [20, 2, 1]
    assert [off.list_numbers()[stage] for stage in ("rerank", "rewordings", "imaginings")] == [0, 0, 0]
    assert advice == ()


@pytest.mark.parametrize(
    ("pipeline", "lacks"),
    [
        ("standard", ["enable_rerank", "enable_query_expansion", "enable_hyde"]),
        ("rerank", ["enable_query_expansion", "enable_hyde"]),
        ("advanced", []),
        ("facets", ["enable_rerank", "enable_query_expansion", "enable_hyde"]),
    ],
)
def test_a_flag_cannot_switch_on_what_the_pipeline_lacks_and_is_told_so(pipeline: str, lacks: list[str]) -> None:
    """C10, S1-07: the pipeline decides which stages there are."""
    preset, advice = choose_preset(pipeline=pipeline, enable_rerank=True, enable_query_expansion=True, enable_hyde=True)
    assert preset == PRESETS[pipeline]
    assert [message.split()[0] for message in advice] == lacks


def test_a_default_flag_is_no_request() -> None:
    """C10: leaving a flag out never warns."""
    assert choose_preset(pipeline="standard")[1] == ()


def test_keyword_switches_off_all_that_needs_meaning() -> None:
    """S1-45: keyword has no HyDE and no semantic ranking, and asking for HyDE is told so."""
    preset, advice = choose_preset(search_type="keyword", enable_hyde=True)
    assert (
        preset.search.search_type,
        preset.expansion.hyde_answers,
        preset.search.reranked_hits,
        preset.search.captions,
        preset.search.answers,
    ) == ("keyword", 0, 0, 0, 0)
    assert advice == ("enable_hyde has no effect: the pipeline advanced with search_type keyword has no such stage",)


def test_semantic_is_hybrid_with_semantic_ranking_in_every_pipeline() -> None:
    """S1-45: advanced has no semantic ranking unless it is asked for."""
    assert choose_preset()[0].search.reranked_hits == 0
    assert choose_preset(search_type="semantic")[0].search.reranked_hits == 20
    assert choose_preset(pipeline="facets", search_type="semantic")[0].search.reranked_hits == 0


def test_rerank_asks_for_three_times_and_grades_twenty() -> None:
    """S1-08, S1-14, C09."""
    preset = resolve_preset("rerank")
    assert (preset.grading.overretrieve, preset.grading.graded_hits) == (3, 20)


def test_fusion_has_the_constant_of_its_authors() -> None:
    """C03: 60 in every preset."""
    assert {preset.search.rrf_k for preset in PRESETS.values()} == {60}


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"pipeline": "magic"}, "pipeline"),
        ({"preset": "magic"}, "preset"),
        ({"pipeline": "standard", "preset": "rerank"}, "preset"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"top_k": 5.0}, "top_k"),
        ({"search_type": "psychic"}, "search_type"),
    ],
)
def test_what_cannot_be_is_refused_by_name(request_: dict[str, Any], field: str) -> None:
    """C01: one cap for what is returned; a number out of its range names its field."""
    with pytest.raises(InvalidRequest) as refused:
        choose_preset(**request_)
    assert refused.value.field == field


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


def test_the_operators_numbers_stand_behind_the_requests_own() -> None:
    house = {"classical": {"relevance_min": 0.5, "top_k": 7}}
    assert choose_preset(preset="classical", preset_overrides=house)[0].guard.relevance_min == 0.5
    assert choose_preset(preset="classical", top_k=4, preset_overrides=house)[0].search.top_k == 4
    assert choose_preset(preset="standard", preset_overrides=house)[0].search.top_k == 100


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "half"])
def test_a_share_is_from_nought_to_one(value: object) -> None:
    with pytest.raises(InvalidRequest, match="relevance_min must be a number from 0 to 1"):
        resolve_preset("classical", relevance_min=value)
