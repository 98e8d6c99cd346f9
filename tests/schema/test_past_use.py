"""What past questions lift, worked by hand."""

import pytest

from rag_core.schema.documents import PastQuestion
from rag_core.schema.past_use import PastUse, QuestionLog
from rag_core.schema.question_reading import QuestionReading

HEIGHT, ALIGNMENT, GENDER = ("hero", "height"), ("alignment", "alignment"), ("gender", "gender")
LOG = QuestionLog(
    [
        PastQuestion("How tall are villains?", "", (HEIGHT, ALIGNMENT)),
        PastQuestion("How many villains fly?", "", (ALIGNMENT,)),
        PastQuestion("How tall are women?", "", (HEIGHT, GENDER)),
        PastQuestion("How tall is Tidewall?", "", (HEIGHT, ("hero", "dropped_since"))),
    ],
    frozenset((HEIGHT, ALIGNMENT, GENDER)),
)


def find(text: str) -> PastUse:
    return LOG.find_past_use(QuestionReading(text))


def test_a_word_lifts_what_was_read_where_it_was_asked_and_nothing_of_the_other_words() -> None:
    """Two of four questions read the alignment, both with "villains": (2 + 0.5) / (2 + 1) against 0.5."""
    past = find("Name the villains")
    assert past.columns == {ALIGNMENT: pytest.approx(2.5 / 3 - 0.5)}
    assert past.tables == {"alignment": pytest.approx(2.5 / 3 - 0.5)}


def test_words_that_were_never_asked_lift_nothing() -> None:
    assert find("Which invoices are open?") == PastUse()
    assert QuestionLog().find_past_use(QuestionReading("How tall?")) == PastUse()


def test_columns_that_the_database_lost_do_not_count() -> None:
    assert find("Tidewall").columns == {HEIGHT: pytest.approx((1 + 0.75) / 2 - 0.75)}


def test_a_word_of_every_question_tells_nothing() -> None:
    log = QuestionLog([PastQuestion(f"hero {n}", "", (HEIGHT,)) for n in ("a1", "b1")], frozenset((HEIGHT,)))
    assert log.find_past_use(QuestionReading("Which hero?")).columns == {}
