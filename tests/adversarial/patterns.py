"""Every regular expression of the app: those of its modules, wherever they are kept, and those that functions name."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rag_core.guard.pii.postal_addresses import ADDRESS_FORMS, compile_address_form

PACKAGES = ("rag_core", "functions")
NOT_IMPORTED = ("rag_core.stores.archive.migrations.env", "rag_core.cli.__main__")  # each runs when it is imported
NOT_INSTALLED = ("tldextract", "presidio_analyzer", "spacy", "haystack", "langchain_core", "llama_index")  # of an extra
ROOT = Path(__file__).parents[2]


def collect_patterns() -> dict[str, re.Pattern[Any]]:
    """Return each different pattern of the app once, under the first place where it was found."""
    found: dict[str, re.Pattern[Any]] = {}
    seen: set[tuple[Any, int]] = set()
    lazy = ((f"ADDRESS_FORMS.{number}", compile_address_form(form)) for number, (_, form) in enumerate(ADDRESS_FORMS))
    for place, pattern in (*_find_module_patterns(), *lazy, *_find_inline_patterns()):
        if (pattern.pattern, pattern.flags) not in seen:
            seen.add((pattern.pattern, pattern.flags))
            found[place] = pattern
    return found


def list_modules() -> list[str]:
    """Return the names of all modules of the app that can be imported without running something."""
    names: list[str] = []
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        names += [package, *(module.name for module in pkgutil.walk_packages(path, f"{package}."))]
    return [name for name in names if name not in NOT_IMPORTED]


def _find_module_patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    visited: set[int] = set()
    for name in list_modules():
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in NOT_INSTALLED:
                raise
            continue
        for attribute, value in list(vars(module).items()):
            yield from _walk(value, f"{name}.{attribute}", visited)


def _walk(value: object, place: str, visited: set[int]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if id(value) in visited or isinstance(value, ModuleType | str | bytes):
        return
    visited.add(id(value))
    if isinstance(value, re.Pattern):
        yield place, value
        return
    for name, part in _iterate_parts(value):
        yield from _walk(part, f"{place}.{name}", visited)


def _iterate_parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield the named parts of a collection, of a class or record of ours, of a partial and of a closure."""
    if isinstance(value, Mapping):
        yield from ((str(name)[:30], part) for name, part in value.items())
    elif isinstance(value, tuple | list | Set):
        yield from ((str(n), part) for n, part in enumerate(value))
    elif isinstance(value, partial):
        yield from ((str(n), part) for n, part in enumerate((*value.args, *value.keywords.values())))
    elif isinstance(value, type) and value.__module__.split(".")[0] in PACKAGES:
        yield from vars(value).items()
    elif is_dataclass(value):
        computed = (name for name, part in vars(type(value)).items() if isinstance(part, cached_property))
        yield from (
            (name, getattr(value, name, None)) for name in (*(field.name for field in fields(value)), *computed)
        )


def _find_inline_patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns that functions give to `re`; one that is not a constant must be a name of its module."""
    for file in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("re.") and call.args:
                given = call.args[0]
                flags = next((ast.unparse(k.value) for k in call.keywords if k.arg == "flags"), "0")
                if isinstance(given, ast.Constant):
                    yield f"{name}:{call.lineno}", re.compile(given.value, eval(flags, {"re": re}))  # noqa: S307
