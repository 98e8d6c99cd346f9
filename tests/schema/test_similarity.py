"""Similarities of columns on one scale, worked by hand."""

import pytest

from rag_core.schema.similarity import compare_columns


def test_a_column_that_was_not_ranked_is_as_near_as_the_farthest_that_was() -> None:
    columns = [("t", name) for name in "abcd"]
    found = compare_columns(columns, {columns[0]: 0.9, columns[1]: 0.5}, [])
    assert [found[one].question for one in columns] == pytest.approx([1, -1, -1, -1])
