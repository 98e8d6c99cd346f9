"""What the Functions host pays to import the app: CPU time of fresh processes, beside `import azure.functions` alone.

python -m evals.bench_cold_start [--runs 9]
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOAL = 1.5
MEASURED = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"


def cpu_s(module: str) -> float:
    """The CPU seconds that importing a module takes in a new process, byte code cached."""
    child = [sys.executable, "-c", MEASURED.format(module)]
    return float(subprocess.run(child, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def medians(modules: tuple[str, ...], runs: int) -> dict[str, float]:
    """Taken in turns, so that a busy machine slows all alike; the first turn fills the caches and is not counted."""
    turns = [[cpu_s(module) for module in modules] for _ in range(runs + 1)]
    return {
        module: statistics.median(column[1:]) for module, column in zip(modules, zip(*turns, strict=True), strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    found = medians(("azure.functions", "function_app"), parser.parse_args().runs)
    for module, seconds in found.items():
        print(f"import {module:16} {seconds * 1000:6.0f} ms CPU")
    print(f"ratio {found['function_app'] / found['azure.functions']:.2f} (goal: at most {GOAL})")


if __name__ == "__main__":
    main()
