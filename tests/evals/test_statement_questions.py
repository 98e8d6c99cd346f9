from evals.statement_questions import (
    AskedFigure,
    Report,
    ask_of_report,
    find_right_pages,
    list_read_questions,
    load_figures,
)

NUMBERS = "\n".join(f"Other row {n} {n},204 {n},117" for n in range(12))
BALANCE = f"CONSOLIDATED BALANCE SHEETS\nInventories $ 512 $ 498\nAccounts payable 1,204 1,117\n{NUMBERS}"
NOTE = "Our inventories were as follows: Inventories $ 512 $ 498"
REPORT = Report(
    "Oakhollow_2023.pdf",
    "Oakhollow",
    2023,
    [
        "Contents: CONSOLIDATED BALANCE SHEETS 41",
        BALANCE,
        "Inventories $ 498 $ 470",
        NOTE,
        "We are\nhighly competitive.",
    ],
)


def test_pages_with_the_row_and_its_value_in_the_statement_are_right() -> None:
    assert find_right_pages(REPORT, AskedFigure("balance", ["inventories"], [])) == [2, 4]
    assert find_right_pages(REPORT, AskedFigure("cash", ["inventories"], [])) == []


def test_pages_that_tell_something_in_prose_are_right() -> None:
    assert find_right_pages(REPORT, AskedFigure("text", ["highly competitive"], [])) == [5]


def test_two_reports_in_turn_are_asked_the_same_half_of_the_questions() -> None:
    figures = [AskedFigure("balance", ["inventories"], [f"{n} of {{company}} in FY{{year}}?"]) for n in range(4)]
    asked = [[question for question, _ in ask_of_report(REPORT, figures, number)] for number in range(3)]
    assert asked[0] == asked[1] == ["0 of Oakhollow in FY2023?", "2 of Oakhollow in FY2023?"]
    assert asked[2] == ["1 of Oakhollow in FY2023?", "3 of Oakhollow in FY2023?"]


def test_every_figure_has_forms_of_a_question_that_name_company_and_year() -> None:
    for figure in load_figures():
        assert figure.rows
        assert all("{company}" in form and "{year}" in form for form in figure.questions)


def test_a_written_question_is_asked_of_the_report_that_it_was_written_for() -> None:
    read = Report("x.pdf", "Nike", 2018, [""] * 97)
    asked = [list(list_read_questions(read, half)) for half in ("", "first", "second")]
    assert len(asked[0]) == len(asked[1]) == 7
    assert asked[2] == []
    assert all(1 <= page <= 97 for _, pages in asked[0] for page in pages)
    assert list(list_read_questions(REPORT, "")) == []
