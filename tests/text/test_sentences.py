"""Sentences are found where they stand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.text.sentences import find_sentences

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
    found = find_sentences(text)
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
        (" \n ", []),
    ],
)
def test_sentences_are_those_a_reader_sees(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in find_sentences(text)] == expected
