"""The key sentences of a text and the keywords of a question."""

import pytest

from rag_core.ingestion.enrichment import MAX_KEY_PHRASES, extract_keywords, select_key_sentences


def test_the_keywords_of_a_question_are_its_names_and_its_phrases() -> None:
    """S0-71: names, and what else a question is about."""
    assert extract_keywords("Which TCM sets P0700 in Munich?")[:3] == ("P0700", "Munich", "TCM")
    assert "working memory" in extract_keywords("What is working memory?")
    assert extract_keywords("the of and it") == ()


def test_phrases_are_few_and_do_not_repeat_each_other() -> None:
    text = "The torque converter clutch slips. Torque converter wear, valve body wear, shift solenoid wear. " * 5
    phrases = extract_keywords(text)
    assert "torque converter clutch" in phrases or "torque converter wear" in phrases
    assert len(phrases) <= MAX_KEY_PHRASES
    assert not [one for one in phrases for other in phrases if one != other and one in other]


STORY = (
    "7 Storms\n"
    "Tropical storms draw their strength from warm water at the surface of the sea.\n"
    "* a list item that is no sentence\n"
    "When a storm crosses land it loses the warm water and its strength fades within hours.\n"
    "My neighbour owns a green bicycle with three gears and a bell.\n"
    "Storms over warm water can gain strength again, as the sea gives them water and warmth.\n"
)


def test_the_summary_of_a_text_is_its_central_sentences_in_order() -> None:
    """S1-31: what a passage is about, in its own words."""
    assert select_key_sentences(STORY, 2) == [
        "Tropical storms draw their strength from warm water at the surface of the sea.",
        "When a storm crosses land it loses the warm water and its strength fades within hours.",
    ]


def test_a_running_head_is_no_part_of_the_sentence_below() -> None:
    text = "TCM manual, page 1\nA Title\nThe module decides when to change gear and stores a code if it\ncannot do so."
    assert select_key_sentences(text, 1) == [
        "The module decides when to change gear and stores a code if it cannot do so."
    ]


@pytest.mark.parametrize(("text", "expected"), [("", []), ("Potato", ["Potato"]), ("... \n !", 1)])
def test_a_text_of_almost_nothing_has_almost_no_summary(text: str, expected: object) -> None:
    found = select_key_sentences(text, 1)
    assert found == expected or len(found) == expected


@pytest.mark.parametrize("part", ["A", "A1", "A ", "a-", "a'", " \n", "\n", "1.1 A"])
def test_no_text_makes_an_expression_slow(part: str) -> None:
    """C11: 300 KB of the worst; time in the square of the length would not end."""
    select_key_sentences(part * (300_000 // len(part)), 3)
