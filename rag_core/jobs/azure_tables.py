"""Rows and blobs in one storage account: opened when first needed, changed only as they were read, failures told."""

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
TABLE, CONTAINER = "indexjobs", "index-jobs"  # infra/storage.bicep makes them
PARTITION = "jobs"  # one, for what changes together has to share it; it takes some 2,000 changes a second
TRY_S = 20.0  # the largest upload goes to its blob in this
KEYS = ("PartitionKey", "RowKey")
LARGE = ("error", "result", "told")  # what may pass the 64 KiB of one property
PIECE_B = 64 * 1024
CHANGED = ("EntityAlreadyExists", "UpdateConditionNotSatisfied", "ResourceNotFound")

T = TypeVar("T")
Operation: TypeAlias = tuple[Any, ...]


class Changed(Conflict):
    """A row is not as it was read: read it again."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A row as it was read."""

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
    """A table and a container of a storage account, by its connection string, or an address of it and our identity."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._neighbour = Dependency("the table of long work", code="jobs_unavailable", try_s=TRY_S)
        self._by_identity = storage.startswith("https://")
        self._open: tuple[TableClient, ContainerClient] | None = None
        self._made = self._by_identity  # then infra/ made table and container, and our roles are for using them
        self._opening = asyncio.Lock()
        self._closing = AsyncExitStack()

    async def row(self, key: str) -> Entity | None:
        async def get(table: TableClient, _: ContainerClient) -> Entity | None:
            with suppress(ResourceNotFoundError):
                return _entity(await table.get_entity(PARTITION, key))
            return None

        return await self._call(get)

    async def rows(self, start: str) -> list[Entity]:
        """Those whose key starts so, a text that ends with "-"."""
        asked = f"PartitionKey eq '{PARTITION}' and RowKey ge '{start}' and RowKey lt '{start[:-1]}.'"

        async def query(table: TableClient, _: ContainerClient) -> list[Entity]:
            return [_entity(found) async for found in table.query_entities(asked)]

        return await self._call(query)

    async def write(self, *operations: Operation) -> None:
        """All or nothing. Raises Changed when a row is not as it was read, or is there and was to be made."""
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
        """The names that start so, and when each was written."""

        async def names(_: TableClient, blobs: ContainerClient) -> list[tuple[str, datetime]]:
            return [(found.name, found.last_modified) async for found in blobs.list_blobs(name_starts_with=start)]

        return await self._call(names)

    async def remove(self, name: str) -> None:
        async def delete(_: TableClient, blobs: ContainerClient) -> None:
            with suppress(ResourceNotFoundError):
                await blobs.delete_blob(name)

        await self._call(delete)

    async def close(self) -> None:
        self._open = None
        await self._closing.aclose()

    async def _call(self, work: Callable[[TableClient, ContainerClient], Awaitable[T]]) -> T:
        async def attempt(_: float) -> T:
            with _told():
                return await work(*await self._clients())

        return await self._neighbour.call(attempt)

    async def _clients(self) -> tuple[TableClient, ContainerClient]:
        async with self._opening:
            if self._open is None:
                self._open = self._reached()
                for client in self._open:
                    self._closing.push_async_callback(client.close)
            if not self._made:
                for make in (self._open[0].create_table, self._open[1].create_container):
                    with suppress(ResourceExistsError):
                        await make()
                self._made = True
            return self._open

    def _reached(self) -> tuple[TableClient, ContainerClient]:
        how: dict[str, Any] = {"retry_total": 0}  # we retry
        if not self._by_identity:
            return _by_connection_string(self._storage, how)
        from azure.identity.aio import DefaultAzureCredential

        who = DefaultAzureCredential()
        self._closing.push_async_callback(who.close)
        table, blobs = (self._storage.replace(".queue.", f".{kind}.", 1) for kind in ("table", "blob"))
        return TableClient(table, TABLE, credential=who, **how), ContainerClient(blobs, CONTAINER, who, **how)


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
    """The vendor's errors as ours."""
    try:
        yield
    except ClientAuthenticationError as failure:
        raise _refused() from failure
    except HttpResponseError as failure:
        raise _refusal(failure) from failure
    except (AzureError, KeyError, TypeError, ValueError) as failure:  # not reached, or an answer without sense
        raise Transient(type(failure).__name__) from failure


def _refusal(failure: HttpResponseError) -> Exception:
    status, code = failure.status_code or 0, str(getattr(failure, "error_code", ""))
    if isinstance(failure, TableTransactionError) and code in CHANGED:
        return Changed("another changed the table of long work at the same time")
    if status in RETRIED or 200 <= status < 300:
        return Transient(f"HTTP {status}")
    if status in (401, 403):
        return _refused()
    if status == 404:
        return Misconfigured(
            f"{SETTING}: the account lacks the table {TABLE} or the container {CONTAINER}", field=SETTING
        )
    return RagError(f"the table of long work refused a request of ours with {status}", code="jobs_refused")


def _refused() -> Misconfigured:
    roles = "Storage Table Data Contributor and Storage Blob Data Contributor"
    return Misconfigured(f"{SETTING}: the account lets nobody in like us: give {roles}", field=SETTING)


def _unchanged(entity: Entity) -> dict[str, Any]:
    return {"etag": entity.etag, "match_condition": MatchConditions.IfNotModified}


def _properties(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is None is left out; what may be large is compressed, and cut into as many properties as it takes."""
    small = {name: value for name, value in values.items() if value is not None and name not in LARGE}
    large = {name: values[name] for name in LARGE if values.get(name) is not None}
    packed = zlib.compress(json.dumps(large).encode()) if large else b""
    pieces = {f"large{n}": packed[n * PIECE_B : (n + 1) * PIECE_B] for n in range(-(-len(packed) // PIECE_B))}
    return {"PartitionKey": PARTITION, "RowKey": key, **small, **pieces}


def _entity(found: TableEntity) -> Entity:
    values = {name: value for name, value in found.items() if name not in KEYS and not name.startswith("large")}
    packed = b"".join(found[f"large{n}"] for n in range(len(found) - len(KEYS) - len(values)))
    large = json.loads(zlib.decompress(packed)) if packed else {}
    return Entity(found["RowKey"], {**values, **large}, found.metadata["etag"] or "")
