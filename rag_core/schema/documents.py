"""A schema as documents of the index: a document a table, a chunk a column, further chunks with values.

A chunk is written as lines "name: value", which a reader and an embedder understand, and read back from them: whatever
keeps, hides or deletes a document does so for a table. Names and lists stand in JSON, texts on one line.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rag_core.core.model import Block, Chunk, Filter
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.schema.model import Column, ColumnKey, Database, ForeignKey, Table

SCHEMA_CHUNKING = Chunking(strategy="blocks", chunk_size=8000, overlap=0)
PART_FIELD = "schema_part"
READ_AT_FIELD = "schema_read_at"  # ISO 8601, UTC
TABLE_PART, COLUMN_PART, VALUES_PART, QUESTION_PART = "table", "column", "values", "question"
SHOWN_VALUES = 5  # of a column in its own chunk; all that are kept stand in chunks of their own
MAX_VALUE_CHARS = 80  # of a shown value
MAX_DESCRIPTION_CHARS = 2000  # of a column or table; more explains rather than names
VALUES_PER_CHUNK = 40
_SPACES = re.compile(r"\s+")
_LINE = re.compile(r"([a-z_ ]{1,20}): ")


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A question that was asked of a database, with the SQL that answered it, and the columns that this reads.

    There are none where nobody read the SQL, or nobody could.
    """

    question: str
    sql: str
    columns: tuple[ColumnKey, ...] = ()


def build_source(database: str) -> str:
    """Return the source of all documents of a database, by which they are told from others."""
    return f"database:{database}"


def filter_part(database: str, part: str) -> list[Filter]:
    """Return the conditions on the chunks of one kind of a database."""
    return [Filter("source", "eq", build_source(database)), Filter(f"metadata.{PART_FIELD}", "eq", part)]


def build_table_upload(
    table: Table, database: Database, values: Mapping[str, Sequence[str]], *, read_at: str
) -> Upload:
    """Return the document of a table: itself, its columns, `values` of them by column, and when they were read."""
    keys = [key for key in database.foreign_keys if key.table == table.name]
    parts = [
        (TABLE_PART, _format_table(table, database.name)),
        *((COLUMN_PART, format_column(table, column, keys)) for column in table.columns),
        *((VALUES_PART, text) for name, kept in values.items() for text in _format_values(table.name, name, kept)),
    ]
    return replace(_build_upload(database.name, table.name, parts), metadata={READ_AT_FIELD: read_at})


def build_questions_upload(database: str, questions: Sequence[PastQuestion]) -> Upload:
    """Return the document of the questions that were asked of a database before."""
    parts = [(QUESTION_PART, _format_past_question(one)) for one in questions]
    return _build_upload(database, "questions asked before", parts)


def _format_past_question(one: PastQuestion) -> str:
    lines = [f"question: {_fold_line(one.question)}", f"sql: {_fold_line(one.sql)}"]
    return "\n".join([*lines, *([f"reads: {_dump(one.columns)}"] if one.columns else [])])


def build_document_id(database: str, name: str) -> str:
    """Return the id of the document of a table, whatever characters its name has."""
    return f"schema:{sha256(json.dumps([database, name]).encode()).hexdigest()[:32]}"


def _build_upload(database: str, name: str, parts: Iterable[tuple[str, str]]) -> Upload:
    blocks = []
    line = 1
    for part, text in parts:
        end = line + text.count("\n")
        blocks.append(Block(text, "row", line, end, fields={PART_FIELD: part}))
        line = end + 2
    title = f"{database}: {_fold_line(name)}"[:200]
    return Upload(
        blocks=tuple(blocks),
        document_id=build_document_id(database, name),
        title=title,
        source=build_source(database),
        enrichment_budget_usd=0.0,  # names of columns need no summary
    )


def format_column(table: Table, column: Column, keys: Iterable[ForeignKey]) -> str:
    """Return a column as a chunk: its names as written and in words, its meaning, type, keys and some values."""
    words = f"{table.words} {column.words}"
    lines = {
        "column": f"{_dump([table.name, column.name])} {words}",
        "meaning": _fold_line(column.description)[:MAX_DESCRIPTION_CHARS],
        "type": _fold_line(column.type),
        "values": _dump([value[:MAX_VALUE_CHARS] for value in column.values[:SHOWN_VALUES]]) if column.values else "",
        "facts": _dump(facts) if (facts := dict(_list_facts(column))) else "",
    }
    references = [
        f"references: {_dump([key.referenced_table, key.referenced_column, key.match_share])}"
        for key in keys
        if key.column == column.name
    ]
    return "\n".join([*(f"{name}: {value}" for name, value in lines.items() if value), *references])


def _list_facts(column: Column) -> Iterator[tuple[str, object]]:
    if column.distinct is not None:
        yield "distinct", column.distinct
    if column.null_share is not None:
        yield "null_share", round(column.null_share, 4)
    if column.low or column.high:
        yield "range", [column.low[:MAX_VALUE_CHARS], column.high[:MAX_VALUE_CHARS]]
    if column.is_personal:
        yield "personal", True
    if column.unit:
        yield "unit", _fold_line(column.unit)[:MAX_VALUE_CHARS]


def _format_table(table: Table, database: str) -> str:
    facts = {
        "rows": table.row_count,
        "primary_key": list(table.primary_key),
        **({"view": True} if table.is_view else {}),
    }
    meaning = _fold_line(table.description)[:MAX_DESCRIPTION_CHARS]
    lines = [f"table: {_dump([database, table.name])} {table.words}", f"facts: {_dump(facts)}"]
    return "\n".join([*lines, *([f"meaning: {meaning}"] if meaning else [])])


def _format_values(table: str, column: str, values: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(values), VALUES_PER_CHUNK):
        yield f"column: {_dump([table, column])}\nvalues: {_dump(values[start : start + VALUES_PER_CHUNK])}"


def _dump(value: object) -> str:
    """Return JSON on one line; signs that a reader of documents would drop are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def _fold_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def parse_database(name: str, chunks: Iterable[Chunk]) -> Database:
    """Return the database of these chunks; one that cannot be read is left out."""
    tables: dict[str, Table] = {}
    columns: dict[str, list[Column]] = {}
    keys: list[ForeignKey] = []
    for chunk in chunks:
        lines = parse_lines(chunk.content)
        if chunk.metadata.get(PART_FIELD) == TABLE_PART and (table := _parse_table(lines)):
            tables[table.name] = table
        elif chunk.metadata.get(PART_FIELD) == COLUMN_PART and (parsed := parse_column(lines)):
            owner, column, references = parsed
            columns.setdefault(owner, []).append(column)
            keys += references
    found = tuple(replace(table, columns=tuple(columns.get(table.name, ()))) for table in tables.values())
    return Database(name, found, tuple(keys))


def parse_read_at(chunks: Iterable[Chunk]) -> str | None:
    """Return since when nobody has read some of these chunks from the database; None where that is not recorded."""
    times = [chunk.metadata.get(READ_AT_FIELD) for chunk in chunks]
    return None if None in times else min(map(str, times), default=None)


def parse_column_key(chunk: Chunk) -> ColumnKey | None:
    """Return the table and column that a chunk is about; None for another chunk."""
    pair = _load_first(next(iter(parse_lines(chunk.content).get("column", ())), ""))
    return (str(pair[0]), str(pair[1])) if isinstance(pair, list) and len(pair) == 2 else None


def parse_values(chunk: Chunk) -> list[str]:
    """Return the values in a chunk."""
    values = _load_first(next(iter(parse_lines(chunk.content).get("values", ())), ""))
    return list(map(str, values)) if isinstance(values, list) else []


def parse_past_question(chunk: Chunk) -> PastQuestion:
    """Return the question, its SQL and the columns that this reads in a chunk."""
    lines = parse_lines(chunk.content)
    question, sql, reads = (next(iter(lines.get(name, ())), "") for name in ("question", "sql", "reads"))
    pairs = _load_first(reads)
    pairs = [pair for pair in (pairs if isinstance(pairs, list) else []) if isinstance(pair, list) and len(pair) == 2]
    return PastQuestion(question, sql, tuple((str(table), str(column)) for table, column in pairs))


def parse_lines(content: str) -> dict[str, list[str]]:
    """Return the values of the lines "name: value" by name."""
    lines: dict[str, list[str]] = {}
    for line in content.splitlines():
        if named := _LINE.match(line):
            lines.setdefault(named[1], []).append(line[named.end() :])
    return lines


def _parse_table(lines: Mapping[str, Sequence[str]]) -> Table | None:
    pair, facts = (_load_first(next(iter(lines.get(name, ())), "")) for name in ("table", "facts"))
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    facts = facts if isinstance(facts, dict) else {}
    meaning = next(iter(lines.get("meaning", ())), "")
    keys, is_view = tuple(facts.get("primary_key", ())), bool(facts.get("view"))
    return Table(str(pair[1]), (), keys, meaning, facts.get("rows"), is_view)


def parse_column(lines: Mapping[str, Sequence[str]]) -> tuple[str, Column, list[ForeignKey]] | None:
    first = {name: next(iter(lines.get(name, ())), "") for name in ("column", "meaning", "type", "values", "facts")}
    pair, values, facts = (_load_first(first[name]) for name in ("column", "values", "facts"))
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    table, name = map(str, pair)
    facts = facts if isinstance(facts, dict) else {}
    low, high = facts.get("range", ("", ""))
    column = Column(
        name,
        first["type"],
        first["meaning"],
        tuple(map(str, values)) if isinstance(values, list) else (),
        facts.get("distinct"),
        facts.get("null_share"),
        str(low),
        str(high),
        bool(facts.get("personal")),
        str(facts.get("unit", "")),
    )
    return table, column, list(_parse_references(table, name, lines.get("references", ())))


def _parse_references(table: str, column: str, lines: Iterable[str]) -> Iterator[ForeignKey]:
    for line in lines:
        reference = _load_first(line)
        if isinstance(reference, list) and len(reference) == 3:
            yield ForeignKey(table, column, str(reference[0]), str(reference[1]), reference[2])


def _load_first(text: str) -> Any:
    """Return the JSON value at the beginning of a line; None where there is none."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
