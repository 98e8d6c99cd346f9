"""What `--json` prints: records on standard output, and refusals on standard error."""

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from rag_core.core.errors import RagError


def print_json(value: Any) -> None:
    """Print a value as JSON; a record becomes an object with its fields by name."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_make_plain))


def print_refusal(error: RagError, *, as_json: bool) -> None:
    """Print a refusal in one line on standard error: in words, or as the error object of the HTTP API."""
    reply = {"success": False, "error": error.describe()}
    text = json.dumps(reply, ensure_ascii=False, default=str) if as_json else f"rag: {error.message}"
    print(text, file=sys.stderr)


def _make_plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
