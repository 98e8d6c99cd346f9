import pytest

from rag_core.stages.terms import terms


@pytest.mark.parametrize(
    "forms",
    [
        "codes Code CODE",
        "misfire misfires misfiring Misfired",
        "category categories",
        "seal seals sealed sealing",
        "bus",
    ],
)
def test_the_forms_of_a_word_are_one_term(forms: str) -> None:
    assert len(terms(forms)) == 1


@pytest.mark.parametrize("words", ["P0700 P0701", "engine misfire", "gas gate", "set seal"])
def test_different_words_are_different_terms(words: str) -> None:
    """C28: codes are compared whole, but for their case."""
    assert len(terms(words)) == 2


@pytest.mark.parametrize("text", ["", "how many of the", "?!", "😀"])
def test_small_words_and_signs_are_no_terms(text: str) -> None:
    assert terms(text) <= {"many"}
