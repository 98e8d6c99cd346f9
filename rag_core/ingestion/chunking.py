"""Blocks to pieces of a size that can be embedded and cited.

A piece never crosses a page, so the page it is cited with is true of every word in it; a row of a table is always a
piece of its own. Within these bounds `tokens` packs as much as fits and `semantic` follows the subject.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.errors import InvalidRequest
from rag_core.ingestion.text import decode, encode, fits, sentences, trim
from rag_core.model import Block, Scalar, Span

STRATEGIES = ("tokens", "semantic", "rows")
_BETWEEN = "\n\n"  # what stands between two blocks in a piece
_LONGEST_TOKEN = 8  # characters a token has at most on average: how far ahead to look for a piece's end
_LONGER_WORD = re.compile(r"\w{4,}")  # the short ones stand everywhere
_WINDOW = 3  # sentences on each side of a gap that are compared

# how alike two passages are, each given as its sentences; higher is more alike, on any scale
Similarity = Callable[[Sequence[str], Sequence[str]], float]
Cuts = Sequence[Sequence[int]]  # places to cut by kind, best kind first, sentence ends last


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a document is cut. Sizes are o200k_base tokens; `threshold` is of 0..1 and used by `semantic` only.

    `tokens`: up to `chunk_size` tokens, cut after a sentence or line where one ends near; the next piece repeats up to
    `overlap` tokens. `semantic`: whole sentences, cut where the subject changes, nothing repeated. `rows`: a block (a
    row of a table, a paragraph) a piece.
    """

    strategy: str = "tokens"
    chunk_size: int = 800
    overlap: int = 200
    threshold: float = 0.5

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
    """A chunk to be: its text, where each part of it stands, the headings above it, a row's fields."""

    content: str
    spans: tuple[Span, ...]
    heading_path: tuple[str, ...] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)


def chunk(blocks: Sequence[Block], chunking: Chunking, *, similarity: Similarity | None = None) -> Iterator[Piece]:
    """The pieces, in order; every character of the blocks but white space is in one. Lazy: stop when it is too many.

    `similarity` serves `semantic`; without it sentences are compared by the words they share.
    """
    for part in _parts(blocks, one_by_one=chunking.strategy == "rows"):
        passage = _Passage.of(part)
        for start, end in _ranges(passage, chunking, similarity or by_words):
            if inner := trim(passage.text, start, end):
                yield passage.piece(*inner)


def sentences_of(blocks: Sequence[Block]) -> list[str]:
    """The distinct sentences that `semantic` will compare."""
    return list(dict.fromkeys(b.text[start:end] for b in blocks if b.kind != "row" for start, end in sentences(b.text)))


def by_words(left: Sequence[str], right: Sequence[str]) -> float:
    """Cosine of the counts of the longer words: the similarity that needs no model."""
    one, other = (Counter(_LONGER_WORD.findall(" ".join(part).lower())) for part in (left, right))
    norm = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return sum(count * other[word] for word, count in one.items()) / norm if norm else 0.0


def _parts(blocks: Sequence[Block], *, one_by_one: bool) -> Iterator[list[Block]]:
    """Blocks that may share a piece: those of a page, rows apart."""
    part: list[Block] = []
    for block in blocks:
        alone = one_by_one or "row" in (block.kind, *(before.kind for before in part[-1:]))
        if part and (alone or block.page != part[-1].page):
            yield part
            part = []
        if block.text.strip():
            part.append(block)
    if part:
        yield part


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

    def piece(self, start: int, end: int) -> Piece:
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end)
        spans = tuple(filter(None, (self._span(number, start, end) for number in range(first, last))))
        blocks = self.blocks[first:last]
        headings = next((b.headings for b in blocks if b.kind != "heading"), blocks[0].headings)
        return Piece(self.text[start:end], spans, headings, blocks[0].fields if len(blocks) == 1 else {})

    def _span(self, number: int, start: int, end: int) -> Span | None:
        """Where characters `start` to `end` of the passage lie in a block; None when they do not."""
        block, at = self.blocks[number], self.starts[number]
        first, last = max(start - at, 0), min(end - at, len(block.text))
        if first >= last:
            return None
        line_start = block.line_start + block.text.count("\n", 0, first)
        line_end = line_start + block.text.count("\n", first, last)
        if block.kind == "row":  # its text is laid out anew: one line a cell
            line_start, line_end = block.line_start, block.line_end
        return Span(at + first - start, at + last - start, block.page, line_start, line_end, block.bbox)


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
