from rag_core.text.stop_words import (
    FEEDBACK_STOP_WORDS,
    FILLER_WORDS,
    KEY_PHRASE_STOP_WORDS,
    LEXICAL_STOP_WORDS,
    QUESTION_STOP_WORDS,
)


def test_each_selection_is_as_long_as_when_its_results_were_measured() -> None:
    selections = (FILLER_WORDS, QUESTION_STOP_WORDS, LEXICAL_STOP_WORDS, FEEDBACK_STOP_WORDS, KEY_PHRASE_STOP_WORDS)
    assert [len(words) for words in selections] == [12, 73, 74, 121, 169]
    assert QUESTION_STOP_WORDS | FEEDBACK_STOP_WORDS < KEY_PHRASE_STOP_WORDS


def test_words_that_change_what_is_asked_or_claimed_are_compared() -> None:
    assert not {"not", "no", "may", "must", "before", "after", "over", "under"} & (FILLER_WORDS | QUESTION_STOP_WORDS)
