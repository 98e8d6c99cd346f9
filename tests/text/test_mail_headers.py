"""The header of a mail answers questions about the mail itself, each by the field that is asked for."""

import pytest

from rag_core.text.mail_headers import select_asked_fields

FROM, TO, DATE = (
    "From: Ann Lee (ann@example.org)",
    "To: Bob Roy (bob@example.org)",
    "Date: Mon, 04 Mar 2024 08:00:00 +0000",
)
SUBJECT = "Subject: The pump in hall 4"
HEADER = "\n".join((FROM, TO, DATE, SUBJECT))


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("Who wrote about the pump in hall 4?", [FROM]),
        ("Who sent the mail on the pump to Bob Roy?", [FROM]),
        ("From whom is the e-mail about the pump?", [FROM]),
        ("To whom did Ann Lee write about the pump?", [TO]),
        ("Who did Ann write to?", [TO]),
        ("Who received the message about the pump?", [TO]),
        ("When was the mail about the pump sent?", [DATE]),
        ("When did Ann write about the pump?", [DATE]),
        ("What is the subject of the mail of 4 March?", [SUBJECT]),
        # by another mail
        ("To whom did Bob write about the pump?", []),
        ("When did Bob write about the pump?", []),
        ("Who wrote to Ann Lee?", []),
        # about something else
        ("What is the pump in hall 4?", []),
        ("When must the pump in hall 4 be replaced?", []),
        ("Who repairs the pump in hall 4?", []),
    ],
)
def test_the_field_that_is_asked_for_is_selected(question: str, fields: list[str]) -> None:
    assert select_asked_fields(question, HEADER) == fields


@pytest.mark.parametrize(
    "part",
    ["The pump is blue.", "From: Berlin\nTo: Rome\nDate: 4 March", "Subject: Physics\nGrade: 2", f"{HEADER}\nHi."],
)
def test_what_is_no_header_of_a_mail_stays(part: str) -> None:
    assert select_asked_fields("What is said?", part) == [part]
