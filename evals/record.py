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

Result = Mapping[str, Any]  # JSON


def record_result(file: Path | None, command: str, measure: Callable[[], Result]) -> None:
    """Measure, and write the result to `file`, if there is one; load is of the minute before and of the last."""
    begun, before = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", read_load()
    found = measure()
    if file:
        told = {"command": command, "date": begun, "machine": describe_machine(), "load": [before, read_load()]}
        text = json.dumps({**told, "versions": list_versions(), "found": _round_numbers(found)}, indent=1)
        file.write_text(f"{text}\n", "utf-8")


def read_result(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Read a result that is kept, by the name of its file."""
    told: dict[str, Any] = json.loads(((folder or RESULTS) / f"{name}.json").read_text("utf-8"))
    return told


def _round_numbers(found: Result) -> Result:
    """Round to four places: a file that differs by less would be a change that says nothing."""
    rounded: Result = json.loads(json.dumps(found), parse_float=lambda written: round(float(written), 4))
    return rounded


def describe_machine() -> str:
    """Return the model of the processor where Linux tells it, and the number of its threads."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text("utf-8").splitlines() if told.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} threads"


def read_load() -> float:
    return round(os.getloadavg()[0], 1)


def list_versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}}
