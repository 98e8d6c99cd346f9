"""Where a peer runs: an environment of its own in .cache/bench, made by its pinned requirements when they change."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


def prepare_interpreter(name: str, requirements: Path = HERE) -> Path:
    """Return the interpreter of a peer's environment, which is made anew when its requirements changed."""
    folder, wanted = ROOT / ".cache" / "bench" / name, requirements / f"{name}.txt"
    if not is_made(name, requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = ["pip", "--disable-pip-version-check", "install", "-q", "--no-deps", "-r", str(wanted)]
        subprocess.run([str(locate_interpreter(name)), "-m", *install], check=True)
        (folder / "made").write_text(wanted.read_text())
    return locate_interpreter(name)


def is_made(name: str, requirements: Path = HERE) -> bool:
    stamp = ROOT / ".cache" / "bench" / name / "made"
    return stamp.is_file() and stamp.read_text() == (requirements / f"{name}.txt").read_text()


def locate_interpreter(name: str) -> Path:
    return ROOT / ".cache" / "bench" / name / "bin" / "python"
