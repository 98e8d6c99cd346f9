"""Grouping of retrieved passages by section, and completion of the groups from their document (S0-56 to S0-60).

A section whose passages cover too few of the lines between its first and its last is split into runs of nearby
passages; a run whose coverage is too low as well is left out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from rag_core.core.model import Chunk, Hit, Ranking, Scope, Span
from rag_core.core.ports import ChunkStore

# of sections merged into a group: without a limit fifteen short ones that follow one another were one passage, the
# whole document, of which there is no best five
MAX_MERGED_CHARS = 2000
MAX_NEIGHBOURS = 3  # stored chunks on each side that may complete a short group
OVERLAP_CHARS_RANGE = (8, 16_000)  # characters: fewer may be chance, and no chunking overlaps by more
ADJACENT_SEPARATOR, OMISSION_SEPARATOR = "\n\n", "\n\n[…]\n\n"


@dataclass(frozen=True, slots=True)
class PassageGroup:
    """Passages of one document, joined into one `passage`, which has the id of the first.

    `retrieved` are the passages that were found, in the order of the document; `coverage` is the share of the lines
    from the first to the last that they contain, 1 for a single one; `score` is their highest score. `enriched` says
    that `passage` has text that they do not have.
    """

    retrieved: tuple[Chunk, ...]
    score: float
    coverage: float
    passage: Chunk
    enriched: bool = False


def group_hits(hits: Ranking, *, max_line_gap: int, coverage_min: float) -> tuple[list[PassageGroup], int]:
    """Return the groups, best first, and how many were left out because their coverage is below `coverage_min`."""
    groups = [
        _build_group(part)
        for section in _merge_nearby_sections(_group_by_section(hits), max_line_gap, max_chars=MAX_MERGED_CHARS)
        for part in _split_sparse_section(section, max_line_gap=max_line_gap, coverage_min=coverage_min)
    ]
    covered = [group for group in groups if group.coverage >= coverage_min]
    return sorted(covered, key=lambda group: (-group.score, group.passage.id)), len(groups) - len(covered)


async def complete_group(group: PassageGroup, scope: Scope, store: ChunkStore, *, min_chars: int) -> PassageGroup:
    """Add the stored chunks between the retrieved passages, and to a short group also adjacent ones of its section.

    Raises:
        Unavailable: the store did not answer.
    """
    first, last = group.retrieved[0], group.retrieved[-1]
    reach = last.ordinal - first.ordinal + MAX_NEIGHBOURS
    stored = await store.load_neighbours(first, scope, before=MAX_NEIGHBOURS, after=reach)
    chunks_by_ordinal = {chunk.ordinal: chunk for chunk in (*stored, *group.retrieved)}
    chunks = [chunks_by_ordinal[n] for n in sorted(chunks_by_ordinal) if first.ordinal <= n <= last.ordinal]
    while len(join_chunks(chunks).content) < min_chars and (
        adjacent := _select_adjacent_chunk(chunks, chunks_by_ordinal)
    ):
        chunks = sorted([*chunks, adjacent], key=_get_ordinal)
    return replace(group, passage=join_chunks(chunks), enriched=len(chunks) > len(group.retrieved))


def rewrite_from_lines(group: PassageGroup, lines: Sequence[str]) -> PassageGroup:
    """Replace the passage's text by its lines of the document; a group not found in them is returned unchanged."""
    line_range = find_line_range(group.passage)
    if line_range is None:
        return group
    line_start = line_range[0]
    content = "\n".join(lines[line_start - 1 : line_range[1]]).rstrip()
    if not all(_contains_last_line(content, chunk) for chunk in group.retrieved):
        return group
    passage, is_longer = (
        group.passage,
        len(_collapse_whitespace(content)) > len(_collapse_whitespace(join_chunks(group.retrieved).content)),
    )
    line_end = line_start + content.count("\n")
    span = Span(0, len(content), passage.page, line_start, line_end, section=passage.heading_path)
    return replace(group, passage=replace(passage, content=content, spans=(span,)), enriched=is_longer)


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Join chunks, given in the order of their document: overlaps occur once, and "[…]" marks an omission."""
    passage = chunks[0]
    for before, after in pairwise(chunks):
        adjacent = after.ordinal == before.ordinal + 1
        passage = _append_chunk(
            passage, after, count_overlap_chars(before.content, after.content) if adjacent else 0, adjacent=adjacent
        )
    return replace(passage, heading_path=_find_common_heading_path([chunk.heading_path for chunk in chunks]))


def count_overlap_chars(before: str, after: str) -> int:
    """Return the number of characters at the end of one text that the other begins with; 0 outside of the range."""
    shortest, longest = OVERLAP_CHARS_RANGE
    sizes = range(min(len(before), len(after), longest), shortest - 1, -1)
    return next((size for size in sizes if before.endswith(after[:size])), 0)


def find_line_range(chunk: Chunk) -> tuple[int, int] | None:
    """Return the first and last line of a chunk without its header; None when no lines are known."""
    # in a later chunk, a span that starts at line 1 is the repeated header
    body_spans = [span for span in chunk.spans if span.line_start > 1] if chunk.ordinal else []
    spans = body_spans or chunk.spans
    return (min(s.line_start for s in spans), max(s.line_end for s in spans)) if spans else None


def _group_by_section(hits: Ranking) -> list[list[Hit]]:
    """Group the hits by document and parent chunk, or by headings where there are no parents.

    A parent chunk is grouped with its children; a group is in the order of the document.
    """
    parents = {hit.chunk.parent_id for hit in hits}

    def section_key(hit: Hit) -> tuple[str, str]:
        chunk = hit.chunk
        parent_id = chunk.id if chunk.id in parents else chunk.parent_id
        return chunk.document_id, parent_id or "\n".join(chunk.heading_path)

    return [sorted(part, key=_get_hit_ordinal) for _, part in groupby(sorted(hits, key=section_key), key=section_key)]


def _merge_nearby_sections(
    sections: Sequence[list[Hit]], max_line_gap: int, *, max_chars: float = math.inf
) -> Iterator[list[Hit]]:
    """Merge the sections of a document that are at most `max_line_gap` lines apart, up to `max_chars` of their text."""
    group: list[Hit] = []
    for section in sorted(sections, key=lambda part: (part[0].chunk.document_id, _get_hit_ordinal(part[0]))):
        is_full = sum(len(hit.chunk.content) for hit in (*group, *section)) > max_chars
        if group and (is_full or not _is_near(group, section[0].chunk, max_line_gap)):
            yield group
            group = []
        group = sorted([*group, *section], key=_get_hit_ordinal)
    if group:
        yield group


def _split_sparse_section(hits: list[Hit], *, max_line_gap: int, coverage_min: float) -> Iterator[list[Hit]]:
    """Yield a section, or its runs of nearby hits when its coverage is below `coverage_min`."""
    if _compute_line_coverage([hit.chunk for hit in hits]) >= coverage_min:
        yield hits
    else:
        yield from _merge_nearby_sections([[hit] for hit in hits], max_line_gap)


def _is_near(group: Sequence[Hit], next_chunk: Chunk, max_line_gap: int) -> bool:
    """Return whether a chunk begins at most `max_line_gap` lines below a group.

    Where no lines are known, it must be the next chunk of the document.
    """
    last = group[-1].chunk
    if last.document_id != next_chunk.document_id:
        return False
    line_ranges, next_range = (
        [lines for hit in group if (lines := find_line_range(hit.chunk))],
        find_line_range(next_chunk),
    )
    if not line_ranges or next_range is None:
        return next_chunk.ordinal - last.ordinal <= 1
    return (
        next_range[0] - max(end for _, end in line_ranges) <= max_line_gap
        and next_chunk.ordinal - last.ordinal <= 1 + max_line_gap
    )


def _build_group(hits: Sequence[Hit]) -> PassageGroup:
    chunks = tuple(hit.chunk for hit in hits)
    score = max(hit.signals.get("final", hit.score) for hit in hits)
    return PassageGroup(chunks, score, _compute_line_coverage(chunks), join_chunks(chunks))


def _compute_line_coverage(chunks: Sequence[Chunk]) -> float:
    """Return the share of the lines from the first to the last that the chunks contain.

    It is 1 for a single chunk, and where no lines are known.
    """
    line_ranges = [lines for chunk in chunks if (lines := find_line_range(chunk))]
    if len(chunks) == 1 or not line_ranges:
        return 1.0
    covered_lines = {line for first, last in line_ranges for line in range(first, last + 1)}
    return len(covered_lines) / (max(covered_lines) - min(covered_lines) + 1)


def _select_adjacent_chunk(chunks: Sequence[Chunk], chunks_by_ordinal: dict[int, Chunk]) -> Chunk | None:
    """Return the chunk after these, else the one before them, if it is of the same section."""
    after, before = chunks_by_ordinal.get(chunks[-1].ordinal + 1), chunks_by_ordinal.get(chunks[0].ordinal - 1)
    section = _find_common_heading_path([chunk.heading_path for chunk in chunks])
    return next((chunk for chunk in (after, before) if chunk and chunk.heading_path[: len(section)] == section), None)


def _append_chunk(passage: Chunk, next_chunk: Chunk, overlap_chars: int, *, adjacent: bool) -> Chunk:
    """Append a chunk without the characters that overlap, its spans shifted accordingly."""
    separator = "" if overlap_chars else ADJACENT_SEPARATOR if adjacent else OMISSION_SEPARATOR
    shift = len(passage.content) + len(separator) - overlap_chars
    spans = [
        _trim_span_start(span, next_chunk.content, overlap_chars)
        for span in next_chunk.spans
        if span.end > overlap_chars
    ]
    return replace(
        passage,
        content=passage.content + separator + next_chunk.content[overlap_chars:],
        spans=(*passage.spans, *(replace(span, start=span.start + shift, end=span.end + shift) for span in spans)),
    )


def _trim_span_start(span: Span, content: str, start: int) -> Span:
    """Return the part of the span from `start` on; its first line is adjusted where the content keeps line breaks."""
    if span.start >= start:
        return span
    keeps_line_breaks = content.count("\n", span.start, span.end) == span.line_end - span.line_start
    removed_lines = content.count("\n", span.start, start) if keeps_line_breaks else 0
    return replace(span, start=start, line_start=span.line_start + removed_lines)


def _find_common_heading_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all of the paths begin with."""
    shortest = min(paths, key=len)
    depth = next((n for n in range(len(shortest)) if any(path[n] != shortest[n] for path in paths)), len(shortest))
    return shortest[:depth]


def _contains_last_line(content: str, chunk: Chunk) -> bool:
    """Return whether a text contains a chunk's last line, ignoring white space.

    The first line is not compared: it may belong to a header or be cut.
    """
    return _collapse_whitespace(chunk.content.rstrip().rsplit("\n", 1)[-1]) in _collapse_whitespace(content)


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def _get_ordinal(chunk: Chunk) -> int:
    return chunk.ordinal


def _get_hit_ordinal(hit: Hit) -> int:
    return hit.chunk.ordinal
