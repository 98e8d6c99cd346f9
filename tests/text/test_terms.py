import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.text.terms import count_shared_terms, extract_terms, normalize_query_text

SPOKEN = st.lists(st.sampled_from(["Misfires", "misfire", "these", "thesed", "P0700", "p0700", "İs", "gas-pump", "ß"]))


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
    assert len(extract_terms(forms)) == 1


@pytest.mark.parametrize("words", ["P0700 P0701", "engine misfire", "gas gate", "set seal"])
def test_different_words_are_different_terms(words: str) -> None:
    """C28: codes are compared whole, but for their case."""
    assert len(extract_terms(words)) == 2


@pytest.mark.parametrize("text", ["", "how many of the", "?!", "😀"])
def test_small_words_and_signs_are_no_terms(text: str) -> None:
    assert extract_terms(text) <= {"many"}


@given(SPOKEN, st.lists(SPOKEN))
def test_the_terms_that_texts_share_with_a_question_are_counted_as_if_one_by_one(
    asked: list[str], said: list[list[str]]
) -> None:
    wanted, texts = extract_terms(" ".join(asked)), [" ".join(words) for words in said]
    assert count_shared_terms(wanted, texts) == [len(extract_terms(text) & wanted) for text in texts]


@pytest.mark.parametrize("text", ["cities", "the City's", "CITIES, İzmir", "\u0345city", "ﬁve cities"])
def test_a_word_is_found_by_how_it_begins_in_every_script(text: str) -> None:
    assert count_shared_terms(extract_terms("Which city?"), [text, "capacity"]) == [1, 0]


def test_of_no_terms_a_text_has_none() -> None:
    assert count_shared_terms(frozenset(), ["any text"]) == [0]


@pytest.mark.parametrize("text", ["What is P0700?", "  what\tIS\n p0700? ", "WHAT IS P0700?"])
def test_case_and_white_space_do_not_make_another_question(text: str) -> None:
    assert normalize_query_text(text) == "what is p0700?"
