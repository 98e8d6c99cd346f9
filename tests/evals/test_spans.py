"""Every way of cutting documents is scored by the character ranges that answer the questions."""

import json
from pathlib import Path

import pytest

from evals import spans
from rag_core.composition import assembly
from rag_core.evaluation.character_ranges import RangeQuestion, load_range_questions
from rag_core.ingestion.chunking import Chunking

TEXT = "Gears are turned.\nValves open. Gears are turned.\n\nOil is warm.\n"


async def test_every_way_of_cutting_is_scored(tmp_path: Path) -> None:
    """C02."""
    (tmp_path / "a.md").write_text("# Gears\n\n" + TEXT, "utf-8", newline="")
    (tmp_path / "README.md").write_text("not a document", "utf-8")
    found = {"start": 40, "end": 45, "text": "Gears"}
    question = {"_id": "q", "text": "What opens?", "document": "a.md", "spans": [found]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question), "utf-8")
    documents, questions = load_range_questions(tmp_path)
    assert questions == [RangeQuestion("q", "What opens?", (("a.md", 40, 45),))]
    assert documents["a.md"][40:45] == "Gears"
    kit = assembly.build_in_memory_kit()
    if not kit.index.embedder.dimensions:
        pytest.skip("needs the local models: make install")
    rows = await spans.evaluate_chunkings(
        documents, questions, kit, [Chunking("blocks", 32, 0), Chunking("tokens", 800, 0)]
    )
    assert [(row.chunks, row.scores[0]) for row in rows] == [(3, 1.0), (1, 1.0)]
    assert "| blocks | 32 | 0 | 3 | 1.000 |" in spans.format_chunking_table(rows)
    await kit.index.store.close()
