"""Encoding of an upload as bytes, which a job keeps until its document is in the index."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from rag_core.core.model import Block
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload


def encoded(upload: Upload, chunking: Chunking) -> bytes:
    """Encode an upload as a line of JSON, followed by the bytes of its file."""
    fields = {
        "upload": asdict(replace(upload, data=None)),
        "file": upload.data is not None,
        "chunking": asdict(chunking),
    }
    return json.dumps(fields).encode() + b"\n" + (upload.data or b"")


def decoded(work: bytes) -> tuple[Upload, Chunking]:
    """Decode what `encode_upload` wrote."""
    line, _, data = work.partition(b"\n")
    fields = json.loads(line)
    values = fields["upload"]
    blocks = None if values["blocks"] is None else tuple(map(_block, values["blocks"]))
    upload = Upload(**{**values, "blocks": blocks, "data": data if fields["file"] else None})
    return upload, Chunking(**fields["chunking"])


def _block(fields: Mapping[str, Any]) -> Block:
    """Return the block that was encoded as JSON, which has lists in place of tuples."""
    boxes = tuple(map(tuple, fields["boxes"]))
    bbox = fields["bbox"] and tuple(fields["bbox"])
    return Block(**{**fields, "headings": tuple(fields["headings"]), "boxes": boxes, "bbox": bbox})
