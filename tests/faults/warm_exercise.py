"""What every exercise of a folder loads and compiles, done once: processes that are forked after its import have it."""

import asyncio
import tempfile
from pathlib import Path

from tests.faults.damage_exercise import build, exercise

with tempfile.TemporaryDirectory() as _root:
    asyncio.run(build(Path(_root) / "data", Path(_root) / "older"))
    asyncio.run(exercise(Path(_root) / "data"))
