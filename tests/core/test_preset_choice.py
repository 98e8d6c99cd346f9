from typing import Any

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.core.preset_choice import choose_preset
from rag_core.core.presets import PRESETS


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


def test_a_request_that_says_how_many_passages_has_none_more_for_figures() -> None:
    usual, three = choose_preset()[0], choose_preset(top_n=3)[0]
    assert (usual.evidence.top_n, usual.evidence.figure_passages) == (5, 2)
    assert (three.evidence.top_n, three.evidence.figure_passages) == (3, 0)


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


def test_the_operators_numbers_stand_behind_the_requests_own() -> None:
    house = {"classical": {"relevance_min": 0.5, "top_k": 7}}
    assert choose_preset(preset="classical", preset_overrides=house)[0].guard.relevance_min == 0.5
    assert choose_preset(preset="classical", top_k=4, preset_overrides=house)[0].search.top_k == 4
    assert choose_preset(preset="standard", preset_overrides=house)[0].search.top_k == 100
