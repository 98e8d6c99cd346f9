from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.model import Chunk, Hit, Span
from rag_core.workbench.passage_groups import (
    PassageGroup,
    complete_group,
    count_overlap_chars,
    find_line_range,
    group_hits,
    join_chunks,
    rewrite_from_lines,
)
from tests.fakes import SCOPE, filled
from tests.workbench.sessions import part

LINES = [f"Line {n} of the document says something of its own." for n in range(1, 101)]


def lines(first: int, last: int, *, ordinal: int, section: str = "A", **fields: object) -> Chunk:
    """The chunk of these lines of one document."""
    content = "\n".join(LINES[first - 1 : last])
    return part(f"c{ordinal}", content, first, ordinal=ordinal, heading_path=(section,), **fields)


def groups(*chunks: Chunk, gap: int = 7, coverage_min: float = 0.5) -> list[PassageGroup]:
    return group_hits(
        [Hit(chunk, 1 / n) for n, chunk in enumerate(chunks, 1)], max_line_gap=gap, coverage_min=coverage_min
    )[0]


def ids(found: list[PassageGroup]) -> list[list[str]]:
    return [[chunk.id for chunk in group.retrieved] for group in found]


def test_chunks_of_one_parent_become_one_group_with_the_parent_itself() -> None:
    """S0-56."""
    parent = lines(1, 10, ordinal=0)
    children = [lines(n, n + 9, ordinal=n // 10, parent_id="c0") for n in (20, 40)]
    other = lines(80, 99, ordinal=9, parent_id="c7", section="B")
    assert ids(groups(*children, parent, other)) == [["c0", "c2", "c4"], ["c9"]]


def test_chunks_without_parents_are_grouped_by_their_headings_and_their_document() -> None:
    """S0-56."""
    there = replace(lines(12, 20, ordinal=1), id="other", document_id="other")
    assert ids(groups(lines(1, 10, ordinal=0), lines(20, 30, ordinal=2), there)) == [["c0", "c2"], ["other"]]


@pytest.mark.parametrize(("begins", "one"), [(17, True), (18, False)])
def test_chunks_of_a_work_at_most_seven_lines_apart_are_merged(begins: int, one: bool) -> None:
    """S0-57: also of different sections; the content of both, the higher score."""
    found = groups(lines(begins, 30, ordinal=1, section="B"), lines(1, 10, ordinal=0))
    assert (ids(found) == [["c0", "c1"]]) is one
    assert found[0].score == 1
    if one:
        assert LINES[0] in found[0].passage.content
        assert LINES[29] in found[0].passage.content


def test_sections_that_follow_one_another_do_not_become_one_passage_of_the_whole_document() -> None:
    """S0-57, S0-63: of fifteen short ones several groups are left, of which a prompt takes the best."""
    sections = [lines(6 * n + 1, 6 * n + 6, ordinal=n, section=f"S{n}") for n in range(15)]
    assert [len(group.retrieved) for group in groups(*sections)] == [6, 6, 3]
    assert ids(groups(*(replace(section, heading_path=("One",)) for section in sections))) == [
        [f"c{n}" for n in range(15)]
    ]


def test_a_group_that_holds_less_than_half_of_its_lines_is_taken_apart() -> None:
    """S0-58: (10 + 10) of 100 lines of one section are no passage, but each ten is one."""
    found = groups(lines(1, 10, ordinal=0), lines(91, 100, ordinal=9))
    assert ids(found) == [["c0"], ["c9"]]
    assert [group.coverage for group in found] == [1, 1]


def test_a_run_that_is_mostly_gap_as_well_is_left_out_and_counted() -> None:
    """S0-58: three lines of fifteen."""
    sparse = [lines(n, n, ordinal=n) for n in (1, 8, 15)]
    hits = [Hit(chunk, 1.0) for chunk in (*sparse, lines(60, 70, ordinal=60, section="B"))]
    kept, left_out = group_hits(hits, max_line_gap=7, coverage_min=0.5)
    assert (ids(kept), left_out) == ([["c60"]], 1)
    assert group_hits(hits, max_line_gap=7, coverage_min=0.2)[1] == 0


def test_coverage_is_the_share_of_the_lines_from_the_first_to_the_last() -> None:
    """S0-58: 10 + 6 of 20."""
    assert groups(lines(1, 10, ordinal=0), lines(15, 20, ordinal=2))[0].coverage == pytest.approx(16 / 20)


def test_what_two_chunks_repeat_of_each_other_stands_once_with_its_lines() -> None:
    """S0-57: an overlap."""
    one, two = lines(1, 10, ordinal=0), lines(8, 20, ordinal=1)
    whole = join_chunks([one, two])
    assert whole.content == "\n".join(LINES[:20])
    place = whole.locate(whole.content.index("Line 15 "), whole.content.index("Line 15 ") + 4)
    assert place is not None
    assert (place.line_start, place.line_end) == (15, 15)


@given(st.integers(1, 60), st.integers(0, 30), st.integers(1, 39))
def test_every_line_of_joined_chunks_stands_once_and_where_it_was(first: int, over: int, more: int) -> None:
    one, two = lines(1, first, ordinal=0), lines(max(1, first + 1 - over), first + more, ordinal=1)
    whole = join_chunks([one, two])
    for number, line in enumerate(LINES[: first + more], start=1):
        assert whole.content.count(line) == 1
        at = whole.content.index(line)
        place = whole.locate(at, at + len(line))
        assert place is not None
        assert (place.line_start, place.line_end) == (number, number)


def test_skipped_text_is_marked_and_only_neighbours_are_looked_at_for_an_overlap() -> None:
    whole = join_chunks([lines(1, 2, ordinal=0), lines(2, 3, ordinal=5)])
    assert whole.content == f"{LINES[0]}\n{LINES[1]}\n\n[…]\n\n{LINES[1]}\n{LINES[2]}"


def test_a_few_letters_in_common_are_no_overlap() -> None:
    assert count_overlap_chars("It ends in the", "the next begins") == 0
    assert count_overlap_chars("and so on, the end.", "so on, the end. Then") == len("so on, the end.")


def test_a_header_above_every_chunk_is_not_where_it_stands() -> None:
    headed = replace(
        lines(50, 60, ordinal=4), spans=(Span(0, 10, None, 1, 3), Span(10, 500, None, 50, 60)), content="x" * 500
    )
    assert find_line_range(headed) == (50, 60)
    assert find_line_range(replace(headed, spans=())) is None


def test_chunks_whose_lines_nobody_knows_are_merged_when_they_follow_one_another() -> None:
    bare = [replace(lines(n, n, ordinal=n), spans=(), heading_path=(str(n),)) for n in (1, 2, 5)]
    assert ids(groups(*bare)) == [["c1", "c2"], ["c5"]]


def test_the_headings_of_a_group_are_those_above_all_of_it() -> None:
    found = groups(
        replace(lines(1, 5, ordinal=0), heading_path=("A", "B")),
        replace(lines(6, 9, ordinal=1), heading_path=("A", "C")),
    )
    assert found[0].passage.heading_path == ("A",)


async def test_a_gap_is_filled_from_the_stored_chunks() -> None:
    """S0-59: where the document itself is not kept."""
    chunks = [lines(n, n + 9, ordinal=n // 10) for n in (1, 11, 21, 31)]
    index = await filled(*chunks)
    [group] = groups(chunks[0], chunks[2])
    whole = await complete_group(group, SCOPE, index.store, min_chars=0)
    assert (whole.passage.content, whole.enriched) == ("\n\n".join(c.content for c in chunks[:3]), True)
    assert [chunk.id for chunk in whole.retrieved] == ["c0", "c2"]


async def test_a_short_group_is_completed_within_its_section() -> None:
    """S0-59, S0-60."""
    chunks = [lines(n, n, ordinal=n, section="A" if n < 5 else "B") for n in range(1, 9)]
    index = await filled(*chunks)
    [group] = groups(chunks[3])
    whole = await complete_group(group, SCOPE, index.store, min_chars=120)
    assert [chunk in whole.passage.content for chunk in LINES[:6]] == [False, True, True, True, False, False]
    assert whole.enriched
    untouched = await complete_group(group, SCOPE, index.store, min_chars=10)
    assert (untouched.passage, untouched.enriched) == (group.passage, False)


def test_the_text_is_the_documents_own_where_what_was_found_stands_in_it() -> None:
    """S0-59: and each word of it is on its line."""
    [group] = groups(lines(1, 10, ordinal=0), lines(15, 20, ordinal=2))
    whole = rewrite_from_lines(group, LINES)
    assert (whole.passage.content, whole.enriched) == ("\n".join(LINES[:20]), True)
    place = whole.passage.locate(whole.passage.content.index("Line 12 "), whole.passage.content.index("Line 13 ") - 1)
    assert place is not None
    assert (place.line_start, place.line_end) == (12, 12)
    assert rewrite_from_lines(group, ["another", "text"] * 50) == group
