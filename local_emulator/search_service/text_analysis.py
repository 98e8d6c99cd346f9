"""Analyze a text on request: with an analyzer, a tokenizer and filters, or a normalizer that keeps it whole."""

from typing import Any

from .analysis import LexicalAnalyzer
from .index_analysis import IndexAnalysis
from .refusals import make_refusal, make_unimplemented_refusal

Json = dict[str, Any]

WAYS = {"analyzer", "tokenizer", "normalizer"}
FILTERS = {"tokenFilters", "charFilters"}


def analyze_text(body: Any, definition: Json) -> list[Json]:
    """Analyze a text into its tokens. Raises a ServiceRefusal for what is not implemented."""
    given = {name: value for name, value in body.items() if value} if isinstance(body, dict) else {}
    if others := given.keys() - {"text", *WAYS, *FILTERS}:
        raise make_unimplemented_refusal(f"'{min(others)}' of an analysis")
    if len(given.keys() & WAYS) != 1:
        raise make_refusal("Exactly one of 'analyzer', 'tokenizer' and 'normalizer' must be given.")
    if "tokenizer" not in given and given.keys() & FILTERS:
        raise make_refusal("'tokenFilters' and 'charFilters' may be given with a 'tokenizer' only.")
    text, analysis = str(given.get("text", "")), IndexAnalysis(definition)
    if "normalizer" in given:
        token = analysis.find_normalizer(given["normalizer"])(text)
        return [{"token": token, "startOffset": 0, "endOffset": len(text), "position": 0}]
    return [
        {"token": token.term, "startOffset": token.start, "endOffset": token.end, "position": token.position}
        for token in _find_way(given, analysis).analyze(text)
    ]


def _find_way(given: Json, analysis: IndexAnalysis) -> LexicalAnalyzer:
    if "analyzer" in given:
        return analysis.find_analyzer(given["analyzer"])
    return analysis.build_chain(given["tokenizer"], given.get("tokenFilters"), given.get("charFilters"))
