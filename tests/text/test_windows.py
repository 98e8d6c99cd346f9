from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag_core.text.terms import extract_terms
from rag_core.text.windows import choose_windows, split_title, split_windows


@given(length=st.integers(0, 3000), overlap=st.integers(0, 64), more=st.integers(1, 446))
def test_windows_are_equal_in_length_cover_everything_and_overlap(length: int, overlap: int, more: int) -> None:
    cut = split_windows(range(length), overlap + more, overlap=overlap)
    assert {token for window in cut for token in window} == set(range(length))
    assert len({len(window) for window in cut}) == 1
    assert len(cut[0]) <= overlap + more
    assert all(len(set(a) & set(b)) >= overlap for a, b in pairwise(cut))


def test_no_more_windows_are_made_than_needed() -> None:
    assert [len(split_windows(range(n), 510, overlap=64)) for n in (0, 510, 511, 956, 957)] == [1, 1, 2, 2, 3]


def test_the_windows_with_the_rarest_terms_of_the_question_are_chosen() -> None:
    """ "Plan" stands in every window and tells none from another; "hospice" in one."""
    windows = ["The plan is for staff.", "The plan covers hospice care.", "The plan, the plan.", "A plan for teeth."]
    assert choose_windows(extract_terms("Which plan covers hospices?"), windows, 1) == [1]
    assert choose_windows(extract_terms("Which plan covers hospices?"), windows, 2) == [1, 2]


def test_of_windows_with_the_same_terms_the_one_that_repeats_them_is_chosen() -> None:
    windows = ["A transplant is named once.", "A transplant needs a transplant team.", "Nothing of it.", "Nor here."]
    assert choose_windows(extract_terms("Are transplants covered?"), windows, 1) == [1]
    assert choose_windows(extract_terms("Are transplants covered?"), windows[::-1], 1) == [2]


def test_equal_windows_are_chosen_from_the_first() -> None:
    assert choose_windows(
        extract_terms("the rate"), ["The rate is 3.", "No.", "The rate is 4.", "The rate is 5."], 2
    ) == [0, 2]


def test_the_beginning_is_read_where_no_window_has_a_term_of_the_question() -> None:
    assert choose_windows(extract_terms("How is it paid?"), ["Wages", "fall due", "on Friday"], 2) == [0, 1]
    assert choose_windows(extract_terms("How is it paid?"), [], 2) == []


def test_a_short_first_line_above_an_empty_one_is_a_title() -> None:
    assert split_title("Plus plan\n\nIt pays.\n\nAll of it.") == ("Plus plan", "It pays.\n\nAll of it.")
    for untitled in ("It pays.", "It pays\nall.\n\nAll of it.", "Plus plan\n\n", f"{'It pays. ' * 40}\n\nAll of it."):
        assert split_title(untitled) == ("", untitled)
