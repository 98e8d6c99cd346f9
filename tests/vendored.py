"""Puts the few libraries of the pages into web/vendor, from the npm registry by its lock: what `make vendor` runs."""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parents[1] / "web" / "vendor"
FILES = {  # here -> in its package
    "preact.js": "preact/dist/preact.mjs",
    "hooks.js": "preact/hooks/dist/hooks.mjs",
    "htm.js": "htm/dist/htm.mjs",
    "d3-force.js": "d3-force/dist/d3-force.min.mjs",
    "d3-quadtree.js": "d3-quadtree/dist/d3-quadtree.min.mjs",
    "d3-dispatch.js": "d3-dispatch/dist/d3-dispatch.min.mjs",
    "d3-timer.js": "d3-timer/dist/d3-timer.min.mjs",
    "markdown-it.js": "markdown-it/dist/browser/markdown-it.esm.min.mjs",
    "preact.LICENSE.txt": "preact/LICENSE",
    "htm.LICENSE.txt": "htm/LICENSE",
    "d3-force.LICENSE.txt": "d3-force/LICENSE",
    "d3-quadtree.LICENSE.txt": "d3-quadtree/LICENSE",
    "d3-dispatch.LICENSE.txt": "d3-dispatch/LICENSE",
    "d3-timer.LICENSE.txt": "d3-timer/LICENSE",
    "markdown-it.LICENSE.txt": "markdown-it/LICENSE",
}
IMPORTED = r'from"([a-z0-9-]+)"'  # a browser knows no bare names without an import map: inline script


def vendor() -> None:
    """npm checks each package against the integrity in the lock, and runs nothing of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(VENDOR / name, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
        for here, there in FILES.items():
            text = (Path(folder) / "node_modules" / there).read_text("utf-8")
            (VENDOR / here).write_text(re.sub(IMPORTED, r'from"./\1.js"', text), "utf-8")
    (VENDOR / "files.json").write_text(json.dumps(inventory(), indent=2) + "\n", "utf-8")


def inventory() -> dict[str, Any]:
    """Of each file: the package that it is of, that package's integrity by the lock, and its own hash."""
    packages = json.loads((VENDOR / "package-lock.json").read_text("utf-8"))["packages"]
    return {here: _origin(here, there, packages) for here, there in FILES.items()}


def _origin(here: str, there: str, packages: dict[str, Any]) -> dict[str, str]:
    name = there.partition("/")[0]
    locked = packages[f"node_modules/{name}"]
    hashed = hashlib.sha256((VENDOR / here).read_bytes()).hexdigest()
    return {"package": f"{name}@{locked['version']}", "integrity": locked["integrity"], "sha256": hashed}


if __name__ == "__main__":
    vendor()
