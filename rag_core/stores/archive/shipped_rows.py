"""The rows of presets and prompts: each shipped one has its row, with the values in force (S0-84, S0-90 to S0-92)."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from rag_core.core.presets import PRESET_ALIASES, PRESETS, find_preset_name, resolve_preset, select_valid_numbers
from rag_core.prompts import EDITABLE_PROMPT_TAGS, load_packaged_template
from rag_core.stores.archive.keyed_rows import put_keyed_row
from rag_core.stores.archive.tables import PROMPT_META, RAG_CONFIG


def list_outdated_rows(db: Connection) -> Iterator[tuple[Any, dict[str, str], dict[str, Any]]]:
    """Yield table, key and new values of the shipped rows that are missing or lack this version's values.

    An edit takes precedence over what is shipped, and stays.
    """
    presets = {row.preset_name: row for row in db.execute(select(RAG_CONFIG).with_for_update())}
    for name in (*PRESETS, *PRESET_ALIASES):
        row = presets.get(name)
        config = apply_preset_edit(name, row.edited if row else None)
        if row is None or row.config != config:
            yield RAG_CONFIG, {"preset_name": name}, {"config": config}
    prompts = {row.function_tag: row for row in db.execute(select(PROMPT_META).with_for_update())}
    for tag in EDITABLE_PROMPT_TAGS:
        prompt, wording = prompts.get(tag), load_packaged_template(tag)
        if prompt is None or not (prompt.edited or prompt.wording == wording):
            yield PROMPT_META, {"function_tag": tag}, {"wording": wording, "edited": False}


def write_shipped_rows(db: Connection) -> None:
    """Bring the rows of presets and prompts to this version."""
    for table, key, values in list(list_outdated_rows(db)):
        put_keyed_row(db, table, key, values)


def write_preset_edit(db: Connection, name: str, edited: Mapping[str, Any] | None, description: str) -> None:
    """Write the numbers in force beside the edit, under all names of the preset; None takes the edit back."""
    values = {
        "config": apply_preset_edit(name, edited),
        "edited": None if edited is None else dict(edited),
        "description": description or None,
    }
    for row_name in (name, *(alias for alias, own_name in PRESET_ALIASES.items() if own_name == name)):
        put_keyed_row(db, RAG_CONFIG, {"preset_name": row_name}, values)


def write_prompt_edit(db: Connection, tag: str, template: str | None) -> None:
    """Write the wording in force; None takes the edit back."""
    values = {"wording": template or load_packaged_template(tag), "edited": template is not None}
    put_keyed_row(db, PROMPT_META, {"function_tag": tag}, values)


def apply_preset_edit(name: str, edited: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all numbers of a preset, the edited ones that this version accepts among them."""
    valid_numbers = select_valid_numbers(find_preset_name(name), edited or {})
    return resolve_preset(name, **valid_numbers).list_numbers()
