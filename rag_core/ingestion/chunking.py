"""Blocks to pieces of a size that can be embedded and cited.

A piece never crosses a page, so the page it is cited with is true of every word in it; a row is always a piece of its
own. Within these bounds `tokens` packs as much as fits, `semantic` follows the subject, `headings` the sections.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Block, Box, Scalar, Span
from rag_core.ingestion.tables import rows_of
from rag_core.text.sentences import count_tokens, decode, encode, fits, sentences, trim

STRATEGIES = ("tokens", "semantic", "headings", "rows", "blocks")
_BETWEEN = "\n\n"  # what stands between two blocks in a piece
_LONGEST_TOKEN = 8  # characters a token has at most on average: how far ahead to look for a piece's end
_LONGER_WORD = re.compile(r"\w{4,}")  # the short ones stand everywhere
_HEADING_MARKS = re.compile(r"^#{1,6}\s|\s#+$|\n {0,3}(?:=+|-+)$")
_WINDOW = 3  # sentences on each side of a gap that are compared

# how alike two passages are, each given as its sentences; higher is more alike, on any scale
Similarity = Callable[[Sequence[str], Sequence[str]], float]
Cuts = Sequence[Sequence[int]]  # places to cut by kind, best kind first, sentence ends last
Section = tuple[str, int]  # its title, and the number of the piece in which it begins


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a document is cut. Sizes are o200k_base tokens; `threshold` is of 0..1 and used by `semantic` only.

    `tokens`: up to `chunk_size` tokens, cut after a sentence or line where one ends near; the next piece repeats up to
    `overlap` tokens. `semantic`: whole sentences, cut where the subject changes, nothing repeated. `headings`: as
    `tokens`, never across a heading. `rows`: as `tokens`, but every row of a table is a piece. `blocks`: a block a
    piece, as the documents' `TextBlock` is. What alone is larger than `chunk_size` is always cut.

    `header` stands above every piece, within its size, so that each can be found and read by itself. It is the first
    lines of the document; its blocks begin on the line after.
    """

    strategy: str = "tokens"
    chunk_size: int = 800
    overlap: int = 200
    threshold: float = 0.5
    header: str = ""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise InvalidRequest("chunking.strategy", f"must be one of {', '.join(STRATEGIES)}")
        if not 32 <= self.chunk_size <= 8000:
            raise InvalidRequest("chunking.chunk_size", "must be from 32 to 8000 tokens")
        if not 0 <= self.overlap <= self.chunk_size // 2:
            raise InvalidRequest("chunking.overlap", "must be from 0 to half of chunk_size")
        if not 0 <= self.threshold <= 1:
            raise InvalidRequest("chunking.threshold", "must be from 0 to 1")


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk to be: its text, where each part of it stands, the headings above it, a row's fields, the page's label.

    `parent` is the number of an earlier piece, counted from 0, and only `headings` gives one. The piece in which a
    section begins is the parent of the section's other pieces and of those in which its subsections begin. A section
    of the highest level begins in a piece without a parent, so going up from any piece ends at the first of its
    outermost section. Headings that follow one another directly begin in the same piece. What stands below no heading
    has no parent.
    """

    content: str
    spans: tuple[Span, ...]
    heading_path: tuple[str, ...] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    page_label: str | None = None
    parent: int | None = None


def chunk(blocks: Sequence[Block], chunking: Chunking, *, similarity: Similarity | None = None) -> Iterator[Piece]:
    """The pieces, in order; every character of the blocks but white space is in one. Lazy: stop when it is too many.

    `similarity` serves `semantic`; without it sentences are compared by the words they share.
    """
    if chunking.header:
        below = chunk(blocks, _below(chunking), similarity=similarity)
        yield from (_headed(piece, chunking.header) for piece in below)
        return
    opened: list[Section] = []
    made = 0
    for part in _parts(blocks, chunking.strategy):
        passage = _Passage.of(part)
        opened = _opened(opened, part, made) if chunking.strategy == "headings" else []
        for start, end in _ranges(passage, chunking, similarity or by_words):
            if inner := trim(passage.text, start, end):
                above = [first for _, first in opened if first < made]
                yield passage.piece(*inner, parent=above[-1] if above else None)
                made += 1


def _headed(piece: Piece, header: str) -> Piece:
    """The piece below the header, whose lines are the document's first."""
    lines = header.rstrip("\n")
    above = Span(0, len(lines), piece.spans[0].page, 1, 1 + lines.count("\n"))
    below = (replace(span, start=span.start + len(header), end=span.end + len(header)) for span in piece.spans)
    return replace(piece, content=header + piece.content, spans=(above, *below))


def _below(chunking: Chunking) -> Chunking:
    """How the text is cut so that the header fits in."""
    size = max(32, chunking.chunk_size - count_tokens(chunking.header))
    return replace(chunking, header="", chunk_size=size, overlap=min(chunking.overlap, size // 2))


def sentences_of(blocks: Sequence[Block]) -> list[str]:
    """The distinct sentences that `semantic` will compare."""
    return list(dict.fromkeys(b.text[start:end] for b in blocks if b.kind != "row" for start, end in sentences(b.text)))


def by_words(left: Sequence[str], right: Sequence[str]) -> float:
    """Cosine of the counts of the longer words: the similarity that needs no model."""
    one, other = (Counter(_LONGER_WORD.findall(" ".join(part).lower())) for part in (left, right))
    norm = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return sum(count * other[word] for word, count in one.items()) / norm if norm else 0.0


def title_of(heading: Block) -> str:
    """A heading's words, without the marks that make it one in markdown."""
    return _HEADING_MARKS.sub("", heading.text.strip()).strip()


def _parts(blocks: Sequence[Block], strategy: str) -> Iterator[list[Block]]:
    """Blocks that may share a piece: those of a page, of a section where that counts, rows apart."""
    part: list[Block] = []
    for block in chain.from_iterable(map(rows_of, blocks)) if strategy == "rows" else blocks:
        if part and not _together(part[-1], block, strategy):
            yield part
            part = []
        if block.text.strip():
            part.append(block)
    if part:
        yield part


def _together(before: Block, block: Block, strategy: str) -> bool:
    if strategy == "blocks" or "row" in (before.kind, block.kind) or before.page != block.page:
        return False
    if strategy != "headings":
        return True
    begins = block.kind == "heading" and before.kind != "heading"
    return not begins and block.headings == _path(before)


def _path(block: Block) -> tuple[str, ...]:
    """The headings above what follows a block."""
    return (*block.headings, title_of(block)) if block.kind == "heading" else block.headings


def _opened(opened: Sequence[Section], part: Sequence[Block], number: int) -> list[Section]:
    """The sections that are open at the end of a part that begins with piece `number`, outermost first."""
    for block in part:
        path = _path(block)
        kept = 0
        while kept < min(len(block.headings), len(opened)) and opened[kept][0] == path[kept]:
            kept += 1
        opened = [*opened[:kept], *((title, number) for title in path[kept:])]
    return list(opened)


@dataclass(frozen=True, slots=True)
class _Passage:
    """Blocks as one text, with the offset at which each begins."""

    blocks: Sequence[Block]
    text: str
    starts: Sequence[int]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "_Passage":
        starts = [0]
        for block in blocks:
            starts.append(starts[-1] + len(block.text) + len(_BETWEEN))
        return cls(blocks, _BETWEEN.join(block.text for block in blocks), starts[:-1])

    def sentences(self) -> list[tuple[int, int]]:
        found = zip(self.starts, self.blocks, strict=True)
        return [(at + start, at + end) for at, block in found for start, end in sentences(block.text)]

    def cuts(self) -> Cuts:
        """Before a heading that does not follow another, and after a sentence that is not itself a heading."""
        titles = [block.kind == "heading" for block in self.blocks]
        above = [False, *titles]
        before = [at for at, title, follows in zip(self.starts, titles, above, strict=False) if title and not follows]
        ends = {at + len(b.text) for at, b, title in zip(self.starts, self.blocks, titles, strict=True) if title}
        return before, [end for _, end in self.sentences() if end not in ends]

    def piece(self, start: int, end: int, *, parent: int | None) -> Piece:
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end)
        blocks = self.blocks[first:last]
        headings = next((b.headings for b in blocks if b.kind != "heading"), blocks[0].headings)
        spans = tuple(span for number in range(first, last) for span in self._spans(number, start, end, headings))
        fields = blocks[0].fields if len(blocks) == 1 else {}
        return Piece(self.text[start:end], spans, headings, fields, blocks[0].page_label, parent)

    def _spans(self, number: int, start: int, end: int, headings: tuple[str, ...]) -> Iterator[Span]:
        """Where characters `start` to `end` of the passage lie in a block: line by line where each has its box."""
        block, at = self.blocks[number], self.starts[number]
        section = () if _section(block) == headings else _section(block)
        for first, last, box in _stretches(block):
            begins, ends = max(start - at, first), min(end - at, last)
            if begins < ends:
                lines = _lines(block, begins, ends)
                yield Span(at + begins - start, at + ends - start, block.page, *lines, box, section)


def _section(block: Block) -> tuple[str, ...]:
    """The headings that a reader of the block is under: a heading's own is the last of them."""
    return (*block.headings, title_of(block)) if block.kind == "heading" else block.headings


def _stretches(block: Block) -> Iterator[tuple[int, int, Box | None]]:
    """The parts of a block that have a box of their own, as characters of its text: its lines, or all of it."""
    if not block.boxes:
        yield 0, len(block.text), block.bbox
        return
    at = 0
    for line, box in zip(block.text.split("\n"), block.boxes, strict=True):
        yield at, at + len(line), box
        at += len(line) + 1


def _lines(block: Block, start: int, end: int) -> tuple[int, int]:
    """The document's lines of characters `start` to `end` of a block's text."""
    if block.kind == "row" or block.line_start + block.text.count("\n") != block.line_end:  # laid out anew
        return block.line_start, block.line_end
    first = block.line_start + block.text.count("\n", 0, start)
    return first, first + block.text.count("\n", start, end)


def _ranges(passage: _Passage, chunking: Chunking, similarity: Similarity) -> Iterator[tuple[int, int]]:
    if chunking.strategy == "semantic" and passage.blocks[0].kind != "row":
        return _by_subject(passage, chunking, similarity)
    if fits(passage.text, chunking.chunk_size):
        return iter([(0, len(passage.text))])
    return _by_size(passage.text, passage.cuts(), chunking.chunk_size, chunking.overlap)


def _by_size(text: str, cuts: Cuts, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    start, end, last = 0, 0, len(text.rstrip())
    while end < last:
        end = _end(text, start, end, size, cuts)
        yield start, end
        begins = _overlap_start(text, end, overlap, cuts)
        start = begins if begins > start else end


def _end(text: str, start: int, beyond: int, size: int, cuts: Cuts) -> int:
    """The end of a piece, after `beyond`: the best cut in the second half of what fits, or exactly what fits."""
    furthest = _fitting(text, start, size)
    if furthest == len(text):
        return furthest
    low = max(beyond, start + (furthest - start) // 2)
    return next((cut for cut in _latest(text, low, furthest, cuts) if _within(text, start, cut, size)), furthest)


def _fitting(text: str, start: int, size: int) -> int:
    """The furthest end, to the token, of a piece from `start`."""
    ahead = text[start : start + size * _LONGEST_TOKEN]
    tokens = encode(ahead)
    if len(tokens) <= size:
        return start + len(ahead)
    end = start + max(1, len(decode(tokens[:size])))
    while not _within(text, start, end, size):  # the tokens of a part are not always a part of the tokens
        end -= 1
    return end


def _latest(text: str, low: int, high: int, cuts: Cuts) -> Iterator[int]:
    """Cuts after `low` up to `high`: by kind, best first, then from the last back; then lines and words."""
    for places in cuts:
        yield from reversed(places[bisect_right(places, low) : bisect_right(places, high)])
    yield from (place + 1 for mark in "\n " if (place := text.rfind(mark, low, high)) >= 0)


def _overlap_start(text: str, end: int, overlap: int, cuts: Cuts) -> int:
    """Where the next piece begins: at most `overlap` tokens before `end`, where a sentence, line or word begins."""
    if not overlap:
        return end
    behind = text[max(0, end - overlap * _LONGEST_TOKEN) : end]
    earliest = end - len(decode(encode(behind)[-overlap:]))
    sentence_ends = cuts[-1]
    after_sentence = sentence_ends[bisect_left(sentence_ends, earliest) : bisect_left(sentence_ends, end)]
    after_mark = [place + 1 for mark in "\n " if (place := text.find(mark, earliest, end)) >= 0]
    return next((cut for cut in (*after_sentence, *after_mark) if _within(text, cut, end, overlap)), end)


def _within(text: str, start: int, end: int, tokens: int) -> bool:
    inner = trim(text, start, end)
    return inner is None or fits(text[slice(*inner)], tokens)


def _by_subject(passage: _Passage, chunking: Chunking, similarity: Similarity) -> Iterator[tuple[int, int]]:
    """Runs of whole sentences; one that alone is too long for a piece is cut by size."""
    text, size, found = passage.text, chunking.chunk_size, passage.sentences()
    changes = _changes([text[start:end] for start, end in found], chunking.threshold, similarity)
    after = set(passage.cuts()[1])
    run: list[tuple[int, int]] = []
    for number, (start, end) in enumerate(found):
        changed = number in changes and run and run[-1][1] in after  # not between a heading and its text
        if run and (changed or not _within(text, run[0][0], end, size)):
            yield run[0][0], run[-1][1]
            run = []
        if _within(text, start, end, size):
            run.append((start, end))
        else:
            yield from ((start + a, start + b) for a, b in _by_size(text[start:end], ([], []), size, 0))
    if run:
        yield run[0][0], run[-1][1]


def _changes(texts: Sequence[str], threshold: float, similarity: Similarity) -> set[int]:
    """The sentences before which the subject changes.

    Around each gap the sentences before and after are compared (Hearst, TextTiling, 1997). The scale of a similarity is
    its model's own, so it is taken relative to the page or text: 0 its least alike neighbours, 1 its most. The subject
    changes where that is below `threshold` and lowest among its neighbours.
    """
    gaps = [similarity(texts[max(0, n - _WINDOW) : n], texts[n : n + _WINDOW]) for n in range(1, len(texts))]
    low, high = min(gaps, default=0.0), max(gaps, default=0.0)
    if high - low < 1e-9:
        return set()
    depth = [1.0, *((gap - low) / (high - low) for gap in gaps), 1.0]
    return {n for n in range(1, len(texts)) if depth[n] < threshold and depth[n - 1] >= depth[n] < depth[n + 1]}


def mean_cosine(vectors: Mapping[str, Sequence[float]]) -> Similarity:
    """Similarity by meaning: the cosine of the two sides' mean vectors."""

    def similarity(left: Sequence[str], right: Sequence[str]) -> float:
        one, other = (_sum([vectors[text] for text in part]) for part in (left, right))
        norm = math.sqrt(sum(x * x for x in one) * sum(x * x for x in other))
        return sum(x * y for x, y in zip(one, other, strict=True)) / norm if norm else 0.0

    return similarity


def _sum(vectors: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(values) for values in zip(*vectors, strict=True)]
