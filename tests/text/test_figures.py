"""Figures of tables."""

from decimal import Decimal

import pytest

from rag_core.text.figures import (
    FIGURE,
    Figure,
    holds_figures,
    is_period,
    parse_figure,
    remove_dates,
)
from rag_core.text.number_notations import split_column_scale


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$ 48,200", "48200", "$"),
        ("(1,204)", "-1204", ""),
        ("$ (1.20)", "-1.20", "$"),
        ("(4.5)%", "-4.5", "%"),
        ("1.9 %", "1.9", "%"),
        ("€112.50", "112.50", "€"),
        ("GBP 12", "12", "£"),
        ("2.9 kg", "2.9", "kg"),
        ("-54000", "-54000", ""),
        ("3,709 (1)", "3709", ""),
    ],
)
def test_a_figure_has_a_value_and_a_unit(text: str, value: str, unit: str) -> None:
    assert parse_figure(text) == Figure(Decimal(value), unit)


@pytest.mark.parametrize("text", ["—", "$ —", "", "n/a", "4.3.1", "1,2345", "12 of 40", "June 30, 2024", "5)"])
def test_what_is_no_figure_has_no_value(text: str) -> None:
    assert parse_figure(text) is None


def test_a_dash_stands_where_a_figure_may() -> None:
    assert all(FIGURE.fullmatch(text) for text in ("—", "-", "$ —", "nm", "N/A"))


def test_years_are_heads_and_years_in_a_row_are_data() -> None:
    assert all(map(is_period, ("2024", "Q3 2024")))
    assert not is_period("2,024")
    assert remove_dates(["", "June 30, 2024", "2023"]) == ["", ", ", ""]
    assert remove_dates(["Opened", "2004", "2011"]) == ["Opened", "2004", "2011"]


def test_a_text_of_figures_is_mostly_rows_with_one() -> None:
    rows = "\n".join(f"Row {n} | $ {n},204 | ({n}.5)%" for n in range(6))
    assert holds_figures(rows)
    assert not holds_figures("\n".join(rows.splitlines()[:4]))
    assert not holds_figures(rows + "\nA sentence of prose." * 8)
    assert not holds_figures("Name | Town\n" * 8)


@pytest.mark.parametrize(
    ("head", "scale"),
    [
        ("Cost in thousand EUR", 1_000),
        ("Cost (k€)", 1_000),
        ("Revenue £000", 1_000),
        ("Revenue (€m)", 1_000_000),
        ("Revenue US$bn", 1_000_000_000),
        ("Weight (kg)", 1),
        ("Deaths per million", 1),
        ("Price of 1,000 pieces", 1),
    ],
)
def test_the_head_of_a_column_says_by_what_its_figures_are_multiplied(head: str, scale: int) -> None:
    bare, found = split_column_scale(head)
    assert found == scale
    assert (bare == head) == (scale == 1)
