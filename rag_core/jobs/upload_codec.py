"""Encoding of an upload as bytes, which a job keeps until its document is in the index."""

import json
from dataclasses import asdict, replace

from rag_core.core.json_codec import block_from_json, block_to_json
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload


def encode_upload(upload: Upload, chunking: Chunking) -> bytes:
    """Encode an upload as a line of JSON, followed by the bytes of its file."""
    blocks = None if upload.blocks is None else list(map(block_to_json, upload.blocks))
    fields = {
        "upload": {**asdict(replace(upload, data=None, blocks=None)), "blocks": blocks},
        "file": upload.data is not None,
        "chunking": asdict(chunking),
    }
    return json.dumps(fields).encode() + b"\n" + (upload.data or b"")


def decode_upload(payload: bytes) -> tuple[Upload, Chunking]:
    """Decode what `encode_upload` wrote."""
    line, _, data = payload.partition(b"\n")
    fields = json.loads(line)
    values = fields["upload"]
    blocks = None if values["blocks"] is None else tuple(map(block_from_json, values["blocks"]))
    upload = Upload(**{**values, "blocks": blocks, "data": data if fields["file"] else None})
    return upload, Chunking(**fields["chunking"])
