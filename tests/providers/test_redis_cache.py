"""A Redis server that is down, slow, full or mad costs a request next to nothing."""

import asyncio
import json
import socket
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from azure.core.exceptions import ClientAuthenticationError
from redis.asyncio import Redis

from rag_core.providers.redis_cache import (
    REDIS_CONNECT_TIMEOUT_S,
    REDIS_KEY_PREFIX,
    REDIS_READ_TIMEOUT_S,
    EntraCredentialProvider,
    RedisCache,
)
from tests import valkey
from tests.faults.server import Fault, black_hole, drip, failing, reset


@contextmanager
def serving(fault: Fault) -> Iterator[str]:
    with failing(fault) as server:
        yield server.url.replace("http", "redis")


REPLIES = {
    "html": b"HTTP/1.1 200 OK\r\n\r\n<html>",
    "number": b":5\r\n",
    "no number": b":five\r\n",
    "list": b"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
    "text": b"+OK\r\n",
    "null": b"_\r\n",
    "endless": b"$99999999999999\r\nabc",
    "negative": b"$-7\r\n",
    "loading": b"-LOADING the dataset\r\n",
    "wrong type": b"-WRONGTYPE not a string\r\n",
    "out of memory": b"-OOM command not allowed\r\n",
    "no auth": b"-NOAUTH Authentication required.\r\n",
    "zeros": bytes(1000),
    "another protocol": b"%1\r\n+a\r\n+b\r\n",
    "nested": b"*1\r\n" * 50_000,
}


def saying(reply: bytes) -> Fault:
    """The same to whatever is asked."""

    def fault(_: object, connection: socket.socket) -> None:
        connection.recv(65536)
        for _ in range(20):
            connection.sendall(reply)
        connection.recv(65536)

    return fault


@pytest.mark.parametrize("name", REPLIES)
async def test_nonsense_is_a_miss(name: str) -> None:
    """(RELIABILITY C54), (RELIABILITY F5): of any kind, and to reading as to writing."""
    with serving(saying(REPLIES[name])) as url:
        cache = RedisCache(url, b"s", connect_timeout_s=0.05, read_timeout_s=0.05)
        for _ in range(3):
            assert await cache.get("key") is None
            await cache.set("key", b"value", ttl_s=60)
        await cache.clear()
        await cache.close()


@pytest.mark.parametrize("fault", [black_hole, reset, drip])
async def test_a_server_that_fails_is_left_alone_after_five_times(fault: Fault) -> None:
    """RELIABILITY 3.1: down, slow or reset, the cache is passed by; a breaker spares the rest of the requests."""
    with serving(fault) as url:
        cache = RedisCache(url, b"s", connect_timeout_s=0.05, read_timeout_s=0.05)
        for _ in range(20):
            assert await cache.get("key") is None
        now = asyncio.get_running_loop().time()
        assert not cache._breaker.allow_call(now)
        assert cache._breaker.allow_call(now + 11)
        await cache.close()


def test_the_limits_are_those_of_a_cache() -> None:
    """RELIABILITY 3.1: some 10 ms to connect; a value is waited for far less long than S4-34 allows for a reply."""
    assert REDIS_CONNECT_TIMEOUT_S == 0.01
    assert REDIS_CONNECT_TIMEOUT_S + REDIS_READ_TIMEOUT_S < 0.2 / 2


async def test_a_server_that_is_not_there_is_a_miss() -> None:
    cache = RedisCache("redis://127.0.0.1:9", b"s")
    await cache.set("key", b"value", ttl_s=60)
    assert await cache.get("key") is None
    await cache.close()


async def test_the_server_forgets_by_itself_and_keys_say_whose_they_are(tmp_path: Path) -> None:
    """S4-04: the server's own time to live is set too."""
    with valkey.running(tmp_path) as url:
        cache, client = RedisCache(url, b"s", connect_timeout_s=9, read_timeout_s=9), Redis.from_url(url)
        await client.set("another's", b"1")
        await cache.set("key", b"value", ttl_s=3600)
        assert 3590 < await client.ttl(REDIS_KEY_PREFIX + "key") <= 3600
        await cache.clear()
        assert await client.keys("*") == [b"another's"]
        await client.aclose()
        await cache.close()


async def test_a_server_that_comes_back_is_used_again(tmp_path: Path) -> None:
    with valkey.running(tmp_path / "a") as url:
        cache = RedisCache(url, b"s", connect_timeout_s=9, read_timeout_s=9)
        await cache.set("key", b"value", ttl_s=60)
        client = Redis.from_url(url)
        await client.client_kill_filter(_type="normal", skipme=True)
        found = [await cache.get("key") for _ in range(2)]
        assert found[-1] == b"value"
        await client.aclose()
        await cache.close()


class Credential:
    """Gives a token when it is told to."""

    def __init__(self, token: str) -> None:
        self.token, self.given, self.asked, self.closed = token, asyncio.Event(), 0, False

    async def get_token(self, scope: str) -> SimpleNamespace:
        self.asked += 1
        await self.given.wait()
        if not self.token:
            raise ClientAuthenticationError("no identity here")
        return SimpleNamespace(token=self.token)

    async def close(self) -> None:
        self.closed = True


def token_of(user: str) -> str:
    return f"h.{urlsafe_b64encode(json.dumps({'oid': user}).encode()).decode().rstrip('=')}.s"


async def test_without_a_password_the_machines_identity_opens_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S4-04: Azure Managed Redis takes a token as the password of an object id. The first calls go without."""
    token = token_of("1234-oid")
    with valkey.running(tmp_path) as url:
        admin = Redis.from_url(url)
        await admin.acl_setuser("1234-oid", enabled=True, passwords=[f"+{token}"], keys=["*"], commands=["+@all"])
        await admin.acl_setuser("default", enabled=False)
        await admin.aclose()
        credential = Credential(token)
        cache = RedisCache(
            url, b"s", connect_timeout_s=9, read_timeout_s=9, identity=EntraCredentialProvider(credential)
        )
        with monkeypatch.context() as hurried:  # this call is not answered, whatever its limit
            hurried.setattr(cache, "_call_timeout_s", 0.5)
            assert await cache.get("key") is None
        credential.given.set()
        await asyncio.gather(*(cache.set("key", b"value", ttl_s=60) for _ in range(3)))
        found = [await cache.get("key") for _ in range(3)]
        assert found[-1] == b"value"
        await cache.close()
        assert credential.closed


async def test_an_identity_that_is_refused_is_a_miss(tmp_path: Path) -> None:
    credential = Credential("")
    credential.given.set()
    with valkey.running(tmp_path) as url:
        cache = RedisCache(
            url, b"s", connect_timeout_s=9, read_timeout_s=9, identity=EntraCredentialProvider(credential)
        )
        assert await cache.get("key") is None
        await cache.close()


@pytest.mark.parametrize(
    ("url", "own"),
    [("rediss://r.example:6380", True), ("rediss://:word@r.example:6380", False), ("redis://127.0.0.1", False)],
)
async def test_only_a_distant_server_without_a_password_is_opened_by_identity(url: str, own: bool) -> None:
    cache = RedisCache(url, b"s")
    assert (cache._identity is not None) == own
    await cache.close()
