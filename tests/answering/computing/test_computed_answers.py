"""What is quoted where nothing was computed."""

import pytest

from rag_core.answering.computing.computed_answers import find_uncomputed
from rag_core.core.model import Citation, Claim


@pytest.mark.parametrize(
    ("quote", "is_answer"),
    [
        ("Four pumps cost more than 500 EUR.", True),
        ("500 to 5,000 EUR | Head of department", False),
        ("The company pays 450 EUR once for office furniture.", False),
    ],
)
def test_a_count_under_a_condition_is_not_answered_by_what_does_not_name_the_counted(
    quote: str, is_answer: bool
) -> None:
    claim = Claim(quote, 0, len(quote), "verified", (Citation("a", "a", "Norvall Pumps", "", quote, 1.0),))
    uncomputed = find_uncomputed("How many pumps cost more than 500 EUR?", [claim])
    assert (uncomputed is None) is is_answer
    assert find_uncomputed("What does the company pay for furniture?", [claim]) is None
