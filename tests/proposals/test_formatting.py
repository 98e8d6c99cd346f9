"""Fields of records as a reader would write them."""

import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from rag_core.proposals import formatting


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T15:00:00Z", "2024-01-31 15:00 UTC"),
        ("2024-01-31T00:30:00+01:00", "2024-01-30 23:30 UTC"),
        (1706659200, "2024-01-31"),
        ("1706659200000", "2024-01-31"),
        (date(2024, 1, 31), "2024-01-31"),
        (datetime(2024, 1, 31, 15, tzinfo=timezone(timedelta(hours=1))), "2024-01-31 14:00 UTC"),
        (datetime(2024, 1, 31, tzinfo=UTC), "2024-01-31"),
        *((nothing, "") for nothing in ("soon", "", None, True, "9" * 14, "2024-13-01")),
    ],
)
def test_a_date_has_one_spelling(said: object, read: str) -> None:
    """S2-22."""
    assert formatting.format_timestamp(said) == read


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (["For", "Against"], "For; Against"),
        (
            [{"type": "for", "votes": "900"}, {"type": "against", "votes": "100"}],
            "for: 900 (90 %); against: 100 (10 %)",
        ),
        ({"choices": ["For", "Against"], "scores": [1200.5, 299.5]}, "For: 1,200.5 (80 %); Against: 299.5 (20 %)"),
        ({"choices": ["For", "Against"], "scores": [3]}, "For: 3; Against"),
        ({"For": 3, "Against": 1}, "For: 3 (75 %); Against: 1 (25 %)"),
        ('{"For": 0, "Against": 0}', "For: 0; Against: 0"),
        ("[]", ""),
        ("Yes or no", "Yes or no"),
        ([{"label": "**For**"}, {"score": 4}, 7], "For; 7"),
        ({"For": 10**400}, "For"),
        *((nothing, "") for nothing in (None, {}, "", 7)),
    ],
)
def test_options_are_read_in_every_form_with_their_scores(said: object, read: str) -> None:
    """S2-21: arrays and objects, as JSON or parsed."""
    assert formatting.format_vote_options(said) == read


def test_markup_becomes_plain_text() -> None:
    """S2-04: a clean plain text body."""
    said = (
        "# Why **now**\n\nSee [the cost](https://a.example/x) &amp; ![logo](l.png)`40 ARB`.<!-- hidden -->\n\n"
        "<p>One<br>two</p>\n\n---\n\n> quoted\n\n```js\nlet x\n```"
    )
    assert formatting.strip_markup(said).split("\n\n") == [
        "Why now",
        "See the cost & 40 ARB.",
        "One\ntwo",
        "quoted",
        "let x",
    ]


def test_a_row_of_a_table_can_be_read_by_itself() -> None:
    """S2-04, S2-21."""
    wide = "|  | wETH | EURe |\n| --- | :-: | --- |\n| Loan To Value | 75% | 0% |\n| Cap | 4000 |  |"
    assert formatting.strip_markup(wide).split("\n") == ["- Loan To Value: wETH 75%; EURe 0%", "- Cap: wETH 4000"]
    narrow = "| Parameter | Value |\n|---|---|\n| Supply Cap (FXS) | 800,000 |"
    assert formatting.strip_markup(narrow) == "- Supply Cap (FXS): 800,000"


def test_options_nested_too_deep_to_read_are_text() -> None:
    assert formatting.format_vote_options("[" * 100_000).startswith("[[[")


def test_a_number_of_any_length_for_a_character_is_read() -> None:
    """Python refuses to read more than 4,300 digits; one proposal must not end the ingestion of all."""
    assert formatting.strip_markup(f"a &#{'9' * 5000}; b &#{'0' * 5000}65;") == "a \ufffd b A"


def test_only_an_address_is_a_link() -> None:
    for nothing in ("TODO", "javascript:alert(1)", 'https://a.example/"onclick=', "https://a.example/ b", None, 7):
        assert formatting.parse_http_url(nothing) == ""
    assert formatting.parse_http_url(" https://a.example/t/1 ") == "https://a.example/t/1"


def test_hostile_markup_takes_no_longer_than_any_other() -> None:
    began = time.process_time()
    for mark in ("**a ", "`a ", "![", "[", "<", "<p ", "|", "|-", "| - |\n", "- ", "&#"):
        formatting.strip_markup(mark * (100_000 // len(mark)))
    assert time.process_time() - began < 20  # quadratic would be minutes
