"""A cache shared by several machines, on a server that speaks Redis's protocol; a failure counts as a miss."""

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

PREFIX = "rag:1:"  # of every key; the number is raised when the format of the values changes
VALUE_BYTES = 1024**2
CONNECT_S = 0.01  # within one network
CONNECT_TLS_S = 0.1  # TLS adds two round trips and a certificate check
READ_S = 0.05  # enough for a megabyte within one network
SCOPE = "https://redis.azure.com/.default"
SCANNED = 500  # keys per round trip
# a malformed reply raises one of the last five
FAILURES = (RedisError, OSError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class RedisCache:
    """A Redis cache in which every error is a miss; after five failures the server is not called for ten seconds.

    Values are sealed with `secret`: others who can write to the server can delete values, but not forge them.
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
        default_connect_s = CONNECT_TLS_S if url.startswith("rediss:") else CONNECT_S
        self._within_s = (default_connect_s if connect_s is None else connect_s) + read_s
        self._secret = secret
        self._now = clock or steady_clock()
        self._breaker = Breaker()
        self._identity = identity or (Identity() if _wants_identity(url) else None)
        self._client = redis.asyncio.from_url(
            url,
            credential_provider=self._identity,
            socket_connect_timeout=default_connect_s if connect_s is None else connect_s,
            socket_timeout=read_s,
            retry=Retry(NoBackoff(), 0),  # the circuit breaker limits the calls to a failing server
        )

    async def get(self, key: str) -> bytes | None:
        sealed_value = await self._tried(lambda: self._client.get(PREFIX + key))
        return unsealed(key, sealed_value, now=self._now(), secret=self._secret)

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        if len(value) <= VALUE_BYTES:
            sealed_value = sealed(key, value, now=self._now(), ttl_s=ttl_s, secret=self._secret)
            await self._tried(lambda: self._client.set(PREFIX + key, sealed_value, px=max(1, round(ttl_s * 1000))))

    async def clear(self) -> None:
        """Delete every key, in batches that each have the time limit of one call."""
        cursor: int | None = 0
        while cursor is not None:
            cursor = await self._tried(partial(self._forget, cursor)) or None

    async def close(self) -> None:
        await self._client.aclose()
        if self._identity:
            await self._identity.close()

    async def _forget(self, cursor: int) -> int:
        next_cursor, keys = await self._client.scan(cursor, match=f"{PREFIX}*", count=SCANNED)
        if keys:
            await self._client.unlink(*keys)
        return int(next_cursor)

    async def _tried(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Run an operation on the server; return None, a miss, when it fails or the breaker is open."""
        now = asyncio.get_running_loop().time
        if not self._breaker.admits(now()):
            return None
        try:
            async with asyncio.timeout(self._within_s):
                value = await work()
        except ResponseError as error:  # an answer about this key: the server works
            _bypassed(error)
        except FAILURES as error:  # TimeoutError is an OSError
            self._breaker.failed(now())
            _bypassed(error)
        else:
            self._breaker.succeeded()
            return value
        return None


class Identity(CredentialProvider):
    """Redis credentials of this machine's Microsoft Entra identity: its object id as user name, a token as password.

    A token may take longer than a call waits; it is then fetched for later calls. `credential` is for tests.
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
        from azure.identity.aio import DefaultAzureCredential  # takes half a second to import

        self._credential = self._credential or DefaultAzureCredential()
        try:
            return str((await self._credential.get_token(SCOPE)).token)  # cached there until it expires
        except AzureError as error:
            raise AuthenticationError(type(error).__name__) from error


def _wants_identity(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "rediss" and not parts.password


def _bypassed(why: BaseException) -> None:
    """Record the bypass in the trace only: a cache miss is no degradation of the answer."""
    with span("cache_bypassed", {"error.type": type(why).__name__}):
        pass
