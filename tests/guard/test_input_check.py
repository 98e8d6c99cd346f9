"""What has the shape of an attack is refused, whatever its words; what people ask is not, whatever its words."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_core.core.errors import InvalidRequest
from rag_core.guard.input_check import ATTACK_PATTERNS, check_input

DATA = Path(__file__).parents[1] / "data"
ATTACKS = [json.loads(line) for line in (DATA / "attacks" / "attacks.jsonl").read_text("utf-8").splitlines()]
QUESTIONS = [json.loads(line) for line in (DATA / "questions" / "questions.jsonl").read_text("utf-8").splitlines()]

ABOUT_CODE = [
    "What does DROP TABLE do; and when should I select it?",
    "database column meanings: orders, order_items, select, users; drop",
    "How does SELECT * FROM users WHERE name = 'Ann' AND age > 3 work?",
    "Is a UNION or a JOIN better? A union select committee met in 1998.",
    "Why is javascript: the language so popular, and what is <b>bold</b>?",
    "What is the {{name}} placeholder in a prompt for, and ${name} in a shell?",
    "if a < b and b > c, is it true or false? x or y; 5 -- 7; C#",
    "Rock 'n' Roll or 'Jazz'? Don't or do?",
    "the exec() family; the script of Hamlet; onload of a truck = 5 t",
    "Does 1 == 1 in Python, and is R&D cat food? ../shared is where",
    "What is a DTC such as P0700; is 04E906016AB a part number?",
    "How is dGhlIHF1aWNrIGJyb3duIGZveA== decoded?",
]


def refused(text: str) -> InvalidRequest | None:
    try:
        check_input(text)
    except InvalidRequest as refusal:
        return refusal
    return None


@pytest.mark.parametrize("kind", sorted({attack["kind"] for attack in ATTACKS}))
def test_a_text_in_the_shape_of_an_attack_is_refused(kind: str) -> None:
    """S4-02: SQL injection, XSS and other malicious patterns."""
    assert [one["text"] for one in ATTACKS if one["kind"] == kind and not refused(one["text"])] == []


def test_no_question_that_people_ask_is_refused() -> None:
    """C29, S4-02, S1-53: of nine collections, SQL statements and the questions of an SQL agent among them."""
    assert [one["text"] for one in QUESTIONS if refused(one["text"])] == []
    assert len(QUESTIONS) > 700


@pytest.mark.parametrize("question", ABOUT_CODE)
def test_words_of_code_are_no_attack(question: str) -> None:
    """C29: shapes, never vocabulary."""
    assert refused(question) is None


@example(["union", "select", "drop", "from", "table"])
@example(["union", "select", "drop", "from", "table", "where"])
@given(
    st.lists(
        st.sampled_from(
            ["select", "drop", "table", "union", "where", "or", "and", "script", "exec", "insert", "delete", "from"]
        )
    )
)
def test_no_row_of_the_words_alone_is_refused(words: list[str]) -> None:
    """C29."""
    assert refused(" ".join(words)) is None


def test_the_refusal_says_what_and_where_and_what_would_be_right_and_not_the_text() -> None:
    refusal = refused("please find x'; DROP TABLE secrets;--")
    assert refusal is not None
    assert (refusal.code, refusal.field) == ("suspicious_input", "query")
    assert refusal.details == {"shape": "a second SQL statement", "start": 14, "end": 26}
    assert "at characters 14 to 26" in refusal.message
    assert "plain words" in refusal.message
    assert "secrets" not in refusal.message


def test_of_an_encoded_part_no_place_is_told() -> None:
    refusal = refused("see %3Cscript%3E")
    assert refusal is not None
    assert "in an encoded part" in refusal.message
    assert "start" not in refusal.details


PIECES = "' or |; select |<a |<a =|{{|${|/*|a/*|<|../|%25|&amp;|or a |\\u0041|; update x set |curl -a |A|<%|'--|{% if "


@pytest.mark.parametrize("piece", PIECES.split("|"))
def test_time_grows_with_the_length_alone(piece: str) -> None:
    """S4-02: the square of this length would be ten billion steps, and the test would not end."""
    check_of = piece * (100_000 // len(piece))
    for shape in ATTACK_PATTERNS.values():
        shape.search(check_of)


def test_a_number_of_any_length_in_an_encoded_character_is_read() -> None:
    """S4-02: a question is at most 8,000 characters, of which Python reads 4,300 digits as a number."""
    check_input(f"what is &#{'9' * 5000}; in HTML?")
    assert refused(f"&#{'0' * 5000}60;script>")


@pytest.mark.parametrize("value", ["1", "x'", "(1)"])
def test_a_query_of_one_column_is_refused_where_it_is_joined_to_a_value(value: str) -> None:
    """S4-02."""
    assert refused(" ".join((value, "union select password from users")))
