"""How written questions of databases are linked: `python -m evals.undescribed_schemas [company_schemas]`.

Three databases of `evals/data/undescribed` are made as SQLite files and indexed as any: one with plain names, one with
abbreviated ones, one with both. Of each are asked 12 questions that it answers and 8 that it does not, written before
anything was measured. Those of `company_schemas`, also written first, are as companies have them: a hospital with keys,
views and a dbt file, a shop of abbreviations with a glossary in Word, a utility without keys and with comments in its
SQL; of each 20 questions in an analyst's own words, 6 that it does not answer, and 5 asked before. Every second
question of each kind is kept: limits were chosen on the others.
"""

import argparse
import asyncio
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evals.company_databases import COMPANIES, write_company
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.restricted_databases import FilledDatabase, fill_database
from rag_core.evaluation.schema_linking import LIMIT, SHORT_LIMIT, TABLE_LIMIT
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource
from rag_core.schema.model import ColumnKey, SchemaLinks
from rag_core.schema.stored_schema import load_schema

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
DATA = Path(__file__).parent / "data"
UNDESCRIBED, COMPANY = SETS = ("undescribed", "company_schemas")
_TEXT = re.compile(r"'([^'%]+)'")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of a database, with its SQL; "" where the database does not answer it."""

    text: str
    database: str
    sql: str


@dataclass(frozen=True, slots=True)
class Found:
    """What of a question's SQL was linked, 0..1 each: its columns among 10 and 20, tables among 4, itself, its texts.

    `runs` is 1 where the SQL reads no column but the 20; `texts` is the share of its values that stand in the DDL, None
    where it has none.
    """

    columns_short: float
    columns: float
    tables: float
    runs: float
    texts: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question: whether it is said not to be in the schema, and what of its SQL, if any, was linked."""

    refused: bool
    found: Found | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", nargs="?", choices=SETS, default=UNDESCRIBED)
    parser.add_argument("--half", choices=HALVES, help="only this half: the second is kept")
    asked = parser.parse_args()
    print(asyncio.run(report_set(asked.set, asked.half)))


async def report_set(name: str, only: str | None = None) -> str:
    """Return a table: of each database and half the questions that are refused, and what is found of the others."""
    kit = assembly.build_in_memory_kit(HERE)
    questions = [one for one, half in _iterate_halves(load_questions(name)) if only in (None, half)]
    halves = dict(_iterate_halves(load_questions(name)))
    try:
        with tempfile.TemporaryDirectory() as folder:
            filled = await index_databases(name, Path(folder), kit)
            outcomes = {one: await link(one, filled[one.database], kit) for one in questions}
    finally:
        await kit.close()
    rows = [
        [f"{database}, {half}", *_format_outcomes([outcomes[one] for one in asked])]
        for (database, half), asked in _group((one, halves[one]) for one in questions).items()
    ]
    columns = [f"columns@{SHORT_LIMIT}", f"@{LIMIT}", f"tables@{TABLE_LIMIT}", "SQL runs", "its texts in the DDL"]
    return markdown_tables.format_table(["database", "refused of what it answers", "of what not", *columns], rows)


def load_questions(name: str) -> list[AskedQuestion]:
    """Return the questions of all databases of a set."""
    lines = (DATA / name / "questions.jsonl").read_text("utf-8").splitlines()
    return [AskedQuestion(one["text"], one["db"], one.get("sql", "")) for one in map(json.loads, lines)]


def write_database(name: str, file: Path) -> None:
    """Write one of the databases to a new SQLite file."""
    if name in COMPANIES:
        write_company(name, file)
        return
    with sqlite3.connect(file) as db:
        db.executescript((DATA / UNDESCRIBED / f"{name}.sql").read_text("utf-8"))
    db.close()


async def index_databases(set_name: str, folder: Path, kit: Kit) -> dict[str, FilledDatabase]:
    """Index the databases of a set, each a workflow, with what stands beside them, and return them with their rows."""
    rag, filled = RAG(kit), {}
    for name in sorted({one.database for one in load_questions(set_name)}):
        file, beside = folder / f"{name}.sqlite", DATA / set_name
        write_database(name, file)
        descriptions, past = beside / f"{name}_schema.yml", beside / f"{name}_past.jsonl"
        source = DatabaseSource(
            f"sqlite:///{file}",
            descriptions=descriptions if descriptions.is_file() else None,
            questions=past if past.is_file() else None,
        )
        await rag.index_database(source, scope=name)
        for glossary in beside.glob(f"{name}_glossary.*"):
            await rag.index(glossary, scope=name)
        database = (await load_schema(name, Scope(name), kit.index)).database
        filled[name] = fill_database(database, folder)
    return filled


async def link(one: AskedQuestion, filled: FilledDatabase, kit: Kit) -> Outcome:
    """Return what comes of a question."""
    links = (await RAG(kit).link_schema(one.text, scope=one.database)).links
    return Outcome(links.not_in_schema, _find(one.sql, filled, links) if one.sql else None)


def _find(sql: str, filled: FilledDatabase, links: SchemaLinks) -> Found:
    needed = filled.list_read_columns(sql, filled.database.columns)
    if needed is None:  # it reads what is not in the schema that was indexed
        return Found(0.0, 0.0, 0.0, 0.0, None)
    found: list[ColumnKey] = [(one.table, one.column.name) for one in links.columns]
    texts = set(_TEXT.findall(sql))
    return Found(
        _share(needed, found[:SHORT_LIMIT]),
        _share(needed, found[:LIMIT]),
        _share({table for table, _ in needed}, [one.name for one in links.tables[:TABLE_LIMIT]]),
        float(bool(filled.runs_on(sql, found[:LIMIT]))),
        sum(f"'{text}'" in links.ddl for text in texts) / len(texts) if texts else None,
    )


def _share(needed: Iterable[object], found: Iterable[object]) -> float:
    wanted = set(needed)
    return len(wanted & set(found)) / len(wanted)


def _group(asked: Iterable[tuple[AskedQuestion, str]]) -> Mapping[tuple[str, str], list[AskedQuestion]]:
    """Return the questions by database and half, then those of all databases by half."""
    grouped: dict[tuple[str, str], list[AskedQuestion]] = {}
    for one, half in asked:
        for name in (one.database, "all"):
            grouped.setdefault((name, half), []).append(one)
    return dict(sorted(grouped.items(), key=lambda item: item[0][0] == "all"))


def _iterate_halves(asked: Sequence[AskedQuestion]) -> Iterator[tuple[AskedQuestion, str]]:
    for place, one in enumerate(asked):
        yield one, HALVES[place % len(HALVES)]


def _format_outcomes(outcomes: Sequence[Outcome]) -> list[str]:
    there, absent = ([one for one in outcomes if bool(one.found) is kind] for kind in (True, False))
    found = [one.found for one in there if one.found]
    shares = [(one.columns_short, one.columns, one.tables, one.runs) for one in found]
    texts = [one.texts for one in found if one.texts is not None]
    return [
        *(f"{sum(one.refused for one in kind)} of {len(kind)}" for kind in (there, absent)),
        *(f"{x:.3f}" for x in np.mean(shares, axis=0)),
        f"{np.mean(texts):.3f}" if texts else "-",
    ]


if __name__ == "__main__":
    main()
