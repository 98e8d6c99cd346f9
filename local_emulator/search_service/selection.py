"""Show of a document the fields that were asked for with `$select`."""

from dataclasses import dataclass
from typing import Any

from .refusals import make_refusal
from .schema import VECTORS, Schema

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection says which fields of a document are shown."""

    schema: Schema
    paths: frozenset[str] | None = None

    def select_fields(self, document: Json) -> Json:
        return self._select_object(document, "", chosen=self.paths is None)

    def _select_object(self, value: Json, inside: str, *, chosen: bool) -> Json:
        """Select every retrievable member that was asked for, whether the document has it or not."""
        shown = {}
        for name in self.schema.list_children(inside.rstrip("/")):
            path = inside + name
            wanted = chosen or (self.paths is not None and path in self.paths)
            if wanted or self._holds_selected(path):
                leaf = self.schema.fields.get(path)
                if leaf is None or leaf.retrievable:
                    shown[name] = self._select_value(value.get(name), path, chosen=wanted)
        return shown

    def _holds_selected(self, path: str) -> bool:
        return any(selected.startswith(f"{path}/") for selected in self.paths or ())

    def _select_value(self, value: Any, path: str, *, chosen: bool) -> Any:
        kind = self.schema.kinds[path]
        if kind == "Edm.ComplexType":
            return None if value is None else self._select_object(value, f"{path}/", chosen=chosen)
        if kind == "Collection(Edm.ComplexType)":
            kept = [item for item in value or () if chosen or item]  # an empty object has none of the members asked for
            return [self._select_object(item, f"{path}/", chosen=chosen) for item in kept]
        if kind in VECTORS:
            return [] if value is None else [float(str(x)) for x in value]
        return [] if value is None and kind.startswith("Collection(") else value


def parse_selection(text: str, schema: Schema) -> Selection:
    """Read `$select`. Raises a ServiceRefusal for a field that is not there or not to be shown."""
    paths = [path.strip() for path in text.split(",")] if text else []
    if not paths or "*" in paths:
        return Selection(schema)
    for path in paths:
        if path not in schema.kinds:
            raise make_refusal(
                f"Invalid expression: Could not find a property named '{path}' on type 'search.document'.",
                parameter="$select",
            )
        if path in schema.fields and not schema.fields[path].retrievable:
            raise make_refusal(f"Invalid expression: '{path}' is not a retrievable field.", parameter="$select")
    return Selection(schema, frozenset(paths))
