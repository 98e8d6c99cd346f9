"""Abbreviations are written out beside themselves, and codes stay what they are."""

import pytest

from rag_core.text.abbreviations import (
    abbreviate,
    expand_abbreviations,
    find_definitions,
    fold_case_except_codes,
    load_packaged_glossary,
    merge_glossaries,
    parse_glossary,
    spell_as_in,
)

GLOSSARY = parse_glossary(["# a comment", "MI,myocardial infarction", "MS,multiple sclerosis", "MS,mitral stenosis"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Signs of MI?", "Signs of MI (myocardial infarction)?"),
        ("signs of mi", "signs of mi (myocardial infarction)"),  # the cache takes both for one question
        ("MRI of MIs", "MRI of MIs"),
        ("Are myocardial infarctions painful?", "Are myocardial infarctions (MI) painful?"),
        ("myocardial, infarction", "myocardial, infarction"),
        ("Is a myocardial infarction (MI) painful?", "Is a myocardial infarction (MI) painful?"),
        ("MS", "MS (multiple sclerosis, mitral stenosis)"),
    ],
)
def test_an_abbreviation_is_followed_by_what_it_means(text: str, said: str) -> None:
    """S4-03: MI is also myocardial infarction; a longer word that holds the letters is not."""
    assert expand_abbreviations(text, GLOSSARY) == said


@pytest.mark.parametrize(
    ("passages", "text", "said"),
    [
        (["After a myocardial infarction"], "Is MI painful?", "Is myocardial infarction painful?"),
        (["After MI"], "Is myocardial infarction painful?", "Is MI painful?"),
        (["nothing", "after MI", "a myocardial infarction"], "Is MI painful?", "Is MI painful?"),
        (["mitral stenosis"], "Is MS painful?", "Is mitral stenosis painful?"),
        (["a myocardial infarction"], "Is a myocardial infarction (MI) bad?", "Is a myocardial infarction bad?"),
        (["mind, family"], "Is MI painful?", "Is MI painful?"),
    ],
)
def test_a_question_is_spelled_as_in_the_first_passage_that_has_either(
    passages: list[str], text: str, said: str
) -> None:
    """S4-03."""
    assert spell_as_in(passages, text, GLOSSARY) == said


def test_the_shipped_glossary_knows_the_documents_example() -> None:
    """S4-03."""
    assert load_packaged_glossary()["mi"] == "myocardial infarction"
    assert len(load_packaged_glossary()) > 50


def test_words_are_folded_and_codes_are_not() -> None:
    """S4-03, C28: lower case, and P0700 verbatim."""
    assert fold_case_except_codes("Why does P0700 light the LAMP?") == "why does P0700 light the lamp?"


def test_a_line_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="unpack"):
        parse_glossary(["MI;myocardial infarction"])


def test_what_a_text_defines_is_read_from_it() -> None:
    """S4-03: Schwartz and Hearst, PSB 2003; what stands in brackets and is no abbreviation defines nothing."""
    text = "A Clinical Frailty Scale (CFS) in type 2 diabetes mellitus (T2DM); urine albumin-to-creatinine ratio (ACR)"
    assert find_definitions(text) == {
        "cfs": "Clinical Frailty Scale",
        "t2dm": "type 2 diabetes mellitus",
        "acr": "albumin-to-creatinine ratio",
    }
    assert find_definitions("It is sold by the dozen (Tuesday) and in a box (XYZ).") == {}


def test_meanings_are_abbreviated_and_glossaries_merged() -> None:
    glossary = merge_glossaries({"bp": "blood pressure"}, {"bp": "bisphosphonate"}, {"bp": "blood pressure"})
    assert glossary == {"bp": "blood pressure, bisphosphonate"}
    assert abbreviate("Blood pressures (BP) and bisphosphonate", glossary) == "BP (BP) and BP"
    assert abbreviate("Blood pressure", {}) == "Blood pressure"
