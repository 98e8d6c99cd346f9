"""Every question that README and pages ask of the examples, over the emulated Azure services: nothing falls back."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from local_emulator.azure import serve_azure_services
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.settings import Settings
from rag_core.ingestion.upload import upload_from_file
from rag_core.rag import RAG

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md")), ROOT / "docs" / "reference" / "cli.md"]
ASKED = re.compile(r'rag (?:ask|query) "([^"]+)"|"query": "([^"]+)"')
QUESTIONS = sorted({a or b for page in PAGES for a, b in ASKED.findall(page.read_text("utf-8"))})
DOCUMENTS = ("tcm-diagnostic-manual.pdf", "workshop-notes.txt", "trouble-codes.csv")
TABLES = {  # of trouble-codes.csv, whose columns are code, description, manufacturer
    "How many codes does FORD have?": "22. Counted: rows with manufacturer = FORD: ",
    "How many codes have the manufacturer VOLKSWAGEN?": "16. Counted: rows with manufacturer = VOLKSWAGEN: ",
}


@pytest.fixture(scope="module", params=[False, True], ids=["free", "priced"])
def pointed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("data")
    here = replace(settings.DEFAULT_SETTINGS, data_dir=folder)
    with serve_azure_services(here, priced=request.param) as pointed:
        yield pointed


async def test_no_question_of_the_pages_falls_back(pointed: Settings) -> None:
    """README, C33: the same code with the real clients; a computation over a table is planned by the chat model."""
    assert len(QUESTIONS) > 4
    rag = RAG(assembly.build_kit(pointed), pointed)
    try:
        for name in DOCUMENTS:
            await rag.index(upload_from_file(ROOT / "examples" / name))
        for question in (*QUESTIONS, *TABLES):
            run = rag.start_run()
            reply = await rag.answer(question, pipeline="standard", run=run)
            assert (question, run.degraded) == (question, [])
            assert reply.answer.text.startswith(TABLES.get(question, ""))
            assert "operation" in run.techniques or question not in TABLES
    finally:
        await rag.kit.close()
