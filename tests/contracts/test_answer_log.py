"""What every answer log promises: texts in their order, to their own scope alone, and for minutes only."""

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from rag_core.core.errors import Conflict, NotFound
from rag_core.core.model import Scope
from rag_core.core.ports import AnswerLog
from rag_core.stores.answer_log_key import ANSWER_LOG_LIFETIME_S
from rag_core.stores.archive import ArchiveDatabase, SqlAnswerLog
from rag_core.stores.azure_answer_log import AzureAnswerLog
from tests import azurite, postgres
from tests.contracts.test_jobs import Clock

ANN = Scope("ward", "ann", ("nurses",), ("manual",))
OTHERS = [Scope("ward"), Scope("ward", "bob", ("nurses",)), Scope("garage", "ann"), Scope("ward", "")]
ID = "c0b7d9f1e86a4b52a1f3d84e9b6c7a05"

Opened = Callable[[], AnswerLog]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgres", "azure"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Opened:
    """Another process's way to the one place of logs, in which there is none at first."""
    if request.param == "azure":
        storage = azurite.emptied()
        return lambda: AzureAnswerLog(storage, now=clock)
    place = tmp_path / "archive.sqlite3" if request.param == "sqlite" else postgres.empty_database("answer_log")
    return lambda: SqlAnswerLog(ArchiveDatabase(place), now=clock)


@pytest.fixture
async def log(opened: Opened) -> AsyncIterator[AnswerLog]:
    log = opened()
    yield log
    await log.close()


async def test_another_process_reads_what_was_told_so_far_in_its_order(log: AnswerLog, opened: Opened) -> None:
    await log.start(ID, ANN)
    other = opened()
    assert await other.read(ID, ANN) == ""
    texts = ["event: step\n", "täxt 𝄞 ' \" % _ \\\n\n", "x" * 200_000]
    for text in texts:
        await log.append(ID, text, ANN)
    assert await other.read(ID, Scope("ward", "ann")) == "".join(texts)  # of whatever groups and documents
    await other.close()


async def test_a_log_exists_for_no_other_user_and_no_other_workflow(log: AnswerLog) -> None:
    """C13, C14 (RELIABILITY): another's log is the same as none, to read and to write."""
    await log.start(ID, ANN)
    await log.append(ID, "secret", ANN)
    assert [await log.read(ID, other) for other in OTHERS] == [None] * len(OTHERS)
    assert await log.read(ID[::-1], ANN) is None
    for other in OTHERS:
        with pytest.raises(NotFound):
            await log.append(ID, "forged", other)
    for other in OTHERS:
        await log.start(ID, other)  # the same id is another log
    assert await log.read(ID, ANN) == "secret"


async def test_a_place_without_any_log_has_none_to_read_to_write_or_to_purge(log: AnswerLog) -> None:
    assert await log.read(ID, ANN) is None
    await log.purge_workflow("ward")
    with pytest.raises(NotFound):
        await log.append(ID, "text", ANN)


async def test_an_id_is_of_one_answer(log: AnswerLog) -> None:
    await log.start(ID, ANN)
    await log.append(ID, "first", ANN)
    with pytest.raises(Conflict):
        await log.start(ID, ANN)
    assert await log.read(ID, ANN) == "first"


async def test_a_log_is_gone_a_quarter_of_an_hour_after_its_last_text(
    log: AnswerLog, opened: Opened, clock: Clock
) -> None:
    """Also where it was: the next answer removes it."""
    await log.start(ID, ANN)
    await log.append(ID, "text", ANN)
    clock.seconds += ANSWER_LOG_LIFETIME_S - 5
    assert await log.read(ID, ANN) == "text"
    clock.seconds += 10
    assert await log.read(ID, ANN) is None
    another = opened()
    await another.start("another-id-of-22-letters", ANN)
    clock.seconds = time.time()
    assert await log.read(ID, ANN) is None
    await another.close()


async def test_a_purge_ends_the_logs_of_a_workflow_for_all_its_users_and_of_no_other(log: AnswerLog) -> None:
    """S3-16: what quotes a purged document is gone, and an answer under way cannot bring it back."""
    for scope in (ANN, *OTHERS):
        await log.start(ID, scope)
        await log.append(ID, "a quote", scope)
    await log.purge_workflow("ward")
    assert [await log.read(ID, scope) for scope in (ANN, *OTHERS)] == [None, None, None, "a quote", None]
    with pytest.raises(NotFound):
        await log.append(ID, "another quote", ANN)
    assert await log.read(ID, ANN) is None
