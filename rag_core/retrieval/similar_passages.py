"""Near-identical passages, such as the rows of a log that repeat an event: the best is shown, the rest is counted."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rag_core.core.model import Chunk, Hit, Ranking
from rag_core.ingestion.tables import read_row_cells
from rag_core.text.codes import find_codes
from rag_core.text.stop_words import QUESTION_STOP_WORDS
from rag_core.text.terms import WORD_PATTERN

MIN_ROW_OVERLAP = 0.5  # of the words of two rows: who, where and for how long differ between equal events
MAX_REPEATED_CHARS = 1000  # of a text: a longer one is hardly repeated but for its date, and takes time to compare
_DATE_OR_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[tT](?=\d))?|\d\d?[./]\d\d?[./]\d{2,4}|\d\d?:\d\d(?::\d\d(?:[.,]\d{1,6})?)?[zZ]?"
)

Group = tuple["_Row", list[Hit]]  # of near-identical hits: the words of the best one, and all of them


@dataclass(frozen=True, slots=True)
class _Row:
    """The words of a row's cells without dates and times, those of the question among them, and its codes."""

    words: frozenset[str]
    asked: frozenset[str]
    codes: frozenset[str]


def group_similar_hits(query_text: str, ranking: Ranking) -> list[Hit]:
    """Return the best hit of each group of near-identical passages of a document, with the number of the others.

    Short texts are near-identical when they have the same words, dates and times apart. Rows of a table are when at
    least half of the words of the shorter one stand in the other, with the same of the question's words, and the same
    of its codes or else the same codes. A row with a word of its own, which no other row that was found has, is like
    none: a list of people is not a group.
    """
    counts: dict[str, int] = {}
    for hits in _split_by_document(ranking):
        rows = [(hit, cells) for hit in hits if (cells := read_row_cells(hit.chunk.content, hit.chunk.metadata))]
        row_ids = {hit.chunk.id for hit, _ in rows}
        texts = [hit for hit in hits if hit.chunk.id not in row_ids]
        for group in [*_group_rows(query_text, rows), *_group_texts(texts)]:
            counts[group[0].chunk.id] = len(group) - 1
    best = [(hit, counts[hit.chunk.id]) for hit in ranking if hit.chunk.id in counts]
    return [hit if hit.similar_count == count else replace(hit, similar_count=count) for hit, count in best]


def list_columns(chunk: Chunk) -> tuple[str, ...]:
    """Return the columns of a passage that is a row of a table; () for any other."""
    return tuple(read_row_cells(chunk.content, chunk.metadata))


def _split_by_document(ranking: Ranking) -> Iterable[list[Hit]]:
    hits: dict[str, list[Hit]] = {}
    for hit in ranking:
        hits.setdefault(hit.chunk.document_id, []).append(hit)
    return hits.values()


def _group_texts(hits: Sequence[Hit]) -> list[list[Hit]]:
    if len(hits) == 1:
        return [[hits[0]]]
    groups: dict[object, list[Hit]] = {}
    for hit in hits:
        is_short = len(hit.chunk.content) <= MAX_REPEATED_CHARS
        groups.setdefault(_find_words(hit.chunk.content) if is_short else hit.chunk.id, []).append(hit)
    return list(groups.values())


def _group_rows(query_text: str, rows: Sequence[tuple[Hit, Mapping[str, str]]]) -> list[list[Hit]]:
    """Compare each row with the best of each group that it may belong to."""
    if not rows:
        return []
    asked, codes = _find_words(query_text) - QUESTION_STOP_WORDS, find_codes(query_text)
    read = [(hit, _read_row("\n".join(cells.values()), asked, codes)) for hit, cells in rows]
    own_words = _find_own_words(row for _, row in read)
    groups: dict[object, list[Group]] = {}
    for hit, row in read:
        key = (row.asked, row.codes) if own_words.isdisjoint(row.words) else hit.chunk.id
        candidates = groups.setdefault(key, [])
        group = next((hits for best, hits in candidates if _share_half(best.words, row.words)), None)
        if group is None:
            candidates.append((row, [hit]))
        else:
            group.append(hit)
    return [hits for candidates in groups.values() for _, hits in candidates]


def _read_row(text: str, asked: frozenset[str], asked_codes: frozenset[str]) -> _Row:
    words, codes = _find_words(text), find_codes(_DATE_OR_TIME.sub(" ", text))
    return _Row(words, asked & words, (codes & asked_codes) or codes)


def _find_words(text: str) -> frozenset[str]:
    return frozenset(WORD_PATTERN.findall(_DATE_OR_TIME.sub(" ", text.casefold())))


def _find_own_words(rows: Iterable[_Row]) -> frozenset[str]:
    """Return the words, numbers and codes apart, that stand in one row only."""
    counts = Counter(word for row in rows for word in row.words)
    return frozenset(word for word, count in counts.items() if count == 1 and word.isalpha())


def _share_half(a: frozenset[str], b: frozenset[str]) -> bool:
    return len(a & b) >= MIN_ROW_OVERLAP * min(len(a), len(b))
