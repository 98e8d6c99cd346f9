"""`python -m evals.refused FOLDER`: how many of the questions below a folder the input validation would refuse (C29).

Reads every `*.jsonl` and `*.jsonl.gz` whose name begins with one of NAMES, and of each record `text` or `question`;
with `--corpus` the passages instead, and with `--sql` the hints and gold statements of BIRD.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_core.core.errors import InvalidRequest
from rag_core.guard.input_check import check_input

NAMES = ("queries", "questions", "open_questions")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--corpus", action="store_true", help="the passages instead of the questions")
    parser.add_argument("--sql", action="store_true", help="hints, gold SQL and the SQL agent's question instead")
    chosen = parser.parse_args()
    names = ("corpus",) if chosen.corpus else NAMES
    found = [
        text for record in read_records(chosen.folder, names) for text in select_texts(record, sql=chosen.sql) if text
    ]
    wrong = [(text, shape) for text in found if (shape := find_refusal(text))]
    for text, shape in wrong:
        print(f"{shape}: {text[:200]!r}")
    print(f"{len(wrong)} of {len(found)} refused", file=sys.stderr)
    return 1 if wrong else 0


def read_records(folder: Path, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.rglob("*.jsonl*")):
        if path.name.startswith(names):
            with (
                gzip.open(path, "rt", encoding="utf-8")
                if path.suffix == ".gz"
                else path.open(encoding="utf-8") as lines
            ):
                yield from map(json.loads, lines)


def select_texts(record: dict[str, Any], *, sql: bool) -> Iterator[str]:
    if not sql:
        yield record.get("text") or record.get("question") or ""
        return
    said = record.get("metadata") or {}
    if "gold_sql" in said:
        yield from (said["hint"], said["gold_sql"], f"database column meanings: {', '.join(said['tables'])}")


def find_refusal(text: str) -> str:
    """Return the shape for which a text is refused, or ""."""
    try:
        check_input(text)
    except InvalidRequest as refusal:
        return str(refusal.details["shape"])
    return ""


if __name__ == "__main__":
    sys.exit(main())
