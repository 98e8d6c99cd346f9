"""Normal forms are Unicode's own, and take linear time also for a run of marks that no language has."""

import unicodedata
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.text.unicode_forms import normalize_unicode
from tests.adversarial.growth import find_excess
from tests.adversarial.shapes import repeat

LETTERS = "aé\u0301\u0327\u0323ﬁ２\uff76\uff9e가\u1100\u1161 \n\u0f73\U0001f600—"


@given(st.text(LETTERS, max_size=29))
def test_a_text_without_a_long_run_has_its_own_normal_form(text: str) -> None:
    assert normalize_unicode("NFKC", text) == unicodedata.normalize("NFKC", text)
    assert normalize_unicode("NFKD", text) == unicodedata.normalize("NFKD", text)


def test_signs_that_compose_with_nothing_may_stand_in_any_number() -> None:
    text = "é" + "\U0001f600—" * 99 + "ﬁ"
    assert normalize_unicode("NFKC", text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("marks", ["\u0301\u0327", "\u0f73", "\uff9e\u0301"])
def test_a_run_of_marks_out_of_order_takes_linear_time(marks: str) -> None:
    read = partial(normalize_unicode, "NFKC")
    assert find_excess(read, partial(repeat, marks), chars=8_000, floor_s=0.02, max_s=0.5) is None
