"""From found passages to contexts: passages of one section become one, completed from their document (S0-56 to S0-60).

A section whose passages hold too little of what lies between its first and last line is no passage: it is taken apart
into runs of passages that are near each other, and a run that is mostly gap as well is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from rag_core.core.model import Chunk, Hit, Ranking, Scope, Span
from rag_core.core.ports import ChunkStore

BESIDE = 3  # stored passages on each side that may complete a short one
REPEATED = (8, 16_000)  # characters: fewer are chance, more than any overlap
NEXT, SKIPPED = "\n\n", "\n\n[…]\n\n"


@dataclass(frozen=True, slots=True)
class Group:
    """Passages of one document, in its order, and the one `passage` they make, whose id is the first's.

    `found` are those that were retrieved; `coverage` is the share of the lines from the first to the last that they
    hold, 1 for a single one. `score` is their highest. `enriched`: the passage has text that they have not.
    """

    found: tuple[Chunk, ...]
    score: float
    coverage: float
    passage: Chunk
    enriched: bool = False


def grouped(hits: Ranking, *, gap: int, coverage_min: float) -> tuple[list[Group], int]:
    """The groups, best first, and how many were left out because they hold less than `coverage_min` of their lines."""
    found = [
        _group(part) for section in _near(_sections(hits), gap) for part in _solid(section, gap=gap, least=coverage_min)
    ]
    kept = [group for group in found if group.coverage >= coverage_min]
    return sorted(kept, key=lambda group: (-group.score, group.passage.id)), len(found) - len(kept)


async def completed(group: Group, scope: Scope, store: ChunkStore, *, min_chars: int) -> Group:
    """With the stored passages between the found ones; a short one also with those beside it in its section.

    Raises:
        Unavailable: the store did not answer.
    """
    first, last = group.found[0], group.found[-1]
    reach = last.ordinal - first.ordinal + BESIDE
    stored = await store.neighbours(first, scope, before=BESIDE, after=reach)
    known = {chunk.ordinal: chunk for chunk in (*stored, *group.found)}
    chunks = [known[n] for n in sorted(known) if first.ordinal <= n <= last.ordinal]
    while len(joined(chunks).content) < min_chars and (more := _beside(chunks, known)):
        chunks = sorted([*chunks, more], key=_place)
    return replace(group, passage=joined(chunks), enriched=len(chunks) > len(group.found))


def written_out(group: Group, lines: Sequence[str]) -> Group:
    """With the text of these lines of its document, if what was found stands there; else as it is."""
    place = extent(group.passage)
    if place is None:
        return group
    content = "\n".join(lines[place[0] - 1 : place[1]]).rstrip()
    if not all(_stands_in(content, chunk) for chunk in group.found):
        return group
    passage, more = group.passage, len(_folded(content)) > len(_folded(joined(group.found).content))
    last = place[0] + content.count("\n")
    span = Span(0, len(content), passage.page, place[0], last, section=passage.heading_path)
    return replace(group, passage=replace(passage, content=content, spans=(span,)), enriched=more)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Passages in the order of their document as one: what two of them share stands once, and a gap has a sign."""
    whole = chunks[0]
    for before, after in pairwise(chunks):
        adjacent = after.ordinal == before.ordinal + 1
        whole = _with(whole, after, shared(before.content, after.content) if adjacent else 0, adjacent=adjacent)
    return replace(whole, heading_path=_common([chunk.heading_path for chunk in chunks]))


def shared(before: str, after: str) -> int:
    """How many characters at the end of one text are the beginning of the other: what an overlap repeats."""
    least, most = REPEATED
    sizes = range(min(len(before), len(after), most), least - 1, -1)
    return next((size for size in sizes if before.endswith(after[:size])), 0)


def extent(chunk: Chunk) -> tuple[int, int] | None:
    """The first and last line of a passage, without the header that stands above it; None where none is known."""
    below = [span for span in chunk.spans if span.line_start > 1] if chunk.ordinal else []  # a header is lines 1 to n
    spans = below or chunk.spans
    return (min(s.line_start for s in spans), max(s.line_end for s in spans)) if spans else None


def _sections(hits: Ranking) -> list[list[Hit]]:
    """The hits by document and parent, a parent with its own; where there are no parents, by their headings."""
    parents = {hit.chunk.parent_id for hit in hits}

    def key(hit: Hit) -> tuple[str, str]:
        chunk = hit.chunk
        own = chunk.id if chunk.id in parents else chunk.parent_id
        return chunk.document_id, own or "\n".join(chunk.heading_path)

    return [sorted(part, key=_hit_place) for _, part in groupby(sorted(hits, key=key), key=key)]


def _near(sections: Sequence[list[Hit]], gap: int) -> Iterator[list[Hit]]:
    """Those of a document that are at most `gap` lines apart as one."""
    group: list[Hit] = []
    for section in sorted(sections, key=lambda part: (part[0].chunk.document_id, _hit_place(part[0]))):
        if group and not _close(group, section[0].chunk, gap):
            yield group
            group = []
        group = sorted([*group, *section], key=_hit_place)
    if group:
        yield group


def _solid(hits: list[Hit], *, gap: int, least: float) -> Iterator[list[Hit]]:
    """The group, or its runs when it is mostly gap."""
    if _coverage([hit.chunk for hit in hits]) >= least:
        yield hits
    else:
        yield from _near([[hit] for hit in hits], gap)


def _close(group: Sequence[Hit], after: Chunk, gap: int) -> bool:
    """Whether a chunk begins at most `gap` lines below a group; without lines, whether it is the very next."""
    last = group[-1].chunk
    if last.document_id != after.document_id:
        return False
    ends, begins = [end for hit in group if (end := extent(hit.chunk))], extent(after)
    if not ends or begins is None:
        return after.ordinal - last.ordinal <= 1
    return begins[0] - max(end for _, end in ends) <= gap and after.ordinal - last.ordinal <= 1 + gap


def _group(hits: Sequence[Hit]) -> Group:
    found = tuple(hit.chunk for hit in hits)
    score = max(hit.signals.get("final", hit.score) for hit in hits)
    return Group(found, score, _coverage(found), joined(found))


def _coverage(chunks: Sequence[Chunk]) -> float:
    extents = [place for chunk in chunks if (place := extent(chunk))]
    if len(chunks) == 1 or not extents:
        return 1.0
    held = {line for first, last in extents for line in range(first, last + 1)}
    return len(held) / (max(held) - min(held) + 1)


def _beside(chunks: Sequence[Chunk], known: dict[int, Chunk]) -> Chunk | None:
    """The stored passage after these, else the one before, of the same section."""
    after, before = known.get(chunks[-1].ordinal + 1), known.get(chunks[0].ordinal - 1)
    section = _common([chunk.heading_path for chunk in chunks])
    return next((chunk for chunk in (after, before) if chunk and chunk.heading_path[: len(section)] == section), None)


def _with(whole: Chunk, after: Chunk, repeated: int, *, adjacent: bool) -> Chunk:
    between = "" if repeated else NEXT if adjacent else SKIPPED
    moved = len(whole.content) + len(between) - repeated
    spans = [_cut(span, after.content, repeated) for span in after.spans if span.end > repeated]
    return replace(
        whole,
        content=whole.content + between + after.content[repeated:],
        spans=(*whole.spans, *(replace(span, start=span.start + moved, end=span.end + moved) for span in spans)),
    )


def _cut(span: Span, content: str, start: int) -> Span:
    """The span from `start` on, and from the line on which that is, where lines are kept."""
    if span.start >= start:
        return span
    lines = content.count("\n", span.start, span.end) == span.line_end - span.line_start
    above = content.count("\n", span.start, start) if lines else 0
    return replace(span, start=start, line_start=span.line_start + above)


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings above all of these."""
    shortest = min(paths, key=len)
    depth = next((n for n in range(len(shortest)) if any(path[n] != shortest[n] for path in paths)), len(shortest))
    return shortest[:depth]


def _stands_in(content: str, chunk: Chunk) -> bool:
    """Whether a passage's last line stands in a text, white space aside: its first may be a header or cut."""
    return _folded(chunk.content.rstrip().rsplit("\n", 1)[-1]) in _folded(content)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _place(chunk: Chunk) -> int:
    return chunk.ordinal


def _hit_place(hit: Hit) -> int:
    return hit.chunk.ordinal
