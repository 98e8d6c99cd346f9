"""The cache that several machines share: a server that speaks Redis's protocol, and is done without when it fails."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from rag_core.core.retrying import Breaker
from rag_core.core.telemetry import span
from rag_core.providers.sealing import sealed, steady_clock, unsealed

T = TypeVar("T")

PREFIX = "rag:1:"  # of every key; raised when what is kept changes its shape
VALUE_BYTES = 1024**2
CONNECT_S = 0.01  # on one network (RELIABILITY 3.1)
CONNECT_TLS_S = 0.1  # two round trips more, and a certificate to check
READ_S = 0.05  # a megabyte on one network, with room
SCOPE = "https://redis.azure.com/.default"
SCANNED = 500  # keys a round trip
FAILURES = (RedisError, OSError, AttributeError, LookupError, RecursionError, TypeError, ValueError)  # F5: of garbage


class RedisCache:
    """Whatever goes wrong is a miss. A server that fails five times is left alone for ten seconds.

    Values are sealed with `secret`: whoever can write to the server can lose them, but not forge them.
    """

    name = "redis"

    def __init__(
        self,
        url: str,
        secret: bytes,
        *,
        connect_s: float | None = None,
        read_s: float = READ_S,
        clock: Callable[[], float] | None = None,
        identity: "Identity | None" = None,
    ) -> None:
        own_s = CONNECT_TLS_S if url.startswith("rediss:") else CONNECT_S
        self._within_s = (own_s if connect_s is None else connect_s) + read_s
        self._secret = secret
        self._now = clock or steady_clock()
        self._breaker = Breaker()
        self._identity = identity or (Identity() if _wants_identity(url) else None)
        self._client = redis.asyncio.from_url(
            url,
            credential_provider=self._identity,
            socket_connect_timeout=own_s if connect_s is None else connect_s,
            socket_timeout=read_s,
            retry=Retry(NoBackoff(), 0),  # the breaker is what spares the server
        )

    async def get(self, key: str) -> bytes | None:
        kept = await self._tried(lambda: self._client.get(PREFIX + key))
        return unsealed(key, kept, now=self._now(), secret=self._secret)

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        if len(value) <= VALUE_BYTES:
            kept = sealed(key, value, now=self._now(), ttl_s=ttl_s, secret=self._secret)
            await self._tried(lambda: self._client.set(PREFIX + key, kept, px=max(1, round(ttl_s * 1000))))

    async def clear(self) -> None:
        """By pieces, each within the time of one call."""
        cursor: int | None = 0
        while cursor is not None:
            cursor = await self._tried(partial(self._forget, cursor)) or None

    async def close(self) -> None:
        await self._client.aclose()
        if self._identity:
            await self._identity.close()

    async def _forget(self, cursor: int) -> int:
        after, keys = await self._client.scan(cursor, match=f"{PREFIX}*", count=SCANNED)
        if keys:
            await self._client.unlink(*keys)
        return int(after)

    async def _tried(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What the work gives, or None when the server is of no use now."""
        now = asyncio.get_running_loop().time
        if not self._breaker.admits(now()):
            return None
        try:
            async with asyncio.timeout(self._within_s):
                answer = await work()
        except ResponseError as refused:  # it answered, of this key
            _bypassed(refused)
        except FAILURES as failure:  # TimeoutError is an OSError
            self._breaker.failed(now())
            _bypassed(failure)
        else:
            self._breaker.succeeded()
            return answer
        return None


class Identity(CredentialProvider):
    """This machine's identity, as user name (its object id) and password (a token). `credential` is for tests.

    A token may take longer than a call waits; it is fetched all the same, for the calls after.
    """

    def __init__(self, credential: Any = None) -> None:
        self._credential = credential
        self._fetching: asyncio.Task[str] | None = None

    def get_credentials(self) -> tuple[str, str]:
        raise NotImplementedError("the client is asynchronous")

    async def get_credentials_async(self) -> tuple[str, str]:
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._token())
        token = await asyncio.shield(self._fetching)
        claims = token.split(".")[1]
        return str(json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["oid"]), token

    async def close(self) -> None:
        if self._fetching:
            self._fetching.cancel()
        if self._credential:
            await self._credential.close()

    async def _token(self) -> str:
        from azure.core.exceptions import AzureError
        from azure.identity.aio import DefaultAzureCredential  # half a second to import

        self._credential = self._credential or DefaultAzureCredential()
        try:
            return str((await self._credential.get_token(SCOPE)).token)  # which keeps it until it expires
        except AzureError as refused:
            raise AuthenticationError(type(refused).__name__) from refused


def _wants_identity(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "rediss" and not parts.password


def _bypassed(why: BaseException) -> None:
    """Noted in the trace alone: an answer that was not remembered is no lesser one."""
    with span("cache_bypassed", {"error.type": type(why).__name__}):
        pass
