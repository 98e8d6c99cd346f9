"""What `--json` prints: records on standard output, and refusals on standard error."""

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TextIO

from rag_core.core.errors import RagError


def print_json(value: Any) -> None:
    """Print a value as JSON; a record becomes an object with its fields by name."""
    print(format_json(value, indent=2))


def format_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON for standard output."""
    return json.dumps(value, ensure_ascii=_lacks_characters(sys.stdout), indent=indent, default=_make_plain)


def _lacks_characters(stream: TextIO) -> bool:
    """Return whether a stream cannot print every character, as in the code page of a Windows console."""
    return not str(stream.encoding).lower().startswith("utf")


def print_refusal(error: RagError, *, as_json: bool) -> None:
    """Print a refusal in one line on standard error: in words, or as the error object of the HTTP API."""
    reply = {"success": False, "error": error.describe()}
    as_text = json.dumps(reply, ensure_ascii=_lacks_characters(sys.stderr), default=str)
    text = as_text if as_json else f"rag: {error.message}"
    print(text, file=sys.stderr)


def _make_plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
