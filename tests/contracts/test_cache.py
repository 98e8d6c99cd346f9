"""What every cache promises."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from rag_core.core.ports import Cache
from rag_core.providers.embedded_cache import EmbeddedCache
from rag_core.providers.redis_cache import REDIS_KEY_PREFIX, RedisCache
from tests import valkey

SECRET = b"secret"
HUNG_S = 15.0  # the machine of a test may be busy; tests/providers/test_redis_cache.py has the real limits


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with valkey.running(tmp_path_factory.mktemp("valkey")) as url:
        yield url


Make = Callable[..., Cache]


@pytest.fixture(params=["redis", "folder", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Caches over one and the same server, file or memory; memory is its own each time."""
    if request.param == "redis":
        url = request.getfixturevalue("server")
        return lambda secret=SECRET, **how: RedisCache(
            url, secret, connect_timeout_s=HUNG_S, read_timeout_s=HUNG_S, **how
        )
    path = tmp_path / "folder" / "cache.sqlite3" if request.param == "folder" else None
    return lambda secret=SECRET, **how: EmbeddedCache(path, secret, **how)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cache(make: Make, clock: Clock) -> AsyncIterator[Cache]:
    made = make(clock=clock)
    yield made
    await made.clear()
    await made.close()


async def kept(cache: Cache, key: str) -> bytes:
    """As it lies in the server or the file."""
    if isinstance(cache, RedisCache):
        found: bytes = await cache._client.get(REDIS_KEY_PREFIX + key)
        return found
    assert isinstance(cache, EmbeddedCache)
    assert cache._db
    return bytes(cache._db.execute("select value from cache where key = ?", (key,)).fetchone()[0])


async def put(cache: Cache, key: str, value: object) -> None:
    """Behind the cache's back."""
    if isinstance(cache, RedisCache):
        await cache._client.delete(REDIS_KEY_PREFIX + key)
        await (
            cache._client.set(REDIS_KEY_PREFIX + key, value)
            if isinstance(value, bytes)
            else _wrong_type(cache._client, key)
        )
        return
    assert isinstance(cache, EmbeddedCache)
    assert cache._db
    cache._db.execute("insert or replace into cache values (?, 0, 0, ?)", (key, value))


async def _wrong_type(client: Redis, key: str) -> None:
    await client.rpush(REDIS_KEY_PREFIX + key, "a list")  # type: ignore[misc]


async def test_what_was_set_is_given_and_nothing_else_is(cache: Cache) -> None:
    """S4-04, S4-30."""
    assert await cache.get("key") is None
    await cache.set("key", b"value", ttl_s=60)
    await cache.set("other", b"", ttl_s=60)
    assert (await cache.get("key"), await cache.get("other"), await cache.get("third")) == (b"value", b"", None)
    await cache.set("key", b"\x00\xffnew", ttl_s=60)
    assert await cache.get("key") == b"\x00\xffnew"


async def test_a_value_ends_with_its_time(cache: Cache, clock: Clock) -> None:
    """S4-04: a time to live of an hour means an hour."""
    await cache.set("key", b"value", ttl_s=3600)
    clock.now += 3599.9
    assert await cache.get("key") == b"value"
    clock.now += 0.1
    assert await cache.get("key") is None


async def test_a_value_from_a_time_to_come_is_a_miss(cache: Cache, clock: Clock) -> None:
    """(RELIABILITY C53): a clock that was set back makes nothing last."""
    await cache.set("key", b"value", ttl_s=3600)
    clock.now -= 1
    assert await cache.get("key") is None


@pytest.mark.parametrize("poison", [b"", b"short", b"x" * 100, b'{"answer": "mine"}' * 10, "a text", 7, None])
async def test_what_is_not_ours_is_a_miss(cache: Cache, poison: object) -> None:
    """(RELIABILITY C54): poisoned bytes and other types."""
    await cache.set("key", b"value", ttl_s=60)
    if poison is None and isinstance(cache, EmbeddedCache):
        pytest.skip("its column takes no null")
    await put(cache, "key", poison)
    assert await cache.get("key") is None
    await cache.set("key", b"value", ttl_s=60)
    assert await cache.get("key") == b"value"


async def test_each_byte_of_what_is_kept_counts(cache: Cache) -> None:
    """(RELIABILITY C54): the seal is over the times and the value."""
    await cache.set("key", b"value", ttl_s=60)
    sealed = await kept(cache, "key")
    for place in range(len(sealed)):
        await put(cache, "key", sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :])
        assert await cache.get("key") is None, place


async def test_a_value_that_was_moved_to_another_key_is_a_miss(cache: Cache) -> None:
    """(RELIABILITY C19), (RELIABILITY C54): nobody who can write to the server gives one tenant another's answer."""
    await cache.set("mine", b"value", ttl_s=60)
    await cache.set("yours", b"other", ttl_s=60)
    await put(cache, "yours", await kept(cache, "mine"))
    assert await cache.get("yours") is None


async def test_another_secret_reads_nothing(make: Make, clock: Clock) -> None:
    mine, other = make(clock=clock), make(b"another", clock=clock)
    await mine.set("key", b"value", ttl_s=60)
    assert await other.get("key") is None
    await mine.clear()
    await mine.close()
    await other.close()


async def test_a_cache_of_another_process_is_shared(make: Make, clock: Clock, request: pytest.FixtureRequest) -> None:
    if "memory" in request.node.name:
        pytest.skip("memory is a process's own")
    mine, other = make(clock=clock), make(clock=clock)
    await mine.set("key", b"value", ttl_s=60)
    assert await other.get("key") == b"value"
    await mine.clear()
    await mine.close()
    await other.close()


async def test_what_is_too_large_is_not_kept(cache: Cache) -> None:
    await cache.set("key", b"x" * (1024**2 + 1), ttl_s=60)
    assert await cache.get("key") is None


async def test_all_of_it_can_be_forgotten(cache: Cache) -> None:
    for number in range(600):
        await cache.set(f"key {number}", b"value", ttl_s=60)
    await cache.clear()
    assert [await cache.get(f"key {number}") for number in range(0, 600, 50)] == [None] * 12
