"""Token filters change, add and take away tokens."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .analysis import ELISION, ENGLISH_STOPS, STEMMERS, Token, fold_to_ascii, stem_word
from .char_filters import compile_java_pattern, translate_replacement
from .refusals import make_unimplemented_refusal

Json = dict[str, Any]
TokenFilter = Callable[[Iterable[Token]], Iterator[Token]]

PREDEFINED: Mapping[str, str] = {
    "apostrophe": "ApostropheTokenFilter",
    "asciifolding": "AsciiFoldingTokenFilter",
    "edgeNGram_v2": "EdgeNGramTokenFilterV2",
    "elision": "ElisionTokenFilter",
    "length": "LengthTokenFilter",
    "limit": "LimitTokenFilter",
    "lowercase": "LowercaseTokenFilter",
    "nGram_v2": "NGramTokenFilterV2",
    "porter_stem": "StemmerTokenFilter",
    "reverse": "ReverseTokenFilter",
    "shingle": "ShingleTokenFilter",
    "snowball": "SnowballTokenFilter",
    "stopwords": "StopwordsTokenFilter",
    "trim": "TrimTokenFilter",
    "truncate": "TruncateTokenFilter",
    "unique": "UniqueTokenFilter",
    "uppercase": "UppercaseTokenFilter",
}
UNIMPLEMENTED = frozenset(
    re.findall(
        r"\w+",
        "arabic_normalization cjk_bigram cjk_width classic common_grams german_normalization hindi_normalization "
        "indic_normalization keyword_repeat kstem persian_normalization phonetic scandinavian_folding "
        "scandinavian_normalization sorani_normalization stemmer word_delimiter",
    )
)  # what the service has besides


def build_token_filter(kind: str, settings: Json) -> TokenFilter:
    """Build a token filter from its settings, with their defaults. Raises a ServiceRefusal where it is not known."""
    if changed := _find_change(kind, settings):
        return lambda tokens: (replace(one, term=changed(one.term)) for one in tokens)
    if expanded := _find_expansion(kind, settings):
        return lambda tokens: (replace(one, term=term) for one in tokens for term in expanded(one.term))
    match kind:
        case "LimitTokenFilter":
            return lambda tokens: itertools.islice(tokens, settings.get("maxTokenCount", 1))
        case "UniqueTokenFilter":
            return lambda tokens: _drop_repeated(tokens, at_one_place=bool(settings.get("onlyOnSamePosition")))
        case "ShingleTokenFilter":
            return lambda tokens: _join_neighbours(list(tokens), settings)
    raise make_unimplemented_refusal(f"the token filter '{kind}'")


def _find_change(kind: str, settings: Json) -> Callable[[str], str] | None:
    """Find the filter that gives one term for each."""
    match kind:
        case "LowercaseTokenFilter":
            return str.lower
        case "UppercaseTokenFilter":
            return str.upper
        case "TrimTokenFilter":
            return str.strip
        case "ReverseTokenFilter":
            return lambda term: term[::-1]
        case "ApostropheTokenFilter":
            return lambda term: re.split("['’]", term, maxsplit=1)[0]
        case "TruncateTokenFilter":
            return lambda term: term[: settings.get("length", 300)]
        case "ElisionTokenFilter":
            return _build_elision(settings.get("articles") or ())
        case "PatternReplaceTokenFilter":
            pattern, by = compile_java_pattern(settings), translate_replacement(settings)
            return lambda term: pattern.sub(by, term)
        case "SnowballTokenFilter" | "StemmerTokenFilter":
            language = str(settings.get("language") or "english").lower()
            if language not in {"english", *STEMMERS.values()}:
                raise make_unimplemented_refusal(f"stems of '{language}'")
            return lambda term: stem_word(language, term)
    return None


def _find_expansion(kind: str, settings: Json) -> Callable[[str], Iterable[str]] | None:
    """Find the filter that gives some terms for each, or none, all at its place."""
    least, most = settings.get("minGram", 1), settings.get("maxGram", 2)
    match kind:
        case "AsciiFoldingTokenFilter":
            return _fold_and_keep if settings.get("preserveOriginal") else lambda term: [fold_to_ascii(term)]
        case "LengthTokenFilter":
            shortest, longest = settings.get("min", 0), settings.get("max", 300)
            return lambda term: [term] if shortest <= len(term) <= longest else []
        case "StopwordsTokenFilter":
            return _build_stop_words(settings)
        case "EdgeNGramTokenFilter":
            if settings.get("side") == "back":
                return lambda term: (term[-n:] for n in range(least, min(most, len(term)) + 1))
            return lambda term: (term[:n] for n in range(least, min(most, len(term)) + 1))
        case "NGramTokenFilter":
            return lambda term: (term[start:end] for start, end in list_gram_spans(len(term), least, most))
        case "PatternCaptureTokenFilter":
            patterns = [compile_java_pattern({"pattern": each}) for each in settings.get("patterns") or ()]
            return lambda term: _capture(term, patterns, kept=settings.get("preserveOriginal", True))
    return None


def list_gram_spans(length: int, least: int, most: int) -> Iterator[tuple[int, int]]:
    """List where the n-grams of so many characters stand, by their start and then by their length."""
    for start in range(length):
        yield from ((start, start + n) for n in range(least, min(most, length - start) + 1))


def _fold_and_keep(term: str) -> list[str]:
    folded = fold_to_ascii(term)
    return [folded] if folded == term else [folded, term]


def _build_elision(articles: Iterable[str]) -> Callable[[str], str]:
    own = "|".join(re.escape(each) for each in articles)
    pattern = re.compile(f"^(?:{own})['’]", re.IGNORECASE) if own else ELISION
    return lambda term: pattern.sub("", term)


def _build_stop_words(settings: Json) -> Callable[[str], list[str]]:
    own = settings.get("stopwords") or ()
    listed = str(settings.get("stopwordsList") or "english").lower()
    if not own and listed != "english":
        raise make_unimplemented_refusal(f"the stop words of '{listed}'")
    if not settings.get("ignoreCase"):
        stops = frozenset(own or ENGLISH_STOPS)
        return lambda term: [] if term in stops else [term]
    lowered = frozenset(each.lower() for each in own or ENGLISH_STOPS)
    return lambda term: [] if term.lower() in lowered else [term]


def _capture(term: str, patterns: Iterable[re.Pattern[str]], *, kept: bool) -> list[str]:
    groups = [group for pattern in patterns for found in pattern.finditer(term) for group in found.groups() if group]
    return list(dict.fromkeys([term, *groups] if kept or not groups else groups))


def _drop_repeated(tokens: Iterable[Token], *, at_one_place: bool) -> Iterator[Token]:
    seen: set[tuple[str, int]] = set()
    for one in tokens:
        if (key := (one.term, one.position if at_one_place else 0)) not in seen:
            seen.add(key)
            yield one


def _join_neighbours(tokens: list[Token], settings: Json) -> Iterator[Token]:
    """Join tokens that follow each other into one; each stands where its first does, the single token before it."""
    sizes = range(settings.get("minShingleSize", 2), settings.get("maxShingleSize", 2) + 1)
    separator, alone = settings.get("tokenSeparator", " "), settings.get("outputUnigrams", True)
    alone = alone or (settings.get("outputUnigramsIfNoShingles") and len(tokens) < sizes.start)
    for place, first in enumerate(tokens):
        if alone:
            yield first
        for joined in (tokens[place : place + size] for size in sizes if place + size <= len(tokens)):
            yield replace(first, term=separator.join(one.term for one in joined), end=joined[-1].end)
