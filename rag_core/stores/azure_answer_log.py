"""The answer log in the storage account of the Functions host, which all instances of the app share."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient

from rag_core.core.errors import Unavailable
from rag_core.core.model import Scope
from rag_core.stores.answer_log_key import (
    ANSWER_LOG_LIFETIME_S,
    make_log_exists_error,
    make_log_gone_error,
    make_log_key,
    make_workflow_key,
)

ANSWER_LOG_CONTAINER_NAME = "answer-logs"  # created by infra/storage.bicep
CALL_TIMEOUT_S = 5.0  # nothing is tried again: a text whose reply was lost would be there twice

T = TypeVar("T")


class AzureAnswerLog:
    """The answer log as append blobs, one for each log.

    `storage` is the account's connection string, or the address of its queues for access by our identity.
    """

    def __init__(self, storage: str, *, now: Callable[[], float] = time.time) -> None:
        self._storage, self._now = storage, now
        self._container: ContainerClient | None = None
        self._last_cleanup_s = 0.0
        self._exit_stack = AsyncExitStack()

    async def start(self, id: str, scope: Scope) -> None:
        await self._call(lambda container: _create_blob(container, make_log_key(id, scope)))
        if self._now() > self._last_cleanup_s + ANSWER_LOG_LIFETIME_S:
            self._last_cleanup_s = self._now()
            await self._call(self._delete_expired)

    async def append(self, id: str, text: str, scope: Scope) -> None:
        async def append_block(container: ContainerClient) -> None:
            await container.get_blob_client(make_log_key(id, scope)).append_block(text.encode())

        try:
            await self._call(append_block)
        except ResourceNotFoundError:
            raise make_log_gone_error() from None

    async def read(self, id: str, scope: Scope) -> str | None:
        async def download(container: ContainerClient) -> str | None:
            blob = await container.download_blob(make_log_key(id, scope))
            return None if self._is_expired(blob.properties) else (await blob.readall()).decode()

        with suppress(ResourceNotFoundError):
            return await self._call(download)
        return None

    async def purge_workflow(self, workflow_id: str) -> None:
        async def purge(container: ContainerClient) -> None:
            await _delete_blobs(container, container.list_blobs(name_starts_with=make_workflow_key(workflow_id)))

        with suppress(ResourceNotFoundError):  # no log was ever begun
            await self._call(purge)

    async def close(self) -> None:
        self._container = None
        await self._exit_stack.aclose()

    async def _delete_expired(self, container: ContainerClient) -> None:
        await _delete_blobs(container, (blob async for blob in container.list_blobs() if self._is_expired(blob)))

    def _is_expired(self, properties: Any) -> bool:
        return bool(properties.last_modified.timestamp() <= self._now() - ANSWER_LOG_LIFETIME_S)

    async def _call(self, operation: Callable[[ContainerClient], Awaitable[T]]) -> T:
        """Return the result of an operation. Raises Unavailable, and ResourceNotFoundError for what is not there."""
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                return await operation(self._open_container())
        except ResourceNotFoundError:
            raise
        except (AzureError, TimeoutError, ValueError) as error:  # ValueError: a malformed connection string
            raise Unavailable(f"the answer log: {type(error).__name__}", code="answer_log_unavailable") from error

    def _open_container(self) -> ContainerClient:
        if self._container is None:
            self._container = self._create_client()
            self._exit_stack.push_async_callback(self._container.close)
        return self._container

    def _create_client(self) -> ContainerClient:
        if not self._storage.startswith("https://"):
            return ContainerClient.from_connection_string(self._storage, ANSWER_LOG_CONTAINER_NAME, retry_total=0)
        from azure.identity.aio import DefaultAzureCredential

        credential = DefaultAzureCredential()
        self._exit_stack.push_async_callback(credential.close)
        url = self._storage.replace(".queue.", ".blob.", 1)
        return ContainerClient(url, ANSWER_LOG_CONTAINER_NAME, credential, retry_total=0)


async def _create_blob(container: ContainerClient, name: str) -> None:
    """Create an empty append blob, and its container where infra/ did not. Raises Conflict where the blob exists."""
    blob = container.get_blob_client(name)
    try:
        await blob.create_append_blob(match_condition=MatchConditions.IfMissing)
    except ResourceExistsError:
        raise make_log_exists_error() from None
    except ResourceNotFoundError:
        with suppress(ResourceExistsError):
            await container.create_container()
        await blob.create_append_blob(match_condition=MatchConditions.IfMissing)


async def _delete_blobs(container: ContainerClient, blobs: AsyncIterator[Any]) -> None:
    async for blob in blobs:
        with suppress(ResourceNotFoundError):  # another process was faster
            await container.delete_blob(blob.name)
