"""The questions on the tables of an office are what the tables give."""

from collections import Counter

from evals.bureau_questions import build_questions
from evals.bureau_tables import build_uploads
from evals.table_questions import REFUSED, load_questions


def test_the_questions_kept_in_the_file_are_those_computed_from_the_tables() -> None:
    questions = load_questions("bureau")
    assert questions == build_questions()
    assert Counter(one["half"] for one in questions) == {"tuning": 24, "kept": 24}
    assert sum(one["operation"] == REFUSED for one in questions) == 8
    assert {one["source"] for one in questions} == {upload.filename for upload in build_uploads()}
