"""Records as JSON on standard output, for `--json`."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any


def print_json(value: Any) -> None:
    """Print a value as JSON; a record becomes an object with its fields by name."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_make_plain))


def _make_plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
