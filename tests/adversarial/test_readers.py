"""What reads foreign text takes linear time for it, and what reads a whole document does so within its limit of CPU."""

import resource
import subprocess
import sys
from collections.abc import Iterable

import pytest

from tests.adversarial.growth import find_excess
from tests.adversarial.readers import READERS
from tests.adversarial.shapes import SHAPES

CHARS = 6_000  # and twice as many: where sentencex took the square, and a window of sentences is full
FLOOR_S, MAX_S = 0.05, 1.0  # for the longer text
SOAK_CHARS = 50_000  # and twice as many
SOAK_FLOOR_S, SOAK_MAX_S = 0.5, 15.0
# in CI: those that were once read in the square of their length, and one of each kind that could be
CORE_SHAPES = (
    "opening quotes", "guillemets", "backticks", "Chinese stops", "brackets at random", "open links", "blank lines",
    "emoji", "indented list", "900 columns", "table rows", "deep headings", "SQL inserts", "base64", "one long heading",
    "sentences without ends",
)  # fmt: skip
MORE_SHAPES = (
    "digit triples", "hyphens", "letters", "spaces", "quotes", "comments", "long references", "links", "emails",
    "table rules", "distinct words", "phone cues", "abbreviations", "tables", "one quotation", "mixture",
    "marks out of order",
)  # fmt: skip
DOCUMENT_READERS = tuple(name for name in READERS if "chunk" in name or name == "one block")
INDEX_LIMIT_S = 150  # of CPU, for a document of a million characters: the worst takes a third of it


def test_there_are_shapes_of_every_kind() -> None:
    assert len({shape(400) for shape in SHAPES.values()}) == len(SHAPES) >= 200
    assert all(0.8 * 1_000 <= len(shape(1_000)) <= 1_000 for shape in SHAPES.values())


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_of_foreign_text_takes_linear_time(reader: str) -> None:
    names = CORE_SHAPES if reader in DOCUMENT_READERS else (*CORE_SHAPES, *MORE_SHAPES)
    assert excesses(reader, names, CHARS, FLOOR_S, MAX_S) == []


@pytest.mark.soak
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_takes_linear_time_for_a_hundred_kilobytes(reader: str) -> None:
    assert excesses(reader, SHAPES, SOAK_CHARS, SOAK_FLOOR_S, SOAK_MAX_S) == []


def excesses(reader: str, names: Iterable[str], chars: int, floor_s: float, max_s: float) -> list[str]:
    READERS[reader]("It is so. P0700 is stored.")  # what is loaded once is no growth
    growths = {
        name: find_excess(READERS[reader], SHAPES[name], chars=chars, floor_s=floor_s, max_s=max_s) for name in names
    }
    return [f"{name}: {growth}" for name, growth in growths.items() if growth]


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("text", "opening quotes"),
        *(
            pytest.param(kind, shape, marks=pytest.mark.soak)
            for kind in ("text", "markdown", "csv")
            for shape in SHAPES
            if (kind, shape) != ("text", "opening quotes")
        ),
    ],
)
def test_a_document_of_a_megabyte_is_prepared_within_its_limit(kind: str, shape: str) -> None:
    """Reading, chunks, entities and summaries together, in a child that the kernel ends at its limit of CPU."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.adversarial.prepare", kind, shape, "1000000"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (INDEX_LIMIT_S, INDEX_LIMIT_S)),
    )
    assert run.returncode == 0, f"{run.returncode}: {run.stderr[-500:]}"
