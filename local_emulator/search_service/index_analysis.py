"""The analysis of an index: its own analyzers, tokenizers, filters and normalizers beside the service's, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from . import token_filters, tokenizers
from .analysis import ANALYZERS, ELISION, ENGLISH_STOPS, Analyzer, LexicalAnalyzer, Token, fold_to_ascii
from .char_filters import ALL_FLAGS, CharFilter, build_char_filter
from .part_defaults import ANALYSIS
from .refusals import ServiceRefusal, make_part_refusal, make_refusal, make_unimplemented_refusal
from .token_filters import TokenFilter, build_token_filter
from .tokenizers import build_tokenizer

Json = dict[str, Any]
Built = TypeVar("Built")
Normalizer = Callable[[str], str]

NORMALIZERS: Mapping[str, Normalizer] = {
    "standard": lambda text: fold_to_ascii(text.lower()),
    "lowercase": str.lower,
    "uppercase": str.upper,
    "asciifolding": fold_to_ascii,
    "elision": lambda text: ELISION.sub("", text),
}
CHAR_FILTERS = {"html_strip": "HtmlStripCharFilter"}
# the service's own tokenizer of this name makes one letter, as recorded; one that an index defines makes two by default
PREDEFINED_SETTINGS: Mapping[str, Json] = {"edgeNGram": {"maxGram": 1}}


@dataclass(frozen=True, slots=True)
class AnalyzerChain:
    """An analyzer made of parts: character filters, then a tokenizer, then token filters."""

    char_filters: Sequence[CharFilter]
    tokenizer: LexicalAnalyzer
    token_filters: Sequence[TokenFilter]

    def analyze(self, text: str) -> Iterator[Token]:
        changes = []
        for change in self.char_filters:
            changes.append(change(text))
            text = changes[-1].text
        tokens = self.tokenizer.analyze(text)
        for each in self.token_filters:
            tokens = each(tokens)
        for token in tokens:
            start, end = token.start, token.end
            for changed in reversed(changes):
                start, end = changed.find_place_before(start), changed.find_place_before(end)
            yield replace(token, start=start, end=max(start, end))


class IndexAnalysis:
    """The analysis of an index by names; what is refused is refused when it is asked for."""

    def __init__(self, definition: Json) -> None:
        self._definition = definition

    def find_analyzer(self, name: str) -> LexicalAnalyzer:
        """Find an analyzer. Raises a ServiceRefusal where it is not known or not implemented."""
        if (own := self._find_own("analyzers", name)) is None:
            if name not in ANALYZERS:
                raise _make_reference_refusal("analyzers", name)
            return ANALYZERS[name]
        stops = frozenset(own.get("stopwords") or ())
        match _get_kind(own):
            case "CustomAnalyzer":
                return self.build_chain(own["tokenizer"], own.get("tokenFilters"), own.get("charFilters"))
            case "StandardAnalyzer":
                return self._chain_plain(ANALYZERS["standard"], own, stops)
            case "StopAnalyzer":
                return replace(ANALYZERS["stop"], stops=stops or ENGLISH_STOPS)
            case "PatternAnalyzer":
                split = build_tokenizer("PatternTokenizer", own)
                return self._chain_plain(split, own, stops, lowered=own.get("lowercase", True))
        raise make_unimplemented_refusal(f"the analyzer '{_get_kind(own)}'")

    def _chain_plain(
        self, tokenizer: LexicalAnalyzer, own: Json, stops: frozenset[str], *, lowered: bool = False
    ) -> LexicalAnalyzer:
        if isinstance(tokenizer, Analyzer):
            tokenizer = tokenizers.SplittingTokenizer(tokenizer, own.get("maxTokenLength", 255))
        filters = [build_token_filter("LowercaseTokenFilter", {})] if lowered else []
        if stops:
            filters.append(build_token_filter("StopwordsTokenFilter", {"stopwords": sorted(stops)}))
        return AnalyzerChain((), tokenizer, tuple(filters))

    def build_chain(
        self, tokenizer: str, filters: Sequence[str] | None = None, char_filters: Sequence[str] | None = None
    ) -> AnalyzerChain:
        """Build the analyzer of parts that the index or the service has by these names."""
        return AnalyzerChain(
            tuple(self._find_char_filter(name) for name in char_filters or ()),
            self.find_tokenizer(tokenizer),
            tuple(self._find_token_filter(name) for name in filters or ()),
        )

    def find_tokenizer(self, name: str) -> LexicalAnalyzer:
        return self._find("tokenizers", name, tokenizers.PREDEFINED, tokenizers.UNIMPLEMENTED, build_tokenizer)

    def _find_token_filter(self, name: str) -> TokenFilter:
        known, unimplemented = token_filters.PREDEFINED, token_filters.UNIMPLEMENTED
        return self._find("tokenFilters", name, known, unimplemented, build_token_filter)

    def _find_char_filter(self, name: str) -> CharFilter:
        return self._find("charFilters", name, CHAR_FILTERS, (), build_char_filter)

    def _find(
        self,
        part: str,
        name: str,
        known: Mapping[str, str],
        unimplemented: Any,
        build: Callable[[str, Json], Built],
    ) -> Built:
        if own := self._find_own(part, name):
            return build(_get_kind(own), {key: value for key, value in own.items() if value is not None})
        if name in known:
            return build(known[name].removesuffix("V2"), dict(PREDEFINED_SETTINGS.get(name, {})))
        if name in unimplemented:
            raise make_unimplemented_refusal(f"'{name}' of {part}")
        raise _make_reference_refusal(part, name)

    def find_normalizer(self, name: str) -> Normalizer:
        """Find a normalizer, which keeps a text whole. Raises a ServiceRefusal where it is not known."""
        if (own := self._find_own("normalizers", name)) is None:
            if name not in NORMALIZERS:
                raise _make_reference_refusal("normalizers", name)
            return NORMALIZERS[name]
        whole = AnalyzerChain(
            tuple(self._find_char_filter(each) for each in own.get("charFilters") or ()),
            ANALYZERS["keyword"],
            tuple(self._find_token_filter(each) for each in own.get("tokenFilters") or ()),
        )
        return lambda text: "".join(token.term for token in whole.analyze(text))

    def check_references(self) -> None:
        """Check that what analyzers and normalizers are made of is there, implemented or not, and flags of patterns."""
        for part in ("analyzers", "tokenizers"):
            for number, one in enumerate(self._definition[part]):
                _check_flags(one.get("flags"), f"{part}[{number}].flags")
        for one in (*self._definition["analyzers"], *self._definition["normalizers"]):
            asked = (
                ("tokenizers", [one["tokenizer"]] if "tokenizer" in one else []),
                ("tokenFilters", one.get("tokenFilters") or ()),
                ("charFilters", one.get("charFilters") or ()),
            )
            for part, name in ((part, name) for part, names in asked for name in names):
                if self._find_own(part, name) is None and name not in PARTS_OF_THE_SERVICE[part]:
                    raise _make_reference_refusal(part, name)

    def _find_own(self, part: str, name: str) -> Json | None:
        return next((one for one in self._definition[part] if one["name"] == name), None)


PARTS_OF_THE_SERVICE: Mapping[str, set[str]] = {
    "tokenizers": {*tokenizers.PREDEFINED, *tokenizers.UNIMPLEMENTED},
    "tokenFilters": {*token_filters.PREDEFINED, *token_filters.UNIMPLEMENTED},
    "charFilters": set(CHAR_FILTERS),
}


def _get_kind(own: Json) -> str:
    return str(own.get("@odata.type")).removeprefix(ANALYSIS).removesuffix("V2")


def _check_flags(flags: str | None, where: str) -> None:
    if flags is not None and not set(flags.split("|")) <= set(ALL_FLAGS):
        raise make_refusal(
            f'The request is invalid. Details: {where} : Values of property "flags" must belong to the set of allowed '
            f"values (case-sensitive) or be in the pipe form of them (e.g. value1|value2|...): {', '.join(ALL_FLAGS)}."
        )


def _make_reference_refusal(part: str, name: str) -> ServiceRefusal:
    message = f"'{name}' is neither defined in '{part}' of the index nor a name of the service."
    return make_part_refusal("definition", message, code="InvalidRequestParameter", detail="InvalidName")
