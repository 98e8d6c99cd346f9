"""The job notifier on Azure: messages in a Storage queue, which the queue-triggered function reads."""

import asyncio
from math import ceil
from typing import Any

from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.storage.queue import TextBase64EncodePolicy
from azure.storage.queue.aio import QueueClient

from rag_core.core.errors import Unavailable

JOB_QUEUE_NAME = "index-jobs"  # also named in function_app.py
SEND_TIMEOUT_S = 3.0  # a request waits no longer than this for a notification


class AzureQueueNotifier:
    """A `JobNotifier` that sends messages to a queue of a storage account.

    `storage` is the account's connection string, or the address of its queues for access by our identity.
    """

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._client: QueueClient | None = None

    async def notify(self, job_id: str, *, after_s: float = 0.0) -> None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._send_message(
                    job_id, ceil(after_s)
                )  # rounded up: a second too early the job would not be due yet
        except (AzureError, TimeoutError, ValueError) as error:  # ValueError: a malformed connection string
            raise Unavailable(f"the job queue: {type(error).__name__}", code="queue_unavailable") from error

    async def close(self) -> None:
        if self._client:
            await self._client.close()

    async def _send_message(self, job_id: str, visibility_delay_s: int) -> None:
        self._client = self._client or _create_queue_client(self._storage)
        try:
            await self._client.send_message(job_id, visibility_timeout=visibility_delay_s)
        except ResourceNotFoundError:  # first message: the queue does not exist yet
            await self._client.create_queue()
            await self._client.send_message(job_id, visibility_timeout=visibility_delay_s)


def _create_queue_client(storage: str) -> QueueClient:
    options: dict[str, Any] = {
        "message_encode_policy": TextBase64EncodePolicy(),
        "retry_total": 0,  # the timer-triggered worker makes up for a lost message
    }
    if not storage.startswith("https://"):
        return QueueClient.from_connection_string(storage, JOB_QUEUE_NAME, **options)
    from azure.identity.aio import DefaultAzureCredential

    return QueueClient(storage, JOB_QUEUE_NAME, credential=DefaultAzureCredential(), **options)
