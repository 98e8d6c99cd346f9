"""Chunking: splitting the blocks of a document into chunks of a size that can be embedded and cited.

A chunk never crosses a page, so its page number holds for every word in it; a table row is always a chunk of its own.
Within these bounds `tokens` packs as much as fits, `semantic` follows the subject, `headings` the sections.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import MAIL_HEADER_KIND, Block, Box, Scalar, Span
from rag_core.ingestion.tables import LineLocator, find_line_locator, split_table_rows
from rag_core.text.sentences import find_sentences, trim_range
from rag_core.text.tokens import count_tokens, decode_tokens, encode_tokens, fits_token_limit

CHUNKING_STRATEGIES = ("tokens", "semantic", "headings", "rows", "blocks")
_LONE_KINDS = frozenset({"row", MAIL_HEADER_KIND})  # of blocks that share a chunk with no other
_BLOCK_SEPARATOR = "\n\n"  # between two blocks of a chunk
_MAX_CHARS_PER_TOKEN = 8  # on average: how far ahead to look for a chunk's end
_SAMPLE_CHARS = 256  # whose tokens are counted to guess how far a chunk will reach
_SPARE_TOKENS = 32  # beyond a chunk's: where a text is cut, its last word has other tokens
_LINE_BREAK = re.compile("\n")
_LONG_WORD = re.compile(r"\w{4,}")  # shorter ones are mostly function words
_HEADING_MARKS = re.compile(r"^#{1,6}\s|\s#+$|\n {0,3}(?:=+|-+)$")
_MAX_PATH_TITLE_CHARS = 1024  # as many as a document's title may have
_WINDOW_SENTENCES = 3  # compared on each side of a gap

# of two texts, each given as its sentences; higher is more similar, on any scale
SentenceSimilarity = Callable[[Sequence[str], Sequence[str]], float]
CutOffsets = Sequence[Sequence[int]]  # sorted character offsets by kind of cut, best kind first, sentence ends last
OpenSection = tuple[str, int]  # its title, and the ordinal of the chunk in which it begins


@dataclass(frozen=True, slots=True)
class Chunking:
    """Options of splitting a document. Sizes are o200k_base tokens; `threshold` is in 0..1 and used by `semantic` only.

    Strategies: `tokens` makes chunks of up to `chunk_size` tokens, cut after a sentence or line if one ends near; the
    next chunk repeats up to `overlap` tokens. `semantic` takes whole sentences, cuts where the subject changes and
    repeats nothing. `headings` is `tokens`, but never across a heading. `rows` is `tokens`, but every row of a table is
    a chunk. `blocks` makes one chunk of each block. A block or sentence larger than `chunk_size` is always cut.

    `header` is prepended to every chunk, within its size, so that each can be found and read by itself. It is the first
    lines of the document; its blocks begin on the line after.
    """

    strategy: str = "tokens"
    chunk_size: int = 800
    overlap: int = 200
    threshold: float = 0.5
    header: str = ""

    def __post_init__(self) -> None:
        if self.strategy not in CHUNKING_STRATEGIES:
            raise InvalidRequest("chunking.strategy", f"must be one of {', '.join(CHUNKING_STRATEGIES)}")
        if not 32 <= self.chunk_size <= 8000:
            raise InvalidRequest("chunking.chunk_size", "must be from 32 to 8000 tokens")
        if not 0 <= self.overlap <= self.chunk_size // 2:
            raise InvalidRequest("chunking.overlap", "must be from 0 to half of chunk_size")
        if not 0 <= self.threshold <= 1:
            raise InvalidRequest("chunking.threshold", "must be from 0 to 1")


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk before it has an id: its text, where each part of it stands, the headings above it, the fields of a row.

    `parent_ordinal` is the ordinal of an earlier chunk, counted from 0; only the strategy `headings` sets it. The chunk
    in which a section begins is the parent of the section's other chunks and of those in which its subsections begin. A
    section of the highest level begins in a chunk without a parent, so the parents of any chunk lead to the first chunk
    of its outermost section. Headings that follow one another directly begin in the same chunk. Text below no heading
    has no parent.
    """

    content: str
    spans: tuple[Span, ...]
    heading_path: tuple[str, ...] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    page_label: str | None = None
    parent_ordinal: int | None = None


def split_into_chunks(
    blocks: Sequence[Block], chunking: Chunking, *, similarity: SentenceSimilarity | None = None
) -> Iterator[ChunkDraft]:
    """Yield the chunks in order, lazily; every character of the blocks except white space is in one.

    `similarity` is used by `semantic`; without it sentences are compared by the words they share.
    """
    if chunking.header:
        drafts = split_into_chunks(blocks, _reserve_header_tokens(chunking), similarity=similarity)
        yield from (_prepend_header(draft, chunking.header) for draft in drafts)
        return
    sections: list[OpenSection] = []
    ordinal = 0
    for part in _group_blocks(_split_tables(blocks, chunking), chunking.strategy):
        group = _BlockGroup.from_blocks(part)
        sections = _update_open_sections(sections, part, ordinal) if chunking.strategy == "headings" else []
        for start, end in _cut_group(group, chunking, similarity or compute_word_similarity):
            if inner := trim_range(group.text, start, end):
                parents = [first for _, first in sections if first < ordinal]
                yield group.cut_chunk(*inner, parent_ordinal=parents[-1] if parents else None)
                ordinal += 1


def _prepend_header(draft: ChunkDraft, header: str) -> ChunkDraft:
    """Prepend the header, whose lines are the document's first, and shift the spans of the text by its length."""
    lines = header.rstrip("\n")
    header_span = Span(0, len(lines), draft.spans[0].page, 1, 1 + lines.count("\n"))
    text_spans = (replace(span, start=span.start + len(header), end=span.end + len(header)) for span in draft.spans)
    return replace(draft, content=header + draft.content, spans=(header_span, *text_spans))


def _reserve_header_tokens(chunking: Chunking) -> Chunking:
    """Return the chunking for the text below the header: its size is reduced by the header's tokens."""
    size = max(32, chunking.chunk_size - count_tokens(chunking.header))
    return replace(chunking, header="", chunk_size=size, overlap=min(chunking.overlap, size // 2))


def collect_sentences(blocks: Sequence[Block]) -> list[str]:
    """Return the distinct sentences that the strategy `semantic` compares."""
    return list(
        dict.fromkeys(b.text[start:end] for b in blocks if b.kind != "row" for start, end in find_sentences(b.text))
    )


def compute_word_similarity(left: Sequence[str], right: Sequence[str]) -> float:
    """Return the cosine similarity of the counts of longer words, 0..1: a similarity that needs no model."""
    counts, others = (Counter(_LONG_WORD.findall(" ".join(texts).lower())) for texts in (left, right))
    norm = math.sqrt(sum(n * n for n in counts.values()) * sum(n * n for n in others.values()))
    return sum(count * others[word] for word, count in counts.items()) / norm if norm else 0.0


def strip_heading_marks(heading: Block) -> str:
    """Return the text of a heading without the marks that Markdown puts around it."""
    return _HEADING_MARKS.sub("", heading.text.strip()).strip()


def _split_tables(blocks: Sequence[Block], chunking: Chunking) -> Iterator[Block]:
    """Yield the rows of a table, each with its header, in place of one that is larger than a chunk; other blocks as is.

    A table with boxes is no larger than its page, and is not split.
    """
    for block in blocks:
        is_large = block.kind == "table" and not (block.boxes or fits_token_limit(block.text, chunking.chunk_size))
        yield from split_table_rows(block) if is_large or chunking.strategy == "rows" else (block,)


def _group_blocks(blocks: Iterable[Block], strategy: str) -> Iterator[list[Block]]:
    """Yield groups of adjacent blocks that may share a chunk: within a page, within a section for `headings`."""
    group: list[Block] = []
    for block in blocks:
        if group and not _can_share_chunk(group[-1], block, strategy):
            yield group
            group = []
        if block.text.strip():
            group.append(block)
    if group:
        yield group


def _can_share_chunk(before: Block, block: Block, strategy: str) -> bool:
    if strategy == "blocks" or not _LONE_KINDS.isdisjoint((before.kind, block.kind)) or before.page != block.page:
        return False
    if strategy != "headings":
        return True
    begins_section = block.kind == "heading" and before.kind != "heading"
    return not begins_section and block.headings == _build_section_path(before)


def _build_section_path(block: Block) -> tuple[str, ...]:
    """Return the headings above a block, outermost first; the block itself is the last where it is a heading."""
    return (*block.headings, strip_heading_marks(block)) if block.kind == "heading" else block.headings


def _shorten_titles(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a section path as a chunk keeps it: a long paragraph that is a heading would stand in all chunks below."""
    return tuple(title[:_MAX_PATH_TITLE_CHARS] for title in path)


def _update_open_sections(opened: Sequence[OpenSection], group: Sequence[Block], ordinal: int) -> list[OpenSection]:
    """Return the sections open at the end of a group that begins with chunk `ordinal`, outermost first."""
    for block in group:
        path = _build_section_path(block)
        shared = 0
        while shared < min(len(block.headings), len(opened)) and opened[shared][0] == path[shared]:
            shared += 1
        opened = [*opened[:shared], *((title, ordinal) for title in path[shared:])]
    return list(opened)


@dataclass(frozen=True, slots=True)
class _BlockGroup:
    """Adjacent blocks as one text, with section, offset and line locator of each, and the places of all line breaks."""

    blocks: Sequence[Block]
    text: str
    section_paths: Sequence[tuple[str, ...]]
    block_offsets: Sequence[int]
    line_breaks: Sequence[int]
    line_locators: Sequence[LineLocator | None]

    @classmethod
    def from_blocks(cls, blocks: Sequence[Block]) -> "_BlockGroup":
        starts = [0]
        for block in blocks:
            starts.append(starts[-1] + len(block.text) + len(_BLOCK_SEPARATOR))
        text = _BLOCK_SEPARATOR.join(block.text for block in blocks)
        line_breaks = [line_end.start() for line_end in _LINE_BREAK.finditer(text)]
        paths, locators = list(map(_build_section_path, blocks)), list(map(find_line_locator, blocks))
        return cls(blocks, text, paths, starts[:-1], line_breaks, locators)

    def find_sentence_ranges(self) -> list[tuple[int, int]]:
        placed = zip(self.block_offsets, self.blocks, strict=True)
        return [(offset + start, offset + end) for offset, block in placed for start, end in find_sentences(block.text)]

    def find_cut_offsets(self) -> CutOffsets:
        """Return the offsets before headings that follow no heading, and those after sentences outside headings."""
        is_heading = [block.kind == "heading" for block in self.blocks]
        pairs = zip(self.block_offsets, is_heading, [False, *is_heading], strict=False)
        heading_starts = [start for start, heading, after_heading in pairs if heading and not after_heading]
        placed = zip(self.block_offsets, self.blocks, strict=True)
        heading_ends = {start + len(block.text) for start, block in placed if block.kind == "heading"}
        return heading_starts, [end for _, end in self.find_sentence_ranges() if end not in heading_ends]

    def cut_chunk(self, start: int, end: int, *, parent_ordinal: int | None) -> ChunkDraft:
        first, last = bisect_right(self.block_offsets, start) - 1, bisect_left(self.block_offsets, end)
        blocks = self.blocks[first:last]
        headings = next((b.headings for b in blocks if b.kind != "heading"), blocks[0].headings)
        spans = tuple(span for number in range(first, last) for span in self._build_spans(number, start, end, headings))
        fields = blocks[0].fields if len(blocks) == 1 else {}
        path = _shorten_titles(headings)
        return ChunkDraft(self.text[start:end], spans, path, fields, blocks[0].page_label, parent_ordinal)

    def _build_spans(self, number: int, start: int, end: int, headings: tuple[str, ...]) -> Iterator[Span]:
        """Yield a block's spans in characters `start` to `end` of the group: a span a line where lines have boxes."""
        block, offset = self.blocks[number], self.block_offsets[number]
        section = () if self.section_paths[number] == headings else self.section_paths[number]
        inner_start, inner_end = max(start, offset), min(end, offset + len(block.text))
        for first, last, box, locator in self._iterate_placed_ranges(number, inner_start, inner_end):
            if first < last:
                lines = self._locate_lines(number, first, last)
                yield Span(first - start, last - start, block.page, *lines, box, _shorten_titles(section), locator)

    def _iterate_placed_ranges(self, number: int, start: int, end: int) -> Iterator[tuple[int, int, Box | None, str]]:
        """Yield the parts of a range of a block that have a box or a locator each: its lines, or all of it."""
        block, located = self.blocks[number], self.line_locators[number]
        if not block.boxes and not located:
            yield start, end, block.bbox, block.locator
            return
        first = bisect_left(self.line_breaks, self.block_offsets[number])
        last = bisect_left(self.line_breaks, end)
        for line in range(bisect_left(self.line_breaks, start), last + 1):
            line_start = self.line_breaks[line - 1] + 1 if line > first else start
            line_end = self.line_breaks[line] if line < last else end
            box = block.boxes[line - first] if block.boxes else block.bbox
            yield max(start, line_start), line_end, box, located.locate(line - first) if located else block.locator

    def _locate_lines(self, number: int, start: int, end: int) -> tuple[int, int]:
        """Return the first and last document line of characters `start` to `end` of the group, all in one block."""
        block, offset = self.blocks[number], self.block_offsets[number]
        places = (offset, start, end, offset + len(block.text))
        before_block, before, up_to_end, in_all = (bisect_left(self.line_breaks, place) for place in places)
        # other line breaks than the document's
        rewrapped = block.line_start + in_all - before_block != block.line_end
        if block.kind == "row" or rewrapped:
            return block.line_start, block.line_end
        return block.line_start + before - before_block, block.line_start + up_to_end - before_block


def _cut_group(group: _BlockGroup, chunking: Chunking, similarity: SentenceSimilarity) -> Iterator[tuple[int, int]]:
    if chunking.strategy == "semantic" and group.blocks[0].kind != "row":
        return _cut_by_subject(group, chunking, similarity)
    if fits_token_limit(group.text, chunking.chunk_size):
        return iter([(0, len(group.text))])
    return _cut_by_size(group.text, group.find_cut_offsets(), chunking.chunk_size, chunking.overlap)


def _cut_by_size(text: str, cut_offsets: CutOffsets, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    start, end, last = 0, 0, len(text.rstrip())
    while end < last:
        end = _find_chunk_end(text, start, end, size, cut_offsets)
        yield start, end
        next_start = _find_overlap_start(text, end, overlap, cut_offsets)
        start = next_start if next_start > start else end


def _find_chunk_end(text: str, start: int, after: int, size: int, cut_offsets: CutOffsets) -> int:
    """Return the end of a chunk, beyond `after`: the best cut in the second half of what fits, else all that fits."""
    furthest = _find_furthest_end(text, start, size)
    if furthest == len(text):
        return furthest
    low = max(after, start + (furthest - start) // 2)
    return next(
        (
            cut
            for cut in _iterate_cuts_backwards(text, low, furthest, cut_offsets)
            if _fits_token_limit(text, start, cut, size)
        ),
        furthest,
    )


def _find_furthest_end(text: str, start: int, size: int) -> int:
    """Return the furthest end, to the token, of a chunk that begins at `start`."""
    reach = size * _MAX_CHARS_PER_TOKEN
    sample = text[start : start + _SAMPLE_CHARS]
    likely_reach = min(reach, len(sample) * (size + 2 * _SPARE_TOKENS) * 5 // (4 * count_tokens(sample)))
    tokens = encode_tokens(text[start : start + likely_reach])
    if len(tokens) <= size + _SPARE_TOKENS and likely_reach < reach:
        tokens = encode_tokens(text[start : start + reach])
    if len(tokens) <= size:
        return min(start + reach, len(text))
    end = start + max(1, len(decode_tokens(tokens[:size])))
    while not _fits_token_limit(text, start, end, size):  # encoding a part of a text can give more tokens
        end -= 1
    return end


def _iterate_cuts_backwards(text: str, low: int, high: int, cut_offsets: CutOffsets) -> Iterator[int]:
    """Yield the cuts after `low` up to `high`: by kind, best first, from the last back; then a line or word end."""
    for offsets in cut_offsets:
        yield from reversed(offsets[bisect_right(offsets, low) : bisect_right(offsets, high)])
    yield from (offset + 1 for mark in "\n " if (offset := text.rfind(mark, low, high)) >= 0)


def _find_overlap_start(text: str, end: int, overlap: int, cut_offsets: CutOffsets) -> int:
    """Return where the next chunk begins: at a sentence, line or word start at most `overlap` tokens before `end`."""
    if not overlap:
        return end
    behind = text[max(0, end - overlap * _MAX_CHARS_PER_TOKEN) : end]
    earliest = end - len(decode_tokens(encode_tokens(behind)[-overlap:]))
    sentence_ends = cut_offsets[-1]
    after_sentence = sentence_ends[bisect_left(sentence_ends, earliest) : bisect_left(sentence_ends, end)]
    after_mark = [offset + 1 for mark in "\n " if (offset := text.find(mark, earliest, end)) >= 0]
    return next((cut for cut in (*after_sentence, *after_mark) if _fits_token_limit(text, cut, end, overlap)), end)


def _fits_token_limit(text: str, start: int, end: int, tokens: int) -> bool:
    inner = trim_range(text, start, end)
    return inner is None or fits_token_limit(text[slice(*inner)], tokens)


def _cut_by_subject(
    group: _BlockGroup, chunking: Chunking, similarity: SentenceSimilarity
) -> Iterator[tuple[int, int]]:
    """Yield ranges of whole sentences on one subject; a sentence too long for a chunk is cut by size."""
    text, size, sentence_ranges = group.text, chunking.chunk_size, group.find_sentence_ranges()
    changes = _find_subject_changes([text[start:end] for start, end in sentence_ranges], chunking.threshold, similarity)
    sentence_ends = set(group.find_cut_offsets()[1])
    run: list[tuple[int, int]] = []
    for number, (start, end) in enumerate(sentence_ranges):
        changed = number in changes and run and run[-1][1] in sentence_ends  # not between a heading and its text
        if run and (changed or not _fits_token_limit(text, run[0][0], end, size)):
            yield run[0][0], run[-1][1]
            run = []
        if _fits_token_limit(text, start, end, size):
            run.append((start, end))
        else:
            yield from ((start + a, start + b) for a, b in _cut_by_size(text[start:end], ([], []), size, 0))
    if run:
        yield run[0][0], run[-1][1]


def _find_subject_changes(texts: Sequence[str], threshold: float, similarity: SentenceSimilarity) -> set[int]:
    """Return the numbers of the sentences before which the subject changes.

    Around each gap the sentences before and after are compared (Hearst, TextTiling, 1997). Each model has its own scale
    of similarity, so it is rescaled over these texts: 0 is the least similar gap, 1 the most. The subject changes where
    the rescaled similarity is below `threshold` and lowest among its neighbours.
    """
    gaps = [
        similarity(texts[max(0, n - _WINDOW_SENTENCES) : n], texts[n : n + _WINDOW_SENTENCES])
        for n in range(1, len(texts))
    ]
    low, high = min(gaps, default=0.0), max(gaps, default=0.0)
    if high - low < 1e-9:
        return set()
    depth = [1.0, *((gap - low) / (high - low) for gap in gaps), 1.0]
    return {n for n in range(1, len(texts)) if depth[n] < threshold and depth[n - 1] >= depth[n] < depth[n + 1]}


def build_cosine_similarity(vectors: Mapping[str, Sequence[float]]) -> SentenceSimilarity:
    """Return a similarity that is the cosine of the mean vectors of the two sides; `vectors` are by sentence."""

    def similarity(left: Sequence[str], right: Sequence[str]) -> float:
        left_sum, right_sum = (_sum_vectors([vectors[text] for text in texts]) for texts in (left, right))
        norm = math.sqrt(sum(x * x for x in left_sum) * sum(y * y for y in right_sum))
        return sum(x * y for x, y in zip(left_sum, right_sum, strict=True)) / norm if norm else 0.0

    return similarity


def _sum_vectors(vectors: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(values) for values in zip(*vectors, strict=True)]
