"""Analyze a text on request: with an analyzer, a tokenizer, or a normalizer that keeps it whole."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from .analysis import ANALYZERS, Analyzer, fold_to_ascii
from .refusals import make_refusal, make_unimplemented_refusal

Json = dict[str, Any]

_ELISION = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’]", re.IGNORECASE)
_ADDRESSES = re.compile(r"https?://[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\w+(?:['’.]\w+)*")
_STANDARD = Analyzer(ANALYZERS["standard"].pattern, lower=False)
TOKENIZERS: Mapping[str, Analyzer] = {
    "whitespace": ANALYZERS["whitespace"],
    "keyword_v2": ANALYZERS["keyword"],
    "standard_v2": _STANDARD,
    "classic": _STANDARD,
    "microsoft_language_tokenizer": _STANDARD,
    "pattern": Analyzer(ANALYZERS["pattern"].pattern, lower=False, splits_ideographs=False),
    "uax_url_email": Analyzer(_ADDRESSES, lower=False),
    "edgeNGram": Analyzer(re.compile(r"(?s)\A."), lower=False),  # by default of one letter
    "letter": Analyzer(ANALYZERS["simple"].pattern, lower=False),
    "lowercase": ANALYZERS["simple"],
}


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "standard": lambda text: fold_to_ascii(text.lower()),
    "lowercase": str.lower,
    "uppercase": str.upper,
    "asciifolding": fold_to_ascii,
    "elision": lambda text: _ELISION.sub("", text),
}


def analyze_text(body: Any) -> list[Json]:
    """Analyze a text into its tokens. Raises a ServiceRefusal for what is not implemented."""
    given = {name: value for name, value in body.items() if value} if isinstance(body, dict) else {}
    if others := given.keys() - {"text", "analyzer", "tokenizer", "normalizer"}:
        raise make_unimplemented_refusal(f"'{min(others)}' of an analysis")
    if len(given.keys() & {"analyzer", "tokenizer", "normalizer"}) != 1:
        raise make_refusal("Exactly one of 'analyzer', 'tokenizer' and 'normalizer' must be given.")
    text = str(given.get("text", ""))
    if "normalizer" in given:
        if given["normalizer"] not in NORMALIZERS:
            raise make_unimplemented_refusal(f"the normalizer '{given['normalizer']}'")
        token = NORMALIZERS[given["normalizer"]](text)
        return [{"token": token, "startOffset": 0, "endOffset": len(text), "position": 0}]
    kind, known = ("analyzer", ANALYZERS) if "analyzer" in given else ("tokenizer", TOKENIZERS)
    if given[kind] not in known:
        raise make_unimplemented_refusal(f"the {kind} '{given[kind]}'")
    return [
        {"token": token.term, "startOffset": token.start, "endOffset": token.end, "position": token.position}
        for token in known[given[kind]].analyze(text)
    ]
