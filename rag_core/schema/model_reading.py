"""What a chat model makes of a question about a database: the tables that it needs, and the questions it falls into."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.prompts.completions import complete_object, get_completion_list, make_invalid_completion_error
from rag_core.schema.model import Database, SchemaLinks

CANDIDATES = 10  # tables that a model is shown, the likeliest first
MAX_SHOWN_COLUMNS = 12  # of a table: those that were linked first
MAX_SAID_CHARS = 160
MAX_PARTS, MAX_PART_CHARS = 4, 200
READING_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class ModelReading:
    """The names of the tables that a model chose, the most important first, and the parts of the question."""

    tables: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


async def read_question_by_model(text: str, links: SchemaLinks, database: Database, llm: LLM) -> ModelReading:
    """Ask a chat model which of the linked tables a question needs, and into which parts it falls.

    Tables are read by their ids. An id that was not given, or is repeated, is left out.

    Raises:
        Unavailable: the model did not answer, or chose no table of those that it was shown (llm_output_invalid).
    """
    names = {f"t{number}": one.name for number, one in enumerate(links.tables[:CANDIDATES], start=1)}
    shown = [_show_table(id, name, links, database) for id, name in names.items()]
    reply = await complete_object(
        prompts.build_schema_prompt(text, shown), llm, sources=[text], max_chars=2 * MAX_PART_CHARS
    )
    chosen = [id for id in get_completion_list(reply.fields, "tables") if isinstance(id, str) and id in names]
    if not chosen:
        raise make_invalid_completion_error("names no table that it was shown")
    return ModelReading(tuple(names[id] for id in dict.fromkeys(chosen)), tuple(_read_parts(reply.fields.get("parts"))))


def _show_table(id: str, name: str, links: SchemaLinks, database: Database) -> dict[str, object]:
    table = database.tables_by_name[name]
    linked = [one.column.name for one in links.columns if one.table == name]
    columns = list(dict.fromkeys([*linked, *(column.name for column in table.columns)]))[:MAX_SHOWN_COLUMNS]
    return {"id": id, "name": name, "said": table.description[:MAX_SAID_CHARS], "columns": columns}


def _read_parts(said: object) -> Sequence[str]:
    lines = [" ".join(one.split()) for one in said if isinstance(one, str)] if isinstance(said, list) else []
    return [one for one in dict.fromkeys(lines) if 0 < len(one) <= MAX_PART_CHARS][:MAX_PARTS]
