"""What documents beside a schema say that its names mean, for names that no description explains.

A definition is a line of its own, or a row of a table: "cr_lmt: what a customer may owe", "| whs | warehouse |". A name
of one word counts only before what it abbreviates: "status: sold" defines nothing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from rag_core.schema.model import Column, Database
from rag_core.text.identifiers import split_identifier

MAX_NAMES = 300  # that are searched for, of a database
MAX_MEANING_CHARS = 200  # more explains rather than names
_SEPARATOR = re.compile(r"[:=|\t–—]")
_WORD = re.compile(r"[^\W_]+")
_MARKUP = " \t|*`-•"

Meanings = Mapping[str, str]  # by name or part of a name, case-folded
NO_MEANINGS: Meanings = MappingProxyType({})


def list_unexplained_names(database: Database) -> list[str]:
    """Return the names of columns that nobody described, of their tables, and the parts of these names."""
    undescribed = [(table, column) for table, column in database.iterate_columns() if not column.description]
    names = [name for table, column in undescribed for name in (table.name, column.name)]
    parts = [part for name in names for part in (name.casefold(), *split_identifier(name).split())]
    return list(dict.fromkeys(part for part in parts if len(part) > 1))[:MAX_NAMES]


def read_meanings(names: Iterable[str], passages: Iterable[str]) -> dict[str, str]:
    """Return what the lines of passages say of these names; a name of which they say several things heads data."""
    wanted = set(names)
    found: dict[str, set[str]] = {}
    for line in "\n".join(passages).splitlines():
        name, *said = (part.strip(_MARKUP) for part in _SEPARATOR.split(line.strip(_MARKUP), maxsplit=1))
        name, meaning = name.casefold(), " ".join(said)
        if name in wanted and 0 < len(meaning) <= MAX_MEANING_CHARS and _defines(name, meaning):
            found.setdefault(name, set()).add(meaning)
    return {name: meanings.pop() for name, meanings in found.items() if len(meanings) == 1}


def _defines(name: str, meaning: str) -> bool:
    """Return whether a name has several parts, or is the initials of its meaning's first words or letters of one."""
    words = _WORD.findall(meaning.casefold())
    if " " in split_identifier(name) or name == "".join(word[0] for word in words[: len(name)]):
        return True
    if not words:
        return False
    rest = iter(words[0])
    return words[0][0] == name[0] and len(name) < len(words[0]) and all(letter in rest for letter in name)


def explain_columns(database: Database, meanings: Meanings) -> Database:
    """Return the database with what is said of the names of its columns that nobody described, else of their parts."""
    if not meanings:
        return database
    tables = (
        replace(table, columns=tuple(_explain_column(column, meanings) for column in table.columns))
        for table in database.tables
    )
    return replace(database, tables=tuple(tables))


def _explain_column(column: Column, meanings: Meanings) -> Column:
    if column.description:
        return column
    parts = (meanings.get(part, "") for part in split_identifier(column.name).split())
    return replace(column, meaning=meanings.get(column.name.casefold()) or " ".join(filter(None, parts)))
