"""What a question leaves open, by hand."""

from dataclasses import replace

from rag_core.schema.choices import choose_values, find_choices
from rag_core.schema.evidence import LinkEvidence
from rag_core.schema.model import Choice, Column, Database, Table, ValueMatch
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.schema_words import SchemaWords
from rag_core.schema.similarity import find_near_columns
from rag_core.schema.value_matching import ScoredMatch

COLUMNS = (Column("city"), Column("mail_city"), Column("phone"))
DATABASE = Database("d", (Table("school", COLUMNS),))
CITY, MAIL_CITY, PHONE = DATABASE.columns


def gather(matches: tuple[ValueMatch, ...] = (), near: dict[str, list[tuple[str, str]]] | None = None) -> LinkEvidence:
    scored = [ScoredMatch(match, 1.0) for match in matches]
    return LinkEvidence(QuestionReading("Which are in Lima?"), SchemaWords(DATABASE), {}, scored, near or {})


def test_a_value_of_several_columns_is_a_choice_with_the_likeliest_column_first() -> None:
    matches = (ValueMatch(*CITY, "Lima", "lima"), ValueMatch(*MAIL_CITY, "LIMA", "lima"))
    assert find_choices(gather(matches), {CITY: 0.2, MAIL_CITY: 0.7}) == [
        Choice("lima", ((*MAIL_CITY, "LIMA"), (*CITY, "Lima")))
    ]
    assert find_choices(gather(matches), {CITY: 0.2}) == []  # the other is not linked


def test_a_value_is_that_of_the_likeliest_column_and_a_number_only_of_a_likely_one() -> None:
    city, mail = ValueMatch(*CITY, "Lima", "lima"), ValueMatch(*MAIL_CITY, "LIMA", "lima")
    number = ScoredMatch(ValueMatch(*PHONE, "2020", "2020"), 0.4)
    evidence = gather((city, mail))
    evidence = replace(evidence, matches=[*evidence.matches, number])
    assert choose_values(evidence, {CITY: 0.2, MAIL_CITY: 0.7, PHONE: 0.1}) == [mail]
    assert choose_values(evidence, {CITY: 0.6, MAIL_CITY: 0.7, PHONE: 0.3}) == [city, mail, number.match]
    assert choose_values(evidence, {PHONE: 0.1}) == []  # no other column is linked


def test_columns_of_like_chances_for_the_same_words_are_a_choice() -> None:
    near = {"city": [CITY, MAIL_CITY], "average": [CITY, MAIL_CITY]}
    assert find_choices(gather(near=near), {CITY: 0.6, MAIL_CITY: 0.5}) == [
        Choice("city", ((*CITY, ""), (*MAIL_CITY, "")))
    ]
    assert find_choices(gather(near=near), {CITY: 0.6, MAIL_CITY: 0.1}) == []
    assert find_choices(gather(near=near), {CITY: 0.1, MAIL_CITY: 0.1}) == []  # neither is likely


def test_columns_are_near_that_stand_out_together() -> None:
    others = {("t", str(number)): 0.3 for number in range(20)}
    assert find_near_columns({CITY: 0.9, MAIL_CITY: 0.88, PHONE: 0.5, **others}) == [CITY, MAIL_CITY]
    assert find_near_columns({**others, **{("u", str(n)): 0.9 for n in range(5)}}) == []
    assert find_near_columns({}) == []
