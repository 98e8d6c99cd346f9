"""Which test would fail without a requirement: read off the docstrings, written into docs/reference/requirements.md."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "requirements.md"
ID = re.compile(r"\b(S[0-4]-|C)(\d{2,3})(?:\.\.(?:\1)?(\d{2,3}))?")
ROW = re.compile(r"^\| (S\d-\d+) \| (.*) \| (.*) \|$")


def tests() -> Mapping[str, list[str]]:
    """The tests that name each requirement, as `file::name`."""
    named: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for identity in identities(ast.get_docstring(node) or ""):
                    named[identity].append(f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}")
    return named


def identities(text: str) -> Iterator[str]:
    """Every id in a text; "S1-37..43" stands for all of that range."""
    for prefix, first, last in ID.findall(text):
        for number in range(int(first), int(last or first) + 1):
            yield f"{prefix}{number:02}"


def current(page: str) -> str:
    """The page with the tests of today in its last column."""
    named = tests()
    return "\n".join(_row(line, named) for line in page.splitlines()) + "\n"


def _row(line: str, named: Mapping[str, list[str]]) -> str:
    found = ROW.match(line)
    if not found:
        return line
    proofs = "<br>".join(f"`{test}`" for test in dict.fromkeys(named.get(found[1], ())))
    return f"| {found[1]} | {found[2]} | {proofs or '–'} |"


if __name__ == "__main__":
    page = current(PAGE.read_text("utf-8"))
    PAGE.write_text(page, "utf-8")
    without = [found[1] for line in page.splitlines() if (found := ROW.match(line)) and found[3] == "–"]
    sys.stdout.write(f"{len(without)} without a test: {', '.join(without)}\n")
