"""Replies in OpenAI's protocol, right ones and wrong ones."""

import base64
import struct
from typing import Any

from tests.faults.server import Fault, reply

VECTORS = [[1.0, 0.0], [0.0, 1.0]]
USAGE = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}


def embeddings(vectors: list[Any], indices: list[Any] | None = None) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in zip(indices or range(len(vectors)), vectors, strict=True)
    ]
    return {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": USAGE}


def completion(content: object = "imagined", finish: object = "stop", refusal: object = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "model": "gpt-4o-mini", "choices": [choice], "usage": USAGE}


def error(status: int, code: str | None = None, **headers: str) -> Fault:
    return reply(status, {"error": {"message": "no", "type": "x", "param": None, "code": code}}, **headers)


def packed(*numbers: float) -> str:
    """A vector as the service sends it: base64 of little-endian float32."""
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
