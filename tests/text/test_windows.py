from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag_core.text.windows import split_windows


@given(length=st.integers(0, 3000), overlap=st.integers(0, 64), more=st.integers(1, 446))
def test_windows_are_equal_in_length_cover_everything_and_overlap(length: int, overlap: int, more: int) -> None:
    cut = split_windows(range(length), overlap + more, overlap=overlap)
    assert {token for window in cut for token in window} == set(range(length))
    assert len({len(window) for window in cut}) == 1
    assert len(cut[0]) <= overlap + more
    assert all(len(set(a) & set(b)) >= overlap for a, b in pairwise(cut))


def test_no_more_windows_are_made_than_needed() -> None:
    assert [len(split_windows(range(n), 510, overlap=64)) for n in (0, 510, 511, 956, 957)] == [1, 1, 2, 2, 3]
