"""Wakes the worker on Azure by a message in a Storage queue, which the queue-triggered function reads."""

import asyncio
from math import ceil
from typing import Any

from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.storage.queue import TextBase64EncodePolicy
from azure.storage.queue.aio import QueueClient

from rag_core.core.errors import Unavailable

QUEUE = "index-jobs"  # function_app.py names it too
WITHIN_S = 3.0  # a request waits no longer for a hint


class QueueBell:
    """The queue of a storage account, by its connection string, or by the address of its queues and our identity."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._client: QueueClient | None = None

    async def ring(self, job_id: str, *, after_s: float = 0.0) -> None:
        try:
            async with asyncio.timeout(WITHIN_S):
                await self._send(job_id, ceil(after_s))  # a second early there would be nothing to do yet
        except (AzureError, TimeoutError, ValueError) as failure:  # ValueError: a connection string that is none
            raise Unavailable(f"the queue: {type(failure).__name__}", code="queue_unavailable") from failure

    async def close(self) -> None:
        if self._client:
            await self._client.close()

    async def _send(self, job_id: str, hidden_s: int) -> None:
        self._client = self._client or _client(self._storage)
        try:
            await self._client.send_message(job_id, visibility_timeout=hidden_s)
        except ResourceNotFoundError:  # the first message ever
            await self._client.create_queue()
            await self._client.send_message(job_id, visibility_timeout=hidden_s)


def _client(storage: str) -> QueueClient:
    kind: dict[str, Any] = {
        "message_encode_policy": TextBase64EncodePolicy(),
        "retry_total": 0,
    }  # the timer is the retry
    if not storage.startswith("https://"):
        return QueueClient.from_connection_string(storage, QUEUE, **kind)
    from azure.identity.aio import DefaultAzureCredential

    return QueueClient(storage, QUEUE, credential=DefaultAzureCredential(), **kind)
