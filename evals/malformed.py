"""Hostile and broken documents through the sandbox: each must end in text or in a typed refusal, the server unharmed.

    python -m evals.malformed [FOLDER] [--mutants 500] [--seed 20261122] [--timeout 5] [--report FILE]

FOLDER (default tests/data/malformed) has a manifest.jsonl that says of each file what must be in its text. After it
come the zoo of tests/faults/zoo.py and seeded mutations of the examples. Prints a line of JSON and exits with 1 on a
miss; `--report` gets a line a document.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_core.core.errors import RagError, UnreadableDocument, UnsupportedDocument
from rag_core.ingestion.extract.reading_time import MAX_WALL_GROWTH
from rag_core.ingestion.sandbox import extract_in_sandbox
from tests.faults import zoo
from tests.faults.traps import SECRET, Trap

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "data" / "malformed"
EXAMPLES = ROOT / "examples"
JOBS = 2  # at once
GRACE_S = 5.0  # to start a child, end it and take its reply, on a busy machine: beyond is a hang
GROWTH_MB = 50  # of the server, RELIABILITY G4
TYPED = (UnreadableDocument, UnsupportedDocument)


@dataclass(frozen=True, slots=True)
class Case:
    """A document and what is right for it: `outcomes` as in the zoo, the other two are for its text."""

    name: str
    data: bytes
    outcomes: frozenset[str] = frozenset()
    must_contain: str = ""
    must_not_contain: str = SECRET


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a case: "text" or a code; `wrong` says what is not right about it, "" when nothing is."""

    name: str
    ended: str
    seconds: float
    wrong: str


def read_cases(folder: Path) -> Iterator[Case]:
    """Yield the files of a folder, as its manifest describes them."""
    for line in (folder / "manifest.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        path = folder / entry["file"]
        if path.exists():
            yield Case(path.name, path.read_bytes(), _parse_outcomes(entry), *_parse_texts(entry))


def _parse_outcomes(entry: dict[str, Any]) -> frozenset[str]:
    """Return the manifest's words as outcomes: what is to be rejected gives no text, what holds one gives it."""
    said = entry.get("expect", "")
    if entry.get("must_contain"):
        return frozenset({"text"})
    if said == "reject" or said.startswith("no text"):
        return frozenset({"document_empty", "document_damaged", "extension_mismatch", "no_text_layer"})
    return frozenset()


def _parse_texts(entry: dict[str, Any]) -> tuple[str, str]:
    return entry.get("must_contain", ""), entry.get("must_not_contain", SECRET)


def build_trap_cases(chosen: Iterable[Trap]) -> Iterator[Case]:
    return (Case(trap.name, trap.make(), trap.outcomes) for trap in chosen)


def build_mutant_cases(count: int, seed: int) -> Iterator[Case]:
    originals = [
        (path.name, path.read_bytes()) for path in sorted(EXAMPLES.iterdir()) if path.suffix in (".pdf", ".docx")
    ]
    return build_trap_cases(zoo.mutants(originals, count, seed))


def warm_up(chosen: Iterable[Case]) -> None:
    """Load what a server has loaded, and make what this harness makes, before memory is looked at."""
    asyncio.run(run_cases((Case(path.name, path.read_bytes()) for path in list_examples(EXAMPLES)), timeout_s=60))
    deque(chosen, maxlen=0)


def list_examples(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".pdf", ".docx", ".csv", ".md", ".txt"))


async def try_case(case: Case, timeout_s: float) -> Outcome:
    began = time.perf_counter()
    try:
        extraction = await extract_in_sandbox(case.data, case.name, timeout_s=timeout_s)
        text = " ".join(" ".join(block.text for block in extraction.blocks).split())
        ended, wrong = "text", _check_text(text, case)
    except RagError as refused:
        ended, wrong = refused.code, _check_refusal(refused)
    except Exception as untyped:  # this is what is looked for
        ended, wrong = "untyped", repr(untyped)[:200]
    seconds = time.perf_counter() - began
    if not wrong and case.outcomes and ended not in case.outcomes:
        wrong = f"should be {' or '.join(sorted(case.outcomes))}"
    if not wrong and seconds > timeout_s * MAX_WALL_GROWTH + GRACE_S:
        wrong = "hung"
    return Outcome(case.name[:60], ended, round(seconds, 3), wrong)


def _check_text(text: str, case: Case) -> str:
    if case.must_not_contain in text:
        return "a text is in it that must not be"
    return "" if case.must_contain in text else "the text that must be in it is not"


def _check_refusal(refused: RagError) -> str:
    if not isinstance(refused, TYPED):
        return f"a {type(refused).__name__}, not a refusal of the document"
    ended_by = str(refused.details.get("parser_ended_by", ""))
    return f"the parser ended by {ended_by}" if ended_by.startswith(("exit", "its reply")) else ""


async def run_cases(cases: Iterable[Case], *, timeout_s: float, jobs: int = JOBS) -> list[Outcome]:
    """Run all cases, `jobs` at once, in the order given; a case is made when its turn comes."""
    waiting, done = iter(cases), []

    async def run_next_cases() -> None:
        for case in waiting:
            done.append(await try_case(case, timeout_s))

    await asyncio.gather(*(run_next_cases() for _ in range(jobs)))
    return done


def summarize_outcomes(outcomes: Sequence[Outcome], growth_mb: float, left_behind: Sequence[str]) -> dict[str, Any]:
    slowest = max(outcomes, key=lambda outcome: outcome.seconds)
    return {
        "run": len(outcomes),
        "outcomes": dict(Counter(outcome.ended for outcome in outcomes).most_common()),
        "wrong": [asdict(outcome) for outcome in outcomes if outcome.wrong],
        "hung": sum(outcome.wrong == "hung" for outcome in outcomes),
        "worst_seconds": slowest.seconds,
        "slowest": slowest.name,
        "worst_child_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "server_growth_mb": round(growth_mb, 1),
        "left_behind": list(left_behind),
    }


def measure_resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1024**2


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--timeout", type=float, default=5.0)
    parser.add_argument("--light", action="store_true", help="without the traps that take seconds")
    parser.add_argument("--report", type=Path)
    return parser.parse_args()


def main() -> int:
    asked = _parse_arguments()
    chosen = [trap for trap in zoo.ZOO if not (asked.light and trap.heavy)]
    groups = (read_cases(asked.folder), build_trap_cases(chosen), build_mutant_cases(asked.mutants, asked.seed))
    cases = (case for group in groups for case in group)
    warm_up(build_trap_cases(trap for trap in chosen if not trap.heavy))
    held = measure_resident_mb()
    with tempfile.TemporaryDirectory() as tempfile.tempdir:
        outcomes = asyncio.run(run_cases(cases, timeout_s=asked.timeout))
        left_behind = os.listdir(tempfile.tempdir)
    result = summarize_outcomes(outcomes, measure_resident_mb() - held, left_behind)
    print(json.dumps(result | {"seed": asked.seed}))
    if asked.report:
        asked.report.write_text("".join(json.dumps(asdict(outcome)) + "\n" for outcome in outcomes), "utf-8")
    return int(bool(result["wrong"] or left_behind) or result["server_growth_mb"] > GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())
