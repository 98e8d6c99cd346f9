"""Codes are found in the same places whether or not the words between them are read."""

from hypothesis import given
from hypothesis import strategies as st

from rag_core.text import index_terms

LETTERS = "ab04E_-./: \n\t,;é٣中ไ²Ⅷ9İßﬀ\xa0\u2028\u3000"


def of_every_letter(text: str) -> list[str]:
    lower = text.lower()
    joined = [
        index_terms._SEPARATORS.sub("", code)
        for pattern in (index_terms._JOINED_CODE, index_terms._SPACED_CODE)
        for code in pattern.findall(lower)
    ]
    runs = index_terms._UNSPACED_SCRIPT.findall(lower)
    return (
        joined
        + index_terms._MIXED_CODE.findall(lower)
        + [pair for run in runs for pair in index_terms._split_letter_pairs(run)]
    )


@given(st.text(LETTERS, max_size=40))
def test_words_of_letters_alone_can_be_left_out(text: str) -> None:
    """S1-13"""
    assert index_terms.extract_code_terms(text) == of_every_letter(text)


def test_codes_are_found_however_they_stand() -> None:
    text = "Part 04E 906 016 and\n906 017, four-wheel drive; P-0700 of 1.2.3"
    assert index_terms.extract_code_terms(text) == ["fourwheel", "p0700", "123", "04e906016", "906017", "04e"]
