"""What cells state: figures with units of any kind, dates and times, and nothing where there are only words."""

from datetime import date
from decimal import Decimal

import pytest

from rag_core.text.cell_values import DATE, TIME, YEARLESS_DATE, parse_cell_value


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("(1,204)", "-1204", ""),
        ("+12", "12", ""),
        ("- 3 kg", "-3", "kg"),
        ("12 km/h", "12", "km/h"),
        ("3 m²", "3", "m²"),
        ("CHF 20", "20", "CHF"),
        ("(CHF 20)", "-20", "CHF"),
        ("≈ 30", "30", ""),
        ("12.5 °C", "12.5", "°C"),
        ("7:05", "425", TIME),
        ("7.30 pm", "1170", TIME),
        ("12 am", "0", TIME),
        ("33:41", "2021", TIME),
        ("2026", "2026", ""),
    ],
)
def test_figures_and_times_have_a_value_and_a_unit(text: str, value: str, unit: str) -> None:
    figure = parse_cell_value(text)
    assert figure is not None
    assert (figure.value, figure.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "text", ["2026-05-03", "3.5.2026", "3/5/26", "3 May 2026", "Sun 3rd May, 2026", "May 3, 2026", "2026-05-03T10:00"]
)
def test_a_date_is_its_day_however_it_is_written(text: str) -> None:
    figure = parse_cell_value(text)
    assert figure is not None
    assert (figure.value, figure.unit) == (date(2026, 5, 3).toordinal(), DATE)


def test_a_day_without_its_year_is_not_compared_with_one_that_has_it() -> None:
    first, second = parse_cell_value("29 February"), parse_cell_value("1 Mar")
    assert first
    assert second
    assert (first.unit, second.value - first.value) == (YEARLESS_DATE, 1)


@pytest.mark.parametrize(
    "text", ["", " ", "none", "–", "n/a", "Marsh", "31 June 2026", "25:99", "1/2", "x" * 41, "3 h 20"]
)
def test_words_blanks_and_what_is_no_date_have_no_value(text: str) -> None:
    assert parse_cell_value(text) is None
