from dataclasses import fields
from typing import Any

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Query, Scope
from rag_core.core.presets import PRESETS, RANGES, choose, resolve


def test_the_defaults_are_the_documents() -> None:
    """S1-34, S1-44..46: advanced, 100 results, hybrid."""
    preset, advice = choose()
    assert (preset.pipeline, preset.top_k, preset.how) == ("advanced", 100, "hybrid")
    assert advice == ()


def test_every_stage_of_advanced_is_on_until_it_is_switched_off() -> None:
    """S1-47..49: enable_rerank, enable_query_expansion and enable_hyde are true by default."""
    on, _ = choose()
    off, advice = choose(enable_rerank=False, enable_query_expansion=False, enable_hyde=False)
    assert (on.rerank, on.rewordings, on.imaginings) == (20, 2, 1)
    assert (off.rerank, off.rewordings, off.imaginings) == (0, 0, 0)
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
    preset, advice = choose(pipeline=pipeline, enable_rerank=True, enable_query_expansion=True, enable_hyde=True)
    assert preset == PRESETS[pipeline]
    assert [message.split()[0] for message in advice] == lacks


def test_a_default_flag_is_no_request() -> None:
    """C10: leaving a flag out never warns."""
    assert choose(pipeline="standard")[1] == ()


def test_keyword_switches_off_all_that_needs_meaning() -> None:
    """S1-45: keyword has no HyDE and no semantic ranking, and asking for HyDE is told so."""
    preset, advice = choose(search_type="keyword", enable_hyde=True)
    assert (preset.how, preset.imaginings, preset.semantic, preset.captions, preset.answers) == ("keyword", 0, 0, 0, 0)
    assert advice == ("enable_hyde has no effect: the pipeline advanced with search_type keyword has no such stage",)


def test_semantic_is_hybrid_with_semantic_ranking_in_every_pipeline() -> None:
    """S1-45: advanced has no semantic ranking unless it is asked for."""
    assert choose()[0].semantic == 0
    assert choose(search_type="semantic")[0].semantic == 20
    assert choose(pipeline="facets", search_type="semantic")[0].semantic == 0


def test_rerank_asks_for_three_times_and_grades_twenty() -> None:
    """S1-08, S1-14, C09."""
    preset = resolve("rerank")
    assert (preset.overretrieve, preset.rerank) == (3, 20)


def test_fusion_has_the_constant_of_its_authors() -> None:
    """C03: 60 in every preset."""
    assert {preset.rrf_k for preset in PRESETS.values()} == {60}


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
        choose(**request_)
    assert refused.value.field == field


@pytest.mark.parametrize("field", RANGES)
def test_every_number_has_both_its_ends(field: str) -> None:
    low, high = RANGES[field]
    assert getattr(resolve("advanced", **{field: low}), field) == low
    assert getattr(resolve("advanced", **{field: high}), field) == high
    for outside in (low - 1, high + 1):
        with pytest.raises(InvalidRequest, match=f"{field} must be a whole number from {low} to {high}"):
            resolve("advanced", **{field: outside})


def test_a_number_that_no_preset_has_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="speed is not a number of a preset"):
        resolve("advanced", speed=3)


def test_the_numbers_of_a_query_and_of_a_preset_are_the_same() -> None:
    scope = Scope("garage")
    query = resolve("rerank", top_k=7).query("Why?", scope, facets=("dtc",))
    numbers = resolve("rerank", top_k=7).numbers()
    assert (query.text, query.scope, query.facets, query.top_k) == ("Why?", scope, ("dtc",), 7)
    own = {f.name for f in fields(Query)} - {"text", "scope", "filters", "facets", "how"}
    assert {name: numbers[name] for name in own} == {name: getattr(query, name) for name in own}


def test_numbers_carry_a_hash_that_any_change_changes() -> None:
    one, same, other = (resolve("advanced", top_k=k).numbers()["hash"] for k in (5, 5, 6))
    assert one == same != other


def test_the_classical_preset_has_the_documents_numbers() -> None:
    """S4-10, S4-13, S4-19, S4-21, S4-26, S4-28, S4-39, S4-41, C46."""
    preset = resolve("classical")
    assert (preset.candidates, preset.top_k, preset.context_chars) == (10, 3, 400)
    assert (preset.confidence_min, preset.relevance_min) == (0.7, 0.35)
    assert (preset.rewordings, preset.neighbours) == (0, 0)


def test_the_operators_numbers_stand_behind_the_requests_own() -> None:
    house = {"classical": {"relevance_min": 0.5, "top_k": 7}}
    assert choose(preset="classical", house=house)[0].relevance_min == 0.5
    assert choose(preset="classical", top_k=4, house=house)[0].top_k == 4
    assert choose(preset="standard", house=house)[0].top_k == 100


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "half"])
def test_a_share_is_from_nought_to_one(value: object) -> None:
    with pytest.raises(InvalidRequest, match="relevance_min must be a number from 0 to 1"):
        resolve("classical", relevance_min=value)
