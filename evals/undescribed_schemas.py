"""How questions of databases without descriptions are linked: `python -m evals.undescribed_schemas`.

Three databases of `evals/data/undescribed` are made as SQLite files and indexed as any: one with plain names, one with
abbreviated ones, one with both. Of each are asked 12 questions that it answers and 8 that it does not, written before
anything was measured. Every second question of each kind is kept: limits were chosen on the others.
"""

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.restricted_databases import FilledDatabase, fill_database
from rag_core.evaluation.schema_linking import LIMIT, SHORT_LIMIT
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource
from rag_core.schema.model import ColumnKey, SchemaLinks
from rag_core.schema.stored_schema import load_schema

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
DATA = Path(__file__).parent / "data" / "undescribed"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of a database, with its SQL; "" where the database does not answer it."""

    text: str
    database: str
    sql: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question: whether it is said not to be in the schema, and the shares of its columns that came."""

    refused: bool
    is_answerable: bool
    recalls: tuple[float, float] | None


def main() -> None:
    print(asyncio.run(report_undescribed()))


async def report_undescribed() -> str:
    """Return a table: of each database and half the questions that are refused, and the columns that are found."""
    kit = assembly.build_in_memory_kit(HERE)
    try:
        with tempfile.TemporaryDirectory() as folder:
            filled = await _index_databases(Path(folder), kit)
            outcomes = {one: await _link(one, filled[one.database], kit) for one in load_questions()}
    finally:
        await kit.close()
    rows = [
        [f"{database}, {half}", *_format_outcomes([outcomes[one] for one in asked])]
        for (database, half), asked in _group(outcomes).items()
    ]
    header = ["database", "refused of what it answers", "of what not", f"columns@{SHORT_LIMIT}", f"@{LIMIT}"]
    return markdown_tables.format_table(header, rows)


def load_questions() -> list[AskedQuestion]:
    """Return the questions of all databases."""
    lines = (DATA / "questions.jsonl").read_text("utf-8").splitlines()
    return [AskedQuestion(one["text"], one["db"], one.get("sql", "")) for one in map(json.loads, lines)]


def write_database(name: str, file: Path) -> None:
    """Write one of the databases to a new SQLite file."""
    with sqlite3.connect(file) as db:
        db.executescript((DATA / f"{name}.sql").read_text("utf-8"))
    db.close()


async def _index_databases(folder: Path, kit: Kit) -> dict[str, FilledDatabase]:
    rag, filled = RAG(kit), {}
    for name in sorted({one.database for one in load_questions()}):
        file = folder / f"{name}.sqlite"
        write_database(name, file)
        await rag.index_database(DatabaseSource(f"sqlite:///{file}"), scope=name)
        database = (await load_schema(name, Scope(name), kit.index)).database
        filled[name] = fill_database(database, folder)
    return filled


async def _link(one: AskedQuestion, filled: FilledDatabase, kit: Kit) -> Outcome:
    links = (await RAG(kit).link_schema(one.text, scope=one.database)).links
    needed = filled.list_read_columns(one.sql, filled.database.columns) if one.sql else None
    recalls = (_share(needed, links, SHORT_LIMIT), _share(needed, links, LIMIT)) if needed else None
    return Outcome(links.not_in_schema, bool(one.sql), recalls)


def _share(needed: frozenset[ColumnKey], links: SchemaLinks, limit: int) -> float:
    return len(needed & {(one.table, one.column.name) for one in links.columns[:limit]}) / len(needed)


def _group(asked: Iterable[AskedQuestion]) -> Mapping[tuple[str, str], list[AskedQuestion]]:
    """Return the questions by database and half, then those of all databases by half."""
    grouped: dict[tuple[str, str], list[AskedQuestion]] = {}
    for one, half in _iterate_halves(list(asked)):
        for name in (one.database, "all"):
            grouped.setdefault((name, half), []).append(one)
    return dict(sorted(grouped.items(), key=lambda item: item[0][0] == "all"))


def _iterate_halves(asked: Sequence[AskedQuestion]) -> Iterator[tuple[AskedQuestion, str]]:
    for place, one in enumerate(asked):
        yield one, HALVES[place % len(HALVES)]


def _format_outcomes(outcomes: Sequence[Outcome]) -> list[str]:
    there, absent = ([one for one in outcomes if one.is_answerable is kind] for kind in (True, False))
    recalls = np.mean([one.recalls for one in there if one.recalls], axis=0)
    return [
        *(f"{sum(one.refused for one in kind)} of {len(kind)}" for kind in (there, absent)),
        *(f"{x:.3f}" for x in recalls),
    ]


if __name__ == "__main__":
    main()
