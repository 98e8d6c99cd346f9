"""An upload as bytes and back: what a job keeps until its document is in the index."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from rag_core.core.model import Block
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload


def encoded(upload: Upload, chunking: Chunking) -> bytes:
    """A line of JSON, then the file's bytes as they came."""
    told = {
        "upload": asdict(replace(upload, data=None)),
        "file": upload.data is not None,
        "chunking": asdict(chunking),
    }
    return json.dumps(told).encode() + b"\n" + (upload.data or b"")


def decoded(work: bytes) -> tuple[Upload, Chunking]:
    line, _, data = work.partition(b"\n")
    told = json.loads(line)
    fields = told["upload"]
    blocks = None if fields["blocks"] is None else tuple(map(_block, fields["blocks"]))
    upload = Upload(**{**fields, "blocks": blocks, "data": data if told["file"] else None})
    return upload, Chunking(**told["chunking"])


def _block(fields: Mapping[str, Any]) -> Block:
    """JSON has lists where a block has tuples."""
    boxes = tuple(map(tuple, fields["boxes"]))
    bbox = fields["bbox"] and tuple(fields["bbox"])
    return Block(**{**fields, "headings": tuple(fields["headings"]), "boxes": boxes, "bbox": bbox})
