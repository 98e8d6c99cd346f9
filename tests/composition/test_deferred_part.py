import subprocess
import sys
from pathlib import Path

from rag_core.composition import assembly
from rag_core.composition.deferred_part import DeferredPart
from rag_core.core.settings import Settings
from rag_core.guard.redaction import RuleBasedRedactor

ROOT = Path(__file__).parents[2]
LATE = ("sqlalchemy", "rag_core.guard.pii", "rag_core.guard.classical")
ASKED = """
import asyncio, sys
import rag_core
from rag_core.core.settings import Settings

async def ask():
    async with rag_core.open(Settings(data_dir=None)) as rag:
        await rag.search("What stores P0700?", search_type="keyword")

asyncio.run(ask())
print(*sys.modules)
"""


class Part:
    name, closed = "built", False

    async def close(self) -> None:
        self.closed = True


async def test_a_part_is_built_when_it_is_first_used_and_then_once() -> None:
    built: list[Part] = []

    def build() -> Part:
        built.append(Part())
        return built[-1]

    part = DeferredPart(build)
    await part.close()
    assert built == []
    assert [part.name, part.name] == ["built", "built"]
    await part.close()
    assert [one.closed for one in built] == [True]


def test_a_question_that_needs_no_archive_and_no_redactor_waits_for_neither() -> None:
    """They were a third of what a cold start takes to its first answer."""
    child = subprocess.run([sys.executable, "-c", ASKED], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(child.stdout.split())
    assert "rag_core.pipelines" in loaded
    assert [name for name in LATE if name in loaded] == []


async def test_the_archive_and_the_query_log_are_of_one_database(tmp_path: Path) -> None:
    kit = assembly.build_kit(Settings(data_dir=tmp_path))
    assert kit.archive._database is kit.query_log._database  # type: ignore[attr-defined]
    assert kit.redactor.name == RuleBasedRedactor().name
    await kit.close()
