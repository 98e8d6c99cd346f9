"""Grouping of retrieved passages by section, and completion of the groups from their document (S0-56 to S0-60).

A section whose passages cover too few of the lines between its first and its last is split into runs of nearby
passages; a run whose coverage is too low as well is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from rag_core.core.model import Chunk, Hit, Ranking, Scope, Span
from rag_core.core.ports import ChunkStore

BESIDE = 3  # stored chunks on each side that may complete a short group
REPEATED = (8, 16_000)  # characters: fewer may be chance, and no chunking overlaps by more
NEXT, SKIPPED = "\n\n", "\n\n[…]\n\n"


@dataclass(frozen=True, slots=True)
class Group:
    """Passages of one document, joined into one `passage`, which has the id of the first.

    `retrieved` are the passages that were found, in the order of the document; `coverage` is the share of the lines
    from the first to the last that they contain, 1 for a single one; `score` is their highest score. `enriched` says
    that `passage` has text that they do not have.
    """

    found: tuple[Chunk, ...]
    score: float
    coverage: float
    passage: Chunk
    enriched: bool = False


def grouped(hits: Ranking, *, gap: int, coverage_min: float) -> tuple[list[Group], int]:
    """Return the groups, best first, and how many were left out because their coverage is below `coverage_min`."""
    groups = [
        _group(part) for section in _near(_sections(hits), gap) for part in _solid(section, gap=gap, least=coverage_min)
    ]
    covered = [group for group in groups if group.coverage >= coverage_min]
    return sorted(covered, key=lambda group: (-group.score, group.passage.id)), len(groups) - len(covered)


async def completed(group: Group, scope: Scope, store: ChunkStore, *, min_chars: int) -> Group:
    """Add the stored chunks between the retrieved passages, and to a short group also adjacent ones of its section.

    Raises:
        Unavailable: the store did not answer.
    """
    first, last = group.found[0], group.found[-1]
    reach = last.ordinal - first.ordinal + BESIDE
    stored = await store.neighbours(first, scope, before=BESIDE, after=reach)
    chunks_by_ordinal = {chunk.ordinal: chunk for chunk in (*stored, *group.found)}
    chunks = [chunks_by_ordinal[n] for n in sorted(chunks_by_ordinal) if first.ordinal <= n <= last.ordinal]
    while len(joined(chunks).content) < min_chars and (adjacent := _beside(chunks, chunks_by_ordinal)):
        chunks = sorted([*chunks, adjacent], key=_place)
    return replace(group, passage=joined(chunks), enriched=len(chunks) > len(group.found))


def written_out(group: Group, lines: Sequence[str]) -> Group:
    """Replace the passage's text by its lines of the document; a group not found in them is returned unchanged."""
    line_range = extent(group.passage)
    if line_range is None:
        return group
    line_start = line_range[0]
    content = "\n".join(lines[line_start - 1 : line_range[1]]).rstrip()
    if not all(_stands_in(content, chunk) for chunk in group.found):
        return group
    passage, is_longer = group.passage, len(_folded(content)) > len(_folded(joined(group.found).content))
    line_end = line_start + content.count("\n")
    span = Span(0, len(content), passage.page, line_start, line_end, section=passage.heading_path)
    return replace(group, passage=replace(passage, content=content, spans=(span,)), enriched=is_longer)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Join chunks, given in the order of their document: overlaps occur once, and "[…]" marks an omission."""
    passage = chunks[0]
    for before, after in pairwise(chunks):
        adjacent = after.ordinal == before.ordinal + 1
        passage = _with(passage, after, shared(before.content, after.content) if adjacent else 0, adjacent=adjacent)
    return replace(passage, heading_path=_common([chunk.heading_path for chunk in chunks]))


def shared(before: str, after: str) -> int:
    """Return the number of characters at the end of one text that the other begins with; 0 outside of the range."""
    shortest, longest = REPEATED
    sizes = range(min(len(before), len(after), longest), shortest - 1, -1)
    return next((size for size in sizes if before.endswith(after[:size])), 0)


def extent(chunk: Chunk) -> tuple[int, int] | None:
    """Return the first and last line of a chunk without its header; None when no lines are known."""
    # in a later chunk, a span that starts at line 1 is the repeated header
    body_spans = [span for span in chunk.spans if span.line_start > 1] if chunk.ordinal else []
    spans = body_spans or chunk.spans
    return (min(s.line_start for s in spans), max(s.line_end for s in spans)) if spans else None


def _sections(hits: Ranking) -> list[list[Hit]]:
    """Group the hits by document and parent chunk, or by headings where there are no parents.

    A parent chunk is grouped with its children; a group is in the order of the document.
    """
    parents = {hit.chunk.parent_id for hit in hits}

    def section_key(hit: Hit) -> tuple[str, str]:
        chunk = hit.chunk
        parent_id = chunk.id if chunk.id in parents else chunk.parent_id
        return chunk.document_id, parent_id or "\n".join(chunk.heading_path)

    return [sorted(part, key=_hit_place) for _, part in groupby(sorted(hits, key=section_key), key=section_key)]


def _near(sections: Sequence[list[Hit]], gap: int) -> Iterator[list[Hit]]:
    """Merge the sections of a document that are at most `max_line_gap` lines apart."""
    group: list[Hit] = []
    for section in sorted(sections, key=lambda part: (part[0].chunk.document_id, _hit_place(part[0]))):
        if group and not _close(group, section[0].chunk, gap):
            yield group
            group = []
        group = sorted([*group, *section], key=_hit_place)
    if group:
        yield group


def _solid(hits: list[Hit], *, gap: int, least: float) -> Iterator[list[Hit]]:
    """Yield a section, or its runs of nearby hits when its coverage is below `coverage_min`."""
    if _coverage([hit.chunk for hit in hits]) >= least:
        yield hits
    else:
        yield from _near([[hit] for hit in hits], gap)


def _close(group: Sequence[Hit], after: Chunk, gap: int) -> bool:
    """Return whether a chunk begins at most `max_line_gap` lines below a group.

    Where no lines are known, it must be the next chunk of the document.
    """
    last = group[-1].chunk
    if last.document_id != after.document_id:
        return False
    line_ranges, next_range = [lines for hit in group if (lines := extent(hit.chunk))], extent(after)
    if not line_ranges or next_range is None:
        return after.ordinal - last.ordinal <= 1
    return next_range[0] - max(end for _, end in line_ranges) <= gap and after.ordinal - last.ordinal <= 1 + gap


def _group(hits: Sequence[Hit]) -> Group:
    chunks = tuple(hit.chunk for hit in hits)
    score = max(hit.signals.get("final", hit.score) for hit in hits)
    return Group(chunks, score, _coverage(chunks), joined(chunks))


def _coverage(chunks: Sequence[Chunk]) -> float:
    """Return the share of the lines from the first to the last that the chunks contain.

    It is 1 for a single chunk, and where no lines are known.
    """
    line_ranges = [lines for chunk in chunks if (lines := extent(chunk))]
    if len(chunks) == 1 or not line_ranges:
        return 1.0
    covered_lines = {line for first, last in line_ranges for line in range(first, last + 1)}
    return len(covered_lines) / (max(covered_lines) - min(covered_lines) + 1)


def _beside(chunks: Sequence[Chunk], known: dict[int, Chunk]) -> Chunk | None:
    """Return the chunk after these, else the one before them, if it is of the same section."""
    after, before = known.get(chunks[-1].ordinal + 1), known.get(chunks[0].ordinal - 1)
    section = _common([chunk.heading_path for chunk in chunks])
    return next((chunk for chunk in (after, before) if chunk and chunk.heading_path[: len(section)] == section), None)


def _with(whole: Chunk, after: Chunk, repeated: int, *, adjacent: bool) -> Chunk:
    """Append a chunk without the characters that overlap, its spans shifted accordingly."""
    separator = "" if repeated else NEXT if adjacent else SKIPPED
    shift = len(whole.content) + len(separator) - repeated
    spans = [_cut(span, after.content, repeated) for span in after.spans if span.end > repeated]
    return replace(
        whole,
        content=whole.content + separator + after.content[repeated:],
        spans=(*whole.spans, *(replace(span, start=span.start + shift, end=span.end + shift) for span in spans)),
    )


def _cut(span: Span, content: str, start: int) -> Span:
    """Return the part of the span from `start` on; its first line is adjusted where the content keeps line breaks."""
    if span.start >= start:
        return span
    keeps_line_breaks = content.count("\n", span.start, span.end) == span.line_end - span.line_start
    removed_lines = content.count("\n", span.start, start) if keeps_line_breaks else 0
    return replace(span, start=start, line_start=span.line_start + removed_lines)


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all of the paths begin with."""
    shortest = min(paths, key=len)
    depth = next((n for n in range(len(shortest)) if any(path[n] != shortest[n] for path in paths)), len(shortest))
    return shortest[:depth]


def _stands_in(content: str, chunk: Chunk) -> bool:
    """Return whether a text contains a chunk's last line, ignoring white space.

    The first line is not compared: it may belong to a header or be cut.
    """
    return _folded(chunk.content.rstrip().rsplit("\n", 1)[-1]) in _folded(content)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _place(chunk: Chunk) -> int:
    return chunk.ordinal


def _hit_place(hit: Hit) -> int:
    return hit.chunk.ordinal
