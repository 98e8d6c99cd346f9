"""Sentences are found where they stand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.text import sentences
from rag_core.text.sentences import find_sentences, shorten_at_word

ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)


@settings(max_examples=200)
@given(
    st.one_of(
        ANY,
        st.lists(st.sampled_from(["Dr. ", "U.S. ", "End.", "\n", "1. ", "🚗é ", "- x\n", "3.1 Why\n", "故障。"])).map(
            "".join
        ),
    )
)
def test_sentences_are_in_order_and_lose_nothing_but_space(text: str) -> None:
    check_ranges(text, find_sentences(text))


@settings(max_examples=200)
@given(ANY, st.integers(min_value=2, max_value=40))
def test_a_text_read_in_parts_loses_nothing_either(text: str, window_chars: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "_WINDOW_CHARS", window_chars)
        patch.setattr(sentences, "_WINDOW_MARGIN", 1)
        check_ranges(text, find_sentences(text))


def check_ranges(text: str, found: list[tuple[int, int]]) -> None:
    assert all(text[start:end] == text[start:end].strip() for start, end in found)
    edges = [0, *(edge for pair in found for edge in pair), len(text)]
    assert edges == sorted(edges)
    between = zip(edges[::2], edges[1::2], strict=True)
    assert not "".join(text[start:end] for start, end in between).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Lee left. She was from the U.S. embassy.", ["Dr. Lee left.", "She was from the U.S. embassy."]),
        ("Do this:\n- drain it\n- fill it\nThen go.", ["Do this:", "- drain it", "- fill it\nThen go."]),
        ("Do:\n• Drain.\n• Wait.\nThen. Think.", ["Do:", "• Drain.", "• Wait.", "Then.", "Think."]),
        (
            "Do:\n1. Drain it. Or not.\n2. Fill it.\nThen go.",
            ["Do:", "1. Drain it.", "Or not.", "2. Fill it.", "Then go."],
        ),
        ("3.1 What it means\nP0700 names\nno part.", ["3.1 What it means", "P0700 names\nno part."]),
        ("One line\nand the next. Émile 😀 came. Done.", ["One line\nand the next.", "Émile 😀 came.", "Done."]),
        ("Work | Hours\nBleed it | 2\n\nGo home.", ["Work | Hours", "Bleed it | 2", "Go home."]),
        (
            "It is due by 29 May. Dr. Lee signs. Ask me. Mr. Ito knows.",
            ["It is due by 29 May.", "Dr. Lee signs.", "Ask me.", "Mr. Ito knows."],
        ),
        ("See No. V of the list by May Ltd. of London.", ["See No. V of the list by May Ltd. of London."]),
        (" \n ", []),
    ],
)
def test_sentences_are_those_a_reader_sees(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in find_sentences(text)] == expected


def test_paragraphs_have_the_sentences_that_each_has_by_itself() -> None:
    """However many there are: a part that is read at once ends with a paragraph."""
    paragraphs = [
        f"He said: “It is {n}. It stays.” Dr. Lee (a friend. Or not) left the U.S. embassy." for n in range(400)
    ]
    text = "\n\n".join(paragraphs)
    alone = [part[start:end] for part in paragraphs for start, end in find_sentences(part)]
    assert [text[start:end] for start, end in find_sentences(text)] == alone


def test_sentences_of_a_long_paragraph_are_whole() -> None:
    sentence = "Dr. Lee left the U.S. embassy at 3.15 p.m. on Monday, as 1,000 others did."
    text = " ".join([sentence] * 500)
    assert {text[start:end] for start, end in find_sentences(text)} == {sentence}


def test_a_long_text_without_a_sentence_end_is_cut_after_a_line_else_after_a_word() -> None:
    lines, words = "a word\n" * 4_000, "word " * 6_000
    assert {(lines + "x")[end : end + 1] for _, end in find_sentences(lines)} == {"\n"}
    assert {words[end : end + 1] for _, end in find_sentences(words)} == {" "}


@pytest.mark.parametrize(
    ("max_chars", "shortened"), [(16, "One pump runs on"), (15, "One pump runs …"), (9, "One …"), (3, "On…")]
)
def test_a_shortened_text_ends_after_a_word_within_its_limit(max_chars: int, shortened: str) -> None:
    assert shorten_at_word("One pump runs on", max_chars) == shortened
    assert len(shortened) <= max_chars
