"""The presets: named sets of the numbers of a pipeline; every reply has those that it was made with."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, get_args

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Filter, Scope, SearchType, Turn
from rag_core.text.near_names import suggest_name

NumberRange = tuple[int, int] | tuple[float, float]  # the least and the greatest value: of a count, or of a fraction


def _number(default: Any, range: NumberRange | None, meaning: str, *, wire: str | None = None) -> Any:
    """Declare a number with its range and what it sets; `wire` is its name in requests where that is another one.

    Whole numbers as the range admit whole numbers only. A name has no range.
    """
    return field(default=default, metadata={"range": range, "meaning": meaning, "wire": wire})


@dataclass(frozen=True, slots=True)
class SearchNumbers:
    """What is retrieved, reranked by the cross-encoder and returned; a count of 0 switches its stage off.

    A search asks for `top_k` hits and never for fewer than `candidates`; the cross-encoder reads the first
    `reranked_hits`, and a hit's search score counts up to `search_prior` standard deviations of what it says; the best
    `captions` hits get captions, and up to `answers` semantic answers are given. `rrf_k` is the constant of reciprocal
    rank fusion, for several query variants and in stores that do not fuse the legs by score.
    """

    search_type: SearchType = _number("hybrid", None, "legs")  # noqa: RUF009 - it makes a field; S1-45
    top_k: int = _number(100, (1, 100), "hits returned")  # S1-44
    reranked_hits: int = _number(0, (0, 50), "hits for the cross-encoder", wire="semantic")
    search_prior: int = _number(0, (0, 20), "search prior, in standard deviations", wire="prior")
    captions: int = _number(3, (0, 100), "hits with captions")  # for each the cross-encoder scores three sentences
    answers: int = _number(3, (0, 10), "semantic answers")  # the default of Azure AI Search
    # the rerankers get 20 (S1-14), however few hits are returned
    candidates: int = _number(20, (1, 1000), "fewest hits searched for")
    # Cormack, Clarke and Buettcher, SIGIR 2009; Azure AI Search uses it too
    rrf_k: int = _number(60, (1, 1000), "constant of reciprocal rank fusion")
    facet_limit: int = _number(100, (1, 1000), "values of a facet")


@dataclass(frozen=True, slots=True)
class ExpansionNumbers:
    """How many expanded queries and hypothetical answers (HyDE) are searched besides the query text."""

    expanded_queries: int = _number(0, (0, 5), "expanded queries", wire="rewordings")
    hyde_answers: int = _number(0, (0, 1), "HyDE answers", wire="imaginings")


@dataclass(frozen=True, slots=True)
class GradingNumbers:
    """How many hits a chat model grades; a search then asks for `overretrieve` times as many."""

    graded_hits: int = _number(0, (0, 20), "hits for LLM grading", wire="rerank")
    overretrieve: int = _number(1, (1, 5), "factor on `top_k` when grading")


@dataclass(frozen=True, slots=True)
class EvidenceNumbers:
    """An answer is made from the best `top_n` passages, of at most `context_tokens` together.

    Where a question asks for a figure of a report that it names, there are `figure_passages` more: what is computed
    stands in two statements. A request that says how many has so many.
    """

    top_n: int = _number(5, (1, 20), "passages of evidence")  # S0-27
    figure_passages: int = _number(2, (0, 10), "passages more for a figure of a named report")
    context_tokens: int = _number(4000, (100, 32_000), "tokens of all evidence")


@dataclass(frozen=True, slots=True)
class GuardNumbers:
    """The classical pipeline's: which passages it answers from, and when it quotes instead of writing.

    A passage gives at most `context_chars`, none when its relevance is below `relevance_min`, with `neighbours` chunks
    on each side; below `confidence_min` an answer is quoted.
    """

    context_chars: int = _number(0, (0, 4000), "characters of an excerpt")
    neighbours: int = _number(0, (0, 3), "chunks added on each side")
    relevance_min: float = _number(0.0, (0.0, 1.0), "least relevance of evidence")
    confidence_min: float = _number(0.0, (0.0, 1.0), "least confidence of a written answer")


@dataclass(frozen=True, slots=True)
class WorkbenchNumbers:
    """The workbench's: how its hits are boosted, and how its passages are merged.

    A hit gains up to `entity_boost` and `intent_boost` of its score; passages at most `line_gap` lines apart are merged
    into one, which needs at least `coverage_min` of its lines and `context_min_chars`.
    """

    entity_boost: float = _number(0.0, (0.0, 1.0), "most by which entities raise a score")
    intent_boost: float = _number(0.0, (0.0, 1.0), "most by which the intent raises it")
    line_gap: int = _number(7, (0, 100), "lines between passages that are joined")  # S0-57
    coverage_min: float = _number(0.5, (0.0, 1.0), "least coverage of a joined passage")  # S0-58
    context_min_chars: int = _number(350, (0, 4000), "its least length")  # S0-60


@dataclass(frozen=True, slots=True)
class Preset:
    """A pipeline with its numbers; `groups` names those that it has, the others are off."""

    name: str
    pipeline: str
    groups: tuple[str, ...]
    search: SearchNumbers = SearchNumbers()
    expansion: ExpansionNumbers = ExpansionNumbers()
    grading: GradingNumbers = GradingNumbers()
    evidence: EvidenceNumbers = EvidenceNumbers()
    guard: GuardNumbers = GuardNumbers()
    workbench: WorkbenchNumbers = WorkbenchNumbers()

    def build_query(
        self,
        text: str,
        scope: Scope,
        *,
        filters: Sequence[Filter] = (),
        facets: Sequence[str] = (),
        history: Sequence[Turn] = (),
    ) -> "Query":
        """Return a query with this preset."""
        return Query(text, scope, self, tuple(filters), tuple(facets), tuple(history))

    @property
    def runs_models(self) -> bool:
        """Whether a search with it runs a model: all do but a lexical one that nothing expands, grades or reranks."""
        stages = self.expansion.expanded_queries or self.expansion.hyde_answers or self.grading.graded_hits
        reranks = self.search.reranked_hits or self.search.captions or self.pipeline == "classical"
        return self.search.search_type != "keyword" or bool(stages or reranks)

    def has_number(self, wire: str) -> bool:
        """Return whether the pipeline has a number of this name in requests."""
        return wire in NUMBER_FIELDS and NUMBER_FIELDS[wire][0] in self.groups

    def list_numbers(self) -> dict[str, Any]:
        """Return the numbers that the pipeline has, by their names in requests and replies."""
        return {
            wire: getattr(getattr(self, group), name)
            for wire, (group, name) in NUMBER_FIELDS.items()
            if group in self.groups
        }

    def export_numbers(self) -> dict[str, str | int | float]:
        """Return the numbers as a reply has them; `hash` changes with any of them."""
        numbers = {"name": self.name, "pipeline": self.pipeline, **self.list_numbers()}
        return numbers | {"hash": hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:12]}

    def override(self, **numbers: Any) -> "Preset":
        """Return the preset with some of its numbers replaced, given by their names in requests; nothing is checked."""
        changed: dict[str, dict[str, Any]] = {}
        for wire, value in numbers.items():
            group, name = NUMBER_FIELDS[wire]
            changed.setdefault(group, {})[name] = value
        return replace(self, **{group: replace(getattr(self, group), **values) for group, values in changed.items()})


_DECLARED_NUMBERS = {
    number.metadata["wire"] or number.name: (group.name, number)
    for group in fields(Preset)
    if is_dataclass(group.default)
    for number in fields(group.default)
}
NUMBER_FIELDS: Mapping[str, tuple[str, str]] = MappingProxyType(  # by name in requests: the group and its field
    {wire: (group, number.name) for wire, (group, number) in _DECLARED_NUMBERS.items()}
)
NUMBER_RANGES: Mapping[str, NumberRange] = MappingProxyType(
    {wire: number.metadata["range"] for wire, (_, number) in _DECLARED_NUMBERS.items() if number.metadata["range"]}
)
NUMBER_MEANINGS: Mapping[str, str] = MappingProxyType(
    {wire: number.metadata["meaning"] for wire, (_, number) in _DECLARED_NUMBERS.items()}
)


MAX_TURN_CHARS = 600  # that are read of a turn of a conversation


@dataclass(frozen=True, slots=True)
class Query:
    """A validated question: its text, whose documents are meant, conditions on them, and the preset to use.

    `history` has the turns before the text that it is to be read with.
    """

    text: str
    scope: Scope
    preset: Preset
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()

    @property
    def text_in_context(self) -> str:
        """The text after the user's turn before it, as a model reads a question of a conversation."""
        said = [turn.content.strip() for turn in self.history if turn.role == "user"]
        return f"{said[-1][:MAX_TURN_CHARS]} {self.text}" if said else self.text

    def override(self, **numbers: Any) -> "Query":
        """Return the query with some numbers of its preset replaced; see `Preset.override`."""
        return replace(self, preset=self.preset.override(**numbers))


SEMANTIC_CANDIDATES = 20  # hits for the cross-encoder: Azure scores 50, the local one takes 40 ms of CPU for each
# as good as 12 and 20, and no passage leaves the first ten of the search (docs/decisions/0055-what-a-judge-is-worth.md)
FEW_SEMANTIC_CANDIDATES = 10
# hits searched for where some are reranked: over so many their search scores are normalized, see `compute_standings`
RANKED_CANDIDATES = 50
SEARCH_PRIOR = 2  # standard deviations of the cross-encoder's log odds; 1 to 3 are level (docs/decisions/0055)

PIPELINE_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "standard": ("search", "evidence"),
        "rerank": ("search", "grading", "evidence"),
        "advanced": ("search", "expansion", "grading", "evidence"),
        "facets": ("search",),
        "classical": ("search", "expansion", "evidence", "guard"),
        "agentic": ("search", "expansion", "evidence"),
    }
)


def _build_preset(name: str, pipeline: str, *more_groups: str, **numbers: Any) -> Preset:
    return Preset(name, pipeline, PIPELINE_GROUPS[pipeline] + more_groups).override(**numbers)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            _build_preset(
                "standard",
                "standard",
                semantic=FEW_SEMANTIC_CANDIDATES,
                prior=SEARCH_PRIOR,
                candidates=RANKED_CANDIDATES,
            ),
            _build_preset(  # S1-14, S1-08
                "rerank",
                "rerank",
                semantic=FEW_SEMANTIC_CANDIDATES,
                prior=SEARCH_PRIOR,
                candidates=RANKED_CANDIDATES,
                rerank=20,
                overretrieve=3,
            ),
            _build_preset(
                "advanced",
                "advanced",
                rewordings=2,  # S1-11
                imaginings=1,  # S1-02
                prior=SEARCH_PRIOR,
                candidates=RANKED_CANDIDATES,
                rerank=20,
                overretrieve=3,
            ),
            _build_preset("facets", "facets", captions=0, answers=0),
            _build_preset("pages", "standard", search_type="vector", top_k=5, captions=0, answers=0),  # S3-17
            # S2-38, S2-40; the largest top_k of 20 different texts, each of which stands once for each of three stages
            _build_preset("proposals", "standard", search_type="vector", top_k=5, candidates=60, captions=0, answers=0),
            _build_preset(
                "workbench",
                "advanced",
                "workbench",
                top_k=15,  # S0-51
                rewordings=3,
                imaginings=1,
                semantic=SEMANTIC_CANDIDATES,
                candidates=50,  # of each leg: what ten probes find is pooled
                entity_boost=0.2,  # as the classical pipeline's, docs/reference/workbench.md
                intent_boost=0.1,
            ),
            _build_preset(
                "classical",
                "classical",
                top_k=3,  # S4-19
                semantic=SEMANTIC_CANDIDATES,  # all that two legs of ten can find
                captions=0,
                answers=0,
                candidates=10,  # of each leg: S4-10, S4-13
                top_n=3,
                figure_passages=0,
                context_chars=400,  # S4-21
                relevance_min=0.35,  # S4-28
                confidence_min=0.7,  # S4-26
            ),
            # the service ranks 50 for each query; its ranker has read them, so that no other model has to
            _build_preset("agentic", "agentic", top_k=20, rewordings=2),
        )
    }
)
PRESET_ALIASES: Mapping[str, str] = MappingProxyType({"default": "workbench"})  # S0-84, S0-91
PRESET_NAMES = (*PRESETS, *PRESET_ALIASES)
RANKING_PRESETS = tuple(name for name in PRESET_NAMES if name != "facets")  # which only counts


def find_preset_name(name: str) -> str:
    """Return the preset's own name when `name` is another name of it, else `name`."""
    return PRESET_ALIASES.get(name, name)


def resolve_preset(name: str, **overrides: Any) -> Preset:
    """Return a preset by name with some of its numbers replaced, adapted to its search type.

    Raises:
        InvalidRequest: there is no preset of that name, or a number is out of range; the field is named.
    """
    name = find_preset_name(name)
    if name not in PRESETS:
        raise InvalidRequest("preset", f"must be one of {', '.join(PRESET_NAMES)}{suggest_name(name, PRESET_NAMES)}")
    for number, value in overrides.items():
        _validate_preset_number(number, value, PRESETS[name])
    return _override_preset(name, **overrides)


@lru_cache(maxsize=256, typed=True)  # a request asks twice, and most requests ask for the same
def _override_preset(name: str, **overrides: str | int | float) -> Preset:
    return _adapt_to_search_type(PRESETS[name].override(**overrides))


def select_valid_numbers(name: str, saved_edit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the numbers that this version accepts, so that an edit of an earlier version cannot break a preset."""
    numbers = rename_old_numbers(saved_edit)
    return {field: value for field, value in numbers.items() if _is_valid_number(name, field, value)}


def rename_old_numbers(saved_edit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an edit with the names of today's numbers: version 0.1 saved the search type as `how`."""
    return {"search_type" if field == "how" else field: value for field, value in saved_edit.items()}


def _is_valid_number(name: str, field: str, value: Any) -> bool:
    """Return whether the preset has this number and the value is in its range."""
    if name not in PRESETS:
        return False
    try:
        resolve_preset(name, **{field: value})
    except InvalidRequest:
        return False
    return True


def _validate_preset_number(number: str, value: object, preset: Preset) -> None:
    """Raise InvalidRequest when the preset has no such number, or `value` is out of its range."""
    if not preset.has_number(number):
        known = ", ".join(preset.list_numbers())
        raise InvalidRequest(number, f"is not a number of the preset {preset.name}; those are {known}")
    if number == "search_type":
        if value not in get_args(SearchType):
            raise InvalidRequest("search_type", f"must be one of {', '.join(get_args(SearchType))}")
    else:
        low, high = NUMBER_RANGES[number]
        kinds, kind = (int | float, "number") if isinstance(low, float) else (int, "whole number")
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            raise InvalidRequest(number, f"must be a {kind} from {low:g} to {high:g}")


def _adapt_to_search_type(preset: Preset) -> Preset:
    """Return the preset with the stages switched on or off that its search type requires."""
    if preset.search.search_type == "keyword":
        return preset.override(imaginings=0, semantic=0, captions=0, answers=0)
    if preset.search.search_type == "semantic" and preset.pipeline != "facets":
        return preset.override(semantic=preset.search.reranked_hits or SEMANTIC_CANDIDATES)
    return preset
