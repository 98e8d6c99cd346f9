"""The characters that a chunk has are found from its lines, and scored by hand-worked numbers."""

import json
from pathlib import Path

import pytest

from evals import spans
from evals.spans import Chunking, Question, located, score
from rag_core.composition import assembly
from rag_core.core.model import Chunk, Span

TEXT = "Gears are turned.\nValves open. Gears are turned.\n\nOil is warm.\n"


def chunk(content: str, *places: Span) -> Chunk:
    return Chunk("c", "0", 0, content, "", "d", "", places)


def test_a_chunk_is_found_where_its_lines_say() -> None:
    """S3-07: the same words stand in two lines; the line tells which."""
    assert located(chunk("Gears are turned.", Span(0, 17, None, 2, 2)), TEXT) == [("d", 31, 48)]
    assert located(chunk("Gears are turned.", Span(0, 17, None, 1, 1)), TEXT) == [("d", 0, 17)]


@pytest.mark.parametrize("lines", [(1, 2), (4, 4), (2, 4)])
def test_lines_that_are_not_the_chunk_s_are_an_error(lines: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"substring not found|lines"):
        located(chunk("Valves open.", Span(0, 12, None, *lines)), TEXT)


def test_recall_and_iou_count_each_character_once() -> None:
    gold = [("a", 0, 10), ("a", 20, 30)]
    assert score(gold, [("a", 5, 15), ("a", 0, 10), ("b", 0, 5)]) == (10 / 20, 10 / 30)
    assert score(gold, []) == (0, 0)


def test_only_the_best_five_chunks_count() -> None:
    document = "\n".join("abcdef")
    chunks = [chunk(letter, Span(0, 1, None, line, line)) for line, letter in enumerate("abcdef", start=1)]
    gold = [("d", 0, 1), ("d", 10, 11)]
    assert spans.measures(gold, chunks, {"d": document}) == {"recall@5": 1 / 2, "iou@5": 1 / 6}


async def test_every_way_of_cutting_is_scored(tmp_path: Path) -> None:
    """C02."""
    (tmp_path / "a.md").write_text("# Gears\n\n" + TEXT, "utf-8", newline="")
    (tmp_path / "README.md").write_text("not a document", "utf-8")
    found = {"start": 40, "end": 45, "text": "Gears"}
    question = {"_id": "q", "text": "What opens?", "document": "a.md", "spans": [found]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question), "utf-8")
    documents, questions = spans.load(tmp_path)
    assert questions == [Question("q", "What opens?", (("a.md", 40, 45),))]
    assert documents["a.md"][40:45] == "Gears"
    kit = assembly.in_memory()
    if not kit.index.embedder.dimensions:
        pytest.skip("needs the local models: make install")
    rows = await spans.evaluate(documents, questions, kit, [Chunking("blocks", 32, 0), Chunking("tokens", 800, 0)])
    assert [(row.chunks, row.scores[0]) for row in rows] == [(3, 1.0), (1, 1.0)]
    assert "| blocks | 32 | 0 | 3 | 1.000 |" in spans.table(rows)
    await kit.index.store.close()
