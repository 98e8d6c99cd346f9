"""Which English words mean the same, the opposite, or are derived from each other, by WordNet 3.0.

`word_relations.tsv.gz` is made by `python -m evals.word_relations` and read when it is first needed; its licence is
`word_relations.LICENSE`. Only the frequent senses of a word count: "grant" and "allow" are the same, and both the
opposite of "deny". A verb may have a particle: "go on" and "continue" are the same.
"""

import gzip
from collections.abc import Iterator, Set
from functools import cache, lru_cache
from pathlib import Path

TABLE_FILE = Path(__file__).with_name("word_relations.tsv.gz")
_FORMS, _SYNONYMS, _OPPOSITES, _DERIVED = range(4)  # the columns after the word
# endings of regular forms and what stands in their place in the word itself, as WordNet's own `morphy` has them
_ENDINGS = (
    ("ies", "y"),
    ("ses", "s"),
    ("xes", "x"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("es", "e"),
    ("es", ""),
    ("s", ""),
    ("ied", "y"),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("iest", "y"),
    ("est", "e"),
    ("est", ""),
    ("ier", "y"),
)
_MIN_STEM_CHARS = 2


@lru_cache(maxsize=20_000)
def find_synonyms(base: str) -> Set[str]:
    """Return the words that mean the same as a base form in a frequent sense of both, or are derived with it."""
    return frozenset((*_get_column(base, _SYNONYMS), *_get_column(base, _DERIVED)))


@lru_cache(maxsize=20_000)
def find_antonyms(word: str) -> Set[str]:
    """Return the base forms that mean the opposite of a lower-case word, or of what it is derived with, in any form."""
    bases = {near for base in find_base_forms(word) for near in (base, *_get_column(base, _DERIVED))}
    return frozenset(other for base in bases for other in _get_column(base, _OPPOSITES))


def are_antonyms(word: str, other: str) -> bool:
    """Return whether two lower-case words, in any form, mean the opposite in a frequent sense of both."""
    antonyms = find_antonyms(word)
    return bool(antonyms) and any(
        not antonyms.isdisjoint((base, *_get_column(base, _DERIVED))) for base in find_base_forms(other)
    )


@lru_cache(maxsize=20_000)
def find_base_forms(word: str) -> Set[str]:
    """Return the words of the table of which a lower-case word may be a form: "began" of "begin", "axes" of two."""
    verb, space, particle = word.replace("_", " ").partition(" ")
    if space:
        return frozenset(name for base in find_base_forms(verb) if (name := f"{base}_{particle}") in _load_table())
    found = {word, *_get_column(word, _FORMS)}
    if len(found) == 1:
        found.update(base for base in _strip_endings(word) if base in _load_table())
    return frozenset(found)


def _strip_endings(word: str) -> Iterator[str]:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_CHARS:
            stem = word.removesuffix(ending)
            yield stem + instead
            if instead == "" and ending in ("ed", "ing", "est") and stem[-1:] == stem[-2:-1]:
                yield stem[:-1]  # "stopped"


def _get_column(word: str, column: int) -> list[str]:
    columns = _load_table().get(word, "").split("\t")
    return columns[column].split() if column < len(columns) else []


@cache
def _load_table() -> dict[str, str]:
    """Return the columns of each word as text, since hardly any is ever read."""
    lines = gzip.decompress(TABLE_FILE.read_bytes()).decode().split("\n")
    return dict(line.split("\t", 1) for line in lines)
