"""Names are found with their kind, and what merely looks like one is not."""

import pytest

from rag_core.ingestion.enrichment import MAX_KEY_PHRASES, extract_entities, select_key_sentences


def named(kind: str, text: str) -> list[str]:
    return [entity.value for entity in extract_entities(text) if entity.type == kind]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("dtc", "P0700 and U0100-87, p0715; B1A2F.", ["P0700", "U0100-87", "P0715", "B1A2F"]),
        ("dtc", "P0700 P0700", ["P0700"]),
        ("dtc", "P4700 P07 XP0700 P0700X P07000 A0700 bead0 AP0700-1 c0ffe", []),
        ("part", "Fit 04E 906 016 AB or BP-4471-A, not 04E 906 016.", ["04E 906 016 AB", "BP-4471-A", "04E 906 016"]),
        ("part", "04E\n906 016", ["04E 906 016"]),
        ("part", "ISO-9001 RFC-2119 COVID-2019 CVE-2024-1234 100 200 300 F-150 UTF-8 A-4471 2023-04-01", []),
        ("acronym", "The TCM asks over the CAN bus; it is OK, NOT the MIL of it.", ["TCM", "CAN", "MIL"]),
        ("acronym", "P0ABC and U1A2B are codes, ECU is none", ["ECU"]),
        ("acronym", "WARNING: DO NOT OPEN THE CASE", []),
        (
            "acronym",
            "we want NARA to be A GREAT PLACE TO WORK for all the FOIA and CLF people of today and later",
            ["NARA", "FOIA", "CLF"],
        ),
        ("acronym", "I am A. Iron Man, ABCDEFG, part BP-4471-A", []),
        ("phrase", "A transmission control module (TCM) is one.", ["transmission control module"]),
        ("phrase", "the of and it", []),
    ],
)
def test_names_are_found_with_their_kind(kind: str, text: str, expected: list[str]) -> None:
    """S1-32: typed entities of a chunk."""
    assert named(kind, text) == expected


def test_phrases_are_few_and_do_not_repeat_each_other() -> None:
    text = "The torque converter clutch slips. Torque converter wear, valve body wear, shift solenoid wear. " * 5
    phrases = named("phrase", text)
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


@pytest.mark.parametrize(
    "part", ["A", "A1", "A ", "P07", "(AB", "a (AB) ", "AB-123", "a-", "a'", " \n", "\n", "04E 906 ", "1.1 A"]
)
def test_no_text_makes_an_expression_slow(part: str) -> None:
    """C11: 300 KB of the worst; time in the square of the length would not end."""
    text = part * (300_000 // len(part))
    extract_entities(text)
    select_key_sentences(text, 3)
