"""Descriptions of tables and columns in YAML: a dbt `schema.yml`, or the same by name.

dbt lists `models`, `seeds`, `snapshots`, and `sources` with `tables`; each has a `name`, a `description` and `columns`
alike. Without dbt `tables` has the tables by name, each with its `columns` by name, and a text alone is a description.
A column's `unit`, in dbt in its `meta`, is read too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from rag_core.core.errors import InvalidRequest

MAX_YAML_BYTES = 1024**2
MAX_YAML_DEPTH = 20
DBT_LISTS = ("models", "seeds", "snapshots", "sources", "tables")
FIELD = "descriptions"


@dataclass(frozen=True, slots=True)
class YamlDescription:
    """What a file says of a table, or of a column of it; `column` is "" for the table itself."""

    table: str
    column: str
    text: str
    unit: str = ""


class _PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads plain values: no tags, no deep nesting, and no aliases, which can stand for more than fits in memory."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"must have no aliases, {_say_place(self.peek_event().start_mark)}")
        if self.depth >= MAX_YAML_DEPTH:
            raise yaml.YAMLError(f"must not be nested deeper than {MAX_YAML_DEPTH} levels")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def read_yaml_descriptions(file: Path) -> list[YamlDescription]:
    """Return what a file says of tables and columns; [] where it names none.

    Raises:
        InvalidRequest: it is no YAML of plain values, too large, or nested too deep.
    """
    if file.is_file() and file.stat().st_size > MAX_YAML_BYTES:
        raise InvalidRequest(FIELD, f"must have at most {MAX_YAML_BYTES} bytes a file: {file.name} has more")
    try:
        loaded = yaml.load(file.read_text("utf-8-sig"), _PlainLoader)  # noqa: S506 - a SafeLoader that refuses more
    except yaml.MarkedYAMLError as error:
        raise InvalidRequest(
            FIELD, f"{file.name} must be YAML of plain values, {_say_place(error.problem_mark)}"
        ) from None
    except (yaml.YAMLError, ValueError, OSError) as error:  # a date that is none is a ValueError
        raise InvalidRequest(FIELD, f"{file.name} cannot be read: {error}") from None
    return list(_iterate_tables(loaded))


def _say_place(mark: yaml.Mark | None) -> str:
    return f"see line {mark.line + 1}" if mark else "see its first line"


def _iterate_tables(loaded: object) -> Iterator[YamlDescription]:
    if not isinstance(loaded, dict):
        return
    for kind in DBT_LISTS:
        for name, table in _iterate_named(loaded.get(kind)):
            if kind == "sources":
                yield from _iterate_tables({"tables": table.get("tables")})
            else:
                yield from _describe_table(name, table)


def _describe_table(name: str, table: dict[object, object]) -> Iterator[YamlDescription]:
    yield YamlDescription(name, "", _get_text(table, "description"))
    for column_name, column in _iterate_named(table.get("columns")):
        meta = column.get("meta")
        unit = _get_text(column, "unit") or (_get_text(meta, "unit") if isinstance(meta, dict) else "")
        yield YamlDescription(name, column_name, _get_text(column, "description"), unit)


def _iterate_named(entries: object) -> Iterator[tuple[str, dict[object, object]]]:
    """Yield the entries of a list by their `name`, or of a mapping by key; a text alone is a description."""
    if isinstance(entries, dict):
        for name, entry in entries.items():
            yield str(name), entry if isinstance(entry, dict) else {"description": entry}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and (name := _get_text(entry, "name")):
            yield name, entry


def _get_text(entry: dict[object, object], field: str) -> str:
    value = entry.get(field)
    return " ".join(value.split()) if isinstance(value, str) else ""
