"""Periods have many spellings and one form, and are no codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.text.codes import find_codes
from rag_core.text.normalization import normalize_words
from rag_core.text.periods import (
    FiscalCalendar,
    Period,
    compute_period_share,
    find_named_period,
    find_periods,
    infer_fiscal_calendar,
    read_fiscal_calendar,
    remove_periods,
    write_out_periods,
)
from rag_core.text.terms import extract_terms

NAMED = 'Fiscal 2022 refers to the 52-week year ended January 28, 2023 ("last year").'
SECOND_OF_FISCAL = Period(2023, "Q2", True)
SECOND = Period(2023, "Q2")


def read(text: str) -> list[Period]:
    return [placed.period for placed in find_periods(text)]


@pytest.mark.parametrize(
    ("period", "spellings"),
    [
        (
            Period(2022, fiscal=True),
            "FY22|FY2022|fy2022|FY 2022|FY'22|FY-22|F2022|fiscal 2022|Fiscal\nYear 2022|fiscal 22",
        ),
        (Period(1999, fiscal=True), "FY99|fiscal year 1999|financial year 1999"),
        (Period(2022, fiscal=False), "CY2022|calendar year 2022"),
        (Period(2022), "year ended December 31, 2022|twelve months ended 31 December 2022"),
        (
            SECOND_OF_FISCAL,
            "Q2FY23|Q2 FY2023|2Q FY23|FY2023 Q2|the second quarter of fiscal 2023|Q2 of our fiscal year 2023",
        ),
        (SECOND, "Q2 2023|Q2-23|Q2'23|2Q23|2Q 2023|Q2/2023|2023Q2|2023 Q2|second quarter of 2023|2nd quarter 2023"),
        (Period(2024, "H1"), "H1-2024|1H24|H1 2024|first half of 2024|the first half of the 2024 season"),
    ],
)
def test_the_spellings_of_a_period_have_one_form(period: Period, spellings: str) -> None:
    assert {spelling: read(spelling) for spelling in spellings.split("|")} == {
        spelling: [period] for spelling in spellings.split("|")
    }


@pytest.mark.parametrize(
    "text",
    ["2022", "in 23", "f2022", "2q23", "1q21", "Q22023", "Q2 23", "Q5 2023", "H3 2023", "FY1", "P0700", "F1 2023"],
)
def test_what_only_looks_like_a_period_is_none(text: str) -> None:
    """2q23 is a place on a chromosome, f2022 a part."""
    assert read(text) == []
    assert write_out_periods(text) == text


def test_periods_are_no_codes_and_codes_stay_codes() -> None:
    """S1-13: whatever stands beside the token, in whatever case."""
    assert find_codes("FY2022 fy2022 Q2FY23 2Q23 2q23 1H24 F2022 2023Q4 P0700 04E906016 Q22023 FY2022X") == {
        "p0700",
        "04e906016",
        "q22023",
        "fy2022x",
    }


def test_a_last_day_is_read_as_the_document_names_its_years() -> None:
    """A year that ends in January is called by either year: only the document knows."""
    assert read(f"{NAMED} Sales rose in the year ended January 29, 2022.") == [
        Period(2022, fiscal=True),
        Period(2022, fiscal=True),
        Period(2021, fiscal=True),
    ]
    assert read("Sales rose in the year ended January 29, 2022.") == [Period(2022, months=12)]
    assert read("Fiscal 2023 ended on February 3, 2024. the three months ended October 28, 2023")[1:] == [
        Period(2023, "Q3", True)
    ]
    assert read("Fiscal 2023 is the year ended June 30, 2023. Six months ended December 31, 2022") == [
        Period(2023, fiscal=True),
        Period(2023, fiscal=True),
        Period(2023, "H1", True),
    ]
    assert read("the three months ended June 30, 2023") == [Period(2023, "Q2", months=3)]
    assert read("the year ended February 30, 2023") == []


@pytest.mark.parametrize(
    "text",
    [
        "Sales in fiscal 2022 fell against the year ended January 29, 2022.",
        "We grew in fiscal 2022. The year ended January 29, 2022 was hard.",
        "Fiscal 2022 was good, and so was the year.",
    ],
)
def test_two_years_beside_each_other_are_not_yet_one(text: str) -> None:
    assert read_fiscal_calendar(text) is None


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        ("sales in FY22?", "Sales in fiscal 2022 were 5.", 1),
        ("sales in FY22?", "Sales in FY2021 were 5.", 0),
        ("sales in FY22?", "Sales were 5.", 0.5),
        ("sales in FY22?", "Sales were 5 in 2022, against 4 in 2021.", 1),
        ("sales in FY22?", f"{NAMED} Sales for the year ended January 28, 2023 were 5.", 1),
        ("sales in FY21?", f"{NAMED} Sales for the year ended January 28, 2023 were 5.", 0),
        ("sales in FY22?", "Sales for the year ended January 28, 2023 were 5.", 0.5),  # it may be
        ("sales in FY20?", "Sales for the year ended January 28, 2023 were 5.", 0),
        ("sales in 2Q23?", "Sales for the three months ended June 30, 2023 were 5.", 1),
        ("sales in Q3 2023?", "Sales in Q2 2023 were 5.", 0),
        ("sales in Q3 2023?", "Sales in fiscal 2023 were 5.", 0.5),
        ("sales in CY2022?", "Sales in fiscal 2022 were 5.", 0.5),
        ("sales in FY22 and FY21?", "Sales in fiscal 2022 were 5.", 0.5),
        ("sales?", "Sales in fiscal 2022 were 5.", 1),
    ],
)
def test_a_text_is_about_a_period_about_another_or_leaves_it_open(question: str, text: str, share: float) -> None:
    assert compute_period_share(question, text) == share


def test_terms_and_normalized_words_are_the_same_for_all_spellings_of_a_year() -> None:
    spellings = ["FY22", "FY2022", "FY 2022", "fiscal 2022"]
    assert {extract_terms(f"sales in {spelling}") for spelling in spellings} == {frozenset({"sale", "fiscal", "2022"})}
    forms = {tuple(word.form for word in normalize_words(f"in {one}")) for one in (*spellings, "fiscal year 2022")}
    assert forms == {("in", "fiscalyear", "2022")}


@given(st.text(alphabet="FYQH1234 20'-fiscal ofyear,."))
def test_what_is_written_out_has_the_same_periods_and_no_token(text: str) -> None:
    written = write_out_periods(text)
    assert not any(placed.is_token for placed in find_periods(written))
    assert len(remove_periods(text)) <= len(text) + 1


def test_a_last_day_is_named_only_as_the_calendar_of_its_document_has_it() -> None:
    text = "for the year ended January 28, 2023"
    assert find_named_period(text, None) == "year ended January 28, 2023"
    assert find_named_period(text, read_fiscal_calendar(NAMED)) == "fiscal 2022 (year ended January 28, 2023)"
    assert find_named_period("in 2023", None) == ""


def test_a_year_is_called_after_its_last_day_or_where_that_is_early_after_the_year_before() -> None:
    late, early = "fiscal year ended September 28, 2019", "fiscal year ended January 28, 2023"
    assert [compute_period_share(f"Revenue in FY{year}", late) for year in (2018, 2019, 2020)] == [0.0, 1.0, 0.0]
    assert [compute_period_share(f"Revenue in FY{year}", early) for year in (2021, 2022, 2023, 2024)] == [
        0,
        0.5,
        0.5,
        0,
    ]


@pytest.mark.parametrize(
    ("ended", "names", "calendar"),
    [
        ("May 31, 2018", {2018: 6, 2017: 5}, FiscalCalendar(5, 0)),
        ("February 3, 2018", {2018: 2, 2017: 6}, FiscalCalendar(1, 1)),
        ("May 31, 2018", {2018: 5, 2017: 6}, None),
        ("May 31, 2018", {2018: 4}, None),
        ("August 31, 2018", {2018: 6}, None),
    ],
)
def test_a_report_shows_by_the_names_that_it_uses_how_it_names_its_year(
    ended: str, names: dict[int, int], calendar: FiscalCalendar | None
) -> None:
    text = " ".join(f"Sales of fiscal {year} rose." for year, count in names.items() for _ in range(count))
    assert infer_fiscal_calendar(text, f"Annual report. For the fiscal year ended {ended}") == calendar
