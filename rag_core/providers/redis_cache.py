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

from rag_core.core.retrying import CircuitBreaker
from rag_core.core.telemetry import trace_span
from rag_core.providers.cache_sealing import MAX_VALUE_BYTES, make_steady_clock, seal_value, unseal_value

T = TypeVar("T")

REDIS_KEY_PREFIX = "rag:1:"  # of every key; the number is raised when the format of the values changes
REDIS_CONNECT_TIMEOUT_S = 0.01  # within one network
REDIS_TLS_CONNECT_TIMEOUT_S = 0.1  # TLS adds two round trips and a certificate check
REDIS_READ_TIMEOUT_S = 0.05  # enough for a megabyte within one network
REDIS_TOKEN_SCOPE = "https://redis.azure.com/.default"  # noqa: S105 - a scope of Entra ID
SCAN_KEYS_PER_CALL = 500  # keys per round trip
# a malformed reply raises one of the last five
REDIS_ERRORS = (RedisError, OSError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


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
        connect_timeout_s: float | None = None,
        read_timeout_s: float = REDIS_READ_TIMEOUT_S,
        clock: Callable[[], float] | None = None,
        identity: "EntraCredentialProvider | None" = None,
    ) -> None:
        default_connect_s = REDIS_TLS_CONNECT_TIMEOUT_S if url.startswith("rediss:") else REDIS_CONNECT_TIMEOUT_S
        self._call_timeout_s = (default_connect_s if connect_timeout_s is None else connect_timeout_s) + read_timeout_s
        self._secret = secret
        self._now = clock or make_steady_clock()
        self._breaker = CircuitBreaker()
        self._identity = identity or (EntraCredentialProvider() if _needs_entra_identity(url) else None)
        self._client = redis.asyncio.from_url(
            url,
            credential_provider=self._identity,
            socket_connect_timeout=default_connect_s if connect_timeout_s is None else connect_timeout_s,
            socket_timeout=read_timeout_s,
            retry=Retry(NoBackoff(), 0),  # the circuit breaker limits the calls to a failing server
        )

    async def get(self, key: str) -> bytes | None:
        sealed_value = await self._call_or_miss(lambda: self._client.get(REDIS_KEY_PREFIX + key))
        return unseal_value(key, sealed_value, now=self._now(), secret=self._secret)

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        if len(value) <= MAX_VALUE_BYTES:
            sealed_value = seal_value(key, value, now=self._now(), ttl_s=ttl_s, secret=self._secret)
            await self._call_or_miss(
                lambda: self._client.set(REDIS_KEY_PREFIX + key, sealed_value, px=max(1, round(ttl_s * 1000)))
            )

    async def clear(self) -> None:
        """Delete every key, in batches that each have the time limit of one call."""
        cursor: int | None = 0
        while cursor is not None:
            cursor = await self._call_or_miss(partial(self._delete_scanned_keys, cursor)) or None

    async def close(self) -> None:
        await self._client.aclose()
        if self._identity:
            await self._identity.close()

    async def _delete_scanned_keys(self, cursor: int) -> int:
        next_cursor, keys = await self._client.scan(cursor, match=f"{REDIS_KEY_PREFIX}*", count=SCAN_KEYS_PER_CALL)
        if keys:
            await self._client.unlink(*keys)
        return int(next_cursor)

    async def _call_or_miss(self, operation: Callable[[], Awaitable[T]]) -> T | None:
        """Run an operation on the server; return None, a miss, when it fails or the breaker is open."""
        now = asyncio.get_running_loop().time
        if not self._breaker.allow_call(now()):
            return None
        try:
            async with asyncio.timeout(self._call_timeout_s):
                value = await operation()
        except ResponseError as error:  # an answer about this key: the server works
            _trace_cache_bypass(error)
        except REDIS_ERRORS as error:  # TimeoutError is an OSError
            self._breaker.record_failure(now())
            _trace_cache_bypass(error)
        else:
            self._breaker.record_success()
            return value
        return None


class EntraCredentialProvider(CredentialProvider):
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
            self._fetching = asyncio.create_task(self._fetch_token())
        token = await asyncio.shield(self._fetching)
        claims = token.split(".")[1]
        return str(json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["oid"]), token

    async def close(self) -> None:
        if self._fetching:
            self._fetching.cancel()
        if self._credential:
            await self._credential.close()

    async def _fetch_token(self) -> str:
        from azure.core.exceptions import AzureError
        from azure.identity.aio import DefaultAzureCredential  # takes half a second to import

        self._credential = self._credential or DefaultAzureCredential()
        try:
            return str((await self._credential.get_token(REDIS_TOKEN_SCOPE)).token)  # cached there until it expires
        except AzureError as error:
            raise AuthenticationError(type(error).__name__) from error


def _needs_entra_identity(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "rediss" and not parts.password


def _trace_cache_bypass(error: BaseException) -> None:
    """Record the bypass in the trace only: a cache miss is no degradation of the answer."""
    with trace_span("cache_bypassed", {"error.type": type(error).__name__}):
        pass
