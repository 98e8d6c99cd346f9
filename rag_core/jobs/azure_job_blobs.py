"""The blobs of jobs in Azure Storage: the upload and the vectors of a job are too large for its row."""

import hashlib
import json
from array import array
from collections.abc import Mapping
from uuid import uuid4

from rag_core.core.model import Vector
from rag_core.jobs.azure_storage import AzureJobStorage


async def save_job_payload(id: str, payload: bytes, storage: AzureJobStorage) -> None:
    """Store the upload of a job."""
    await storage.upload_blob(_build_payload_blob_name(id), payload)


async def load_job_payload(id: str, storage: AzureJobStorage) -> bytes | None:
    """Return the upload of a job; None once the job has ended."""
    return await storage.download_blob(_build_payload_blob_name(id))


async def save_job_vectors(id: str, space: str, vectors: Mapping[str, Vector], storage: AzureJobStorage) -> None:
    """Store a batch of a job's vectors, given by content hash, beside the earlier batches."""
    content_hashes = json.dumps(list(vectors)).encode()
    packed = array("f", [value for vector in vectors.values() for value in vector]).tobytes()
    await storage.upload_blob(f"{_build_vectors_blob_prefix(id, space)}{uuid4().hex}", content_hashes + b"\n" + packed)


async def load_job_vectors(id: str, space: str, storage: AzureJobStorage) -> dict[str, Vector]:
    """Return the vectors of all batches of a job in an embedding space, by content hash."""
    vectors: dict[str, Vector] = {}
    for name, _ in await storage.list_blobs(_build_vectors_blob_prefix(id, space)):
        vectors |= _decode_vector_batch(await storage.download_blob(name) or b"[]\n")
    return vectors


async def save_job_enrichments(id: str, model: str, enrichments: Mapping[str, str], storage: AzureJobStorage) -> None:
    """Store what a chat model wrote of a job's chunks, given by content hash, beside the earlier batches."""
    name = f"{_build_enrichments_blob_prefix(id, model)}{uuid4().hex}"
    await storage.upload_blob(name, json.dumps(dict(enrichments)).encode())


async def load_job_enrichments(id: str, model: str, storage: AzureJobStorage) -> dict[str, str]:
    """Return what a chat model wrote of a job's chunks, of all batches, by content hash."""
    enrichments: dict[str, str] = {}
    for name, _ in await storage.list_blobs(_build_enrichments_blob_prefix(id, model)):
        enrichments |= json.loads(await storage.download_blob(name) or b"{}")
    return enrichments


async def delete_job_blobs(id: str, storage: AzureJobStorage) -> None:
    """Delete the upload of a job, its vectors and what a chat model wrote for it."""
    for name, _ in await storage.list_blobs(f"{id}/"):
        await storage.delete_blob(name)


def parse_job_id(blob_name: str) -> str:
    """Return the id of the job whose blob has this name."""
    return blob_name.partition("/")[0]


def _build_payload_blob_name(id: str) -> str:
    return f"{id}/work"


def _build_vectors_blob_prefix(id: str, space: str) -> str:
    return f"{id}/{hashlib.sha256(space.encode()).hexdigest()}/"


def _build_enrichments_blob_prefix(id: str, model: str) -> str:
    return f"{id}/written-{hashlib.sha256(model.encode()).hexdigest()}/"


def _decode_vector_batch(data: bytes) -> dict[str, Vector]:
    """Decode the blob of a batch: a line of JSON with the content hashes, then all vectors as float32."""
    header, _, packed = data.partition(b"\n")
    content_hashes, values = json.loads(header), array("f", packed)
    dimensions = len(values) // max(1, len(content_hashes))
    return {
        content_hash: values[n * dimensions : (n + 1) * dimensions].tolist()
        for n, content_hash in enumerate(content_hashes)
    }
