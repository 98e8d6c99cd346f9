"""Tables of a text: what their heads, groups and scale are, and that a long text of rows is read in linear time."""

import pytest

from rag_core.text.layout import split_into_parts
from rag_core.text.tables import TextTable, read_tables, read_text_tables
from tests.adversarial.growth import find_excess

BALANCE = """(In millions, except par value)

BALANCE SHEET

| BALANCE SHEET |  |  |
|  | May 31, 2023 | May 31, 2022 |
| ASSETS |  |  |
Cash | $ 2,410 | $ 1,869
Common stock, $0.001 par value; 3,580 shares authorized; 1,029 and 1,087 shares outstanding | 2 | 3
Total assets | 2,412 | 1,872
|  | Shares | Price |
Bought | 12 | 1.50"""


def test_a_title_above_the_heads_and_a_long_label_do_not_part_a_table() -> None:
    titles, balance, shares = read_text_tables(BALANCE)
    assert [row.names_group for row in titles.rows] == [True]
    assert balance.heads == ("", "May 31, 2023", "May 31, 2022")
    assert [row.group for row in balance.rows] == ["", "ASSETS", "ASSETS", "ASSETS"]
    assert [row.cells[-1] for row in balance.rows] == ["", "$ 1,869", "3", "1,872"]
    assert shares.heads == ("", "Shares", "Price")


def test_each_row_says_where_it_stands() -> None:
    written = [BALANCE[row.part.start : row.part.end] for table in read_text_tables(BALANCE) for row in table.rows]
    assert written == [line for line in BALANCE.split("\n") if "|" in line and not line.startswith("|  |")]


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        (BALANCE, "(In millions, except par value)"),
        ("Statement of income\n\nDollars in thousands\n\n|  | 2023 |\nSales | 12", "Dollars in thousands"),
        ("In millions | 2023\nSales | 12", "In millions"),
        (
            "It lost millions in 2020, of which nothing was ever seen again.\n\n|  | 2023 |\nA | 1",
            "",
        ),
    ],
)
def test_the_scale_stands_above_a_table_or_in_its_heads(text: str, scale: str) -> None:
    assert read_text_tables(text)[-1].scale == scale


def test_a_table_of_words_has_heads_where_it_is_read_as_a_whole() -> None:
    parts = split_into_parts("Dog | Owner\nRex | Ann\nBello | Bob")
    assert [table.heads for table in read_tables(parts)] == [()]
    assert [table.heads for table in read_tables(parts, words_name_columns=True)] == [("Dog", "Owner")]


@pytest.mark.parametrize(
    "line", ["| ASSETS |  |\n", "| A |  |\n" * 500 + "b | c\n" * 500, "|  | 2023 |\na | 1\n", "a | b\nc | d\n\ne\n\n"]
)
def test_many_rows_are_read_in_linear_time(line: str) -> None:
    """A text of others may have any shape."""

    def read(text: str) -> list[TextTable]:
        return read_tables(split_into_parts(text), words_name_columns=True)

    def shape(chars: int) -> str:
        return (line * chars)[:chars]

    assert find_excess(read, shape, chars=8_000, floor_s=0.2, max_s=2.0) is None
