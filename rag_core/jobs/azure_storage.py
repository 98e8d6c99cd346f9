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
from rag_core.core.retrying import RETRIED_STATUS_CODES, Dependency, TransientFailure

STORAGE_SETTING = "AzureWebJobsStorage"
JOB_TABLE_NAME, JOB_CONTAINER_NAME = "indexjobs", "index-jobs"  # created by infra/storage.bicep
JOB_PARTITION_KEY = "jobs"  # one, because a transaction cannot span partitions; it takes about 2,000 changes a second
ATTEMPT_TIMEOUT_S = 20.0  # enough to write the largest upload to its blob
KEY_PROPERTIES = ("PartitionKey", "RowKey")
COMPRESSED_PROPERTIES = ("error", "result", "told")  # values that may exceed the 64 KiB of one property
MAX_PROPERTY_BYTES = 64 * 1024
CONCURRENT_CHANGE_CODES = ("EntityAlreadyExists", "UpdateConditionNotSatisfied", "ResourceNotFound")

T = TypeVar("T")
TableOperation: TypeAlias = tuple[Any, ...]


class RowChanged(Conflict):
    """A row was changed after it was read; the caller reads it again."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of the table with the ETag under which it was read."""

    key: str
    values: dict[str, Any]
    etag: str


def build_create_operation(key: str, values: Mapping[str, Any]) -> TableOperation:
    return ("create", _encode_properties(key, values))


def build_replace_operation(stored: StoredRow, values: Mapping[str, Any]) -> TableOperation:
    return (
        "update",
        _encode_properties(stored.key, values),
        {"mode": UpdateMode.REPLACE, **_build_etag_condition(stored)},
    )


def build_delete_operation(stored: StoredRow) -> TableOperation:
    return ("delete", _encode_properties(stored.key, {}), _build_etag_condition(stored))


class AzureJobStorage:
    """The table and the blob container of a storage account.

    `storage` is its connection string, or the address of its queues for access by our identity.
    """

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._dependency = Dependency("the job table", code="jobs_unavailable", try_s=ATTEMPT_TIMEOUT_S)
        self._uses_identity = storage.startswith("https://")
        self._clients_pair: tuple[TableClient, ContainerClient] | None = None
        self._is_created = self._uses_identity  # infra/ then created both, and our roles only allow using them
        self._open_lock = asyncio.Lock()
        self._exit_stack = AsyncExitStack()

    async def load_row(self, key: str) -> StoredRow | None:
        async def get(table: TableClient, _: ContainerClient) -> StoredRow | None:
            with suppress(ResourceNotFoundError):
                return _stored_row_from_entity(await table.get_entity(JOB_PARTITION_KEY, key))
            return None

        return await self._call_storage(get)

    async def load_rows(self, key_prefix: str) -> list[StoredRow]:
        """Return the rows whose key has this prefix, which ends with "-"."""
        condition = (
            f"PartitionKey eq '{JOB_PARTITION_KEY}' and RowKey ge '{key_prefix}' and RowKey lt '{key_prefix[:-1]}.'"
        )

        async def query(table: TableClient, _: ContainerClient) -> list[StoredRow]:
            return [_stored_row_from_entity(entity) async for entity in table.query_entities(condition)]

        return await self._call_storage(query)

    async def write_rows(self, *operations: TableOperation) -> None:
        """Execute the operations in one transaction, all or none.

        Raises:
            RowChanged: a row was changed after it was read, or one that was to be created exists.
        """
        await self._call_storage(lambda table, _: table.submit_transaction(operations))

    async def upload_blob(self, name: str, data: bytes) -> None:
        await self._call_storage(lambda _, blobs: blobs.upload_blob(name, data, overwrite=True))

    async def download_blob(self, name: str) -> bytes | None:
        async def download(_: TableClient, blobs: ContainerClient) -> bytes | None:
            with suppress(ResourceNotFoundError):
                return await (await blobs.download_blob(name)).readall()
            return None

        return await self._call_storage(download)

    async def list_blobs(self, name_prefix: str = "") -> list[tuple[str, datetime]]:
        """Return the names of the blobs with this prefix, and when each was last written."""

        async def names(_: TableClient, blobs: ContainerClient) -> list[tuple[str, datetime]]:
            return [(blob.name, blob.last_modified) async for blob in blobs.list_blobs(name_starts_with=name_prefix)]

        return await self._call_storage(names)

    async def delete_blob(self, name: str) -> None:
        async def delete(_: TableClient, blobs: ContainerClient) -> None:
            with suppress(ResourceNotFoundError):
                await blobs.delete_blob(name)

        await self._call_storage(delete)

    async def close(self) -> None:
        self._clients_pair = None
        await self._exit_stack.aclose()

    async def _call_storage(self, operation: Callable[[TableClient, ContainerClient], Awaitable[T]]) -> T:
        async def attempt(_: float) -> T:
            with _translate_azure_errors():
                return await operation(*await self._open_clients())

        return await self._dependency.call(attempt)

    async def _open_clients(self) -> tuple[TableClient, ContainerClient]:
        async with self._open_lock:
            if self._clients_pair is None:
                self._clients_pair = self._create_clients()
                for client in self._clients_pair:
                    self._exit_stack.push_async_callback(client.close)
            if not self._is_created:
                for create in (self._clients_pair[0].create_table, self._clients_pair[1].create_container):
                    with suppress(ResourceExistsError):
                        await create()
                self._is_created = True
            return self._clients_pair

    def _create_clients(self) -> tuple[TableClient, ContainerClient]:
        options: dict[str, Any] = {"retry_total": 0}  # `Dependency` retries
        if not self._uses_identity:
            return _create_clients_from_connection_string(self._storage, options)
        from azure.identity.aio import DefaultAzureCredential

        credential = DefaultAzureCredential()
        self._exit_stack.push_async_callback(credential.close)
        table_url, blob_url = (self._storage.replace(".queue.", f".{kind}.", 1) for kind in ("table", "blob"))
        table = TableClient(table_url, JOB_TABLE_NAME, credential=credential, **options)
        return table, ContainerClient(blob_url, JOB_CONTAINER_NAME, credential, **options)


def _create_clients_from_connection_string(
    storage: str, client_options: Mapping[str, Any]
) -> tuple[TableClient, ContainerClient]:
    try:
        return (
            TableClient.from_connection_string(storage, JOB_TABLE_NAME, **client_options),
            ContainerClient.from_connection_string(storage, JOB_CONTAINER_NAME, **client_options),
        )
    except ValueError:
        raise Misconfigured(
            f"{STORAGE_SETTING} must be a storage account's connection string", field=STORAGE_SETTING
        ) from None


@contextmanager
def _translate_azure_errors() -> Iterator[None]:
    """Raise the vendor's errors as ours."""
    try:
        yield
    except ClientAuthenticationError as error:
        raise _make_access_denied_error() from error
    except HttpResponseError as error:
        raise _translate_http_error(error) from error
    except (AzureError, KeyError, TypeError, ValueError) as error:  # unreachable, or a malformed reply
        raise TransientFailure(type(error).__name__) from error


def _translate_http_error(error: HttpResponseError) -> Exception:
    status, code = error.status_code or 0, str(getattr(error, "error_code", ""))
    if isinstance(error, TableTransactionError) and code in CONCURRENT_CHANGE_CODES:
        return RowChanged("the job table was changed by another process at the same time")
    if status in RETRIED_STATUS_CODES or 200 <= status < 300:
        return TransientFailure(f"HTTP {status}")
    if status in (401, 403):
        return _make_access_denied_error()
    if status == 404:
        return Misconfigured(
            f"{STORAGE_SETTING}: the storage account lacks the table {JOB_TABLE_NAME} "
            f"or the container {JOB_CONTAINER_NAME}",
            field=STORAGE_SETTING,
        )
    return RagError(f"the job table refused a request with HTTP {status}", code="jobs_refused")


def _make_access_denied_error() -> Misconfigured:
    roles = "Storage Table Data Contributor and Storage Blob Data Contributor"
    return Misconfigured(
        f"{STORAGE_SETTING}: the storage account denies access: assign the roles {roles}", field=STORAGE_SETTING
    )


def _build_etag_condition(stored: StoredRow) -> dict[str, Any]:
    return {"etag": stored.etag, "match_condition": MatchConditions.IfNotModified}


def _encode_properties(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a table entity.

    Values that are None are left out; those that may be large are compressed and cut into properties "large0", …
    """
    small = {name: value for name, value in values.items() if value is not None and name not in COMPRESSED_PROPERTIES}
    large = {name: values[name] for name in COMPRESSED_PROPERTIES if values.get(name) is not None}
    packed = zlib.compress(json.dumps(large).encode()) if large else b""
    large_properties = {
        f"large{n}": packed[n * MAX_PROPERTY_BYTES : (n + 1) * MAX_PROPERTY_BYTES]
        for n in range(-(-len(packed) // MAX_PROPERTY_BYTES))
    }
    return {"PartitionKey": JOB_PARTITION_KEY, "RowKey": key, **small, **large_properties}


def _stored_row_from_entity(entity: TableEntity) -> StoredRow:
    values = {
        name: value for name, value in entity.items() if name not in KEY_PROPERTIES and not name.startswith("large")
    }
    packed = b"".join(entity[f"large{n}"] for n in range(len(entity) - len(KEY_PROPERTIES) - len(values)))
    large = json.loads(zlib.decompress(packed)) if packed else {}
    return StoredRow(entity["RowKey"], {**values, **large}, entity.metadata["etag"] or "")
