"""What a measuring command found, kept as JSON with when, where and with what it was measured."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("apsw", "numpy", "onnxruntime", "tantivy")  # what the numbers of the offline store and models hang on

Found = Mapping[str, Any]  # JSON


def keep(file: Path | None, command: str, measure: Callable[[], Found]) -> None:
    """Measure, and write what was found to `file`, if there is one; load is of the minute before and of the last."""
    begun, before = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", load()
    found = measure()
    if file:
        told = {"command": command, "date": begun, "machine": machine(), "load": [before, load()]}
        text = json.dumps({**told, "versions": versions(), "found": _rounded(found)}, indent=1)
        file.write_text(f"{text}\n", "utf-8")


def read(name: str, folder: Path | None = None) -> dict[str, Any]:
    """One that is kept, by the name of its file."""
    told: dict[str, Any] = json.loads(((folder or RESULTS) / f"{name}.json").read_text("utf-8"))
    return told


def _rounded(found: Found) -> Found:
    """To four places: a file that differs by less would be a change that says nothing."""
    rounded: Found = json.loads(json.dumps(found), parse_float=lambda written: round(float(written), 4))
    return rounded


def machine() -> str:
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def load() -> float:
    return round(os.getloadavg()[0], 1)


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}}
