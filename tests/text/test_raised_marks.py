import pytest

from rag_core.text.cell_values import parse_cell_value
from rag_core.text.codes import find_codes
from rag_core.text.figures import FIGURE, is_period, parse_figure
from rag_core.text.index_terms import normalize_characters
from rag_core.text.normalization import normalize_words
from rag_core.text.raised_marks import (
    mask_footnote_marks,
    parse_level,
    write_exponents_plain,
    write_lowered,
    write_raised,
)
from rag_core.text.terms import extract_terms


@pytest.mark.parametrize(
    ("before", "mark", "written"),
    [
        ("K-07", "6", "K-07⁶"),
        ("12.5", "1", "12.5¹"),
        ("K-13", "6,7", "K-13⁶,⁷"),
        ("10", "-3", "10⁻³"),
        ("Ca", "2+", "Ca²⁺"),
        ("x", "n+1", "xⁿ⁺¹"),
        ("Sales", "a", "Salesᵃ"),
        ("$19", "99", "$19⁹⁹"),
        ("", "14", "¹⁴"),
        ("1", "st", "1st"),
        ("22", "nd", "22nd"),
        ("M", "me", "Mme"),
        ("Acme", "TM", "Acme™"),
        ("K-16", "†", "K-16†"),
        ("K-18", "[6]", "K-18[6]"),
        ("A ", "whole raised remark", "A whole raised remark"),
        ("Widget", "NEW", "Widget NEW"),
        ("Sales", "C", "Sales C"),
    ],
)
def test_a_raised_mark_becomes_no_part_of_what_it_stands_at(before: str, mark: str, written: str) -> None:
    assert before + write_raised(mark, before) == written


def test_a_lowered_number_is_no_digit_of_a_number_and_a_formula_is_as_people_type_it() -> None:
    assert "CO" + write_lowered("2", "CO") == "CO2"
    assert "101" + write_lowered("2", "101") == "101₂"


@pytest.mark.parametrize("text", ["K-07⁶", "12.5¹ percent", "K-10⁶", "Salesᵃ", "⁶ Since", "K-13⁶,⁷.", "in 2019.⁵ Then"])
def test_the_mark_of_a_footnote_is_masked_in_place(text: str) -> None:
    masked = mask_footnote_marks(text)
    assert len(masked) == len(text)
    assert masked.isascii()


@pytest.mark.parametrize("text", ["25 m²", "3 × 10⁶", "3x10⁶", "10⁻³", "s⁻¹", "R²", "¹⁴C", "Ca²⁺", "3¹/₂", "$19⁹⁹"])
def test_what_changes_the_value_stays(text: str) -> None:
    assert mask_footnote_marks(text) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [("K-07⁶", "K-07 "), ("10⁶", "10^6"), ("m²", "m2"), ("101₂", "101 ₂"), ("3½", "3 ½"), ("H₂O", "H₂O"), ("né", "né")],
)
def test_words_for_a_search_have_no_other_value(text: str, plain: str) -> None:
    assert write_exponents_plain(text) == plain
    assert not {"K-076", "106", "1012", "31"} & set(normalize_characters(text).replace("⁄", " ").split())


def test_a_code_is_found_by_its_name_without_the_mark() -> None:
    assert find_codes("see P0700⁶ and P0701") == {"p0700", "p0701"}
    assert extract_terms("K-07⁶ was colder²") == extract_terms("K-07 was colder")
    assert extract_terms("FY22⁵") == extract_terms("FY22")


def test_claims_are_compared_without_marks_and_with_exponents() -> None:
    def forms(text: str) -> list[str]:
        return [word.form for word in normalize_words(text)]

    assert forms("The rate rose to 12.5¹ percent.") == forms("The rate rose to 12.5 percent.")
    assert not {"10", "106"} & set(forms("about 10⁶ cells"))
    assert not {"10", "103", "3"} & set(forms("a rate of 10⁻³ per hour"))
    assert forms("about 10^6 cells") == forms("about 10⁶ cells")
    assert forms("25 m²") == forms("25 square meters") == forms("25 m2")
    assert forms("25 m²") != forms("25 m³")


def test_the_figure_of_a_cell_is_read_without_its_mark() -> None:
    figure = parse_figure("1,204³")
    assert figure is not None
    assert figure.value == 1204
    assert parse_cell_value("12.5¹") == parse_cell_value("12.5")
    assert is_period("2020⁵")
    assert FIGURE.fullmatch("33.1²,³")


@pytest.mark.parametrize(
    ("said", "level"),
    [
        *(("super", 1), ("superscript", 1), ("33%", 1), ("30000", 1)),
        *(("sub", -1), ("subscript", -1), ("-33%", -1), ("-25000", -1)),
        *(("baseline", 0), ("0%", 0), ("0", 0)),
        *(("", None), ("somewhere", None)),
    ],
)
def test_a_level_is_said_in_a_word_or_by_an_offset(said: str, level: int | None) -> None:
    assert parse_level(said) == level
