"""The presets: named sets of the numbers of a pipeline; every reply has those that it was made with."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, get_args

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Filter, Query, Scope, SearchType


@dataclass(frozen=True, slots=True)
class Preset:
    """A pipeline with every number of a `Query`, without the query text and scope."""

    name: str
    pipeline: str
    how: SearchType = "hybrid"  # S1-45
    top_k: int = 100  # S1-44
    rewordings: int = 0
    imaginings: int = 0
    rerank: int = 0
    semantic: int = 0
    prior: int = 0
    captions: int = 3  # for each the cross-encoder scores three sentences
    answers: int = 3  # the default of Azure AI Search
    candidates: int = 20  # the rerankers get 20 (S1-14), however few hits are returned
    overretrieve: int = 1
    rrf_k: int = 60  # Cormack, Clarke and Buettcher, SIGIR 2009; Azure AI Search uses it too
    facet_limit: int = 100
    top_n: int = 5  # S0-27
    context_tokens: int = 4000
    context_chars: int = 0
    neighbours: int = 0
    relevance_min: float = 0.0
    confidence_min: float = 0.0
    entity_boost: float = 0.0
    intent_boost: float = 0.0
    line_gap: int = 7  # S0-57
    coverage_min: float = 0.5  # S0-58
    context_min_chars: int = 350  # S0-60

    def query(self, text: str, scope: Scope, *, filters: Sequence[Filter] = (), facets: Sequence[str] = ()) -> Query:
        """Return the query with the numbers of this preset."""
        return Query(text=text, scope=scope, filters=tuple(filters), facets=tuple(facets), **self._shared())

    def numbers(self) -> dict[str, str | int | float]:
        """Return the numbers under their names in replies; `hash` changes with any of them."""
        numbers = {"name": self.name, "pipeline": self.pipeline, **self._shared()}
        numbers["search_type"] = numbers.pop("how")
        return numbers | {"hash": hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:12]}

    def _shared(self) -> dict[str, Any]:
        """Return the fields that a `Query` has too, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("name", "pipeline")}


SEMANTIC = 20  # hits for the cross-encoder: Azure scores 50, the local one takes 80 ms of CPU per 200 tokens
FEW = 12  # as good as 20 for the local one combined with the search (docs/evaluation.md, Tuned on one half)
PRIOR = 4  # log odds, from the same table; 2 to 6 are level

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset("standard", "standard", semantic=FEW, prior=PRIOR),
            Preset("rerank", "rerank", semantic=SEMANTIC, prior=PRIOR, rerank=20, overretrieve=3),  # S1-14, S1-08
            Preset(
                "advanced",
                "advanced",
                rewordings=2,  # S1-11
                imaginings=1,  # S1-02
                prior=PRIOR,
                rerank=20,
                overretrieve=3,
            ),
            Preset("facets", "facets", captions=0, answers=0),
            Preset("pages", "standard", how="vector", top_k=5, captions=0, answers=0),  # S3-17
            # S2-38, S2-40; candidates: the largest top_k of 20 different texts, each of which is there for three stages
            Preset("proposals", "standard", how="vector", top_k=5, candidates=60, captions=0, answers=0),
            Preset(
                "workbench",
                "advanced",
                top_k=15,  # S0-51
                rewordings=3,
                imaginings=1,
                semantic=SEMANTIC,
                candidates=50,  # of each leg: the hits of ten probes are pooled
                entity_boost=0.2,  # as in the classical pipeline, docs/workbench.md
                intent_boost=0.1,
            ),
            Preset(
                "classical",
                "classical",
                top_k=3,  # S4-19
                semantic=SEMANTIC,  # all hits of two legs of ten
                captions=0,
                answers=0,
                candidates=10,  # of each leg: S4-10, S4-13
                top_n=3,
                context_chars=400,  # S4-21
                relevance_min=0.35,  # S4-28
                confidence_min=0.7,  # S4-26
            ),
        )
    }
)

RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "top_k": (1, 100),
        "rewordings": (0, 5),
        "imaginings": (0, 1),
        "rerank": (0, 20),
        "semantic": (0, 50),
        "prior": (0, 20),
        "captions": (0, 100),
        "answers": (0, 10),
        "candidates": (1, 1000),
        "overretrieve": (1, 5),
        "rrf_k": (1, 1000),
        "facet_limit": (1, 1000),
        "top_n": (1, 20),
        "context_tokens": (100, 32_000),
        "context_chars": (0, 4000),
        "neighbours": (0, 3),
        "line_gap": (0, 100),
        "context_min_chars": (0, 4000),
    }
)
SHARES = ("relevance_min", "confidence_min", "entity_boost", "intent_boost", "coverage_min")  # 0..1

FLAGS = MappingProxyType(
    {"rerank": "enable_rerank", "rewordings": "enable_query_expansion", "imaginings": "enable_hyde"}
)


def resolve(name: str, **overrides: Any) -> Preset:
    """Return a preset by name with some of its numbers replaced, adapted to its search type.

    Raises:
        InvalidRequest: there is no preset of that name, or a number is out of range; the field is named.
    """
    if name not in PRESETS:
        raise InvalidRequest("preset", f"must be one of {', '.join(PRESETS)}")
    for field, value in overrides.items():
        _check(field, value)
    return _settled(replace(PRESETS[name], **overrides))


def choose(
    *,
    pipeline: str | None = None,
    preset: str | None = None,
    top_k: int | None = None,
    top_n: int | None = None,
    search_type: str | None = None,
    enable_rerank: bool | None = None,
    enable_query_expansion: bool | None = None,
    enable_hyde: bool | None = None,
    house: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> tuple[Preset, tuple[str, ...]]:
    """Return the preset for a request, with a warning for each flag of the request that has no effect.

    None is a value that the request does not give. `preset_overrides` has the operator's numbers by the preset's name;
    the request's own take precedence. The pipeline decides which stages it has: a flag can only switch one off.

    Raises:
        InvalidRequest: a name is unknown, a number is out of range, or the preset is of another pipeline.
    """
    name = preset or pipeline or "advanced"  # S1-34
    if preset is None and name not in PRESETS:
        raise InvalidRequest("pipeline", f"must be one of {', '.join(PRESETS)}")
    stage_flags = {"rerank": enable_rerank, "rewordings": enable_query_expansion, "imaginings": enable_hyde}
    stages_off = {stage: 0 for stage, flag in stage_flags.items() if flag is False}
    numbers = {"top_k": top_k, "top_n": top_n, "how": search_type}
    given_numbers = {field: value for field, value in numbers.items() if value is not None}
    chosen = resolve(name, **{**house.get(name, {}), **stages_off, **given_numbers})
    if pipeline not in (None, chosen.pipeline):
        raise InvalidRequest("preset", f"is of the pipeline {chosen.pipeline}: leave one of the two out")
    ineffective = [FLAGS[stage] for stage, flag in stage_flags.items() if flag and not getattr(chosen, stage)]
    return chosen, tuple(f"{flag} has no effect: {_described(chosen)} has no such stage" for flag in ineffective)


def _check(field: str, value: object) -> None:
    """Raise InvalidRequest when `field` is not a number of a preset, or `value` is out of its range."""
    if field == "how":
        if value not in get_args(SearchType):
            raise InvalidRequest("search_type", f"must be one of {', '.join(get_args(SearchType))}")
        return
    if field in SHARES:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InvalidRequest(field, "must be a number from 0 to 1")
        return
    if field not in RANGES:
        raise InvalidRequest(field, f"is not a number of a preset; those are {', '.join((*RANGES, *SHARES))}")
    low, high = RANGES[field]
    if type(value) is not int or not low <= value <= high:
        raise InvalidRequest(field, f"must be a whole number from {low} to {high}")


def _settled(preset: Preset) -> Preset:
    """Return the preset with the stages switched on or off that its search type requires."""
    if preset.how == "keyword":
        return replace(preset, imaginings=0, semantic=0, captions=0, answers=0)
    if preset.how == "semantic" and preset.pipeline != "facets":
        return replace(preset, semantic=preset.semantic or SEMANTIC)
    return preset


def _described(preset: Preset) -> str:
    """Return the pipeline and search type in words."""
    return f"the pipeline {preset.pipeline} with search_type {preset.how}"
