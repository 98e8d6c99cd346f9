"""The properties and values that Azure's resources may have, read from Microsoft's management packages."""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

EXPRESSION = {"function", "operator", "for_loop", "arguments"}  # of the parser: a value that is known at deployment


@dataclass(frozen=True, slots=True)
class Property:
    """What may stand in a property: an object with these properties, one of these values, or (both None) anything."""

    read: Callable[[], Mapping[str, "Property"]] | None = None
    values: frozenset[str] | None = None
    required: bool = False


@cache
def read_properties(package: str, name: str) -> Mapping[str, Property]:
    """Return the properties of a model of a management package by their names on the wire."""
    model = getattr(importlib.import_module(f"{package}.models"), name)
    found = {
        wire: replace(_read_property(package, kind), required=required)
        for wire, kind, required in _list_attributes(model)
    }
    under = {wire.partition(".")[2]: each for wire, each in found.items() if wire.startswith("properties.")}
    top = {wire: each for wire, each in found.items() if "." not in wire}
    wanted = any(each.required for each in under.values())
    # packages before 2025 have them flat
    return top | ({"properties": Property(lambda: under, required=wanted)} if under else {})


def _list_attributes(model: type) -> Iterator[tuple[str, str, bool]]:
    """Yield of each attribute its name on the wire, its type and whether it must be, as the class documents them."""
    kinds: dict[str, str] = {}
    required: set[str] = set()
    wires: dict[str, str] = {}
    for each in reversed(model.__mro__):
        kinds |= dict(re.findall(r":vartype (\w+): ([^:]*)", each.__doc__ or ""))
        said = re.split(r":ivar ", each.__doc__ or "")[1:]
        required |= {one.partition(":")[0] for one in said if re.search(r"\bRequired\.", one.partition(":vartype")[0])}
        wires |= {
            name: getattr(field, "_rest_name_input", None) or name
            for name, field in vars(each).items()
            if type(field).__name__ == "_RestField"
        }
    wires |= {name: entry["key"] for name, entry in getattr(model, "_attribute_map", {}).items()}
    return ((wire, kinds.get(name, ""), name in required) for name, wire in wires.items())


def _read_property(package: str, kind: str) -> Property:
    named = re.search(r"\.models\.(\w+)", kind)
    if named is None:
        return Property()
    found = getattr(importlib.import_module(f"{package}.models"), named[1])
    if hasattr(found, "__members__"):
        return Property(values=frozenset(each.value for each in found))
    return Property() if "dict[" in kind else Property(read=partial(read_properties, package, named[1]))


def find_faults(known: Mapping[str, Property], said: Mapping[str, Any], text: str, path: str = "") -> Iterator[str]:
    """Yield each property that is not known or is missing, and each text that is none of the values it may have.

    `text` is the whole file: what does not stand in it in quotes is the name of a parameter or variable.
    """
    for name, value in said.items():
        if name not in known:
            yield f"{path}{name} is not known"
            continue
        for each in list_branches(value):
            read, values = known[name].read, known[name].values
            if isinstance(each, dict) and read:
                yield from find_faults(read(), each, text, f"{path}{name}.")
            elif isinstance(each, str) and values and f"'{each}'" in text and each not in values:
                yield f"{path}{name} is {each!r}, which must be one of {', '.join(sorted(values))}"
    for name in known.keys() - said.keys():
        if known[name].required:
            yield f"{path}{name} is missing"


def list_branches(value: Any) -> Iterator[Any]:
    """Yield whatever a value may be: the items of a list, both sides of a condition, and what a union is made of.

    The parser puts a condition within the operator before it: in `a && b ? c : d` it is the second operand.
    """
    if isinstance(value, list):
        for each in value:
            yield from list_branches(each)
    elif not isinstance(value, dict) or not value.keys() & EXPRESSION:
        yield value
    elif "operator" in value and value["operator"]["type"] == "conditional":
        for side in ("true_value", "false_value"):
            yield from list_branches(value["operator"]["operands"][side])
    elif "operator" in value:
        for each in value["operator"]["operands"].values():
            if isinstance(each, dict):
                yield from list_branches(each)
    elif isinstance(value.get("function"), dict) and value["function"]["type"] == "union":
        for each in value["function"]["parameters"].values():
            yield from list_branches(each)
