"""Where a text has the words of a quote."""

import pytest

from rag_core.text.quotes import find_words
from rag_core.text.terms import WORD_PATTERN


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run dry", "Run\n dry"),
        ("ust not  run", "ust not Run"),
        ("İzmir must", "İzmir must"),  # whose lower case is longer
        ("dry.", "dry."),
        ("dry!", None),
        ("not dry", None),
        (" ", None),
    ],
)
def test_words_are_found_apart_from_case_and_spaces(words: str, found: str | None) -> None:
    text = "At İzmir must not Run\n dry."
    place = find_words(words, text)
    assert (place and text[slice(*place)]) == found


def test_what_is_between_the_tokens_of_a_pattern_counts_for_nothing() -> None:
    text = "Shelf (top), bench"
    place = find_words("shelf top: BENCH!", text, WORD_PATTERN)
    assert place == (0, len(text))
