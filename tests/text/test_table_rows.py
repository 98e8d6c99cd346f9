"""Rows of tables are told from sentences."""

import pytest

from rag_core.text.table_rows import find_prose_ranges, find_stated_rows

GRADE = """Certainty assessment № of patients Effect
№ of studies Study design Risk of bias Inconsistency Indirectness Imprecision
4 randomised trials not serious serious not serious not serious none
⊕⊕⊕◯ MODERATE"""


@pytest.mark.parametrize(
    "line",
    [
        "| Drug | Dose |",
        "| --- | --- |",
        "Aspirin | 75 mg | daily",
        *GRADE.split("\n"),
        "⨁⨁⨁⨁ High",
    ],
)
def test_a_row_of_a_table_is_noise(line: str) -> None:
    """S4-45: pipe-delimited rows and GRADE evidence tables."""
    assert find_prose_ranges(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "The risk of bias, the inconsistency and the imprecision were judged by two readers.",
        "P(A|B), with one bar, is the chance of A given B.",
        "A serious illness is not always a serious danger.",
        "The quality assessment was done twice.",
    ],
)
def test_a_sentence_about_tables_is_not(line: str) -> None:
    assert find_prose_ranges(line) == [(0, len(line))]


def test_what_stands_around_a_table_is_kept_in_its_place() -> None:
    """S4-45: the offsets still point into the passage, so that a citation can be shown."""
    text = f"Before it.\nStill before.\n{GRADE}\nAfter it."
    assert [text[start:end].strip() for start, end in find_prose_ranges(text)] == [
        "Before it.\nStill before.",
        "After it.",
    ]


DOSES = """| Drug | Dose | Stop when |
| --- | --- | --- |
| Maropitant | 1 mg/kg | no vomiting |
| Mirtazapine | 2 mg | |"""
EVIDENCE = """| Drug | Dose | Quality of the evidence |
| --- | --- | --- |
| Maropitant | 1 mg/kg | moderate |
| Mirtazapine | 2 mg | low |"""


def state(text: str) -> list[list[str]]:
    return [[row.text for row in rows] for rows in find_stated_rows(text)]


def test_a_row_of_a_table_is_said_with_its_heads() -> None:
    """S4-45: no bar is left, and an empty cell says nothing."""
    text = f"Before.\n\n{DOSES}\n\nAfter."
    [rows] = find_stated_rows(text)
    assert [row.text for row in rows] == [
        "Drug: Maropitant; Dose: 1 mg/kg; Stop when: no vomiting",
        "Drug: Mirtazapine; Dose: 2 mg",
    ]
    assert text[rows[1].start : rows[1].end] == "| Mirtazapine | 2 mg | |"
    assert text[rows[1].head_start :].startswith("| Drug |")
    assert [text[start:end].strip() for start, end in find_prose_ranges(text)] == ["Before.", "After."]


@pytest.mark.parametrize(
    "table",
    [
        EVIDENCE,
        DOSES.replace("Stop when", "No. of studies"),
        DOSES.replace("Stop when", "Risk of bias"),
        DOSES.replace("Stop when", "Overall certainty").replace("no vomiting", "Very low (2 trials)"),
        DOSES.replace("no vomiting", "⊕⊕⊖⊖"),
        DOSES.replace("| --- | --- | --- |", "| --- | --- | --- |\n| № of studies | Study design | Imprecision |"),
    ],
)
def test_a_table_of_grade_evidence_is_not_said_and_its_twin_is(table: str) -> None:
    """S4-45: a table of doses of the same shape beside it."""
    assert state(f"{table}\n\n{DOSES}") == state(DOSES)
    assert find_prose_ranges(f"{table}\n\n{DOSES}") == []


@pytest.mark.parametrize(
    "text", ["| Home | Guidelines | Contact |", "Aspirin | 75 mg | daily\nPrasugrel | 10 mg | daily"]
)
def test_a_row_without_heads_is_not_said(text: str) -> None:
    """S4-45: pipe-delimited noise."""
    assert state(text) == []


def test_bars_within_a_cell_and_tables_of_one_bar_leave_none() -> None:
    """S4-45."""
    text = "Age | Target\n--- | ---\n80 and over | 150 \\| 90"
    assert state(text) == [["Age: 80 and over; Target: 150 / 90"]]
    assert find_prose_ranges(text) == []


STATEMENT = """|  | May 31, | May 31, |
In millions | 2023 | 2022
| Current assets: |  |  |
Cash | 2,410 | 1,869
Total current assets | 7,743 | 8,875
Goodwill | 4,773 | 4,501
| LIABILITIES |  |  |
Debt | 781 | 1,451
Net income | 310 | 290"""


def test_rows_of_a_statement_have_their_years_scale_and_group() -> None:
    """S4-45: a title among the rows hides no header, a header may have two lines, and a group ends with its total."""
    assert state(STATEMENT) == [
        [
            "In millions: Current assets:",
            "Current assets: In millions: Cash; May 31, 2023: 2,410; May 31, 2022: 1,869",
            "Current assets: In millions: Total current assets; May 31, 2023: 7,743; May 31, 2022: 8,875",
            "In millions: Goodwill; May 31, 2023: 4,773; May 31, 2022: 4,501",
            "In millions: LIABILITIES",
            "LIABILITIES: In millions: Debt; May 31, 2023: 781; May 31, 2022: 1,451",
            "In millions: Net income; May 31, 2023: 310; May 31, 2022: 290",
        ]
    ]


@pytest.mark.parametrize("below", ["Founded | 1998 | 2001", "| Berlin |  |  |", "In millions | 5,811 | 5,565"])
def test_a_row_of_values_is_no_second_line_of_a_header(below: str) -> None:
    rows = state(f"Company | A | B\n{below}\nShops | 12 | 14")[0]
    assert len(rows) == 2
    assert rows[1] == "Company: Shops; A: 12; B: 14"
