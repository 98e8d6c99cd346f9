"""A table that is cut into several chunks: each of them knows the heads, and none has a word that stands elsewhere."""

from collections.abc import Sequence

import pytest

from rag_core.answering.citations import ClaimPassage, build_citation
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.table_figures import find_places_beyond, look_up_figures
from rag_core.core.model import Block, Chunk
from rag_core.ingestion.chunking import ChunkDraft, Chunking, split_into_chunks
from rag_core.ingestion.cut_tables import MAX_HEAD_CHARS, find_cut_heads
from rag_core.ingestion.tables import TABLE_HEAD_FIELD
from rag_core.text.layout import split_cells

ROWS = [f"Item of the balance {n} | {1_000 + n} | {2_000 + n}" for n in range(60)]
HEAD = "(In millions)\n|  | May 31, 2023 | May 31, 2022 |"


def cut(*lines: str, overlap: int = 0, pages: Sequence[int] = (1,)) -> list[ChunkDraft]:
    """The chunks of a table of a page that is larger than a chunk, as one with boxes is."""
    chunks: list[ChunkDraft] = []
    for page in pages:
        boxes = tuple((0.0, float(n), 9.0, n + 1.0) for n in range(len(lines)))
        above = Block("Balance (In millions)", "paragraph", 1, 1, page)
        table = Block("\n".join(lines), "table", 2, 1 + len(lines), page, boxes=boxes)
        chunks += split_into_chunks([above, table], Chunking(chunk_size=200, overlap=overlap))
    return chunks


@pytest.mark.parametrize("overlap", [0, 60])
def test_each_part_of_a_table_knows_the_heads_and_the_scale(overlap: int) -> None:
    chunks = cut("|  | May 31, | May 31, |", "|  | 2023 | 2022 |", *ROWS, overlap=overlap)
    assert len(chunks) > 4
    assert list(find_cut_heads(chunks)) == ["", *[HEAD] * (len(chunks) - 1)]
    assert all(
        line.startswith(("Item", "|", "Balance")) for chunk in chunks for line in chunk.content.split("\n") if line
    )


def test_other_rows_have_no_heads_of_others() -> None:
    """Of a table without heads, of other columns, or of another page."""
    assert set(find_cut_heads(cut(*ROWS))) == {""}
    wider = [f"{row} | 7" for row in ROWS]
    assert set(find_cut_heads(cut("|  | 2023 | 2022 |", *wider))) == {""}
    first, *others = cut("|  | 2023 | 2022 |", *ROWS)
    [alone] = split_into_chunks([Block("\n".join(ROWS[:3]), "table", 1, 3, 2)], Chunking())
    assert list(find_cut_heads([first, alone])) == ["", ""]
    long = f"|  | {'2023 ' * MAX_HEAD_CHARS}| 2022 |"
    assert set(find_cut_heads([ChunkDraft(f"{long}\n{ROWS[0]}", first.spans), *others])) == {""}


def test_a_figure_of_a_later_part_is_of_its_year_and_quoted_at_its_place() -> None:
    content = "\n".join(ROWS[5:9])
    bare = Chunk("c", "d", 1, content, "Tarnmoor: annual report", "report.pdf", "hash")
    chunk = Chunk(
        "c", "d", 1, content, bare.title, bare.source, "hash", metadata={TABLE_HEAD_FIELD: HEAD, "stage": "1"}
    )
    wrong, right = (read_words(f"Item of the balance 7 was $1007 million in {year}.") for year in (2022, 2023))
    assert look_up_figures(right, chunk).placed == {"$1007 million", "2023"}
    assert [conflict.kind for conflict in look_up_figures(wrong, chunk).conflicts] == ["date"]
    assert look_up_figures(wrong, bare).conflicts == ()
    [(start, end)] = find_places_beyond(right, chunk, (0, 5), "")
    assert split_cells(content[start:end]) == split_cells(ROWS[7])
    passage = ClaimPassage(chunk, start, end, content[start:end], 1.0)
    assert passage.frame.split("\n")[1:] == HEAD.split("\n")
    assert build_citation(passage, 1.0).metadata == {"stage": "1"}
