"""The cache in a file: bounded, private, made anew when it is damaged, and never in the way."""

import os
import sqlite3
import time
from pathlib import Path

import pytest

from rag_core.providers import cache_sealing
from rag_core.providers.embedded_cache import EmbeddedCache


async def test_the_oldest_leave_when_it_is_full() -> None:
    now = iter(range(1000))
    cache = EmbeddedCache(None, b"s", limit_bytes=10_000, clock=lambda: float(next(now)))
    for number in range(20):
        await cache.set(str(number), b"x" * 1000, ttl_s=5000)
    left = [number for number in range(20) if await cache.get(str(number))]
    assert left == list(range(11, 20))
    await cache.close()


@pytest.mark.parametrize("damage", [b"not a database" * 1000, b"SQLite format 3\x00" + b"\xff" * 5000])
async def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    """(RELIABILITY C54)."""
    path = tmp_path / "cache.sqlite3"
    path.write_bytes(damage)
    cache = EmbeddedCache(path, b"s")
    assert await cache.get("key") is None
    await cache.set("key", b"value", ttl_s=60)
    assert await cache.get("key") == b"value"
    await cache.close()


async def test_a_file_that_another_holds_is_done_without(tmp_path: Path) -> None:
    """RELIABILITY 3.1: a cache that is slow is passed by."""
    path = tmp_path / "cache.sqlite3"
    cache = EmbeddedCache(path, b"s")
    await cache.set("key", b"value", ttl_s=60)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    assert await cache.get("key") is None
    await cache.set("key", b"new", ttl_s=60)
    other.execute("rollback")
    other.close()
    assert await cache.get("key") == b"value"
    await cache.close()


async def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = EmbeddedCache(tmp_path / "file" / "cache.sqlite3", b"s")
    await cache.set("key", b"value", ttl_s=60)
    assert await cache.get("key") is None
    await cache.close()


async def test_it_is_its_owners_alone_and_what_is_forgotten_leaves_no_byte(tmp_path: Path) -> None:
    """What is purged from the store stands in no answer that was kept (docs/reference/isolation-and-security.md)."""
    path = tmp_path / "cache.sqlite3"
    cache = EmbeddedCache(path, b"s")
    for number in range(50):
        await cache.set(str(number), b"quetzalcoatl" * 500, ttl_s=60)
    assert path.stat().st_mode & 0o077 == 0
    assert b"quetzalcoatl" in path.read_bytes()
    await cache.clear()
    assert os.listdir(tmp_path) == [path.name]
    assert b"quetzalcoatl" not in path.read_bytes()
    await cache.close()


def test_the_clock_does_not_follow_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """(RELIABILITY C53): what has ended never comes back, also when the clock is set back."""
    clock = cache_sealing.make_steady_clock()
    before = clock()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert clock() >= before > 1_000_000
