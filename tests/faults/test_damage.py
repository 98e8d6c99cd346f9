"""A closed data folder is damaged once: what it then says is right, or it says what is damaged."""

import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.faults.damage_exercise import DamageBench, Outcome

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.faults.warm_exercise"])


@pytest.fixture(scope="module")
def bench() -> Iterator[DamageBench]:
    with tempfile.TemporaryDirectory() as root:
        yield DamageBench(PROCESSES, Path(root))


def count_outcomes(outcomes: Sequence[Outcome]) -> Counter[str]:
    """Count the verdicts and print them; a WRONG one with its seed, so that it can be tried again."""
    counted = Counter(outcome.verdict for outcome in outcomes)
    print(dict(counted), *(f"\n{o.damage}: {o.wrong[:2]}" for o in outcomes if o.verdict == "WRONG"))
    return counted


def test_no_one_of_100_damages_makes_a_wrong_answer(bench: DamageBench) -> None:
    """Each is harmless, repaired or named; the seeds are fixed, so that a failure can be tried again by its number."""
    counted = count_outcomes([bench.try_damage(seed) for seed in range(100)])
    assert counted["WRONG"] == 0
    assert min(counted[verdict] for verdict in ("harmless", "repaired", "named")) > 5


@pytest.mark.parametrize("length", [158055, 106736])
def test_a_database_cut_within_a_page_of_an_index_is_named(bench: DamageBench, length: int) -> None:
    """Two of the soak's two thousand: a cut page is read as cells that hold nothing, and these were sorted."""

    def cut(folder: Path) -> str:
        os.truncate(folder / "index.sqlite", length)
        return f"cut at {length}"

    outcome = bench.try_change(cut)
    assert (outcome.verdict, outcome.wrong) == ("named", [])


@pytest.mark.soak
def test_no_one_of_two_thousand_damages_makes_a_wrong_answer(bench: DamageBench) -> None:
    first = int(os.environ.get("DAMAGE_SEED", "1000"))
    assert count_outcomes([bench.try_damage(seed) for seed in range(first, first + 2000)])["WRONG"] == 0


def test_the_harness_catches_an_altered_text(bench: DamageBench) -> None:
    """What no checksum can find: another text, written by SQLite itself. The harness must call it wrong."""

    def rewrite(folder: Path) -> str:
        import apsw

        from rag_core.stores.embedded.page_checksums import load_page_checksums

        load_page_checksums()
        db = apsw.Connection(str(folder / "index.sqlite"))
        db.execute("update chunks set content = replace(content, 'pump3', 'pump4') where document_id = 'doc3'")
        db.close()
        return "a text rewritten"

    outcome = bench.try_change(rewrite)
    assert outcome.verdict == "WRONG"
    assert "pump4" in str(outcome.wrong)
