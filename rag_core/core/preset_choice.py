"""What a request says of its preset, and the preset that it gets."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypedDict

from rag_core.core.errors import InvalidRequest
from rag_core.core.kit import Kit
from rag_core.core.presets import PRESETS, Preset, find_preset_name, resolve_preset
from rag_core.core.run import Run
from rag_core.text.near_names import suggest_name

STAGE_FLAGS = MappingProxyType(
    {"rerank": "enable_rerank", "rewordings": "enable_query_expansion", "imaginings": "enable_hyde"}
)


class PresetChoice(TypedDict, total=False):
    """What a request may say of its preset; None is the same as not said. The flags can only switch a stage off.

    A `preset` that is resolved already, as the evaluation has, is used as it is.
    """

    pipeline: str | None
    preset: str | Preset | None
    top_k: int | None
    top_n: int | None
    search_type: str | None
    enable_rerank: bool | None
    enable_query_expansion: bool | None
    enable_hyde: bool | None


def resolve_choice(
    choice: PresetChoice, kit: Kit, run: Run, *, preset_overrides: Mapping[str, Mapping[str, float]]
) -> Preset:
    """Return the preset of a request, and warn of what it asks for in vain.

    Raises:
        InvalidRequest: there is no such option; or as `choose_preset`.
    """
    options = list(PresetChoice.__annotations__)
    for unknown in choice.keys() - set(options):
        raise InvalidRequest(unknown, f"is no option{suggest_name(unknown, options)}; there are {', '.join(options)}")
    if isinstance(resolved := choice.get("preset"), Preset):
        return resolved
    preset, ineffective = choose_preset(**choice, preset_overrides=preset_overrides)  # type: ignore[arg-type]
    for message in ineffective:
        run.warn("no_effect", message)
    if choice.get("enable_hyde") and preset.expansion.hyde_answers and not kit.has_chat_model:
        run.warn("no_effect", "enable_hyde has no effect: only a chat model writes a HyDE answer")
    return preset


def choose_preset(
    *,
    pipeline: str | None = None,
    preset: str | None = None,
    top_k: int | None = None,
    top_n: int | None = None,
    search_type: str | None = None,
    enable_rerank: bool | None = None,
    enable_query_expansion: bool | None = None,
    enable_hyde: bool | None = None,
    preset_overrides: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> tuple[Preset, tuple[str, ...]]:
    """Return the preset for a request, with a warning for each flag of the request that has no effect.

    None is a value that the request does not give. `preset_overrides` has the operator's numbers by the preset's name;
    the request's own take precedence. The pipeline decides which stages it has: a flag can only switch one off.

    Raises:
        InvalidRequest: a name is unknown, a number is out of range, or the preset is of another pipeline.
    """
    name = find_preset_name(preset or pipeline or "advanced")  # S1-34
    if preset is None and name not in PRESETS:
        raise InvalidRequest("pipeline", f"must be one of {', '.join(PRESETS)}")
    stage_flags = {"rerank": enable_rerank, "rewordings": enable_query_expansion, "imaginings": enable_hyde}
    named = PRESETS.get(name)
    stages_off = {
        stage: 0 for stage, flag in stage_flags.items() if flag is False and named and named.has_number(stage)
    }
    figure_passages = 0 if top_n is not None and named and named.has_number("figure_passages") else None
    numbers = {"top_k": top_k, "top_n": top_n, "figure_passages": figure_passages, "search_type": search_type}
    given_numbers = {field: value for field, value in numbers.items() if value is not None}
    chosen = resolve_preset(name, **{**preset_overrides.get(name, {}), **stages_off, **given_numbers})
    if pipeline not in (None, chosen.pipeline):
        raise InvalidRequest("preset", f"is of the pipeline {chosen.pipeline}: leave one of the two out")
    asked_for = [stage for stage, flag in stage_flags.items() if flag]
    in_force = chosen.list_numbers() if asked_for else {}
    ineffective = [STAGE_FLAGS[stage] for stage in asked_for if not in_force.get(stage)]
    return chosen, tuple(
        f"{flag} has no effect: {_describe_pipeline(chosen)} has no such stage" for flag in ineffective
    )


def _describe_pipeline(preset: Preset) -> str:
    """Return the pipeline and search type in words."""
    return f"the pipeline {preset.pipeline} with search_type {preset.search.search_type}"
