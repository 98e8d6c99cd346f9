"""Chunks are of the size asked for, lose nothing, and know where they stand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Block, Chunk
from rag_core.ingestion.chunking import (
    ChunkDraft,
    Chunking,
    build_cosine_similarity,
    collect_sentences,
    split_into_chunks,
)
from rag_core.text.sentences import find_sentences
from rag_core.text.tokens import count_tokens
from tests import fakes

LETTERS = st.characters(exclude_categories=("Cs", "Cc"))
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1, max_size=60).map(" ".join)
PROSE = st.lists(
    st.sampled_from(["The code is set. ", "Why? ", "Dr. Lee left\n", "x" * 90, "故障码。", "\n", "🚗🚗 ", "a, b"])
)
TEXTS = st.one_of(WORDS, PROSE.map("".join)).filter(lambda text: bool(text.strip()))
KINDS = st.sampled_from(["paragraph", "paragraph", "heading", "row"])
CHUNKINGS = st.builds(
    lambda strategy, size, share: Chunking(strategy, size, int(size * share)),
    st.sampled_from(["tokens", "semantic", "headings", "rows", "blocks"]),
    st.integers(32, 90),
    st.floats(0, 0.5),
)


@st.composite
def documents(draw: st.DrawFn) -> list[Block]:
    blocks, line, page = [], 1, 1
    for text in draw(st.lists(TEXTS, min_size=1, max_size=6)):
        page += draw(st.sampled_from([0, 0, 1]))
        last = line + text.count("\n")
        blocks.append(Block(text, draw(KINDS), line, last, page))
        line = last + 2
    return blocks


@st.composite
def printed(draw: st.DrawFn) -> list[Block]:
    """Documents whose lines have a box each, by which a line is known again."""
    return [
        replace(b, boxes=tuple((float(line), 0.0, line + 1.0, 9.0) for line in range(b.line_start, b.line_end + 1)))
        for b in draw(documents())
    ]


def stored(piece: ChunkDraft) -> Chunk:
    return Chunk("c", "d", 0, piece.content, "", "", "", piece.spans)


def letters(text: str) -> list[str]:
    return [char for char in text if not char.isspace()]


@settings(max_examples=80)
@given(documents(), CHUNKINGS)
def test_no_chunk_is_larger_than_asked(blocks: list[Block], chunking: Chunking) -> None:
    """S1-51: chunk_size is exact, in tokens."""
    assert all(count_tokens(piece.content) <= chunking.chunk_size for piece in split_into_chunks(blocks, chunking))


@settings(max_examples=80)
@given(documents(), CHUNKINGS)
def test_every_character_is_in_a_chunk_where_its_span_says(blocks: list[Block], chunking: Chunking) -> None:
    pieces = list(split_into_chunks(blocks, chunking))
    seen: list[set[int]] = [set() for _ in blocks]
    for piece in pieces:
        for span in piece.spans:
            part = piece.content[span.start : span.end]
            number = next(n for n, b in enumerate(blocks) if b.line_start <= span.line_start <= b.line_end)
            block = blocks[number]
            assert part in block.text
            assert (span.page, span.line_end <= block.line_end) == (block.page, True)
            at = block.text.find(part)
            while at >= 0:
                seen[number].update(range(at, at + len(part)))
                at = block.text.find(part, at + 1)
    for block, found in zip(blocks, seen, strict=True):
        assert all(char.isspace() or at in found for at, char in enumerate(block.text))


@settings(max_examples=60)
@given(printed(), CHUNKINGS)
def test_every_line_of_a_chunk_keeps_its_own_box(blocks: list[Block], chunking: Chunking) -> None:
    """S3-06, S3-07: through merging, cutting, overlap and trimming, the box of a line is the line's own."""
    lines = {b.line_start + n: line for b in blocks for n, line in enumerate(b.text.split("\n"))}
    rows = {n for b in blocks if b.kind == "row" for n in range(b.line_start, b.line_end + 1)}
    for piece in split_into_chunks(blocks, chunking):
        covered = [at for span in piece.spans for at in range(span.start, span.end)]
        assert len(covered) == len(set(covered))
        assert all(char.isspace() for at, char in enumerate(piece.content) if at not in set(covered))
        for span in piece.spans:
            assert span.bbox is not None
            line = round(span.bbox[0])
            assert piece.content[span.start : span.end] in lines[line]
            assert line in rows or span.line_start == span.line_end == line


@settings(max_examples=60)
@given(documents(), CHUNKINGS)
def test_a_chunk_never_crosses_a_page(blocks: list[Block], chunking: Chunking) -> None:
    """S1-30: the page number of a chunk is true of all of it."""
    assert all(len({span.page for span in piece.spans}) == 1 for piece in split_into_chunks(blocks, chunking))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 999).map(lambda n: f"Sentence {n} says so."), min_size=1, max_size=60), CHUNKINGS)
def test_neighbours_share_no_more_than_the_overlap(texts: list[str], chunking: Chunking) -> None:
    """S1-52: at most `overlap` tokens are repeated."""
    text = " ".join(f"{at}: {sentence}" for at, sentence in enumerate(texts))
    pieces = [piece.content for piece in split_into_chunks([Block(text, "paragraph", 1, 1)], chunking)]
    ends = 0
    assert pieces
    for piece in pieces:
        starts = text.index(piece)
        assert count_tokens(text[starts:ends].strip()) <= chunking.overlap
        assert starts + len(piece) > ends
        ends = starts + len(piece)


def test_an_overlap_repeats_whole_sentences() -> None:
    """S1-22, S1-52: neighbouring chunks overlap, so that what stands at a cut is whole in one of them."""
    text = " ".join(f"Check number {n} of the harness is done at the connector." for n in range(60))
    first, second, *_ = split_into_chunks([Block(text, "paragraph", 1, 1)], Chunking(chunk_size=100, overlap=30))
    repeated = first.content[first.content.index(second.content[:25]) :]
    assert repeated.startswith("Check number")
    assert 15 < count_tokens(repeated) <= 30


def test_a_chunk_ends_with_a_sentence_and_a_heading_begins_one() -> None:
    body = " ".join(f"Step {n} is to look at the fluid." for n in range(9))
    blocks = [Block(body, "paragraph", 1, 1), Block("# Next", "heading", 3, 3), Block(body, "paragraph", 5, 5)]
    pieces = list(split_into_chunks(blocks, Chunking(chunk_size=110, overlap=0)))
    assert [piece.content[:6] for piece in pieces] == ["Step 0", "# Next"]
    assert all(piece.content.endswith(".") for piece in pieces)


def test_a_place_in_a_chunk_is_the_line_in_the_document() -> None:
    blocks = [Block("one\ntwo\nthree", "paragraph", 10, 12, 4), Block("four\nfive", "paragraph", 14, 15, 4)]
    (piece,) = split_into_chunks(blocks, Chunking())
    for word, line in {"one": 10, "two": 11, "three": 12, "four": 14, "five": 15}.items():
        at = piece.content.index(word)
        place = stored(piece).locate(at, at + len(word))
        assert place is not None
        assert (place.page, place.line_start, place.line_end) == (4, line, line)


def boxed(first: int, *texts: str, page: int = 1) -> Block:
    boxes = tuple((10.0, 10.0 * line, 99.0, 10.0 * line + 9) for line in range(first, first + len(texts)))
    return Block("\n".join(texts), "paragraph", first, first + len(texts) - 1, page, boxes=boxes, page_label="iv")


def test_a_quote_over_lines_and_blocks_has_their_boxes_and_the_one_around_them() -> None:
    """S3-05, S3-06, S3-07: page from 1, x0 y0 x1 y1, lines through the document."""
    (piece,) = split_into_chunks([boxed(3, "one", "two", page=2), boxed(7, "three", "four", page=2)], Chunking())
    found = stored(piece)
    start, end = found.content.index("two"), found.content.index("three") + 2
    place = found.locate(start, end)
    assert place is not None
    assert (place.page, place.line_start, place.line_end, place.bbox) == (2, 4, 7, (10.0, 40.0, 99.0, 79.0))
    assert found.locate_boxes(start, end) == ((10.0, 40.0, 99.0, 49.0), (10.0, 70.0, 99.0, 79.0))
    assert found.locate_boxes(start, start + 1) == ((10.0, 40.0, 99.0, 49.0),)
    assert piece.page_label == "iv"


def test_words_that_two_chunks_share_have_one_place() -> None:
    """S3-07: the overlap is the same lines and boxes in both."""
    block = boxed(1, *(f"Step {n} is done at the connector." for n in range(1, 60)))
    first, second, *_ = map(stored, split_into_chunks([block], Chunking(chunk_size=100, overlap=30)))
    shared = first.content[first.content.index(second.content[:20]) :]
    at = len(first.content) - len(shared)
    assert second.content.startswith(shared)
    assert len(first.locate_boxes(at, len(first.content))) > 1
    assert first.locate_boxes(at, len(first.content)) == second.locate_boxes(0, len(shared))
    one, other = first.locate(at, len(first.content)), second.locate(0, len(shared))
    assert one is not None
    assert other is not None
    assert (one.line_start, one.line_end, one.bbox) == (other.line_start, other.line_end, other.bbox)


def test_lines_that_were_given_stay_when_the_text_has_others() -> None:
    """S3-07, S3-21: a parser may join the lines of a passage; its range is then the range of every part."""
    joined = Block("One long passage. It goes on. " * 20, "paragraph", 10, 14, 1)
    pieces = list(split_into_chunks([joined], Chunking(chunk_size=50, overlap=0)))
    assert len(pieces) > 1
    assert {(span.line_start, span.line_end) for piece in pieces for span in piece.spans} == {(10, 14)}


def test_a_chunk_that_begins_within_a_block_knows_its_line() -> None:
    text = "\n".join(f"Line {n} says what it says." for n in range(5, 105))
    pieces = list(split_into_chunks([Block(text, "paragraph", 5, 104)], Chunking(chunk_size=64, overlap=16)))
    assert len(pieces) > 10
    for piece in pieces:
        lines = [int(line.split()[1]) for line in piece.content.split("\n")]
        assert (piece.spans[0].line_start, piece.spans[0].line_end) == (lines[0], lines[-1])


def test_a_row_is_a_chunk_with_its_fields_and_lines() -> None:
    """S1-20: row-based chunks."""
    rows = [Block(f"code: P070{n}\ntext: broken", "row", n + 2, n + 2, fields={"code": f"P070{n}"}) for n in range(3)]
    pieces = list(split_into_chunks(rows, Chunking()))
    assert [piece.fields["code"] for piece in pieces] == ["P0700", "P0701", "P0702"]
    place = stored(pieces[1]).locate(13, 25)
    assert place is not None
    assert (place.line_start, place.line_end) == (3, 3)


TABLE = "| code | meaning |\n|---|---|\n| P0700 | lamp \\| asked |\n| P0701 | |"


@pytest.mark.parametrize(
    ("text", "lines"), [(TABLE, [22, 23]), ("code | meaning\nP0700 | lamp \\| asked\nP0701 | ", [21, 22])]
)
def test_rows_of_a_table_are_chunks_with_its_header_as_names(text: str, lines: list[int]) -> None:
    """C02, S1-20: markdown's and Word's tables row by row, each with its own line and box; other text by size."""
    boxes = tuple((0.0, float(n), 9.0, n + 1.0) for n in range(text.count("\n") + 1))
    table = Block(text, "table", 20, 20 + text.count("\n"), 3, headings=("Codes",), boxes=boxes)
    before = [Block("One.", "paragraph", 1, 1, 3), Block("Two.", "paragraph", 3, 3, 3)]
    prose, first, second = split_into_chunks([*before, table], Chunking("rows"))
    assert prose.content == "One.\n\nTwo."
    assert (first.content, second.content) == ("code: P0700\nmeaning: lamp \\| asked", "code: P0701")
    assert first.fields == {"code": "P0700", "meaning": "lamp \\| asked"}
    assert [(span.page, span.line_start, span.line_end) for span in first.spans] == [(3, lines[0], lines[0])]
    assert (first.spans[0].bbox, second.spans[0].line_start) == (boxes[lines[0] - 20], lines[1])
    assert first.heading_path == ("Codes",)


def test_bars_around_a_row_make_no_cell() -> None:
    """C02: markdown lets each row have them or not."""
    table = Block("| a | b |\n|---|---|\n1 | 2", "table", 1, 3)
    assert [dict(piece.fields) for piece in split_into_chunks([table], Chunking("rows"))] == [{"a": "1", "b": "2"}]


def test_a_table_without_rows_or_columns_stays_as_it_is() -> None:
    """C02."""
    for text in ("| only | a header |\n|---|---|", "one column\nand a row", "|" * 1500 + "\n" + "|" * 1500):
        assert [p.content for p in split_into_chunks([Block(text, "table", 1, 2)], Chunking("rows", 8000))] == [text]


def test_each_block_is_a_chunk_and_one_too_large_is_cut() -> None:
    """S3-19, C02: a block a chunk, as TextBlocks are indexed."""
    blocks = [
        Block("Short.", "paragraph", 1, 1),
        Block("A word. " * 60, "paragraph", 2, 2),
        Block("B.", "heading", 3, 3),
    ]
    pieces = [piece.content for piece in split_into_chunks(blocks, Chunking("blocks", 64, 0))]
    assert (pieces[0], pieces[-1]) == ("Short.", "B.")
    assert len(pieces) > 4


def section(title: str, line: int, *above: str, text: str = "", page: int | None = None) -> list[Block]:
    heading = Block(f"{'#' * (len(above) + 1)} {title}", "heading", line, line, page, headings=above)
    body = Block(text or f"About {title}.", "paragraph", line + 1, line + 1, page, headings=(*above, title))
    return [heading, body]


def test_a_chunk_never_crosses_a_heading_and_a_section_begins_in_the_parent_of_its_parts() -> None:
    """C02, S0-56, S0-89: heading chunks are parents, those of the highest level have none."""
    long = "A step is done here. " * 30
    blocks = [
        Block("Before all headings.", "paragraph", 1, 1),
        *section("A", 2),
        *section("A1", 4, "A", text=long),
        *section("A1", 6, "A"),
        *section("B", 8),
    ]
    pieces = list(split_into_chunks(blocks, Chunking("headings", 100, 0)))
    begun = [piece.content.split("\n")[0] for piece in pieces]
    assert begun[:3] == ["Before all headings.", "# A", "## A1"]
    assert begun[-2:] == ["## A1", "# B"]
    cut = len(pieces) - 5
    assert cut >= 1
    assert [piece.parent_ordinal for piece in pieces] == [None, None, 1, *[2] * cut, 1, None]
    assert [piece.heading_path for piece in pieces] == [(), ("A",), *[("A", "A1")] * (cut + 2), ("B",)]


def test_a_place_is_under_the_headings_of_its_own_block() -> None:
    """C31: a passage is cited with its own section, not with that in which its chunk begins."""
    blocks = [*section("Symptoms", 1, text="Jerks."), *section("Causes", 3, text="A worn solenoid.")]
    (piece,) = split_into_chunks(blocks, Chunking("tokens"))
    found = fakes.chunk("c1", piece.content, spans=piece.spans, heading_path=piece.heading_path)
    starts = [piece.content.index(said) for said in ("Jerks", "# Causes", "A worn")]
    places = [found.locate(start, start + 4) for start in starts]
    assert [place and place.section for place in places] == [("Symptoms",), ("Causes",), ("Causes",)]


def test_headings_that_follow_one_another_begin_in_one_chunk() -> None:
    """C02, S0-56: a heading is no chunk of its own, unless there is nothing below it."""
    top, _ = section("A", 1)
    empty, _ = section("B", 9)
    blocks = [top, *section("A1", 2, "A"), *section("A2", 5, "A"), empty]
    pieces = list(split_into_chunks(blocks, Chunking("headings")))
    assert [piece.content for piece in pieces] == ["# A\n\n## A1\n\nAbout A1.", "## A2\n\nAbout A2.", "# B"]
    assert [piece.parent_ordinal for piece in pieces] == [None, 0, None]


def test_a_section_goes_on_over_a_page() -> None:
    """C02, S1-30."""
    heading, body = section("C#", 1, page=1)
    after = replace(body, page=2, line_start=5, line_end=5)
    pieces = list(split_into_chunks([heading, body, after, *section("D", 7, "C#", page=2)], Chunking("headings")))
    assert [(piece.heading_path, piece.parent_ordinal) for piece in pieces] == [
        (("C#",), None),
        (("C#",), 0),
        (("C#", "D"), 0),
    ]


def test_only_headings_gives_parents() -> None:
    """S0-89."""
    blocks = [*section("A", 1), *section("A1", 3, "A")]
    for name in ("tokens", "semantic", "rows", "blocks"):
        assert {piece.parent_ordinal for piece in split_into_chunks(blocks, Chunking(name))} == {None}


def test_a_long_row_is_split_and_keeps_its_fields() -> None:
    row = Block("text: " + "word " * 500, "row", 2, 2, fields={"id": "7"})
    pieces = list(split_into_chunks([row], Chunking(chunk_size=100, overlap=10)))
    assert len(pieces) > 4
    assert {piece.fields["id"] for piece in pieces} == {"7"}


GEARS = ["The gearbox holds gears.", "A solenoid moves gears in the gearbox.", "Each solenoid serves the gearbox."]
MEMORY = ["Sleep makes memory strong.", "Without sleep memory fades.", "A memory is lost before sleep ends."]


def about(text: str) -> tuple[float, float]:
    return (1.0, 0.1) if text in GEARS else (0.1, 1.0)


@pytest.mark.parametrize("known", [True, False], ids=["by meaning", "by words"])
def test_semantic_chunks_break_where_the_subject_changes(known: bool) -> None:
    """S1-16, S1-50: broken at the change of subject, never within a sentence."""
    blocks = [Block(" ".join(GEARS + MEMORY), "paragraph", 1, 1)]
    similarity = build_cosine_similarity({text: about(text) for text in collect_sentences(blocks)}) if known else None
    pieces = [piece.content for piece in split_into_chunks(blocks, Chunking("semantic"), similarity=similarity)]
    assert pieces == [" ".join(GEARS), " ".join(MEMORY)]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(GEARS + MEMORY), min_size=1, max_size=40), st.integers(32, 60), st.floats(0, 1))
def test_semantic_chunks_never_cut_a_sentence(texts: Sequence[str], size: int, threshold: float) -> None:
    """S1-16: whole sentences, within chunk_size."""
    blocks = [Block(" ".join(texts), "paragraph", 1, 1)]
    pieces = [piece.content for piece in split_into_chunks(blocks, Chunking("semantic", size, 0, threshold))]
    assert [piece[start:end] for piece in pieces for start, end in find_sentences(piece)] == list(texts)


@pytest.mark.parametrize(
    ("numbers", "field"),
    [
        ({"strategy": "magic"}, "chunking.strategy"),
        ({"chunk_size": 0}, "chunking.chunk_size"),
        ({"chunk_size": 9000}, "chunking.chunk_size"),
        ({"overlap": -1}, "chunking.overlap"),
        ({"chunk_size": 100, "overlap": 51}, "chunking.overlap"),
        ({"threshold": 1.5}, "chunking.threshold"),
        ({"threshold": float("nan")}, "chunking.threshold"),
    ],
)
def test_impossible_numbers_are_refused_by_name(numbers: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Chunking(**numbers)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_the_defaults_are_the_documents_own() -> None:
    """S1-50, S1-51, S1-52: threshold 0.5, 800 tokens, 200 of overlap."""
    assert Chunking() == Chunking("tokens", 800, 200, 0.5)


def test_text_without_a_single_space_is_cut_by_tokens() -> None:
    pieces = list(split_into_chunks([Block("x" * 5000, "paragraph", 1, 1)], Chunking(chunk_size=100, overlap=20)))
    assert sum(len(piece.content) for piece in pieces) == 5000
    assert all(count_tokens(piece.content) <= 100 for piece in pieces)


def test_a_paragraph_that_is_a_heading_does_not_stand_in_every_chunk_below() -> None:
    title = "word " * 10_000
    blocks = [Block(title, "heading", 1, 1), *(Block("Text.", "paragraph", n, n, headings=(title,)) for n in (3, 5))]
    pieces = list(split_into_chunks(blocks, Chunking("blocks")))
    assert {len(part) for piece in pieces for part in piece.heading_path} == {1024}
