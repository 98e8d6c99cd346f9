"""A document that would take the machine takes its own process only."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from rag_core.errors import UnreadableDocument
from rag_core.ingestion import sandbox
from rag_core.ingestion.extract import extract
from rag_core.ingestion.sandbox import extract_safely
from tests.ingestion.documents import docx, endless_pdf

EXAMPLES = Path(__file__).parents[2] / "examples"


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.parametrize("name", ["tcm-diagnostic-manual.pdf", "service-bulletin.docx"])
async def test_the_sandbox_gives_what_the_extractor_gives(name: str) -> None:
    data = (EXAMPLES / name).read_bytes()
    assert await extract_safely(data, name, timeout_s=20) == extract(data, name)


async def test_a_pdf_that_takes_too_long_is_killed_and_leaves_no_process() -> None:
    """C24: ended at its limit, typed, nothing left running."""
    before = children()
    with pytest.raises(UnreadableDocument) as refused:
        await extract_safely(endless_pdf(), "bomb.pdf", timeout_s=1)
    assert refused.value.code == "document_too_complex"
    assert "1 s" in refused.value.message
    assert children() <= before


async def test_the_event_loop_goes_on_while_a_document_is_read() -> None:
    """C24: the server is unaffected."""
    reading = asyncio.create_task(extract_safely(endless_pdf(), "bomb.pdf", timeout_s=1))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
    assert isinstance(reading.exception(), UnreadableDocument)
    assert turns > 100


async def test_slow_documents_leave_the_threads_on_which_questions_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C24, C61: forty at once stop nobody else."""
    go_on = threading.Event()
    monkeypatch.setattr(sandbox, "_in_child", lambda *_: go_on.wait())
    reading = [asyncio.create_task(extract_safely(b"%PDF-", "slow.pdf", timeout_s=1)) for _ in range(40)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "answered"), 5) == "answered"
    finally:
        go_on.set()
        await asyncio.gather(*reading)


async def test_a_word_document_that_unpacks_to_too_much_is_refused() -> None:
    """C27: the size of a part is checked before it is unpacked."""
    bomb = docx("<w:p><w:r><w:t>" + "x" * (65 * 1024**2) + "</w:t></w:r></w:p>")
    assert len(bomb) < 100_000
    with pytest.raises(UnreadableDocument) as refused:
        await extract_safely(bomb, "bomb.docx", timeout_s=20)
    assert refused.value.code == "document_too_complex"


async def test_a_word_document_nested_too_deeply_is_refused() -> None:
    """C27: depth ends in a typed error, not in the interpreter's."""
    deep = docx("<w:p>" * 200_000 + "</w:p>" * 200_000)
    with pytest.raises(UnreadableDocument):
        await extract_safely(deep, "deep.docx", timeout_s=20)


async def test_the_child_sees_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser of a stranger's file gets no secrets."""
    seen: dict[str, str] = {}
    run = sandbox.subprocess.run

    def watched(*args: object, **options: object) -> object:
        seen.update(options["env"])  # type: ignore[call-overload]
        return run(*args, **options)  # type: ignore[call-overload]

    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret")
    monkeypatch.setattr(sandbox.subprocess, "run", watched)
    await extract_safely(docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>"), "a.docx", timeout_s=20)
    assert set(seen) == {"PYTHONPATH"}
