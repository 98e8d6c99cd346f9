"""A document that would take the machine takes its own process only."""

import asyncio
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion import sandbox
from rag_core.ingestion.extract import extract_in_process
from rag_core.ingestion.extract.reading_time import compute_cpu_limit
from rag_core.ingestion.sandbox import extract_as_kind_in_sandbox, extract_in_sandbox
from tests.faults import planted
from tests.ingestion.documents import docx

EXAMPLES = Path(__file__).parents[2] / "examples"
MALFORMED = Path(__file__).parents[1] / "data" / "malformed"


@pytest.fixture
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "EXTRACTION_CHILD_MODULE", planted.__name__)


async def done(deed: str, timeout_s: float = 20) -> Extraction:
    return await extract_in_sandbox(f"%PDF-{deed}".encode(), "planted.pdf", timeout_s=timeout_s)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def session(leader: int) -> list[str]:
    """The processes that were started in it and live."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(ProcessLookupError, FileNotFoundError):
            if os.getsid(int(process)) == leader and Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


def left_of(leader: int, within_s: float = 5) -> list[str]:
    """What of a session still lives when it had time to die."""
    end = time.monotonic() + within_s
    while session(leader) and time.monotonic() < end:
        pass
    return session(leader)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the children, as they are started."""
    ids: list[int] = []
    popen = sandbox.subprocess.Popen

    def watched(*args: object, **options: object) -> object:
        child = popen(*args, **options)  # type: ignore[call-overload]
        ids.append(child.pid)
        return child

    monkeypatch.setattr(sandbox.subprocess, "Popen", watched)
    return ids


@pytest.mark.parametrize("name", ["tcm-diagnostic-manual.pdf", "perks-plus.pdf", "service-bulletin.docx"])
async def test_the_sandbox_gives_what_the_extractor_gives(name: str) -> None:
    data = (EXAMPLES / name).read_bytes()
    assert await extract_in_sandbox(data, name, timeout_s=20) == extract_in_process(data, name)


@pytest.mark.parametrize("name", ["cp1251.txt", "gb18030.txt", "shift_jis.txt", "utf16be_nobom.txt"])
async def test_a_large_text_is_read_in_the_child_as_a_small_one_is_here(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C30: the alphabets of the world are loaded before the child can open nothing any more."""
    data = (MALFORMED / name).read_bytes()
    monkeypatch.setattr(sandbox, "MAX_IN_PROCESS_BYTES", 0)
    assert await extract_as_kind_in_sandbox("text", data, timeout_s=20) == extract_in_process(data, name)


async def test_a_place_comes_back_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    box = (1.5, 2.0, 3.0, 4.25)
    block = Block("a\nb", "table", 1, 2, 3, box, ("H", "K"), {"n": 1.5, "s": "t"}, (box, box), "iv")
    whole = Extraction((block,), 3, "x", ("a note",), "Title")
    monkeypatch.setattr(sandbox, "EXTRACTION_CHILD_MODULE", "tests.faults.echoing")
    assert await extract_in_sandbox(b"%PDF-" + repr(whole).encode(), "a.pdf", timeout_s=20) == whole


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize("deed", ["hang", "fork"])
async def test_a_parser_that_hangs_is_killed_with_all_it_started(deed: str, started: list[int]) -> None:
    """C24: ended at its limit, which is named; no process, no open file is left."""
    before, opened = children(), descriptors()
    with pytest.raises(UnreadableDocument) as refused:
        await done(deed, timeout_s=0.3)  # 3 s by the clock
    assert refused.value.code == "document_too_complex"
    assert refused.value.details == {"seconds": 0.3}
    assert children() <= before
    assert descriptors() == opened
    [leader] = started
    assert left_of(leader) == []


@pytest.mark.usefixtures("_planted")
async def test_the_limit_is_processor_time_and_grows_with_the_pages() -> None:
    """A report of 160 pages takes 22 s, and is no more complex than one page of it."""
    assert (await done("long with pages", timeout_s=1)).blocks[0].text == "read"
    for deed in ("long", "endless with pages"):
        with pytest.raises(UnreadableDocument) as refused:
            await done(deed, timeout_s=1)
        assert (refused.value.code, refused.value.details) == ("document_too_complex", {"seconds": 1})
        assert (
            "processor time" in refused.value.message or deed == "endless with pages"
        )  # a busy clock may end it first
        assert "RAG_PARSE_TIMEOUT_S" in refused.value.message


@pytest.mark.parametrize(("pages", "seconds"), [(0, 30), (60, 60), (160, 110), (20_000, 150)])
def test_a_page_adds_a_sixtieth_of_the_limit_up_to_five_times_of_it(pages: int, seconds: float) -> None:
    assert compute_cpu_limit(30, pages) == seconds


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize(
    ("deed", "code", "details"),
    [
        ("hoard", "document_too_complex", {"memory_bytes": 1024**3}),
        ("abort", "document_too_complex", {"memory_bytes": 1024**3}),
        ("flood", "document_too_complex", {"reply_bytes": 128 * 1024**2}),
        ("killed", "document_too_complex", {"seconds": 20}),
        ("segfault", "document_damaged", {"parser_ended_by": "SIGSEGV"}),
        ("fail", "document_damaged", {"parser_ended_by": "exit status 1"}),
        ("nan", "document_damaged", {"parser_ended_by": "exit status 1"}),
        *((deed, "document_damaged", {"parser_ended_by": "its reply"}) for deed in (
            "nothing", "prose", "list", "half a head", "half a block", "a block short", "an error unknown",
        )),
    ],
)  # fmt: skip
async def test_however_a_parser_ends_the_refusal_is_typed(deed: str, code: str, details: dict[str, object]) -> None:
    """C23, C24: out of memory, a crash, a flood, half a reply, none."""
    before, opened = children(), descriptors()
    with pytest.raises(UnreadableDocument) as refused:
        await done(deed)
    assert (refused.value.code, refused.value.details) == (code, details)
    assert "save" in refused.value.message or "split" in refused.value.message
    assert children() <= before
    assert descriptors() == opened


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize("deed", ["escape", "native"])
async def test_a_parser_reaches_no_file_no_network_and_no_other_process(deed: str) -> None:
    """C28: no file of the system, no connection; of native code it is the kernel that says no."""
    extraction = await done(deed)
    assert extraction.blocks[0].text == "worked:"


@pytest.mark.usefixtures("_planted")
async def test_a_parser_does_without_numpy() -> None:
    """As in the deployed app; openpyxl would load it for nothing."""
    extraction = await done("numpy")
    assert extraction.blocks[0].text == "not there"


async def test_the_event_loop_goes_on_while_a_document_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """C24: the server is unaffected."""
    monkeypatch.setattr(sandbox, "EXTRACTION_CHILD_MODULE", planted.__name__)
    reading = asyncio.create_task(done("spin", timeout_s=1))
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
    monkeypatch.setattr(sandbox, "_call_child_blocking", lambda *_: go_on.wait())
    reading = [asyncio.create_task(extract_in_sandbox(b"%PDF-", "slow.pdf", timeout_s=1)) for _ in range(40)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(lambda: "answered") == "answered"
    finally:
        go_on.set()
        await asyncio.gather(*reading)


async def test_a_word_document_that_unpacks_to_too_much_is_refused() -> None:
    """C27: the size of a part is checked before it is unpacked."""
    bomb = docx("<w:p><w:r><w:t>" + "x" * (65 * 1024**2) + "</w:t></w:r></w:p>")
    assert len(bomb) < 100_000
    with pytest.raises(UnreadableDocument) as refused:
        await extract_in_sandbox(bomb, "bomb.docx", timeout_s=20)
    assert refused.value.code == "document_too_complex"


async def test_a_word_document_nested_too_deeply_is_refused() -> None:
    """C27: depth ends in a typed error, not in the interpreter's."""
    deep = docx("<w:p>" * 200_000 + "</w:p>" * 200_000)
    with pytest.raises(UnreadableDocument):
        await extract_in_sandbox(deep, "deep.docx", timeout_s=20)


async def test_the_child_sees_no_environment_and_none_of_our_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser of a stranger's file gets no secrets."""
    seen: dict[str, object] = {}
    popen = sandbox.subprocess.Popen

    def watched(*args: object, **options: object) -> object:
        seen.update(options)
        return popen(*args, **options)  # type: ignore[call-overload]

    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "secret")
    monkeypatch.setattr(sandbox.subprocess, "Popen", watched)
    await extract_in_sandbox(docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>"), "a.docx", timeout_s=20)
    assert set(seen["env"]) == {"PYTHONPATH"}  # type: ignore[call-overload]
    assert seen["cwd"] == "/"
