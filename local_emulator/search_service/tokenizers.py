"""Tokenizers split a text into its first tokens."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .analysis import ANALYZERS, Analyzer, LexicalAnalyzer, Token
from .char_filters import compile_java_pattern
from .refusals import make_unimplemented_refusal
from .token_filters import list_gram_spans

Json = dict[str, Any]
Spans = Iterator[tuple[int, int]]

PREDEFINED: Mapping[str, str] = {
    "classic": "ClassicTokenizer",
    "edgeNGram": "EdgeNGramTokenizer",
    "keyword_v2": "KeywordTokenizerV2",
    "letter": "LetterTokenizer",
    "lowercase": "LowercaseTokenizer",
    "microsoft_language_tokenizer": "MicrosoftLanguageTokenizer",
    "nGram": "NGramTokenizer",
    "path_hierarchy_v2": "PathHierarchyTokenizerV2",
    "pattern": "PatternTokenizer",
    "standard_v2": "StandardTokenizerV2",
    "uax_url_email": "UaxUrlEmailTokenizer",
    "whitespace": "WhitespaceTokenizer",
}
UNIMPLEMENTED = {"microsoft_language_stemming_tokenizer"}  # what the service has besides
_ADDRESSES = re.compile(r"https?://[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\w+(?:['’.]\w+)*")
_STANDARD = Analyzer(ANALYZERS["standard"].pattern, lower=False)
BY_PATTERN: Mapping[str, tuple[Analyzer, int | None]] = {  # with the longest token that it makes
    "WhitespaceTokenizer": (ANALYZERS["whitespace"], None),
    "LetterTokenizer": (Analyzer(ANALYZERS["simple"].pattern, lower=False), None),
    "LowercaseTokenizer": (ANALYZERS["simple"], None),
    "KeywordTokenizer": (ANALYZERS["keyword"], 256),
    "StandardTokenizer": (_STANDARD, 255),
    "ClassicTokenizer": (_STANDARD, 255),
    "MicrosoftLanguageTokenizer": (_STANDARD, 255),
    "UaxUrlEmailTokenizer": (Analyzer(_ADDRESSES, lower=False), 255),
}
CHARACTERS: Mapping[str, str] = {"letter": "L", "digit": "N", "whitespace": "Z", "punctuation": "P", "symbol": "S"}


@dataclass(frozen=True, slots=True)
class SpanTokenizer:
    """A tokenizer that finds where its tokens stand; all at one position, or each at its own."""

    find_spans: Callable[[str], Spans]
    at_one_position: bool = False

    def analyze(self, text: str) -> Iterator[Token]:
        for number, (start, end) in enumerate(self.find_spans(text)):
            yield Token(text[start:end], start, end, 0 if self.at_one_position else number)


@dataclass(frozen=True, slots=True)
class SplittingTokenizer:
    """A tokenizer whose longer tokens are split."""

    inner: LexicalAnalyzer
    most: int

    def analyze(self, text: str) -> Iterator[Token]:
        added = 0
        for one in self.inner.analyze(text):
            for start in range(one.start, one.end, self.most):
                end = min(start + self.most, one.end)
                term = one.term if end - start == one.end - one.start else text[start:end]
                yield replace(one, term=term, start=start, end=end, position=one.position + added)
                added += end < one.end


def build_tokenizer(kind: str, settings: Json) -> LexicalAnalyzer:
    """Build a tokenizer from its settings, with their defaults. Raises a ServiceRefusal where it is not known."""
    if kind in BY_PATTERN:
        plain, longest = BY_PATTERN[kind]
        return SplittingTokenizer(plain, settings.get("maxTokenLength", longest)) if longest else plain
    match kind:
        case "EdgeNGramTokenizer" | "NGramTokenizer":
            return SpanTokenizer(_build_gram_finder(settings, only_at_start=kind == "EdgeNGramTokenizer"))
        case "PatternTokenizer":
            return SpanTokenizer(_build_pattern_finder(settings))
        case "PathHierarchyTokenizer":
            return SpanTokenizer(_build_path_finder(settings), at_one_position=True)
    raise make_unimplemented_refusal(f"the tokenizer '{kind}'")


def _build_gram_finder(settings: Json, *, only_at_start: bool) -> Callable[[str], Spans]:
    least, most = settings.get("minGram", 1), settings.get("maxGram", 2)
    wanted = {CHARACTERS.get(each, "") for each in settings.get("tokenChars") or ()}

    def find_spans(text: str) -> Spans:
        for start, end in _list_runs(text, wanted):
            spans = list_gram_spans(end - start, least, most)
            for left, right in spans:
                if only_at_start and left:
                    break
                yield start + left, start + right

    return find_spans


def _list_runs(text: str, wanted: set[str]) -> Spans:
    """List where runs of characters of the wanted classes stand; the whole text where none is named."""
    start = 0
    for place, character in enumerate(text) if wanted else ():
        kind = "Z" if character.isspace() else unicodedata.category(character)[0]
        if kind not in wanted:
            if start < place:
                yield start, place
            start = place + 1
    if start < len(text):
        yield start, len(text)


def _build_pattern_finder(settings: Json) -> Callable[[str], Spans]:
    pattern, group = compile_java_pattern(settings), settings.get("group", -1)

    def find_spans(text: str) -> Spans:
        done = 0
        for found in pattern.finditer(text):
            if group >= 0:
                if found[group]:
                    yield found.span(group)
                continue
            if done < found.start():
                yield done, found.start()
            done = found.end()
        if group < 0 and done < len(text):
            yield done, len(text)

    return find_spans


def _build_path_finder(settings: Json) -> Callable[[str], Spans]:
    """Find a path's beginnings, a/b/c as a, a/b and a/b/c; or in reverse its endings."""
    delimiter, skipped = str(settings.get("delimiter", "/")), settings.get("skip", 0)
    if settings.get("replacement", delimiter) != delimiter:
        raise make_unimplemented_refusal("'replacement' of a path's delimiter")

    def find_beginnings(text: str) -> Spans:
        ends = [place for place, each in enumerate(text) if each == delimiter and place] + [len(text)] * bool(text)
        start = 0 if not skipped else ends[skipped - 1] if skipped <= len(ends) else len(text)
        yield from ((start, end) for end in ends[skipped:])

    def find_endings(text: str) -> Spans:
        last = len(text) - 1
        starts = [0] * bool(text) + [place + 1 for place, each in enumerate(text) if each == delimiter and place < last]
        end = len(text) if not skipped else starts[-skipped] if skipped <= len(starts) else 0
        yield from ((start, end) for start in starts[: len(starts) - skipped or None if skipped else None])

    return find_endings if settings.get("reverse") else find_beginnings
