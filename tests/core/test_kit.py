"""The kit closes all of its parts, whatever fails on the way."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag_core.composition.assembly import build_kit
from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.settings import Settings


@dataclass
class Part:
    """A part that counts how often it was closed, and may fail at it."""

    failure: BaseException | None = None
    closed: int = 0

    async def close(self) -> None:
        self.closed += 1
        if self.failure:
            raise self.failure


def replace_parts(kit: Kit, **parts: Part) -> Kit:
    for name, part in parts.items():
        object.__setattr__(kit, name, part)
    return kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return build_kit(Settings(data_dir=tmp_path))


async def test_the_parts_after_one_that_fails_are_closed(kit: Kit) -> None:
    """Also after a cancellation; a failure alone is raised without a group."""
    for failure in (Unavailable("the cache is gone"), asyncio.CancelledError()):
        last = Part()
        with pytest.raises(type(failure)):
            await replace_parts(kit, cache=Part(failure), job_notifier=last).close()
        assert last.closed == 1


async def test_failures_of_several_parts_are_raised_together(kit: Kit) -> None:
    failures = [Unavailable("the cache is gone"), OSError("no space")]
    last = Part()
    with pytest.raises(ExceptionGroup) as raised:
        await replace_parts(kit, cache=Part(failures[0]), jobs=Part(failures[1]), job_notifier=last).close()
    assert list(raised.value.exceptions) == failures
    assert last.closed == 1
