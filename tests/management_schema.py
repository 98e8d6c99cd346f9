"""The properties and values that Azure's resources may have, read from Microsoft's management packages."""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

EXPRESSION = {"function", "operator", "for_loop", "arguments"}  # of the parser: a value that is known at deployment


@dataclass(frozen=True, slots=True)
class Property:
    """What may stand in a property: an object with these properties, one of these values, or (both None) anything."""

    read: Callable[[], Mapping[str, "Property"]] | None = None
    values: frozenset[str] | None = None


@cache
def read_properties(package: str, name: str) -> Mapping[str, Property]:
    """Return the properties of a model of a management package by their names on the wire."""
    model = getattr(importlib.import_module(f"{package}.models"), name)
    found = {wire: _read_property(package, kind) for wire, kind in _list_attributes(model)}
    under = {wire.partition(".")[2]: each for wire, each in found.items() if wire.startswith("properties.")}
    top = {wire: each for wire, each in found.items() if "." not in wire}
    return top | ({"properties": Property(lambda: under)} if under else {})  # packages before 2025 have them flat


def _list_attributes(model: type) -> Iterator[tuple[str, str]]:
    """Yield of each attribute its name on the wire and its type, as the documentation of the class says it."""
    kinds: dict[str, str] = {}
    wires: dict[str, str] = {}
    for each in reversed(model.__mro__):
        kinds |= dict(re.findall(r":vartype (\w+): ([^:]*)", each.__doc__ or ""))
        wires |= {
            name: getattr(field, "_rest_name_input", None) or name
            for name, field in vars(each).items()
            if type(field).__name__ == "_RestField"
        }
    wires |= {name: entry["key"] for name, entry in getattr(model, "_attribute_map", {}).items()}
    return ((wire, kinds.get(name, "")) for name, wire in wires.items())


def _read_property(package: str, kind: str) -> Property:
    named = re.search(r"\.models\.(\w+)", kind)
    if named is None:
        return Property()
    found = getattr(importlib.import_module(f"{package}.models"), named[1])
    if hasattr(found, "__members__"):
        return Property(values=frozenset(each.value for each in found))
    return Property() if "dict[" in kind else Property(read=partial(read_properties, package, named[1]))


def find_faults(known: Mapping[str, Property], said: Mapping[str, Any], text: str, path: str = "") -> Iterator[str]:
    """Yield each property that is not known, and each text that is none of the values that its property may have.

    `text` is the whole file: what does not stand in it in quotes is the name of a parameter or variable.
    """
    for name, value in said.items():
        if name not in known:
            yield f"{path}{name} is not known"
            continue
        for each in value if isinstance(value, list) else [value]:
            read, values = known[name].read, known[name].values
            if isinstance(each, dict) and read and not each.keys() & EXPRESSION:
                yield from find_faults(read(), each, text, f"{path}{name}.")
            elif isinstance(each, str) and values and f"'{each}'" in text and each not in values:
                yield f"{path}{name} is {each!r}, which must be one of {', '.join(sorted(values))}"
