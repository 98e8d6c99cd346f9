"""What a chat model makes of a question about a database: tables and columns that it needs, and the questions in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.prompts.completions import complete_object, get_completion_list, make_invalid_completion_error
from rag_core.schema.model import ColumnKey, Database, SchemaLinks

CANDIDATES = 10  # tables that a model is shown, the likeliest first
SHOWN_COLUMNS = 100  # of all tables together, the likeliest
MAX_SAID_CHARS, MAX_COLUMN_SAID_CHARS = 160, 60
MAX_PARTS, MAX_PART_CHARS = 4, 200
READING_TIMEOUT_S = 20.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelReading:
    """The tables and columns that a model chose, the most important first, and the parts of the question."""

    tables: tuple[str, ...] = ()
    columns: tuple[ColumnKey, ...] = ()
    parts: tuple[str, ...] = ()


async def read_question_by_model(text: str, links: SchemaLinks, database: Database, llm: LLM) -> ModelReading:
    """Ask a chat model which of the linked tables and columns a question needs, and into which parts it falls.

    They are read by their ids. An id that was not given, or is repeated, is left out.

    Raises:
        Unavailable: the model did not answer, or chose no table of those that it was shown (llm_output_invalid).
    """
    tables = {f"t{number}": one.name for number, one in enumerate(links.tables[:CANDIDATES], start=1)}
    columns = _number_columns(tables, links)
    shown = [_show_table(id, name, columns, database) for id, name in tables.items()]
    prompt = prompts.build_schema_prompt(text, shown, list(columns))
    reply = await complete_object(prompt, llm, sources=[text], max_chars=2 * MAX_PART_CHARS)
    chosen = _read_ids(get_completion_list(reply.fields, "tables"), tables)
    if not chosen:
        raise make_invalid_completion_error("names no table that it was shown")
    return ModelReading(chosen, _read_ids(reply.fields.get("columns"), columns), _read_parts(reply.fields.get("parts")))


def _number_columns(tables: Mapping[str, str], links: SchemaLinks) -> dict[str, ColumnKey]:
    """Return the likeliest columns of the tables by their ids, "t1.c1" for the likeliest of the first."""
    columns = [(one.table, one.column.name) for one in links.columns if one.table in tables.values()][:SHOWN_COLUMNS]
    return {
        f"{id}.c{number}": column
        for id, name in tables.items()
        for number, column in enumerate([one for one in columns if one[0] == name], start=1)
    }


def _show_table(id: str, name: str, columns: Mapping[str, ColumnKey], database: Database) -> dict[str, object]:
    table = database.tables_by_name[name]
    said = {column.name: " ".join(column.description.split())[:MAX_COLUMN_SAID_CHARS] for column in table.columns}
    shown = [
        f"{column_id} {column}{said[column] and ': '}{said[column]}"
        for column_id, (owner, column) in columns.items()
        if owner == name
    ]
    about = table.description[:MAX_SAID_CHARS]
    return {"id": id, "name": name, "said": about, "columns": shown, "more_columns": len(table.columns) - len(shown)}


def _read_ids(said: object, known: Mapping[str, T]) -> tuple[T, ...]:
    ids = [id for id in said if isinstance(id, str) and id in known] if isinstance(said, list) else []
    return tuple(known[id] for id in dict.fromkeys(ids))


def _read_parts(said: object) -> tuple[str, ...]:
    lines = [" ".join(one.split()) for one in said if isinstance(one, str)] if isinstance(said, list) else []
    return tuple(one for one in dict.fromkeys(lines) if 0 < len(one) <= MAX_PART_CHARS)[:MAX_PARTS]
