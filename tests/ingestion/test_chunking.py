"""Chunks are of the size asked for, lose nothing, and know where they stand."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.errors import InvalidRequest
from rag_core.ingestion.chunking import Chunking, Piece, chunk, mean_cosine, sentences_of
from rag_core.ingestion.text import count_tokens, sentences
from rag_core.model import Block, Chunk

LETTERS = st.characters(exclude_categories=("Cs", "Cc"))
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1, max_size=60).map(" ".join)
PROSE = st.lists(
    st.sampled_from(["The code is set. ", "Why? ", "Dr. Lee left\n", "x" * 90, "故障码。", "\n", "🚗🚗 ", "a, b"])
)
TEXTS = st.one_of(WORDS, PROSE.map("".join)).filter(lambda text: bool(text.strip()))
KINDS = st.sampled_from(["paragraph", "paragraph", "heading", "row"])
CHUNKINGS = st.builds(
    lambda strategy, size, share: Chunking(strategy, size, int(size * share)),
    st.sampled_from(["tokens", "semantic", "rows"]),
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


def stored(piece: Piece) -> Chunk:
    return Chunk("c", "d", 0, piece.content, "", "", "", piece.spans)


def letters(text: str) -> list[str]:
    return [char for char in text if not char.isspace()]


@settings(max_examples=80, deadline=None)
@given(documents(), CHUNKINGS)
def test_no_chunk_is_larger_than_asked(blocks: list[Block], chunking: Chunking) -> None:
    """S1-51: chunk_size is exact, in tokens."""
    assert all(count_tokens(piece.content) <= chunking.chunk_size for piece in chunk(blocks, chunking))


@settings(max_examples=80, deadline=None)
@given(documents(), CHUNKINGS)
def test_every_character_is_in_a_chunk_where_its_span_says(blocks: list[Block], chunking: Chunking) -> None:
    pieces = list(chunk(blocks, chunking))
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


@settings(max_examples=60, deadline=None)
@given(documents(), CHUNKINGS)
def test_a_chunk_never_crosses_a_page(blocks: list[Block], chunking: Chunking) -> None:
    """S1-30: the page number of a chunk is true of all of it."""
    assert all(len({span.page for span in piece.spans}) == 1 for piece in chunk(blocks, chunking))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 999).map(lambda n: f"Sentence {n} says so."), min_size=1, max_size=60), CHUNKINGS)
def test_neighbours_share_no_more_than_the_overlap(texts: list[str], chunking: Chunking) -> None:
    """S1-52: at most `overlap` tokens are repeated."""
    text = " ".join(f"{at}: {sentence}" for at, sentence in enumerate(texts))
    pieces = [piece.content for piece in chunk([Block(text, "paragraph", 1, 1)], chunking)]
    ends = 0
    for piece in pieces:
        starts = text.index(piece)
        assert count_tokens(text[starts:ends].strip()) <= chunking.overlap
        assert starts + len(piece) > ends
        ends = starts + len(piece)


def test_an_overlap_repeats_whole_sentences() -> None:
    """S1-22, S1-52: neighbouring chunks overlap, so that what stands at a cut is whole in one of them."""
    text = " ".join(f"Check number {n} of the harness is done at the connector." for n in range(60))
    first, second, *_ = chunk([Block(text, "paragraph", 1, 1)], Chunking(chunk_size=100, overlap=30))
    repeated = first.content[first.content.index(second.content[:25]) :]
    assert repeated.startswith("Check number")
    assert 15 < count_tokens(repeated) <= 30


def test_a_chunk_ends_with_a_sentence_and_a_heading_begins_one() -> None:
    body = " ".join(f"Step {n} is to look at the fluid." for n in range(9))
    blocks = [Block(body, "paragraph", 1, 1), Block("# Next", "heading", 3, 3), Block(body, "paragraph", 5, 5)]
    pieces = list(chunk(blocks, Chunking(chunk_size=110, overlap=0)))
    assert [piece.content[:6] for piece in pieces] == ["Step 0", "# Next"]
    assert all(piece.content.endswith(".") for piece in pieces)


def test_a_place_in_a_chunk_is_the_line_in_the_document() -> None:
    blocks = [Block("one\ntwo\nthree", "paragraph", 10, 12, 4), Block("four\nfive", "paragraph", 14, 15, 4)]
    (piece,) = chunk(blocks, Chunking())
    for word, line in {"one": 10, "two": 11, "three": 12, "four": 14, "five": 15}.items():
        at = piece.content.index(word)
        place = stored(piece).place(at, at + len(word))
        assert place is not None
        assert (place.page, place.line_start, place.line_end) == (4, line, line)


def test_a_chunk_that_begins_within_a_block_knows_its_line() -> None:
    text = "\n".join(f"Line {n} says what it says." for n in range(5, 105))
    pieces = list(chunk([Block(text, "paragraph", 5, 104)], Chunking(chunk_size=64, overlap=16)))
    assert len(pieces) > 10
    for piece in pieces:
        lines = [int(line.split()[1]) for line in piece.content.split("\n")]
        assert (piece.spans[0].line_start, piece.spans[0].line_end) == (lines[0], lines[-1])


def test_a_row_is_a_chunk_with_its_fields_and_lines() -> None:
    """S1-20: row-based chunks."""
    rows = [Block(f"code: P070{n}\ntext: broken", "row", n + 2, n + 2, fields={"code": f"P070{n}"}) for n in range(3)]
    pieces = list(chunk(rows, Chunking()))
    assert [piece.fields["code"] for piece in pieces] == ["P0700", "P0701", "P0702"]
    place = stored(pieces[1]).place(13, 25)
    assert place is not None
    assert (place.line_start, place.line_end) == (3, 3)


def test_a_long_row_is_split_and_keeps_its_fields() -> None:
    row = Block("text: " + "word " * 500, "row", 2, 2, fields={"id": "7"})
    pieces = list(chunk([row], Chunking(chunk_size=100, overlap=10)))
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
    similarity = mean_cosine({text: about(text) for text in sentences_of(blocks)}) if known else None
    pieces = [piece.content for piece in chunk(blocks, Chunking("semantic"), similarity=similarity)]
    assert pieces == [" ".join(GEARS), " ".join(MEMORY)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(GEARS + MEMORY), min_size=1, max_size=40), st.integers(32, 60), st.floats(0, 1))
def test_semantic_chunks_never_cut_a_sentence(texts: Sequence[str], size: int, threshold: float) -> None:
    """S1-16: whole sentences, within chunk_size."""
    blocks = [Block(" ".join(texts), "paragraph", 1, 1)]
    pieces = [piece.content for piece in chunk(blocks, Chunking("semantic", size, 0, threshold))]
    assert [piece[start:end] for piece in pieces for start, end in sentences(piece)] == list(texts)


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
    pieces = list(chunk([Block("x" * 5000, "paragraph", 1, 1)], Chunking(chunk_size=100, overlap=20)))
    assert sum(len(piece.content) for piece in pieces) == 5000
    assert all(count_tokens(piece.content) <= 100 for piece in pieces)
