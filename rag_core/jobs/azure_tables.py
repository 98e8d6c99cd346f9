"""Rows and blobs of the job table in one storage account, with optimistic concurrency by ETag.

The clients are opened on first use, and the vendor's errors are translated into ours.
"""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.data.tables import TableEntity, TableTransactionError, UpdateMode
from azure.data.tables.aio import TableClient
from azure.storage.blob.aio import ContainerClient

from rag_core.core.errors import Conflict, Misconfigured, RagError
from rag_core.core.retrying import RETRIED, Dependency, Transient

SETTING = "AzureWebJobsStorage"
TABLE, CONTAINER = "indexjobs", "index-jobs"  # created by infra/storage.bicep
PARTITION = "jobs"  # one, because a transaction cannot span partitions; it takes about 2,000 changes a second
TRY_S = 20.0  # enough to write the largest upload to its blob
KEYS = ("PartitionKey", "RowKey")
LARGE = ("error", "result", "told")  # values that may exceed the 64 KiB of one property
PIECE_B = 64 * 1024
CHANGED = ("EntityAlreadyExists", "UpdateConditionNotSatisfied", "ResourceNotFound")

T = TypeVar("T")
Operation: TypeAlias = tuple[Any, ...]


class Changed(Conflict):
    """A row was changed after it was read; the caller reads it again."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A row of the table with the ETag under which it was read."""

    key: str
    values: dict[str, Any]
    etag: str


def created(key: str, values: Mapping[str, Any]) -> Operation:
    return ("create", _properties(key, values))


def replaced(entity: Entity, values: Mapping[str, Any]) -> Operation:
    return ("update", _properties(entity.key, values), {"mode": UpdateMode.REPLACE, **_unchanged(entity)})


def removed(entity: Entity) -> Operation:
    return ("delete", _properties(entity.key, {}), _unchanged(entity))


class AzureTables:
    """The table and the blob container of a storage account.

    `storage` is its connection string, or the address of its queues for access by our identity.
    """

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._dependency = Dependency("the job table", code="jobs_unavailable", try_s=TRY_S)
        self._uses_identity = storage.startswith("https://")
        self._clients_pair: tuple[TableClient, ContainerClient] | None = None
        self._is_created = self._uses_identity  # infra/ then created both, and our roles only allow using them
        self._open_lock = asyncio.Lock()
        self._exit_stack = AsyncExitStack()

    async def row(self, key: str) -> Entity | None:
        async def get(table: TableClient, _: ContainerClient) -> Entity | None:
            with suppress(ResourceNotFoundError):
                return _entity(await table.get_entity(PARTITION, key))
            return None

        return await self._call(get)

    async def rows(self, start: str) -> list[Entity]:
        """Return the rows whose key has this prefix, which ends with "-"."""
        condition = f"PartitionKey eq '{PARTITION}' and RowKey ge '{start}' and RowKey lt '{start[:-1]}.'"

        async def query(table: TableClient, _: ContainerClient) -> list[Entity]:
            return [_entity(entity) async for entity in table.query_entities(condition)]

        return await self._call(query)

    async def write(self, *operations: Operation) -> None:
        """Execute the operations in one transaction, all or none.

        Raises:
            RowChanged: a row was changed after it was read, or one that was to be created exists.
        """
        await self._call(lambda table, _: table.submit_transaction(operations))

    async def put(self, name: str, data: bytes) -> None:
        await self._call(lambda _, blobs: blobs.upload_blob(name, data, overwrite=True))

    async def blob(self, name: str) -> bytes | None:
        async def download(_: TableClient, blobs: ContainerClient) -> bytes | None:
            with suppress(ResourceNotFoundError):
                return await (await blobs.download_blob(name)).readall()
            return None

        return await self._call(download)

    async def blobs(self, start: str = "") -> list[tuple[str, datetime]]:
        """Return the names of the blobs with this prefix, and when each was last written."""

        async def names(_: TableClient, blobs: ContainerClient) -> list[tuple[str, datetime]]:
            return [(blob.name, blob.last_modified) async for blob in blobs.list_blobs(name_starts_with=start)]

        return await self._call(names)

    async def remove(self, name: str) -> None:
        async def delete(_: TableClient, blobs: ContainerClient) -> None:
            with suppress(ResourceNotFoundError):
                await blobs.delete_blob(name)

        await self._call(delete)

    async def close(self) -> None:
        self._clients_pair = None
        await self._exit_stack.aclose()

    async def _call(self, work: Callable[[TableClient, ContainerClient], Awaitable[T]]) -> T:
        async def attempt(_: float) -> T:
            with _told():
                return await work(*await self._clients())

        return await self._dependency.call(attempt)

    async def _clients(self) -> tuple[TableClient, ContainerClient]:
        async with self._open_lock:
            if self._clients_pair is None:
                self._clients_pair = self._reached()
                for client in self._clients_pair:
                    self._exit_stack.push_async_callback(client.close)
            if not self._is_created:
                for create in (self._clients_pair[0].create_table, self._clients_pair[1].create_container):
                    with suppress(ResourceExistsError):
                        await create()
                self._is_created = True
            return self._clients_pair

    def _reached(self) -> tuple[TableClient, ContainerClient]:
        options: dict[str, Any] = {"retry_total": 0}  # `Dependency` retries
        if not self._uses_identity:
            return _by_connection_string(self._storage, options)
        from azure.identity.aio import DefaultAzureCredential

        credential = DefaultAzureCredential()
        self._exit_stack.push_async_callback(credential.close)
        table_url, blob_url = (self._storage.replace(".queue.", f".{kind}.", 1) for kind in ("table", "blob"))
        table = TableClient(table_url, TABLE, credential=credential, **options)
        return table, ContainerClient(blob_url, CONTAINER, credential, **options)


def _by_connection_string(storage: str, how: Mapping[str, Any]) -> tuple[TableClient, ContainerClient]:
    try:
        return (
            TableClient.from_connection_string(storage, TABLE, **how),
            ContainerClient.from_connection_string(storage, CONTAINER, **how),
        )
    except ValueError:
        raise Misconfigured(f"{SETTING} must be a storage account's connection string", field=SETTING) from None


@contextmanager
def _told() -> Iterator[None]:
    """Raise the vendor's errors as ours."""
    try:
        yield
    except ClientAuthenticationError as error:
        raise _refused() from error
    except HttpResponseError as error:
        raise _refusal(error) from error
    except (AzureError, KeyError, TypeError, ValueError) as error:  # unreachable, or a malformed reply
        raise Transient(type(error).__name__) from error


def _refusal(failure: HttpResponseError) -> Exception:
    status, code = failure.status_code or 0, str(getattr(failure, "error_code", ""))
    if isinstance(failure, TableTransactionError) and code in CHANGED:
        return Changed("the job table was changed by another process at the same time")
    if status in RETRIED or 200 <= status < 300:
        return Transient(f"HTTP {status}")
    if status in (401, 403):
        return _refused()
    if status == 404:
        return Misconfigured(
            f"{SETTING}: the storage account lacks the table {TABLE} or the container {CONTAINER}", field=SETTING
        )
    return RagError(f"the job table refused a request with HTTP {status}", code="jobs_refused")


def _refused() -> Misconfigured:
    roles = "Storage Table Data Contributor and Storage Blob Data Contributor"
    return Misconfigured(f"{SETTING}: the storage account denies access: assign the roles {roles}", field=SETTING)


def _unchanged(entity: Entity) -> dict[str, Any]:
    return {"etag": entity.etag, "match_condition": MatchConditions.IfNotModified}


def _properties(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a table entity.

    Values that are None are left out; those that may be large are compressed and cut into properties "large0", …
    """
    small = {name: value for name, value in values.items() if value is not None and name not in LARGE}
    large = {name: values[name] for name in LARGE if values.get(name) is not None}
    packed = zlib.compress(json.dumps(large).encode()) if large else b""
    large_properties = {f"large{n}": packed[n * PIECE_B : (n + 1) * PIECE_B] for n in range(-(-len(packed) // PIECE_B))}
    return {"PartitionKey": PARTITION, "RowKey": key, **small, **large_properties}


def _entity(found: TableEntity) -> Entity:
    values = {name: value for name, value in found.items() if name not in KEYS and not name.startswith("large")}
    packed = b"".join(found[f"large{n}"] for n in range(len(found) - len(KEYS) - len(values)))
    large = json.loads(zlib.decompress(packed)) if packed else {}
    return Entity(found["RowKey"], {**values, **large}, found.metadata["etag"] or "")
