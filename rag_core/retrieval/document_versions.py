"""Versions of one document, such as an agreement of 2024 and its successor of 2025: a question may ask for one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from rag_core.core.model import Chunk, Hit, Ranking
from rag_core.text.terms import extract_terms
from rag_core.text.validity import asks_for_current, is_superseded

MIN_SHARED_TERMS = 0.6  # of the shorter passage: the same passage in both versions
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DIGITS = re.compile(r"\d+")
_FOLDERS = re.compile(r"^.*[/\\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Version:
    """What names a passage's document, figures masked, and the years among these."""

    name: str
    years: frozenset[str]


def drop_other_versions(query_text: str, ranking: Ranking) -> Sequence[Hit]:
    """Return the hits without those of another year's version of a document, where that of an asked year has the same.

    Versions are documents whose titles differ in figures alone, or whose file names do where the titles have no year. A
    question without a year, or one that names the years of both, keeps all, unless it asks for what holds now: that is
    the version of the latest year.
    """
    asked = frozenset(_YEAR.findall(query_text))
    wants_latest = not asked and asks_for_current(query_text)
    versions = [_read_version(hit.chunk) for hit in ranking] if asked or wants_latest else []
    latest: dict[str, str] = {}
    for version in versions:
        latest[version.name] = max(latest.get(version.name, ""), *version.years, "")

    def is_asked(version: _Version) -> bool:
        return latest[version.name] in version.years if wants_latest else bool(version.years & asked)

    wanted = [(version.name, hit) for version, hit in zip(versions, ranking, strict=False) if is_asked(version)]
    if not wanted:
        return ranking
    read_terms = cache(extract_terms)  # of each passage once, however many versions there are

    def share_terms(one: Chunk, other: Chunk) -> bool:
        terms, others = read_terms(one.content), read_terms(other.content)
        return len(terms & others) >= MIN_SHARED_TERMS * min(len(terms), len(others))

    def is_other(version: _Version, hit: Hit) -> bool:
        return (
            bool(version.years)
            and not is_asked(version)
            and any(name == version.name and share_terms(hit.chunk, other.chunk) for name, other in wanted)
        )

    return [hit for version, hit in zip(versions, ranking, strict=True) if not is_other(version, hit)]


def is_superseded_chunk(query_text: str, chunk: Chunk) -> bool:
    """Return whether a chunk is marked as superseded, and the question is not about what was."""
    return is_superseded(query_text, (chunk.title, *chunk.heading_path), chunk.content)


def put_superseded_last(query_text: str, ranking: Ranking) -> Sequence[Hit]:
    """Return the hits with those that are marked as superseded after all others."""
    return sorted(ranking, key=lambda hit: is_superseded_chunk(query_text, hit.chunk))


def _read_version(chunk: Chunk) -> _Version:
    name = chunk.title.casefold()
    if not _YEAR.search(name):
        name += "\n" + _FOLDERS.sub("", chunk.source).casefold()
    return _Version(_DIGITS.sub("#", name), frozenset(_YEAR.findall(name)))
