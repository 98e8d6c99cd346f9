"""Synonym maps in the Solr format: rules say which words of a query are searched as which others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .analysis import LexicalAnalyzer
from .refusals import make_refusal

Words = tuple[str, ...]
Rules = Mapping[Words, tuple[Words, ...]]

MOST_RULES = 20_000  # of a map, in the largest tiers
MOST_EXPANSIONS = 20


def check_rules(text: Any) -> None:
    """Check that each line is a rule. Raises a ServiceRefusal."""
    if not isinstance(text, str):
        raise make_refusal("'synonyms' must be a text with a rule a line.", parameter="synonyms")
    lines = list(_list_lines(text))
    if len(lines) > MOST_RULES:
        raise make_refusal(f"A synonym map may have {MOST_RULES} rules.", parameter="synonyms")
    for line in lines:
        sides = line.split("=>")
        if len(sides) > 2 or not all(_split_side(side) for side in sides):
            raise make_refusal(f"The synonym rule '{line}' cannot be read.", parameter="synonyms")


def _list_lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


def _split_side(side: str) -> list[str]:
    return [part.strip() for part in side.split(",") if part.strip()]


def parse_rules(texts: Sequence[str], analyzer: LexicalAnalyzer) -> Rules:
    """Parse maps for a field whose queries go through this analyzer.

    `a, b` searches each as both; `a, b => c` searches a and b as c alone.
    """
    found: dict[Words, dict[Words, None]] = {}
    for line in (line for text in texts for line in _list_lines(text)):
        left, arrow, right = line.partition("=>")
        given = [_analyze(part, analyzer) for part in _split_side(left)]
        wanted = [_analyze(part, analyzer) for part in _split_side(right)] if arrow else given
        for one in given:
            held = found.setdefault(one, {})
            held.update(dict.fromkeys(other for other in wanted if other))
    return {one: tuple(others)[:MOST_EXPANSIONS] for one, others in found.items() if one}


def _analyze(text: str, analyzer: LexicalAnalyzer) -> Words:
    return tuple(token.term for token in analyzer.analyze(text.replace("\\", "")))


class SynonymMaps:
    """The maps of a service give the rules of a field; whoever changes a map says so."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._rules: dict[tuple[tuple[str, ...], LexicalAnalyzer], Rules] = {}

    def set_map(self, name: str, text: str | None) -> None:
        """Set the rules of a map; None removes it."""
        if text is None:
            self._texts.pop(name, None)
        else:
            self._texts[name] = text
        self._rules = {}

    def get_rules(self, maps: tuple[str, ...], analyzer: LexicalAnalyzer) -> Rules:
        """Get the rules of the named maps; a map that is not there has none."""
        if not maps:
            return {}
        key = (maps, analyzer)
        if key not in self._rules:
            self._rules[key] = parse_rules([self._texts[name] for name in maps if name in self._texts], analyzer)
        return self._rules[key]
