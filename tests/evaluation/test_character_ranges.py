"""The characters that a chunk has are found from its lines, and scored by hand-worked numbers."""

import pytest

from rag_core.core.model import Chunk, Span
from rag_core.evaluation.character_ranges import locate_chunk, score_chunks, score_ranges

TEXT = "Gears are turned.\nValves open. Gears are turned.\n\nOil is warm.\n"


def chunk(content: str, *places: Span) -> Chunk:
    return Chunk("c", "0", 0, content, "", "d", "", places)


def test_a_chunk_is_found_where_its_lines_say() -> None:
    """S3-07: the same words stand in two lines; the line tells which."""
    assert locate_chunk(chunk("Gears are turned.", Span(0, 17, None, 2, 2)), TEXT) == [("d", 31, 48)]
    assert locate_chunk(chunk("Gears are turned.", Span(0, 17, None, 1, 1)), TEXT) == [("d", 0, 17)]


@pytest.mark.parametrize("lines", [(1, 2), (4, 4), (2, 4)])
def test_lines_that_are_not_the_chunk_s_are_an_error(lines: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"substring not found|lines"):
        locate_chunk(chunk("Valves open.", Span(0, 12, None, *lines)), TEXT)


def test_recall_and_iou_count_each_character_once() -> None:
    gold = [("a", 0, 10), ("a", 20, 30)]
    assert score_ranges(gold, [("a", 5, 15), ("a", 0, 10), ("b", 0, 5)]) == (10 / 20, 10 / 30)
    assert score_ranges(gold, []) == (0, 0)


def test_only_the_best_five_chunks_count() -> None:
    document = "\n".join("abcdef")
    chunks = [chunk(letter, Span(0, 1, None, line, line)) for line, letter in enumerate("abcdef", start=1)]
    gold = [("d", 0, 1), ("d", 10, 11)]
    assert score_chunks(gold, chunks, {"d": document}) == {"recall@5": 1 / 2, "iou@5": 1 / 6}
