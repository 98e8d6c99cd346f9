from dataclasses import replace

from rag_core.answering.computing.asked_rows import find_asked_row
from rag_core.core.model import Hit
from tests.fakes import chunk

TITLE = "Oakhollow, Inc.: FORM 10-K, fiscal year ended December 31, 2023"
BALANCE = """CONSOLIDATED BALANCE SHEETS

(In millions, except per share data)

|  | December 31, 2023 | December 31, 2022 |
| ASSETS: |  |  |
Inventories | $ 512 | $ 498
Accounts payable | 1,204 | 1,117
Total | 9,301 | 8,802
"""
CASH_FLOWS = """(In millions)

|  | 2023 | 2022 |
Free cash flow | 77 | 81
Net income | 310 | 298
"""
OPERATIONS = CASH_FLOWS.replace("310", "311")


def ask(question: str, *texts: str, title: str = TITLE) -> str:
    hits = [Hit(replace(chunk(f"c{n}", text), title=title), 1 - n / 10) for n, text in enumerate(texts)]
    found = find_asked_row(question, hits)
    return found.text if found else ""


def test_the_row_is_said_with_its_label_the_column_of_the_year_and_the_scale() -> None:
    said = ask("What was the accounts payable of Oakhollow at the end of FY2022?", BALANCE)
    assert said == "Accounts payable: December 31, 2022: 1,117 (In millions, except per share data)"


def test_a_year_without_a_column_is_not_answered_by_another_one() -> None:
    assert ask("What was the accounts payable of Oakhollow in FY2019?", BALANCE) == ""


def test_a_label_with_a_word_that_is_not_asked_for_is_another_figure() -> None:
    assert ask("What was the cash flow of Oakhollow in FY2023?", CASH_FLOWS) == ""
    assert ask("What was the total revenue of Oakhollow in FY2023?", BALANCE) == ""


def test_what_is_computed_from_a_row_is_not_the_row() -> None:
    assert ask("What was the net income margin of Oakhollow in FY2023?", CASH_FLOWS) == ""


def test_the_figure_that_most_passages_give_is_taken() -> None:
    said = ask("What was the net income of Oakhollow in FY2023?", OPERATIONS, CASH_FLOWS, f"{CASH_FLOWS}\nAgain")
    assert said == "Net income: 2023: 310 (In millions)"


def test_a_question_that_names_no_report_or_asks_for_no_figure_has_no_row() -> None:
    assert ask("What was the net income of Tarnmoor in FY2023?", CASH_FLOWS) == ""
    assert ask("Why did net income of Oakhollow rise in FY2023?", CASH_FLOWS) == ""
    assert ask("What was the net income of Oakhollow in FY2023?", CASH_FLOWS, title="Oakhollow") == ""
