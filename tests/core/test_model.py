from rag_core.core.model import Span
from tests.fakes import chunk

TEXT = "First line\nsecond line\n\nThird block\non two lines"
PAGES = (Span(0, 22, 1, 10, 11, (1, 2, 3, 4)), Span(24, 48, 2, 3, 4))


def test_a_place_has_the_page_and_the_lines_of_the_words() -> None:
    start = TEXT.index("second")
    assert chunk("a", TEXT, spans=PAGES).locate(start, start + 6) == Span(start, start + 6, 1, 11, 11, (1, 2, 3, 4))


def test_a_place_over_two_blocks_begins_on_the_first_page_and_ends_on_the_last_line() -> None:
    place = chunk("a", TEXT, spans=PAGES).locate(0, len(TEXT))
    assert place is not None
    assert (place.page, place.line_start, place.line_end) == (1, 10, 4)


def test_a_place_within_the_second_block_is_on_its_page() -> None:
    start = TEXT.index("two lines")
    place = chunk("a", TEXT, spans=PAGES).locate(start, start + 3)
    assert place is not None
    assert (place.page, place.line_start, place.line_end) == (2, 4, 4)


def test_a_break_belongs_to_the_line_that_it_ends() -> None:
    """S3-07: a quote up to the end of a line is not of the next one."""
    place = chunk("a", TEXT, spans=PAGES).locate(0, TEXT.index("second"))
    assert place is not None
    assert (place.line_start, place.line_end) == (10, 10)


def test_boxes_are_those_of_the_page_on_which_the_words_begin() -> None:
    """S3-06: a box is drawn on a page; the same one of two spans is drawn once."""
    box = (1.0, 2.0, 3.0, 4.0)
    spans = (Span(0, 10, 1, 1, 1, box), Span(11, 22, 1, 2, 2, box), Span(24, 48, 2, 3, 4, (5.0, 6.0, 7.0, 8.0)))
    assert chunk("a", TEXT, spans=spans).locate_boxes(0, len(TEXT)) == (box,)
    place = chunk("a", TEXT, spans=spans).locate(0, len(TEXT))
    assert place is not None
    assert place.bbox == box


def test_a_chunk_without_spans_has_no_place() -> None:
    nowhere = chunk("a", TEXT, spans=())
    assert nowhere.page is None
    assert nowhere.locate(0, 5) is None
    assert nowhere.locate_boxes(0, 5) == ()


def test_the_separator_between_blocks_has_no_place() -> None:
    assert chunk("a", TEXT, spans=PAGES).locate(22, 24) is None


def test_a_row_of_a_table_is_one_line_however_many_cells_it_has() -> None:
    row = chunk("a", "code: P0700\nmake: ACME", spans=(Span(0, 22, None, 7, 7),))
    place = row.locate(12, 22)
    assert place is not None
    assert (place.line_start, place.line_end) == (7, 7)


def test_a_row_over_several_lines_is_cited_with_all_of_them() -> None:
    text = "code: P0700\nmake: ACME\nnote: one\ntwo"
    place = chunk("a", text, spans=(Span(0, len(text), None, 7, 8),)).locate(text.index("make"), text.index("note"))
    assert place is not None
    assert (place.line_start, place.line_end) == (7, 8)
